"""The default store: a directory with one folder per session.

DIRECTORY/
  my-session/log.jsonl          the log, one record per line (docs/format.md)
  my-session/lock               held by the writer, if any
  my-session/blobs/ab/ab12…     content moved out of the log, named by its SHA-256
  my-session/index              for searching; made again from the log where it is missing or damaged
  my-session/torn-1200-5f3a…    the bytes of an interrupted append, kept for inspection
  .archive/                     archived sessions
  .work/                        sessions being created or removed
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from errno import EEXIST, ENOTEMPTY
from typing import Any, Final

from plimsoll.errors import SessionExists, SessionNotFound, StoreError, on_failure
from plimsoll.protocols import Durability, SessionInfo
from plimsoll.store.blobs import BlobFolder
from plimsoll.store.folder import Folder, open_root
from plimsoll.store.header import checked_lines, header_line, newest_first, refuse_newer, session_info
from plimsoll.store.jsonl_lines import JsonlLines
from plimsoll.store.lock import Lock
from plimsoll.store.log import Clock, Log, wall_clock_ms
from plimsoll.store.log_file import LogFile
from plimsoll.store.os_calls import OS_CALLS, OsCalls, store_errors, write_all
from plimsoll.store.paths import absolute, folder_of, name_of, safe_name
from plimsoll.store.sorted_lines import SortedLines

LOG_NAME: Final = "log.jsonl"
ARCHIVE: Final = ".archive"
WORK: Final = ".work"

_WRITE_SIZE_BYTES: Final = 1 << 20

_STALE_AFTER_MS: Final = 3_600_000
"""Age at which an unfinished session is taken to be left over from a dead process."""


class JsonlStore:
    """See Store. Creates nothing on disk before the first session."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "fsync",
        calls: OsCalls | None = None,
        clock: Clock = wall_clock_ms,
    ) -> None:
        self.where = absolute(path, field="store")
        self._durable = durability == "fsync"
        self._calls = OS_CALLS if calls is None else calls
        self._clock = clock

    def sessions(self, *, archived: bool = False) -> list[SessionInfo]:
        """See Store. Omits folders whose log cannot be opened for reading."""
        root = open_root(self._calls, self.where, create=False)
        if root is None:
            return []
        with root, store_errors(self.where):
            if not archived:
                return newest_first(self._listed(root, archived=False))
            if not root.has(ARCHIVE):
                return []
            with root.folder(ARCHIVE) as archive:
                return newest_first(self._listed(archive, archived=True))

    def create(self, name: str, about: Mapping[str, Any] | None = None) -> Log:
        """See Store."""
        line = header_line(safe_name(name), about or {}, self._clock())
        return self._make(name, [line])

    def create_from(self, name: str, lines: Iterable[bytes], blobs: Iterable[bytes] = ()) -> None:
        """See Store."""
        self._make(safe_name(name), checked_lines(name, lines), blobs).close()

    @contextmanager
    def drafted(self, name: str) -> Iterator[JsonlStore]:
        """A hidden store in which to create the session; the session is moved here when the block ends.

        Raises SessionExists if the name is taken by then.
        """
        root = open_root(self._calls, self.where, create=True)
        assert root is not None
        with root, store_errors(f"{self.where}/{folder_of(name)}"), root.folder(WORK, create=True) as work:
            making = f"new-{os.urandom(8).hex()}"
            path = f"{self.where}/{WORK}/{making}"
            try:
                yield JsonlStore(
                    path, durability="fsync" if self._durable else "os", calls=self._calls, clock=self._clock
                )
                with work.folder(making) as made, _no_overwriting(name):
                    made.move(folder_of(name), root, folder_of(name))
            finally:
                _remove_quietly(work, making)

    def open(self, name: str, *, writable: bool = True) -> Log:
        """See Store."""
        with self._root(name) as root, store_errors(f"{self.where}/{folder_of(name)}"):
            folder = self._folder(root, name)
            with on_failure(folder.close):
                lock = self._lock(root, folder, name) if writable else None
            try:
                return self._log(folder, name, lock)
            except FileNotFoundError:  # readers hold no lock, so the session can be deleted meanwhile
                raise SessionNotFound(name) from None

    def open_sorted(self, name: str) -> Log:
        """Open a session for reading with its records sorted by number. Reads the whole file first."""
        with self._root(name) as root, store_errors(f"{self.where}/{folder_of(name)}"), ExitStack() as undo:
            folder = self._folder(root, name)
            undo.callback(folder.close)
            path = f"{folder.path}/{LOG_NAME}"
            file = LogFile(self._calls, folder.open_file(LOG_NAME, os.O_RDONLY), path)
            undo.callback(file.close)
            lines = SortedLines(folder, file, session=name)
            refuse_newer(name, lines.header())
            log = Log(lines, name=name, where=path, writable=False, clock=self._clock, damage=lines.misplaced())
            undo.pop_all()
        return log

    def delete(self, name: str) -> None:
        """See Store. The session disappears at once; the next delete removes what a crash leaves behind."""
        with self._owned(name) as root, root.folder(WORK, create=True) as work:
            root.move(folder_of(name), work, f"gone-{os.urandom(8).hex()}")
            self._sweep(work)

    def archive(self, name: str) -> None:
        """See Store."""
        folder_name = folder_of(safe_name(name))
        with self._owned(name) as root, root.folder(ARCHIVE, create=True) as archive:
            numbers = _archived_as(archive, folder_name)
            number = max(numbers, default=-1) + 1
            root.move(folder_name, archive, f"{folder_name}+{number}")

    def restore(self, name: str) -> None:
        """See Store."""
        folder_name = folder_of(safe_name(name))
        with self._root(name) as root, store_errors(f"{self.where}/{ARCHIVE}"):
            try:
                archive = root.folder(ARCHIVE)
            except FileNotFoundError:
                raise SessionNotFound(name) from None
            with archive:
                numbers = _archived_as(archive, folder_name)
                if not numbers:
                    raise SessionNotFound(name)
                with _no_overwriting(name):
                    archive.move(f"{folder_name}+{max(numbers)}", root, folder_name)

    def findings(self) -> tuple[str, ...]:
        """See Store. Always empty: a folder that can be opened can be listed."""
        return ()

    def close(self) -> None:
        """Do nothing: no resource is held between calls."""

    def _root(self, name: str) -> Folder:
        safe_name(name)
        root = open_root(self._calls, self.where, create=False)
        if root is None:
            raise SessionNotFound(name)
        return root

    def _make(self, name: str, lines: Iterable[bytes], blobs: Iterable[bytes] = ()) -> Log:
        """Build the session in the work folder and rename it when it is complete."""
        root = open_root(self._calls, self.where, create=True)
        assert root is not None
        with root, store_errors(f"{self.where}/{folder_of(name)}"), root.folder(WORK, create=True) as work:
            making = f"new-{os.urandom(8).hex()}"
            with ExitStack() as undo:
                undo.callback(_remove_quietly, work, making)
                folder = work.folder(making, create=True)
                undo.callback(folder.close)
                lock = Lock(folder, session=name)
                undo.callback(lock.release)
                self._write_log(folder, lines)
                kept = BlobFolder(folder, name=name, durable=self._durable)
                for data in blobs:
                    kept.put(data)
                with _no_overwriting(name):
                    work.move(making, root, folder_of(name))
                folder.path = f"{self.where}/{folder_of(name)}"
                undo.pop_all()
            return self._log(folder, name, lock)

    def _write_log(self, folder: Folder, lines: Iterable[bytes]) -> None:
        fd = folder.open_file(LOG_NAME, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            for portion in _joined(lines):
                write_all(self._calls, fd, portion)
            if self._durable:
                self._calls.sync(fd)
        finally:
            self._calls.close(fd)
        if self._durable:
            folder.sync()

    def _folder(self, root: Folder, name: str) -> Folder:
        """The folder of an existing session."""
        try:
            folder = root.folder(folder_of(name))
        except FileNotFoundError:
            raise SessionNotFound(name) from None
        with on_failure(folder.close):
            if not folder.has(LOG_NAME):
                raise SessionNotFound(name)
        return folder

    def _lock(self, root: Folder, folder: Folder, name: str) -> Lock:
        """The lock of a session, checked not to belong to one deleted or archived before the lock was acquired."""
        lock = Lock(folder, session=name)
        with on_failure(lock.release):
            if not folder.is_at(root, folder_of(name)):
                raise SessionNotFound(name)
        return lock

    @contextmanager
    def _owned(self, name: str) -> Iterator[Folder]:
        """The store's folder, with the session locked against other writers."""
        with (
            self._root(name) as root,
            store_errors(f"{self.where}/{folder_of(name)}"),
            self._folder(root, name) as folder,
        ):
            lock = self._lock(root, folder, name)
            try:
                yield root
            finally:
                lock.release()

    def _log(self, folder: Folder, name: str, lock: Lock | None) -> Log:
        """The open log of a folder, writable if there is a lock. Takes ownership of folder and lock."""
        flags = os.O_RDONLY if lock is None else os.O_RDWR | os.O_APPEND
        path = f"{folder.path}/{LOG_NAME}"
        with ExitStack() as undo:
            undo.callback(folder.close)
            if lock is not None:
                undo.callback(lock.release)
            file = LogFile(self._calls, folder.open_file(LOG_NAME, flags), path)
            undo.callback(file.close)
            lines = JsonlLines(folder, file, lock, session=name, durable=self._durable)
            refuse_newer(name, lines.header())
            damage = [] if lock is None else lines.mend(name, self._clock())
            log = Log(lines, name=name, where=path, writable=lock is not None, clock=self._clock, damage=damage)
            undo.pop_all()
        return log

    def _listed(self, place: Folder, *, archived: bool) -> Iterator[SessionInfo]:
        for folder_name in place.names():
            name = name_of(folder_name.split("+", 1)[0] if archived else folder_name)
            if name is None:
                continue
            with suppress(OSError, StoreError), place.folder(folder_name) as folder:
                fd = folder.open_file(LOG_NAME, os.O_RDONLY)
                file = LogFile(self._calls, fd, f"{folder.path}/{LOG_NAME}")
                try:
                    lines = JsonlLines(folder, file, None, session=name, durable=False)
                    yield session_info(
                        name,
                        lines.header(),
                        lines.tail(),
                        lines_back=lines.raw_back(),
                        size_bytes=file.size(),
                        archived=archived,
                    )
                finally:
                    file.close()

    def _sweep(self, work: Folder) -> None:
        """Remove sessions being deleted, and what dead processes left unfinished."""
        for name in work.names():
            there = work.stat_name(name)
            if name.startswith("gone-") or (there and self._clock() - there.st_mtime * 1000 > _STALE_AFTER_MS):
                work.remove_tree(name)


def _remove_quietly(place: Folder, name: str) -> None:
    """Remove an unfinished folder, ignoring errors: a later delete sweeps it."""
    with suppress(OSError, StoreError):
        place.remove_tree(name)


def _joined(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Join lines into blocks that are worth a system call."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= _WRITE_SIZE_BYTES:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


def _archived_as(archive: Folder, folder_name: str) -> list[int]:
    """The numbers under which sessions of that folder name are archived. The highest is the newest."""
    matches = (re.fullmatch(r"(.+)\+(\d{1,9})", name) for name in archive.names())
    return [int(match[2]) for match in matches if match and match[1] == folder_name]


@contextmanager
def _no_overwriting(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in {EEXIST, ENOTEMPTY}:
            raise SessionExists(name) from None
        raise
