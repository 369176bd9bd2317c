"""Opening a store by its specification, and operations on any store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from secrets import token_hex
from typing import Any, get_args

from plimsoll.errors import SessionBusy, SessionExists, SessionNotFound, SettingError, UnsafeName
from plimsoll.light.regex import regex
from plimsoll.policy.validation import one_of, short_repr
from plimsoll.protocols import Durability, SessionLog, Store

StoreSpec = str | os.PathLike[str] | Store | None
"""Specification of a store, see `open_store`."""


def open_store(spec: StoreSpec = None, *, durability: Durability = "fsync") -> Store:
    """The store that `spec` names. Creates nothing on disk before the first session.

    - None: the user's data directory ($PLIMSOLL_HOME, else the XDG data directory).
    - "project:" or "project:/path": a folder there for the project that contains the current or the given folder.
    - a path: JSON lines in that directory. "memory" and a database's name such as "a.db" are refused; "./a.db" is a directory.
    - "sqlite:///file.db" (relative) or "sqlite:////absolute/file.db": one SQLite file.
    - "memory:" or "memory:label": memory of this process, shared by equal specs.
    - a Store: returned unchanged.

    Raises SettingError for anything else.
    """
    one_of("durability", durability, get_args(Durability))
    if spec is None:
        return _directory(_default_dir(), durability)
    if isinstance(spec, str):
        return _named(checked_text(spec), durability)
    if isinstance(spec, os.PathLike):
        return _directory(checked_text(spec), durability)
    if callable(getattr(spec, "create_from", None)):
        return spec
    raise SettingError("store", f"must be a path, a URL or a store, not {type(spec).__name__}")


def open_or_create(store: Store, name: str, about: Mapping[str, Any] | None = None) -> SessionLog:
    """Open a session for writing, creating it if missing. Safe against concurrent creation.

    Raises what Store.open and Store.create raise, except SessionNotFound and SessionExists.
    """
    for _ in range(8):
        try:
            return store.open(name)
        except SessionNotFound:
            try:
                return store.create(name, about)
            except SessionExists:
                continue
    raise SessionBusy(name)  # other processes keep creating and deleting it


def check_usable(store: Store) -> None:
    """Make a session and delete it again. Raises StoreUnusable, StoreFull."""
    name = f"check-{token_hex(8)}"
    store.create(name).close()
    store.delete(name)


def archive_oldest(store: Store, *, sessions_max: int | None) -> list[str]:
    """Archive the least recently changed sessions until `sessions_max` are listed (None: no limit). Returns the archived names.

    Deletes nothing. A session that is being written stays listed. Raises SettingError for a negative number.
    """
    if sessions_max is None:
        return []
    if sessions_max < 0:
        raise SettingError("sessions_max", "must not be negative")
    archived = []
    for info in store.sessions()[sessions_max:]:
        try:
            store.archive(info.name)
        except (SessionBusy, SessionNotFound, UnsafeName):  # UnsafeName: a name edited into a database by hand
            continue
        archived.append(info.name)
    return archived


def _default_dir(project: str | None = None) -> str:
    """The default directory of sessions, or that of the project containing a folder (empty text: the current one)."""
    from plimsoll.store.paths import sessions_dir  # noqa: PLC0415 - imported only when used

    if project is None:
        return str(sessions_dir())
    from plimsoll.environment.workspace import workspace_context  # noqa: PLC0415 - as above

    return str(sessions_dir(workspace_context(project or None).project_path))


def checked_text(spec: str | os.PathLike[str], option: str = "store") -> str:
    """A specification as text. Raises SettingError for what can be neither a URL nor a path."""
    text = os.fspath(spec)
    if not isinstance(text, str) or not text or "\0" in text:
        raise SettingError(option, "must be text that is not empty and has no NUL")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise SettingError(option, "cannot be a path on this system") from None
    return text


def _named(text: str, durability: Durability) -> Store:
    if text.startswith("memory:"):
        from plimsoll.store.memory import shared_memory_store  # noqa: PLC0415 - imported only when used

        return shared_memory_store(text)
    if text.startswith("project:"):
        return _directory(_default_dir(text.removeprefix("project:")), durability)
    if path := database_in(text):
        from plimsoll.store.sqlite import SqliteStore  # noqa: PLC0415 - imported only when used

        return SqliteStore(path, durability=durability)
    refuse_unlike_path(text, "store", _KINDS)
    if text.lower().endswith(_DATABASES) and not (text.startswith("./") or os.path.isdir(text)):  # noqa: PTH112 - of odd paths it says no
        raise SettingError("store", f"{_KINDS}; for the database {short_repr(text)} write sqlite:/// before it")
    return _directory(text, durability)


_SCHEME = regex(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""Two characters or more, since a letter and a colon begin a path on Windows."""
_DATABASES = (".db", ".sqlite", ".sqlite3")
_KINDS = 'must be a directory, "project:", "sqlite:///file.db" or "memory:"'


def database_in(text: str) -> str:
    """The path in the URL of a database, "sqlite:///PATH"; empty for other texts."""
    path = text.removeprefix("sqlite:///")
    return "" if path == text or path.startswith(":") else path


def refuse_unlike_path(text: str, option: str, kinds: str) -> None:
    """Raise SettingError for text that its writer did not mean as a path, such as a URL of another kind, also where one exists."""
    if text.startswith("./"):
        return
    if text in (":memory:", "memory") or text.endswith("/:memory:"):
        raise SettingError(option, f'{kinds}; for memory write "memory:", for a path write ./ before it')
    if _SCHEME.match(text):  # the message is without the text: a URL may hold a password
        raise SettingError(option, f"{kinds}; for a path with a colon write ./ before it")


def _directory(path: str, durability: Durability) -> Store:
    from plimsoll.store.jsonl import JsonlStore  # noqa: PLC0415 - imported only when used

    return JsonlStore(path, durability=durability)
