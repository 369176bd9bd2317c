"""From the way a store is named to the store, and what can be done with any store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, get_args

from plimsoll.errors import SessionBusy, SessionExists, SessionNotFound, SettingError, UnsafeName
from plimsoll.protocols import Durability, SessionLog, Store
from plimsoll.validation import one_of

StoreSpec = str | os.PathLike[str] | Store | None
"""Where sessions are kept: see `open_store`."""


def open_store(spec: StoreSpec = None, *, durability: Durability = "fsync") -> Store:
    """The store that `spec` names. Nothing is made on disk before the first session is.

    None: the user's data directory ($PLIMSOLL_HOME, else the XDG one). "project:" or "project:/path": a folder of its own in
    there for the project around the current or that folder. A path: JSON lines in that directory. "sqlite:///file.db"
    (relative) or "sqlite:////absolute/file.db": one SQLite file. "memory:" or "memory:label": this process's memory, the same
    store for the same text. A Store is taken as it is.
    Raises SettingError for anything else.
    """
    one_of("durability", durability, get_args(Durability))
    if spec is None:
        return _directory(_default_dir(), durability)
    if isinstance(spec, (str, os.PathLike)):
        return _named(_checked_text(spec), durability)
    if callable(getattr(spec, "create_from", None)):
        return spec
    raise SettingError("store", f"must be a path, a URL or a store, not {type(spec).__name__}")


def open_or_create(store: Store, name: str, about: Mapping[str, Any] | None = None) -> SessionLog:
    """The session of that name, for writing; a new one if there is none, also when several processes try at once.

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
    raise SessionBusy(name)  # it comes and goes faster than we can look


def archive_oldest(store: Store, *, sessions_max: int) -> list[str]:
    """Archive the sessions that were changed longest ago until `sessions_max` are listed; returns their names.

    Nothing is deleted. A session that is being written stays listed. Raises SettingError for a negative number.
    """
    if sessions_max < 0:
        raise SettingError("sessions_max", "must not be negative")
    archived = []
    for info in store.sessions()[sessions_max:]:
        try:
            store.archive(info.name)
        except (SessionBusy, SessionNotFound, UnsafeName):  # the last: somebody wrote it into a database by hand
            continue
        archived.append(info.name)
    return archived


def _default_dir(project: str | None = None) -> str:
    """The sessions of everything, or of the project around a folder (empty text: the current one)."""
    from plimsoll.store.paths import sessions_dir  # noqa: PLC0415 - loaded when one is used

    if project is None:
        return str(sessions_dir())
    from plimsoll.environment.workspace import workspace_context  # noqa: PLC0415 - as above

    return str(sessions_dir(workspace_context(project or None).project_path))


def _checked_text(spec: str | os.PathLike[str]) -> str:
    text = os.fspath(spec)
    if not isinstance(text, str) or not text or "\0" in text:
        raise SettingError("store", "must be text that is not empty and has no NUL")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise SettingError("store", "cannot be a path on this system") from None
    return text


def _named(text: str, durability: Durability) -> Store:
    if text.startswith("memory:"):
        from plimsoll.store.memory import shared_memory_store  # noqa: PLC0415 - loaded when one is used

        return shared_memory_store(text)
    if text.startswith("project:"):
        return _directory(_default_dir(text.removeprefix("project:")), durability)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _directory(text, durability)
    path = rest.removeprefix("/")
    if scheme != "sqlite" or path == rest or not path or path.startswith(":"):
        raise SettingError("store", 'must be a directory, "project:", "sqlite:///file.db" or "memory:"')
    from plimsoll.store.sqlite import SqliteStore  # noqa: PLC0415 - loaded when one is used

    return SqliteStore(path, durability=durability)


def _directory(path: str, durability: Durability) -> Store:
    from plimsoll.store.jsonl import JsonlStore  # noqa: PLC0415 - loaded when one is used

    return JsonlStore(path, durability=durability)
