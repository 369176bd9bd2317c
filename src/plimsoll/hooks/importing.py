"""Import a coding agent's file as a session, so that what left its context can be searched and read."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from plimsoll.errors import SessionExists, SessionNotFound, SourceChanged, UnsafeName
from plimsoll.hooks.background import give_way
from plimsoll.hooks.state import FileState, folder, key_of, one_of, take_in, write_private
from plimsoll.store.paths import safe_name

_NAMES_MAX = 100
_COMPACTION_S, _STEP_S = 10.0, 0.25
"""Claude Code writes a compaction right after it has called its hooks."""

_WAITING_MAX, _IMPORTING_MAX, _ROOM_S = 4, 2, 5.0
"""However often hooks are called, this many processes wait, and this many are at work."""


def take_in_all(path: str, store: str | None, *, wait: bool = False, gives_way: bool = False) -> None:
    """Take in what a file has grown by: its facts, then its messages. Raises PlimsollError, OSError.

    `wait`: until the compaction that the tool is about to write is in the file, but not for ever. `gives_way`: the process goes on
    at a low priority once the facts are read, for which a hook may be waiting.
    """
    before = take_in(path)
    if wait:
        with one_of("waiting", _WAITING_MAX, 0.0) as is_one:
            _await_compaction(path, before, _COMPACTION_S if is_one else 0.0)
    if gives_way:
        give_way()
    with one_of("importing", _IMPORTING_MAX, _ROOM_S) as is_one:
        if is_one:  # else the next hook takes it in
            _import(path, store)


def _await_compaction(path: str, before: FileState, wait_s: float) -> None:
    state, end = before, time.monotonic() + wait_s
    while state.last.answered and state.last == before.last and time.monotonic() < end:
        time.sleep(_STEP_S)
        if Path(path).stat().st_size != state.offset:
            state = take_in(path)


def session_of(path: str) -> str:
    """The name of the session that a file is taken into."""
    with suppress(OSError, ValueError):
        return safe_name((folder() / f"{key_of(path)}.name").read_text("ascii"))
    return _first_name(path)


def file_before(path: str) -> str | None:
    """The newest other file beside a tool's file: that of the conversation that was cleared. None where there is none."""
    here = Path(path)
    with suppress(OSError, ValueError):
        others = [found for found in here.parent.glob("*.jsonl") if found.name != here.name and found.is_file()]
        newest = max(others, key=lambda found: found.stat().st_mtime, default=None)
        return None if newest is None else str(newest)
    return None


def _import(path: str, store: str | None) -> None:
    """Update the session of that file; a file that was rewritten becomes a session of its own, and the one before stays."""
    from plimsoll.session.open import open as open_session  # noqa: PLC0415 - it brings the whole program with it
    from plimsoll.session.transfer.import_file import import_file  # noqa: PLC0415 - as above

    first = session_of(path)
    for name in (first, *(f"{first[:58]}-{number}" for number in range(2, _NAMES_MAX))):
        try:
            try:
                with open_session(name, store=store, create=False, project=False) as session:
                    session.update(path)
            except SessionNotFound:
                import_file(path, name=name, store=store).close()
        except (SourceChanged, SessionExists):
            continue
        if name != first:
            write_private(folder() / f"{key_of(path)}.name", name.encode())
        return


def _first_name(path: str) -> str:
    """The name that an import gives the session; for a file without a usable name, one made of where it is."""
    try:
        return safe_name(Path(os.path.realpath(path)).name.removesuffix(".jsonl"))
    except UnsafeName:
        return f"session-{key_of(path)}"
