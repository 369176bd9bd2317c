"""The errors and warnings of plimsoll.

    PlimsollError
    ├── CannotFit             the budget is smaller than what must be sent at least
    ├── FormatError           the input is invalid in its format, or its format is not recognised
    ├── SettingError          an option has an invalid value; also a ValueError
    ├── CounterError          a caller's token counter raised, or returned something other than a number of tokens
    ├── LimitExceeded         the input is larger than a named limit in limits.py
    ├── MissingExtra          a required optional package is not installed
    ├── PlanIsStale           a plan was made for a view that has changed since
    ├── SourceChanged         the file a session was imported from has changed since
    ├── ViewDiffers           a tool would read a view from the file that differs from the session's
    └── StoreError            storage
        ├── SessionNotFound
        ├── SessionExists     a session of that name already exists
        ├── SessionBusy       the session is open for writing already, here or in another process
        ├── SessionDamaged    records that the operation needs are unreadable
        ├── NewerFormat       written by a newer plimsoll in a format this version must not change
        ├── StoreFull         no space left, or over a quota
        ├── StoreUnusable     read-only, wrong permissions, an I/O error, a symlink where none is allowed
        │   └── SessionClosed the session was closed before this call
        ├── UnsafeName        a session name that is not allowed
        └── ReferenceNotFound no content has that reference

Each error has its details as fields. Each docstring says what is unchanged after the error.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType, TracebackType
from typing import Any, Self


class _Whole:
    """Mixin for exceptions that are copied and pickled with their fields. Without it only those with plain arguments can be."""

    args: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), *self.args), vars(self)


def _again(kind: type[Any], *args: object) -> Any:
    """An exception without its fields, which are set next."""
    return kind.__new__(kind, *args)


class PlimsollError(_Whole, Exception):
    """Base class of all errors. The call that raised it changed nothing, unless the docstring of the subclass says otherwise."""


class CannotFit(PlimsollError):
    """The budget is smaller than what must be sent at least. The input is unchanged and nothing was recorded.

    `part` names what does not fit, `budget_tokens` is the budget, and `needed_tokens` the smallest budget that suffices.
    """

    def __init__(self, *, part: str, budget_tokens: int, needed_tokens: int) -> None:
        self.part = part
        self.budget_tokens = budget_tokens
        self.needed_tokens = needed_tokens
        super().__init__(
            f"cannot fit {part} into {budget_tokens} tokens: at least {needed_tokens} are needed; nothing was changed"
        )


class FormatError(PlimsollError):
    """The input is invalid in its format. Nothing was taken from it.

    `position` is the index of the message (None if no single message is at fault), `format` the format it was read as.
    """

    def __init__(self, reason: str, *, position: int | None = None, format: str | None = None) -> None:
        self.reason = reason
        self.position = position
        self.format = format
        where = "" if position is None else f"message {position}: "
        read_as = "" if format is None else f" (read as {format})"
        super().__init__(f"{where}{reason}{read_as}; nothing was changed")


class SettingError(PlimsollError, ValueError):
    """An option has an invalid value. `field` is the name of the option. Nothing was changed."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        self.reason = reason
        super().__init__(f"{field}: {reason}")


