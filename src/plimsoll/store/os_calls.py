"""The only door to the disk: every system call a file store makes. A test passes one whose k-th call fails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, EDQUOT, EFBIG, ELOOP, ENOSPC, ENOSYS, ENOTDIR, EPERM, EROFS
from typing import Final

from plimsoll.errors import StoreFull, StoreUnusable

NO_SPACE: Final = frozenset({ENOSPC, EDQUOT, EFBIG})
"""What the system says when there is no room: the disk, a quota, the process's own file size limit."""

_READ_ONLY: Final = frozenset({EACCES, EPERM, EROFS})


def _not_here(*_: object) -> int:
    """A system call that this system does not have."""
    raise OSError(ENOSYS, os.strerror(ENOSYS))


class OsCalls:
    """System calls by descriptor. A path is always relative to a folder's descriptor, and a link at its end is not
    followed.
    """

    def open(self, path: str, flags: int, mode: int = 0o600, *, dir_fd: int | None = None) -> int:
        """A descriptor that children do not inherit."""
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=dir_fd)

    def close(self, fd: int) -> None:
        """Close it."""
        os.close(fd)

    def read_at(self, fd: int, size_bytes: int, offset: int) -> bytes:
        """Up to so many bytes from there."""
        return os.pread(fd, size_bytes, offset)

    write = staticmethod(os.write)
    """Write some of it; says how many bytes."""

    write_at = staticmethod(getattr(os, "pwrite", _not_here))
    """Write at an offset; says how many bytes."""

    sync_data = staticmethod(getattr(os, "fdatasync", os.fsync))
    """Bring a file's bytes, and what is needed to find them, to stable storage."""

    sync = staticmethod(os.fsync)
    """Bring a new file, or a folder's list of names, to stable storage."""

    truncate = staticmethod(os.ftruncate)
    """Cut a file."""

    stat = staticmethod(os.fstat)
    """What the descriptor is of."""

    def stat_name(self, name: str, *, dir_fd: int) -> os.stat_result:
        """What a name in a folder is; of a link, the link."""
        return os.stat(name, dir_fd=dir_fd, follow_symlinks=False)

    def names(self, fd: int) -> list[str]:
        """The names in a folder."""
        return os.listdir(fd)

    def make_folder(self, name: str, mode: int = 0o700, *, dir_fd: int | None = None) -> None:
        """A new folder."""
        os.mkdir(name, mode, dir_fd=dir_fd)

    def rename(self, old: str, new: str, *, old_fd: int, new_fd: int) -> None:
        """Give a file or folder another name, replacing a file or an empty folder."""
        os.rename(old, new, src_dir_fd=old_fd, dst_dir_fd=new_fd)

    def remove(self, name: str, *, dir_fd: int) -> None:
        """Remove a file's name."""
        os.unlink(name, dir_fd=dir_fd)

    def remove_folder(self, name: str, *, dir_fd: int) -> None:
        """Remove an empty folder."""
        os.rmdir(name, dir_fd=dir_fd)


def write_all(calls: OsCalls, fd: int, data: bytes) -> None:
    """Write every byte; the system may take them in portions."""
    rest = memoryview(data)
    while rest:
        rest = rest[calls.write(fd, rest) :]


@contextmanager
def store_errors(path: str) -> Iterator[None]:
    """Turn what the system says into a StoreError about `path`."""
    try:
        yield
    except OSError as error:
        raise store_error(error, path) from error


def store_error(error: OSError, path: str) -> StoreFull | StoreUnusable:
    """The StoreError for what the system said about `path`."""
    if error.errno in NO_SPACE:
        return StoreFull(path)
    if error.errno in {ELOOP, ENOTDIR}:
        return StoreUnusable(path, reason="a link, or not a folder, where a folder is needed")
    if error.errno in _READ_ONLY:
        return StoreUnusable(path, reason="not allowed to write or read there")
    return StoreUnusable(path, reason=error.strerror or type(error).__name__)
