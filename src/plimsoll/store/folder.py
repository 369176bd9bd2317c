"""A folder held by its descriptor. Names are opened one level at a time, and symbolic links are never followed."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from plimsoll.errors import Closes, StoreUnusable, on_failure
from plimsoll.store.os_calls import OsCalls, store_errors, write_all

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600

NEEDS_POSIX: Final = 'stores on disk need Linux, macOS or another POSIX system (WSL is one); here, use store="memory:"'

TEMPORARY: Final = "tmp-"
"""Name prefix of unfinished files. A writer removes those that dead writers left."""

_FOLDER_FLAGS: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)


class Folder(Closes):
    """An open folder. Methods raise OSError for failed system calls; the stores convert it to StoreError."""

    def __init__(self, calls: OsCalls, fd: int, path: str) -> None:
        self.calls = calls
        self.path = path
        self._fd = fd

    @property
    def fd(self) -> int:
        """The descriptor. Raises StoreUnusable once closed, since the number may be reused by then."""
        if self._fd < 0:
            raise StoreUnusable(self.path, reason="closed")
        return self._fd

    def open_file(self, name: str, flags: int) -> int:
        """Open a regular file in the folder. A new file gets owner-only permissions."""
        fd = self.calls.open(name, flags | os.O_NONBLOCK, FILE_MODE, dir_fd=self.fd)  # opening a FIFO must not block
        with on_failure(partial(self.calls.close, fd)):
            if not stat.S_ISREG(self.calls.stat(fd).st_mode):
                raise StoreUnusable(f"{self.path}/{name}", reason="not a regular file")
        return fd

    def write_file(self, name: str, data: bytes, *, durable: bool, to: Folder | None = None) -> None:
        """Write a file whole or not at all, in the place of one of that name, in this folder or `to`."""
        temporary, place = f"{TEMPORARY}{os.urandom(8).hex()}", self if to is None else to
        fd = self.open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with on_failure(partial(self._remove_begun, temporary)):
            try:
                write_all(self.calls, fd, data)
                if durable:
                    self.calls.sync(fd)
            finally:
                self.calls.close(fd)
            self.calls.rename(temporary, name, old_fd=self.fd, new_fd=place.fd)
        if durable:
            place.sync()

    def folder(self, name: str, *, create: bool = False) -> Folder:
        """Open a subfolder."""
        made = create and self._make_folder(name)
        inner = Folder(self.calls, self.calls.open(name, _FOLDER_FLAGS, dir_fd=self.fd), f"{self.path}/{name}")
        if made:
            with on_failure(inner.close):
                self.sync()
        return inner

    def _make_folder(self, name: str) -> bool:
        """Create a subfolder; returns False if it existed."""
        try:
            self.calls.make_folder(name, FOLDER_MODE, dir_fd=self.fd)
        except FileExistsError:
            return False
        return True

    def names(self) -> list[str]:
        """The names in the folder, sorted."""
        return sorted(self.calls.names(self.fd))

    def has(self, name: str) -> bool:
        """True if the name exists."""
        return self.stat_name(name) is not None

    def stat_name(self, name: str) -> os.stat_result | None:
        """The status of a name; None if it does not exist."""
        try:
            return self.calls.stat_name(name, dir_fd=self.fd)
        except FileNotFoundError:
            return None

    def is_at(self, parent: Folder, name: str) -> bool:
        """True if `parent` still has this folder under that name."""
        there = parent.stat_name(name)
        here = self.calls.stat(self.fd)
        return there is not None and (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)

    def move(self, name: str, to: Folder, new_name: str) -> None:
        """Rename, durably. A folder only replaces nothing or an empty folder."""
        self.calls.rename(name, new_name, old_fd=self.fd, new_fd=to.fd)
        to.sync()
        if to is not self:
            self.sync()

    def remove(self, name: str) -> None:
        """Remove a file."""
        self.calls.remove(name, dir_fd=self.fd)

    def _remove_begun(self, name: str) -> None:
        """Remove an unfinished file, ignoring errors."""
        with suppress(OSError):
            self.remove(name)

    def remove_tree(self, name: str, *, depth_max: int = 8) -> None:
        """Remove a file, a link, or a folder with its contents. Ignores names that another process removes meanwhile."""
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
        """Make the names in the folder durable."""
        self.calls.sync(self.fd)

    def close(self) -> None:
        """Close the folder. Idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self.calls.close(fd)


def open_root(calls: OsCalls, path: str, *, create: bool, forbidden: int = 0o022) -> Folder | None:
    """The root folder of a store; None if it does not exist and `create` is False.

    Links in the path are followed except at its last step. Raises StoreUnusable if the last step is a link, if other users can
    write to the folder, or if anybody can write to its parent (a sticky folder such as /tmp is accepted).
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
    """Create a folder and its missing parents with owner-only permissions."""
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


def _check_mode(path: str, mode: int, forbidden: int) -> None:
    if mode & forbidden and not mode & stat.S_ISVTX:
        raise StoreUnusable(
            path, reason=f"others can write to it (mode {stat.S_IMODE(mode):o}); chmod go-w makes it safe"
        )
