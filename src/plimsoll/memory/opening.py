"""Opening the memories of a user and a project by the specification of their store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

from plimsoll.errors import SettingError
from plimsoll.memory.memories import Memories
from plimsoll.memory.scopes import project_path_of, scopes_of
from plimsoll.policy.validation import boolean, short_repr
from plimsoll.protocols import MemoryStore
from plimsoll.store.open import checked_text, database_in, refuse_unlike_path

MemorySpec: TypeAlias = "bool | str | os.PathLike[str] | MemoryStore | None"
"""Specification of a store of memories, see `open_memory`. None and False: no memories."""

FILE = "memory.db"
"""The file of memories in a folder."""


def open_memory(
    store: MemorySpec = True,  # noqa: FBT002 - as the option `memory` of a session
    *,
    project: str | os.PathLike[str] | bool | None = None,
    user_id: str | None = None,
    everyone: bool = False,
) -> Memories:
    """Open the memories of a user and, if it is named, of a project. Creates nothing before the first memory.

    Args:
        store: True (a file in the user's data directory, or in $PLIMSOLL_HOME), the path of a file or of a folder for it,
            "sqlite:///file.db", "memory:" (private to this object), or an object with the methods of `MemoryStore`.
        project: a folder, or True for the current one; the memories of its project are then seen as well.
        user_id: whose memories, in a store of several users.
        everyone: the memories of all users and projects, to search, list and forget; none can then be added.

    Raises: SettingError.

    """
    if user_id is not None and not isinstance(user_id, str):
        raise SettingError("user_id", f"text is needed, not {short_repr(user_id)}")
    found = memory_store(store)
    if found is None:
        raise SettingError("store", "a store of memories is needed")
    scopes = None if boolean("everyone", everyone) else scopes_of(user_id, project_path_of(project))
    return Memories(found, scopes, closes=found is not store)


def memory_store(spec: MemorySpec) -> MemoryStore | None:
    """The store that a specification names; None for None and False. Raises SettingError for anything else."""
    if spec is None or spec is False:
        return None
    if spec is True:
        from plimsoll.store.paths import data_dir  # noqa: PLC0415 - only needed for the default

        return _file(str(data_dir() / FILE))
    if isinstance(spec, str):
        return _named(checked_text(spec, "memory"))
    if isinstance(spec, os.PathLike):
        return _at(checked_text(spec, "memory"))
    if callable(getattr(spec, "set_read_to", None)) and callable(getattr(spec, "exclusive", None)):
        return spec
    raise SettingError("memory", f"must be True, a path, a URL or a store of memories, not {short_repr(spec)}")


_KINDS = 'must be a path, "sqlite:///file.db" or "memory:"'


def _named(text: str) -> MemoryStore:
    if text == "memory:":
        from plimsoll.memory.in_memory import InMemoryMemoryStore  # noqa: PLC0415 - imported only when used

        return InMemoryMemoryStore()
    if path := database_in(text):
        return _file(path)
    refuse_unlike_path(text, "memory", _KINDS)
    return _at(text)


def _at(path: str) -> MemoryStore:
    """The store in a file, or in the file for memories in a folder."""
    return _file(str(Path(path, FILE)) if os.path.isdir(path) else path)  # noqa: PTH112 - of odd paths it says no


def _file(path: str) -> MemoryStore:
    from plimsoll.memory.sqlite import SqliteMemoryStore  # noqa: PLC0415 - SQLite is loaded only when used

    return SqliteMemoryStore(path)
