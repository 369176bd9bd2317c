"""Sessions in the memory of this process. They use the same codec as sessions on disk, so they behave the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock as Mutex
from threading import RLock
from types import MappingProxyType
from typing import Any

from plimsoll.errors import ReferenceNotFound, SessionBusy, SessionExists, SessionNotFound, SettingError, StoreFull
from plimsoll.light.dataclass import dataclass, field
from plimsoll.protocols import SessionInfo
from plimsoll.store.blobs import checked_blob, checked_reference, digest_of, only_match
from plimsoll.store.header import checked_lines, header_line, newest_first, refuse_newer, session_info
from plimsoll.store.log import Clock, Log, Tail, wall_clock_ms
from plimsoll.store.paths import safe_name
from plimsoll.store.rows import Row, RowReader


@dataclass(slots=True, eq=False)
class _Session:
    lines: list[bytes] = field(default_factory=list)
    """Without newlines; the index is the record number."""
    blobs: dict[str, bytes] = field(default_factory=dict)
    size_bytes: int = 0
    """Total bytes of the lines, newlines included."""
    has_writer: bool = False
    index: bytes | None = None


class MemoryLines(RowReader):
    """The lines of one session in memory."""

    def __init__(self, store: InMemoryStore, session: _Session, *, name: str, writable: bool) -> None:
        super().__init__()
        self._store = store
        self._session = session
        self._name = name
        self._writable = writable

    def rows(self, seq: int, stop: int) -> Iterator[Row]:
        """See RowReader."""
        return (Row(index, self._session.lines[index]) for index in range(seq, stop))

    def rows_back(self, stop: int | None) -> Iterator[Row]:
        """See RowReader."""
        last = len(self._session.lines) if stop is None else stop
        return (Row(index, self._session.lines[index]) for index in range(last - 1, -1, -1))

    def write(self, lines: Sequence[bytes], tail: Tail) -> None:  # noqa: ARG002 - the list itself gives the end
        """See Lines."""
        size = sum(len(line) for line in lines)
        self._store.reserve(size)
        self._session.lines.extend([line.removesuffix(b"\n") for line in lines])  # one step: a thread may be reading
        self._session.size_bytes += size

    def acknowledge(self, tail: Tail) -> None:
        """See Lines. Does nothing: memory cannot lose acknowledged records."""

    def put_blob(self, data: bytes) -> str:
        """See SessionLog."""
        digest = digest_of(data)
        if digest not in self._session.blobs:
            self._store.reserve(len(data))
            self._session.blobs[digest] = data
        return digest

    def get_blob(self, reference: str) -> bytes:
        """See SessionLog."""
        reference = checked_reference(reference)
        digest = reference if len(reference) == 64 else only_match(reference, list(self._session.blobs))
        if digest not in self._session.blobs:
            raise ReferenceNotFound(reference)
        return checked_blob(self._name, digest, self._session.blobs[digest])

    def blobs(self) -> Iterator[str]:
        """See SessionLog."""
        return iter(sorted(self._session.blobs))

    def get_index(self) -> bytes | None:
        """See KeepsIndex."""
        return self._session.index

    def put_index(self, data: bytes) -> None:
        """See KeepsIndex. Its bytes are not counted: no message is refused for them."""
        self._session.index = data

    def close(self) -> None:
        """See Lines."""
        if self._writable:
            self._writable = False
            self._session.has_writer = False


class InMemoryStore:
    """See Store. `size_bytes_max` limits lines and blobs together; appending beyond it raises StoreFull and drops nothing."""

    def __init__(
        self, where: str = "memory:", *, size_bytes_max: int | None = None, clock: Clock = wall_clock_ms
    ) -> None:
        if size_bytes_max is not None and size_bytes_max < 0:
            raise SettingError("size_bytes_max", "must not be negative")
        self.where = where
        self._size_bytes_max = size_bytes_max
        self._size_bytes = 0
        self._clock = clock
        self._mutex = RLock()
        self._sessions: dict[str, _Session] = {}
        self._archived: dict[str, list[_Session]] = {}

    def sessions(self, *, archived: bool = False) -> list[SessionInfo]:
        """See Store."""
        with self._mutex:
            kept = [(name, [one]) for name, one in self._sessions.items()]
            named = list(self._archived.items()) if archived else kept
        found = [self._info(name, one, archived=archived) for name, many in named for one in many]
        return newest_first(found)

    def create(self, name: str, about: Mapping[str, Any] | None = None) -> Log:
        """See Store."""
        line = header_line(safe_name(name), about or {}, self._clock())
        session = self._add(name, [line], has_writer=True)
        return self._log(session, name, writable=True)

    def create_from(self, name: str, lines: Iterable[bytes], blobs: Iterable[bytes] = ()) -> None:
        """See Store."""
        kept = {digest_of(data): data for data in blobs}
        self._add(safe_name(name), list(checked_lines(name, lines)), kept, has_writer=False)

    def open(self, name: str, *, writable: bool = True) -> Log:
        """See Store."""
        with self._mutex:
            session = self._found(name)
            refuse_newer(name, MemoryLines(self, session, name=name, writable=False).header())
            if writable:
                if session.has_writer:
                    raise SessionBusy(name, here=True)
                session.has_writer = True
        return self._log(session, name, writable=writable)

    def delete(self, name: str) -> None:
        """See Store."""
        with self._removed(name) as session:
            self._size_bytes -= session.size_bytes + sum(map(len, session.blobs.values()))

    def archive(self, name: str) -> None:
        """See Store."""
        with self._removed(name) as session:
            self._archived.setdefault(name, []).append(session)

    def restore(self, name: str) -> None:
        """See Store."""
        with self._mutex:
            many = self._archived.get(safe_name(name))
            if not many:
                raise SessionNotFound(name)
            if name in self._sessions:
                raise SessionExists(name)
            self._sessions[name] = many.pop()

    def findings(self) -> tuple[str, ...]:
        """See Store."""
        return ()

    def close(self) -> None:
        """Do nothing: the sessions live as long as the store object."""

    def reserve(self, size_bytes: int) -> None:
        """Reserve `size_bytes` more bytes. Raises StoreFull."""
        with self._mutex:
            if self._size_bytes_max is not None and self._size_bytes + size_bytes > self._size_bytes_max:
                raise StoreFull(self.where)
            self._size_bytes += size_bytes

    def _add(
        self, name: str, lines: list[bytes], blobs: Mapping[str, bytes] = MappingProxyType({}), *, has_writer: bool
    ) -> _Session:
        bare = [line.removesuffix(b"\n") for line in lines]
        session = _Session(bare, dict(blobs), size_bytes=sum(map(len, lines)), has_writer=has_writer)
        with self._mutex:
            if name in self._sessions:
                raise SessionExists(name)
            self.reserve(session.size_bytes + sum(map(len, blobs.values())))
            self._sessions[name] = session
        return session

    def _found(self, name: str) -> _Session:
        session = self._sessions.get(safe_name(name))
        if session is None:
            raise SessionNotFound(name)
        return session

    @contextmanager
    def _removed(self, name: str) -> Iterator[_Session]:
        with self._mutex:
            session = self._found(name)
            if session.has_writer:
                raise SessionBusy(name, here=True)
            del self._sessions[name]
            yield session

    def _log(self, session: _Session, name: str, *, writable: bool) -> Log:
        lines = MemoryLines(self, session, name=name, writable=writable)
        where = f"{self.where}{name}"
        return Log(lines, name=name, where=where, writable=writable, clock=self._clock, outlives_process=False)

    def _info(self, name: str, session: _Session, *, archived: bool) -> SessionInfo:
        lines = MemoryLines(self, session, name=name, writable=False)
        back = lines.raw_back()
        return session_info(
            name, lines.header(), lines.tail(), lines_back=back, size_bytes=session.size_bytes, archived=archived
        )


_shared: dict[str, InMemoryStore] = {}
_sharing = Mutex()


def shared_memory_store(where: str) -> InMemoryStore:
    """The store of that name in this process, so that a session can be reopened, listed and deleted by name."""
    with _sharing:
        return _shared.setdefault(where, InMemoryStore(where))
