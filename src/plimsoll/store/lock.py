"""The write lock of a session: the operating system's own, on an open file, so that it dies with its owner.

A lock file that is left behind means nothing; only a living process can hold it. A forked child does not inherit it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from weakref import WeakSet

from plimsoll.errors import SessionBusy, StoreUnusable
from plimsoll.store.folder import Folder

LOCK_NAME = "lock"


class Lock:
    """Held from its making until `release`, or until the process dies."""

    def __init__(self, folder: Folder, *, session: str, name: str = LOCK_NAME) -> None:
        """Take it, without waiting. Raises SessionBusy when another holds it."""
        self._calls = folder.calls
        self._name = name
        self._fd = folder.open_file(name, os.O_RDWR | os.O_CREAT)
        try:
            _lock(self._fd)
        except BlockingIOError:
            self.release()
            raise SessionBusy(session) from None
        except BaseException:
            self.release()
            raise
        _held.add(self)

    def is_at(self, folder: Folder) -> bool:
        """Whether the lock file is still the one of its name: not so when it was removed before we had the lock."""
        there = folder.stat_name(self._name)
        here = self._calls.stat(self._fd)
        return there is not None and (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)

    def release(self) -> None:
        """Let go; twice is fine."""
        fd, self._fd = self._fd, -1
        _held.discard(self)
        if fd >= 0:
            self._calls.close(fd)


def _lock(fd: int) -> None:
    try:
        import fcntl  # noqa: PLC0415 - only some systems have it
    except ImportError:
        raise StoreUnusable(LOCK_NAME, reason="this system has no flock; only memory stores work here") from None
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


_held: WeakSet[Lock] = WeakSet()


def _forget_in_child() -> None:
    """A child shares its parent's open files, and with them the lock, which then would outlive the parent."""
    for lock in list(_held):
        with suppress(OSError):
            lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
