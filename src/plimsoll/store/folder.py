"""A folder held by its descriptor: what is below it is reached by name, one level at a time, and no link is followed."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, Self

from plimsoll.errors import StoreUnusable, on_failure
from plimsoll.store.os_calls import OsCalls, store_errors, write_all

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600

NEEDS_POSIX: Final = 'stores on disk need Linux, macOS or another POSIX system (WSL is one); here, use store="memory:"'

_FOLDER_FLAGS: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)


class Folder:
    """An open folder. Methods raise OSError as the system says it; the stores turn that into StoreError."""

    def __init__(self, calls: OsCalls, fd: int, path: str) -> None:
        self.calls = calls
        self.path = path
        self._fd = fd

    @property
    def fd(self) -> int:
        """The descriptor. Raises StoreUnusable once closed, so that a number used again is never mistaken for it."""
        if self._fd < 0:
            raise StoreUnusable(self.path, reason="closed")
        return self._fd

    def open_file(self, name: str, flags: int) -> int:
        """A descriptor of a regular file in it. A file made here is the owner's alone."""
        fd = self.calls.open(name, flags | os.O_NONBLOCK, FILE_MODE, dir_fd=self.fd)  # a FIFO must not make us wait
        with on_failure(partial(self.calls.close, fd)):
            _check_file(self.calls.stat(fd).st_mode, f"{self.path}/{name}")
        return fd

    def write_new(self, name: str, data: bytes, *, durable: bool) -> None:
        """A new file with these bytes, or none: what was begun is removed. The name itself is durable after `sync`."""
        fd = self.open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with on_failure(partial(self.remove_begun, name)):
            try:
                write_all(self.calls, fd, data)
                if durable:
                    self.calls.sync(fd)
            finally:
                self.calls.close(fd)

    def folder(self, name: str, *, create: bool = False) -> Folder:
        """A folder in it."""
        made = create and self._make_folder(name)
        inner = Folder(self.calls, self.calls.open(name, _FOLDER_FLAGS, dir_fd=self.fd), f"{self.path}/{name}")
        if made:
            with on_failure(inner.close):
                self.sync()
        return inner

    def _make_folder(self, name: str) -> bool:
        """Make a folder in it; says whether it was not there."""
        try:
            self.calls.make_folder(name, FOLDER_MODE, dir_fd=self.fd)
        except FileExistsError:
            return False
        return True

    def names(self) -> list[str]:
        """The names in it, sorted."""
        return sorted(self.calls.names(self.fd))

    def has(self, name: str) -> bool:
        """Whether there is anything of that name."""
        return self.stat_name(name) is not None

    def stat_name(self, name: str) -> os.stat_result | None:
        """What a name is, None when there is none."""
        try:
            return self.calls.stat_name(name, dir_fd=self.fd)
        except FileNotFoundError:
            return None

    def is_at(self, parent: Folder, name: str) -> bool:
        """Whether this folder is still the one that `parent` calls so."""
        there = parent.stat_name(name)
        here = self.calls.stat(self.fd)
        return there is not None and (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)

    def move(self, name: str, to: Folder, new_name: str) -> None:
        """Rename, durably. A folder is moved only over nothing or an empty folder."""
        self.calls.rename(name, new_name, old_fd=self.fd, new_fd=to.fd)
        to.sync()
        if to is not self:
            self.sync()

    def remove(self, name: str) -> None:
        """Remove a file."""
        self.calls.remove(name, dir_fd=self.fd)

    def remove_begun(self, name: str) -> None:
        """Remove a file that was not finished, if that can be done."""
        with suppress(OSError):
            self.remove(name)

    def remove_tree(self, name: str, *, depth_max: int = 8) -> None:
        """Remove a file, a link, or a folder with what is in it. What another process removes meanwhile is fine."""
        there = self.stat_name(name)
        if there is None:
            return
        if depth_max == 0:
            raise StoreUnusable(f"{self.path}/{name}", reason="folders nested deeper than any store makes them")
        with suppress(FileNotFoundError):
            if not stat.S_ISDIR(there.st_mode):
                self.remove(name)
                return
            with self.folder(name) as inner:
                for below in inner.names():
                    inner.remove_tree(below, depth_max=depth_max - 1)
            self.calls.remove_folder(name, dir_fd=self.fd)

    def sync(self) -> None:
        """Make its names durable."""
        self.calls.sync(self.fd)

    def close(self) -> None:
        """Close it; twice is fine."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self.calls.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def open_root(calls: OsCalls, path: str, *, create: bool, forbidden: int = 0o022) -> Folder | None:
    """The folder a store lives in; None when it is not there and `create` is off.

    How the user reaches it is the user's affair, except that its last step may not be a link and that nobody else may
    be able to swap what is in it: StoreUnusable when others can write to it, or anybody to the folder it is in (a
    sticky folder such as /tmp is fine).
    """
    if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
        raise StoreUnusable(path, reason=NEEDS_POSIX)
    with store_errors(path):
        if create:
            _make(calls, path)
        try:
            fd = calls.open(path, _FOLDER_FLAGS)
        except FileNotFoundError:
            return None
        root = Folder(calls, fd, path)
        with on_failure(root.close):
            _check_modes(root, forbidden)
        return root


def _make(calls: OsCalls, path: str) -> None:
    """Make a folder and those above it that are missing, for the owner alone."""
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = str(Path(path).parent)
    for folder in reversed(missing):
        with suppress(FileExistsError):
            calls.make_folder(folder, FOLDER_MODE)


def _check_modes(root: Folder, forbidden: int) -> None:
    _check_mode(root.path, root.calls.stat(root.fd).st_mode, forbidden)
    above = Path(root.path).parent
    _check_mode(str(above), above.stat().st_mode, 0o002)


def _check_file(mode: int, path: str) -> None:
    if not stat.S_ISREG(mode):
        raise StoreUnusable(path, reason="not a regular file")


def _check_mode(path: str, mode: int, forbidden: int) -> None:
    if mode & forbidden and not mode & stat.S_ISVTX:
        raise StoreUnusable(
            path, reason=f"others can write to it (mode {stat.S_IMODE(mode):o}); chmod go-w makes it safe"
        )
