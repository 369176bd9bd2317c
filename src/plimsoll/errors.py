"""Every error plimsoll raises on purpose.

    PlimsollError
    ├── CannotFit             the budget is smaller than the least that must be sent
    ├── FormatError           the input is not what its format says, or no format recognises it
    ├── SettingError          an option has an impossible value; also a ValueError
    ├── CounterError          a caller's own token counter raised, or gave something that is no number of tokens
    ├── LimitExceeded         the input is larger than a named limit in limits.py
    ├── MissingExtra          an optional package is needed and not installed
    ├── PlanIsStale           a plan was made for another view, or for a history that has since grown
    ├── SourceChanged         the file a session came from is not as it was taken in
    ├── ViewDiffers           a tool would read another view from the file than the session has
    └── StoreError            disk and database
        ├── SessionNotFound
        ├── SessionExists     a new session may not take the place of one that is there
        ├── SessionBusy       the session is open for writing already, here or in another process
        ├── SessionDamaged    records are unreadable where the operation needs them
        ├── NewerFormat       written by a newer plimsoll in a way this one must not touch
        ├── StoreFull         no space, or a quota
        ├── StoreUnusable     read-only, wrong modes, an I/O error, a symlink where none may be
        │   └── SessionClosed the session was closed before this call
        ├── UnsafeName        a session name outside the whitelist
        └── ReferenceNotFound nothing is stored under that reference

Each carries its facts as fields and computes its message from them. Each docstring says what is still true afterwards.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType, TracebackType
from typing import Self


class PlimsollError(Exception):
    """Root of the tree. Whatever raised it changed nothing, unless its docstring says otherwise."""


class CannotFit(PlimsollError):
    """The budget is smaller than the frame that must be sent. The input is untouched and nothing was recorded.

    `part` names what does not fit; `budget_tokens` is what there was; `needed_tokens` the smallest budget that would do.
    """

    def __init__(self, *, part: str, budget_tokens: int, needed_tokens: int) -> None:
        self.part = part
        self.budget_tokens = budget_tokens
        self.needed_tokens = needed_tokens
        super().__init__(
            f"cannot fit {part} into {budget_tokens} tokens: at least {needed_tokens} are needed; nothing was changed"
        )


class FormatError(PlimsollError):
    """The input is not valid in its format. Nothing was read from it.

    `position` is the index of the message (None when the whole is wrong), `format` the format it was read as.
    """

    def __init__(self, reason: str, *, position: int | None = None, format: str | None = None) -> None:
        self.reason = reason
        self.position = position
        self.format = format
        where = "" if position is None else f"message {position}: "
        read_as = "" if format is None else f" (read as {format})"
        super().__init__(f"{where}{reason}{read_as}; nothing was changed")


class SettingError(PlimsollError, ValueError):
    """An option has an impossible value. `field` names it. Nothing was built with it."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        self.reason = reason
        super().__init__(f"{field}: {reason}")


class CounterError(PlimsollError):
    """A caller's own token counter raised, or gave something that is no number of tokens. Nothing was changed.

    `name` is the counter's, `reason` what went wrong; what it raised is the cause of this error.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"the token counter {name!r} cannot be used: {reason}; nothing was changed")


class LimitExceeded(PlimsollError):
    """The input passes a limit of limits.py. Nothing was read past it; what was stored before is unchanged."""

    def __init__(self, limit: str, *, allowed: int, found: int | None = None) -> None:
        self.limit = limit
        self.allowed = allowed
        self.found = found
        size = "more" if found is None else str(found)
        super().__init__(f"{limit}: {allowed} allowed, {size} found; nothing was changed")


class MissingExtra(PlimsollError):
    """An optional package is needed and not installed. Nothing was read or changed. `extra` is what to install."""

    def __init__(self, extra: str, *, needed_for: str) -> None:
        self.extra = extra
        self.needed_for = needed_for
        super().__init__(f"{needed_for} needs an optional package: pip install 'plimsoll-context[{extra}]'")


class PlanIsStale(PlimsollError):
    """A plan was made for another view: the history grew, something was pinned or undone, or it is another session's.

    The session is unchanged; make a new plan, or ask to rebase this one.
    """

    def __init__(self, *, planned_for: int, now: int) -> None:
        self.planned_for = planned_for
        self.now = now
        grown = f"the plan was made at message {planned_for} and the session is at {now}"
        changed = f"the plan was made for another view than the session has at message {now}"
        super().__init__(f"{changed if planned_for == now else grown}; the session is unchanged")


class SourceChanged(PlimsollError):
    """The file that a session came from is not as it was taken in, or the session has gone another way since.

    Neither the file nor the session was changed. `path` names the file, `reason` says what is wrong.
    """

    def __init__(self, path: str, *, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{ascii(path)[1:-1]}: {reason}; nothing was changed")


class ViewDiffers(PlimsollError):
    """The tool would read another view from the file than the session has. Nothing was written; the session is unchanged."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(f"{tool} would read another view from this file than the session has; nothing was written")


