"""The write lock of a session: an operating system lock on an open file, so it is released when its process dies.

A leftover lock file locks nothing: only a living process can hold it. A forked child does not inherit it.

The file also holds the acknowledged length of the log, so that a log that lost its end can be recognised.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from weakref import WeakValueDictionary

from plimsoll.errors import SessionBusy, StoreUnusable, on_failure
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.store.folder import NEEDS_POSIX, Folder

LOCK_NAME = "lock"

_COME = regex(rb"(\d{1,18} \d{1,18} \d{1,18}) ([0-9a-f]{8})\n")
_COME_SIZE_BYTES_MAX = 80


class CommittedLength(NamedTuple):
    """Numbers of acknowledged records and messages. `session` is the database id: it tells sessions apart that reused a name."""

    session: int
    records: int
    messages: int


class Lock:
    """An exclusive lock, held from construction until `release` or the end of the process."""

    def __init__(self, folder: Folder, *, session: str, name: str = LOCK_NAME) -> None:
        """Acquire the lock without waiting. Raises SessionBusy if this or another process holds it."""
        self._calls = folder.calls
        self._name = name
        self._file = (-1, -1)
        self._fd = folder.open_file(name, os.O_RDWR | os.O_CREAT)
        with on_failure(self.release):
            self._file = _identity(self._calls.stat(self._fd))
            try:
                _lock(self._fd)
            except BlockingIOError:
                raise SessionBusy(session, here=self._file in _held) from None
        _held[self._file] = self

    def acknowledge(self, committed: CommittedLength) -> None:
        """Write the acknowledged length. Failure is ignored: the records are stored already, only the later check is lost."""
        text = b"%d %d %d" % committed
        try:
            self._calls.write_at(self._fd, b"%b %08x\n" % (text, zlib.crc32(text)), 0)
        except OSError:
            return

    def is_at(self, folder: Folder) -> bool:
        """False if the lock file was removed or replaced before the lock was acquired."""
        there = folder.stat_name(self._name)
        return there is not None and _identity(there) == self._file

    def release(self) -> None:
        """Release the lock. Idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            if _held.get(self._file) is self:
                del _held[self._file]
            self._calls.close(fd)


def acknowledged(folder: Folder, name: str = LOCK_NAME) -> CommittedLength | None:
    """The acknowledged length in a lock file; None if it is unknown. Never raises."""
    with suppress(OSError, StoreUnusable):
        fd = folder.open_file(name, os.O_RDONLY)
        try:
            match = _COME.match(folder.calls.read_at(fd, _COME_SIZE_BYTES_MAX, 0))
        finally:
            folder.calls.close(fd)
        if match is not None and int(match[2], 16) == zlib.crc32(match[1]):
            return CommittedLength(*map(int, match[1].split()))
    return None


def _lock(fd: int) -> None:
    try:
        import fcntl  # noqa: PLC0415 - only some systems have it
    except ImportError:
        raise StoreUnusable(LOCK_NAME, reason=NEEDS_POSIX) from None
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


_held: WeakValueDictionary[tuple[int, int], Lock] = WeakValueDictionary()
"""Locks held by this process, by device and inode. An open file keeps its inode."""


def _forget_in_child() -> None:
    """Close the inherited lock files in a forked child: an open copy would keep the lock held after the parent's exit."""
    for lock in list(_held.values()):
        with suppress(OSError):
            lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