class CounterError(PlimsollError):
    """A caller's token counter raised, or returned something other than a number of tokens. Nothing was changed.

    `name` is the name of the counter and `reason` what went wrong; the exception it raised is `__cause__`.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"the token counter {name!r} cannot be used: {reason}; nothing was changed")


class LimitExceeded(PlimsollError):
    """The input exceeds a limit of limits.py. Nothing was read beyond it; what was stored before is unchanged."""

    def __init__(self, limit: str, *, allowed: int, found: int | None = None) -> None:
        self.limit = limit
        self.allowed = allowed
        self.found = found
        size = "more" if found is None else str(found)
        super().__init__(f"{limit}: {allowed} allowed, {size} found; nothing was changed")


class MissingExtra(PlimsollError):
    """An optional package is required and not installed. Nothing was read or changed. `extra` is the extra to install."""

    def __init__(self, extra: str, *, needed_for: str) -> None:
        self.extra = extra
        self.needed_for = needed_for
        super().__init__(f"{needed_for} needs an optional package: pip install 'plimsoll-context[{extra}]'")


class PlanIsStale(PlimsollError):
    """A plan was made for another view: messages came since, something was pinned or undone, or it is another session's.

    The session is unchanged. Make a new plan, or pass `rebase=True`.
    """

    def __init__(self, *, planned_for: int, now: int) -> None:
        self.planned_for = planned_for
        self.now = now
        grown = f"the plan was made at message {planned_for} and the session is at {now}"
        changed = f"the plan was made for another view than the session has at message {now}"
        super().__init__(f"{changed if planned_for == now else grown}; the session is unchanged")


class SourceChanged(PlimsollError):
    """The file a session was imported from has changed since in a way that does not fit the session's own changes.

    Neither the file nor the session was changed. `path` is the file, `reason` says what is wrong.
    """

    def __init__(self, path: str, *, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{ascii(path)[1:-1]}: {reason}; nothing was changed")


class ViewDiffers(PlimsollError):
    """A tool would read a view from the file that differs from the session's. Nothing was written or changed."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(f"{tool} would read another view from this file than the session has; nothing was written")


class StoreError(PlimsollError):
    """Base class of the storage errors. All records acknowledged before are unchanged."""


class SessionNotFound(StoreError):
    """The store has no session of that name. Nothing was created."""

    def __init__(self, name: str, *, reason: str | None = None) -> None:
        self.name = name
        super().__init__(reason or f"no session {name!r} in this store")


class SessionExists(StoreError):
    """A session of that name already exists. It is unchanged; nothing was created."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"session {name!r} already exists in this store; nothing was changed")


class SessionBusy(StoreError):
    """The session is already open for writing. It can still be read; nothing was written.

    `here` is True if this process has it open, False if another process has.
    """

    def __init__(self, name: str, *, here: bool = False) -> None:
        self.name = name
        self.here = here
        where = "already open in this process" if here else "being written by another process"
        self.reason = f"session {name!r} is {where}; nothing was written"
        super().__init__(f"{self.reason}; it can be read (read_only=True), and waited for until it is closed (wait_s=)")


class SessionDamaged(StoreError):
    """Records that the operation needs are unreadable. The file is unchanged; all other records can be read."""

    def __init__(self, name: str, *, detail: str) -> None:
        self.name = name
        self.detail = detail
        super().__init__(f"session {name!r} is damaged: {detail}; the file was not changed")


class NewerFormat(StoreError):
    """Written by a newer plimsoll in a format that this version must not change. The file is unchanged."""

    def __init__(self, name: str, *, version: int, supported: int) -> None:
        self.name = name
        self.version = version
        self.supported = supported
        super().__init__(
            f"session {name!r} has format {version}, this plimsoll writes {supported}; the file was not changed"
        )


class StoreFull(StoreError):
    """No space left, or over a quota. All records acknowledged before are unchanged; appending works again once there is space."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"no space left to write {path}; everything written before is unchanged")


class StoreUnusable(StoreError):
    """The location cannot be used as a store, or a file cannot be read. All records acknowledged before are unchanged."""

    def __init__(self, path: str, *, reason: str, is_input: bool = False) -> None:
        """`is_input`: it is a file that was to be read, and no store."""
        self.path = path
        self.reason = reason
        super().__init__(
            f"cannot read {path}: {reason}"
            if is_input
            else f"cannot use {path}: {reason}; everything written before is unchanged"
        )


