"""What a hook knows of a session's file: how far it has read, and the facts it found. Kept between calls.

The file may be rewritten or rotated: then the bytes read before are not what the hash says, and it is read anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from plimsoll.errors import FormatError, StoreUnusable
from plimsoll.hooks.event import FENCE
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.limits import MESSAGE_SIZE_BYTES_MAX, TRANSCRIPT_SIZE_BYTES_MAX
from plimsoll.store.paths import data_dir
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.transcripts.source import LastCompaction, LineReader

_VERSION = 1
_CHUNK_BYTES = 1 << 20
_STATES_MAX = 64
_SUMMARY_CHARS_MAX = 200_000
_LOCK_S, _LOCK_STEP_S, _ROOM_STEP_S = 5.0, 0.01, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """What was read of a file so far."""

    offset: int = 0
    digest: str = ""
    """SHA-256 of the bytes before `offset`."""
    ledger: Ledger = Ledger.empty()
    last: LastCompaction = LastCompaction()
    """The newest compaction of the tool's own."""


def folder() -> Path:
    """Where hooks keep what they need, only for its owner to read. Raises SettingError, OSError."""
    there = data_dir()
    there.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = there / "hooks"
    found.mkdir(mode=0o700, exist_ok=True)
    return found


def key_of(path: str) -> str:
    """The name of a file's state."""
    return hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:24]


def take_in(path: str) -> FileState:
    """Read what a file has grown by since the last call, and keep what was found. Raises StoreUnusable, OSError."""
    return _kept_on(path, lambda state: state)


def remember_summary(path: str, summary: str) -> FileState:
    """Take in a file, and the summary of its newest compaction, which the file itself may not have yet."""

    def with_summary(state: FileState) -> FileState:
        if not summary or not (state.last.answered or not state.last.summary):
            return state
        last = LastCompaction(position=state.ledger.end, summary=summary[:_SUMMARY_CHARS_MAX], answered=False)
        return replace(state, last=last)

    return _kept_on(path, with_summary)


def _kept_on(path: str, change: Callable[[FileState], FileState]) -> FileState:
    """The state of a file as it is now, changed by `change`, and kept where it is another than before."""
    there, key = folder(), key_of(path)
    kept = there / f"{key}.json"
    with _opened(path) as file, locked(there / f"{key}.lock", _LOCK_S):
        before = _load(kept)
        state = change(_grown(before, file))
        if (state.offset, state.digest, state.last) == (before.offset, before.digest, before.last) and kept.exists():
            os.utime(kept)  # those not looked at for longest are forgotten
        else:
            _save(kept, state)
    _prune(there)
    return state


def _grown(state: FileState, file: BinaryIO) -> FileState:
    """The state with the whole lines that follow; from the beginning where the file is another one."""
    digest = _prefix(file, state.offset)
    if digest is None or digest.hexdigest() != state.digest:
        state, digest = FileState(), hashlib.sha256()
        file.seek(0)
    reader = LineReader(state.ledger.end, state.last, mark=FENCE.encode())
    read_bytes = 0

    def lines() -> Iterator[bytes]:
        nonlocal read_bytes
        while (raw := file.readline(MESSAGE_SIZE_BYTES_MAX)).endswith(b"\n"):
            digest.update(raw)
            read_bytes += len(raw)
            yield raw

    reader.read(lines())
    return FileState(
        offset=state.offset + read_bytes,
        digest=digest.hexdigest(),
        ledger=extend(state.ledger, reader.messages, state.ledger.end),
        last=replace(reader.last, summary=reader.last.summary[:_SUMMARY_CHARS_MAX]),
    )


def _prefix(file: BinaryIO, size_bytes: int) -> Any:
    """The hash of the first bytes; None if there are fewer. The file is then read on from there."""
    digest, left = hashlib.sha256(), size_bytes
    while left:
        chunk = file.read(min(left, _CHUNK_BYTES))
        if not chunk:
            return None
        digest.update(chunk)
        left -= len(chunk)
    return digest


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """A regular file, for reading. Raises StoreUnusable."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:
        raise StoreUnusable(
            ascii(path)[:200], reason=getattr(error, "strerror", None) or "not a path", is_input=True
        ) from None
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > TRANSCRIPT_SIZE_BYTES_MAX:
            raise StoreUnusable(ascii(path)[:200], reason="it is not a file, or too large", is_input=True)
        yield file


def _load(path: Path) -> FileState:
    """A kept state; an empty one where there is none, or it is damaged."""
    try:
        value = json.loads(path.read_bytes())
        if value["version"] != _VERSION:
            return FileState()
        return FileState(
            offset=max(0, int(value["offset"])),
            digest=str(value["digest"]),
            ledger=Ledger.from_dict(value["ledger"]),
            last=_last(value["last"]),
        )
    except (OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError, FormatError):
        return FileState()


def _last(value: Any) -> LastCompaction:
    position, summary, answered, marked = value
    whole = None if position is None else int(position)
    return LastCompaction(position=whole, summary=str(summary), answered=bool(answered), marked=bool(marked))


def _save(path: Path, state: FileState) -> None:
    value = {
        "version": _VERSION,
        "offset": state.offset,
        "digest": state.digest,
        "ledger": state.ledger.to_dict(),
        "last": [state.last.position, state.last.summary, state.last.answered, state.last.marked],
    }
    write_private(path, json.dumps(value, separators=(",", ":")).encode())


def write_private(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, for its owner only. Raises OSError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with ExitStack() as undo:
        undo.callback(draft.unlink, missing_ok=True)
        with open(draft, "wb", opener=private) as file:
            file.write(data)
        draft.replace(path)
        undo.pop_all()


def private(path: str, flags: int) -> int:
    """Opens a file for its owner only, and no link."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _prune(there: Path) -> None:
    """Forget the files that were not read for longest."""
    with suppress(OSError):
        states = sorted(there.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in states[_STATES_MAX:]:
            path.unlink(missing_ok=True)
            path.with_suffix(".lock").unlink(missing_ok=True)


@contextmanager
def locked(path: Path, wait_s: float) -> Iterator[bool]:
    """Hold a lock among processes, and say whether it is held: after `wait_s` it is gone on without."""
    try:
        import fcntl  # noqa: PLC0415 - only some systems have it
    except ImportError:
        yield True
        return
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        end = time.monotonic() + wait_s
        is_held = False
        while not is_held:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_held = True
            except BlockingIOError:
                if time.monotonic() >= end:
                    break
                time.sleep(_LOCK_STEP_S)
        yield is_held
    finally:
        os.close(fd)


@contextmanager
def one_of(name: str, number: int, wait_s: float) -> Iterator[bool]:
    """Be one of at most `number` processes that do something, and say whether there was room within `wait_s`."""
    end = time.monotonic() + wait_s
    while True:
        for place in range(number):
            with locked(folder() / f"{name}-{place}.lock", 0.0) as is_held:
                if is_held:
                    yield True
                    return
        if time.monotonic() >= end:
            break
        time.sleep(_ROOM_STEP_S)
    yield False