class StoreError(PlimsollError):
    """Root of the storage errors. Every record acknowledged before is still there and unchanged."""


class SessionNotFound(StoreError):
    """No session of that name in the store. Nothing was created."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no session {name!r} in this store")


class SessionExists(StoreError):
    """A session of that name is already there. It is as it was; nothing was created."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"session {name!r} already exists in this store; nothing was changed")


class SessionBusy(StoreError):
    """The session is open for writing already. Reading still works; nothing was written.

    `here` is True when it is this process that has it open, False when another process has.
    """

    def __init__(self, name: str, *, here: bool = False) -> None:
        self.name = name
        self.here = here
        where = "already open in this process; close that session first" if here else "being written by another process"
        super().__init__(f"session {name!r} is {where}, or wait for it with wait_s; nothing was written")


class SessionDamaged(StoreError):
    """Records the operation needs are unreadable. The file is as it was; what can be read still can."""

    def __init__(self, name: str, *, detail: str) -> None:
        self.name = name
        self.detail = detail
        super().__init__(f"session {name!r} is damaged: {detail}; the file was not changed")


class NewerFormat(StoreError):
    """Written by a newer plimsoll in a way this one must not touch. The file was not changed."""

    def __init__(self, name: str, *, version: int, supported: int) -> None:
        self.name = name
        self.version = version
        self.supported = supported
        super().__init__(
            f"session {name!r} has format {version}, this plimsoll writes {supported}; the file was not changed"
        )


class StoreFull(StoreError):
    """No space left, or over a quota. Everything acknowledged before is unchanged; the next append works once there is room."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"no space left to write {path}; everything written before is unchanged")


class StoreUnusable(StoreError):
    """The place cannot be used as a store. Everything acknowledged before is unchanged."""

    def __init__(self, path: str, *, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"cannot use {path}: {reason}; everything written before is unchanged")


class SessionClosed(StoreUnusable):
    """The session was closed. Everything appended to it is stored; open it again to go on."""

    def __init__(self, name: str, *, path: str = "") -> None:
        self.name = name
        self.path = path
        self.reason = "closed"
        Exception.__init__(self, f"session {name!r} is closed; open it again. Everything written before is unchanged")


class UnsafeName(StoreError, ValueError):
    """A session name outside the whitelist. Nothing was opened or created."""

    def __init__(self, name: str) -> None:
        self.name = name
        shown = ascii(name) if len(name) <= 80 else f"{name[:80]!a}…"
        super().__init__(
            "session names are 1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-', not starting or ending with '.', without '..' "
            f"and not a device name such as CON: {shown}"
        )


class ReferenceNotFound(StoreError):
    """Nothing is stored under that reference. The session is unchanged."""

    def __init__(self, reference: str) -> None:
        self.reference = reference
        super().__init__(f"no content with reference {reference[:80]!r}; look for it with recall")


class DamageWarning(UserWarning):
    """Records of a session that was opened cannot be read. All others can, and the session works on with them."""


class CounterWarning(UserWarning):
    """A session was counted by another token counter than the one it is opened with: sizes are not comparable."""

    def __init__(self, session: str, *, counted_by: str, opened_with: str) -> None:
        self.session = session
        self.counted_by = counted_by
        self.opened_with = opened_with
        super().__init__(
            f"session {session!r} was counted by {counted_by!r} and is opened with {opened_with!r}; give counter= again"
        )


class UnknownModelWarning(UserWarning):
    """A model is in no list, so a small window is assumed for it. Given once for each name; nothing else changes."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"unknown model {name[:80]!r}: a window of 32,000 tokens is assumed; register it or use $PLIMSOLL_MODELS"
        )


class UnseenTokensWarning(UserWarning):
    """The provider counts more beyond a session's view than its budget has room for. Given once; views keep a small part of it."""

    def __init__(self, session: str, tokens: int) -> None:
        self.session = session
        self.tokens = tokens
        super().__init__(
            f"session {session!r}: beyond its view the provider counts {tokens:,} tokens more than the budget has room for; "
            "raise max_tokens, or check what was passed to record_usage"
        )


def warn(warning: Warning) -> None:
    """Give a warning at the line outside plimsoll that led to it, however deep inside it is noticed."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - how the standard library finds its callers
    level = 1
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "plimsoll":
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


@contextmanager
def on_failure(undo: Callable[[], object]) -> Iterator[None]:
    """Undo what was begun where the block does not end, whatever ended it: a signal and a cancelled task included."""
    with ExitStack() as stack:
        stack.callback(undo)
        yield
        stack.pop_all()


class Foreign:
    """A block that runs other people's code: a summariser, a counter, a store. What it raises is kept in `error`, not raised.

    Nobody can say which errors such code may raise, and none of them may cost the user the view. What ends the program or a task
    (KeyboardInterrupt, CancelledError) is raised.
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