class SettingsRefused(PlimsollError):
    """The settings file of a coding agent cannot be changed. Nothing was written."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}; nothing was written")


class SessionClosed(StoreUnusable):
    """The session was closed. Everything appended to it is stored; open it again to continue."""

    def __init__(self, name: str, *, path: str = "") -> None:
        self.name = name
        self.path = path
        self.reason = "closed"
        Exception.__init__(self, f"session {name!r} is closed; open it again. Everything written before is unchanged")


class UnsafeName(StoreError, ValueError):
    """A session name that is not allowed. Nothing was opened or created."""

    def __init__(self, name: str) -> None:
        self.name = name
        shown = ascii(name) if len(name) <= 80 else f"{name[:80]!a}…"
        super().__init__(
            "session names are 1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-', not starting or ending with '.', without '..' "
            f"and not a device name such as CON: {shown}"
        )


class ReferenceNotFound(StoreError):
    """No content has that reference. The session is unchanged. `why` says more, where more is known."""

    def __init__(self, reference: str, why: str = "") -> None:
        self.reference = reference
        self.why = why
        super().__init__(f"no content with reference {reference[:80]!r}{why and f' ({why})'}; look for it with recall")


class DamageWarning(UserWarning):
    """Some records of an opened session are unreadable. The session works with the others."""


class SessionSkipped(_Whole, UserWarning):
    """A session is left out of a search in several sessions, because it cannot be read."""

    def __init__(self, session: str, why: str) -> None:
        self.session = session
        self.why = why
        super().__init__(f"not searched: {why if repr(session) in why else f'session {session!r}: {why}'}")


class CounterWarning(_Whole, UserWarning):
    """A session is opened with another token counter than it was counted with. The sizes are not comparable."""

    def __init__(self, session: str, *, counted_by: str, opened_with: str) -> None:
        self.session = session
        self.counted_by = counted_by
        self.opened_with = opened_with
        super().__init__(
            f"session {session!r} was counted by {counted_by!r} and is opened with {opened_with!r}; give counter= again"
        )


class MemoryWarning(UserWarning):
    """A store of memories failed or did not answer. The session is as it would be without memories."""


class UnknownModelWarning(_Whole, UserWarning):
    """A model is unknown, so a small context window is assumed. Given once per name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"unknown model {name[:80]!r}: a window of 32,000 tokens is assumed; give max_tokens, or say its window: "
            "plimsoll.tokens.registry.register_model, or a file named by $PLIMSOLL_MODELS"
        )


class UnseenTokensWarning(_Whole, UserWarning):
    """The provider counts more tokens beyond a session's view than its budget allows. Views get a small part of the budget."""

    def __init__(self, session: str, tokens: int) -> None:
        self.session = session
        self.tokens = tokens
        super().__init__(
            f"session {session!r}: beyond its view the provider counts {tokens:,} tokens more than the budget has room for; "
            "raise max_tokens, or check what was passed to record_usage"
        )


class RequestNotManaged(UserWarning):
    """A request of a wrapped client or an adapter was sent as it is, not recorded, or is kept as another session. It says why."""


def warn(warning: Warning) -> None:
    """Issue a warning that points at the line outside plimsoll that called it, at any call depth."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - as the standard library finds callers
    level = 1
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "plimsoll":
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


def place_of(error: BaseException) -> str:
    """The line of plimsoll that raised an error, to stand behind its name."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    file = trace.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f" at {file}:{trace.tb_lineno}"


class Closes:
    """Mixin for what is closed at the end of a `with` block."""

    __slots__ = ()

    def close(self) -> None:
        """Release what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Itself; leaving the block closes it."""
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@contextmanager
def on_failure(undo: Callable[[], object]) -> Iterator[None]:
    """Context manager that calls `undo` if the block raises, also for KeyboardInterrupt and a cancelled task."""
    with ExitStack() as stack:
        stack.callback(undo)
        yield
        stack.pop_all()


class ErrorCatcher:
    """Context manager for calls of a caller's code, such as a summariser, a counter or a store. Keeps what it raises in `error`.

    Such code may raise anything, and the view must not be lost by it. KeyboardInterrupt and CancelledError are raised.
    """

    def __init__(self) -> None:
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error if isinstance(error, Exception) else None
        return self.error is not None
