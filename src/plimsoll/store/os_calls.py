"""Every system call that a file store makes, in one class, so that tests can make the k-th call fail."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, EDQUOT, EFBIG, ELOOP, ENOSPC, ENOSYS, ENOTDIR, EPERM, EROFS
from typing import Final

from plimsoll.errors import StoreFull, StoreUnusable

NO_SPACE: Final = frozenset({ENOSPC, EDQUOT, EFBIG})
"""Error codes for lack of space: on the disk, in the quota, or under the process's file size limit."""

_READ_ONLY: Final = frozenset({EACCES, EPERM, EROFS})


def _not_here(*_: object) -> int:
    """A system call that this platform lacks."""
    raise OSError(ENOSYS, os.strerror(ENOSYS))


class OsCalls:
    """System calls on descriptors. Paths are relative to a folder's descriptor; a final symbolic link is not followed."""

    def open(self, path: str, flags: int, mode: int = 0o600, *, dir_fd: int | None = None) -> int:
        """Open a file. Child processes do not inherit the descriptor."""
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=dir_fd)

    def close(self, fd: int) -> None:
        """Close the descriptor."""
        os.close(fd)

    def read_at(self, fd: int, size_bytes: int, offset: int) -> bytes:
        """Read up to `size_bytes` bytes at `offset`."""
        return os.pread(fd, size_bytes, offset)

    write = staticmethod(os.write)
    """Write part or all of the data; returns the number of bytes written."""

    write_at = staticmethod(getattr(os, "pwrite", _not_here))
    """Write at an offset; returns the number of bytes written."""

    sync_data = staticmethod(getattr(os, "fdatasync", os.fsync))
    """Flush a file's data, and the metadata needed to read it, to stable storage."""

    sync = staticmethod(os.fsync)
    """Flush a new file, or the entries of a folder, to stable storage."""

    truncate = staticmethod(os.ftruncate)
    """Truncate a file."""

    stat = staticmethod(os.fstat)
    """Status of an open file."""

    def stat_name(self, name: str, *, dir_fd: int) -> os.stat_result:
        """Status of a name in a folder; symbolic links are not followed."""
        return os.stat(name, dir_fd=dir_fd, follow_symlinks=False)

    def names(self, fd: int) -> list[str]:
        """Names in a folder."""
        return os.listdir(fd)

    def make_folder(self, name: str, mode: int = 0o700, *, dir_fd: int | None = None) -> None:
        """Create a folder."""
        os.mkdir(name, mode, dir_fd=dir_fd)

    def rename(self, old: str, new: str, *, old_fd: int, new_fd: int) -> None:
        """Rename a file or folder, replacing a file or an empty folder."""
        os.rename(old, new, src_dir_fd=old_fd, dst_dir_fd=new_fd)

    def remove(self, name: str, *, dir_fd: int) -> None:
        """Unlink a file."""
        os.unlink(name, dir_fd=dir_fd)

    def remove_folder(self, name: str, *, dir_fd: int) -> None:
        """Remove an empty folder."""
        os.rmdir(name, dir_fd=dir_fd)


def write_all(calls: OsCalls, fd: int, data: bytes) -> None:
    """Write all bytes, in several calls if needed."""
    rest = memoryview(data)
    while rest:
        rest = rest[calls.write(fd, rest) :]


@contextmanager
def store_errors(path: str) -> Iterator[None]:
    """Convert OSError into a StoreError about `path`."""
    try:
        yield
    except OSError as error:
        raise store_error(error, path) from error


def store_error(error: OSError, path: str) -> StoreFull | StoreUnusable:
    """The StoreError that corresponds to an OSError about `path`."""
    if error.errno in NO_SPACE:
        return StoreFull(path)
    if error.errno in {ELOOP, ENOTDIR}:
        return StoreUnusable(path, reason="a symbolic link or a file where a folder is needed")
    if error.errno in _READ_ONLY:
        return StoreUnusable(path, reason="permission to read or write denied")
    return StoreUnusable(path, reason=error.strerror or type(error).__name__)


OS_CALLS: Final = OsCalls()
"""The calls themselves."""
