"""Many sessions in one SQLite file in WAL mode. Rows hold the same lines as the files of the default store.

A lock file per session in `FILE-locks` decides which process may write it: SQLite's own locks last for one transaction only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

from plimsoll.errors import (
    ReferenceNotFound,
    SessionBusy,
    SessionDamaged,
    SessionExists,
    SessionNotFound,
    StoreUnusable,
    on_failure,
)
from plimsoll.protocols import Durability, SessionInfo
from plimsoll.store.blobs import checked_blob, checked_reference, digest_of, only_match
from plimsoll.store.database import Database
from plimsoll.store.folder import open_root
from plimsoll.store.header import checked_lines, header_line, newest_first, refuse_newer, session_info
from plimsoll.store.lock import CommittedLength, Lock, acknowledged
from plimsoll.store.log import Clock, Log, Tail, lost_header, no_less, wall_clock_ms
from plimsoll.store.os_calls import OsCalls, store_errors
from plimsoll.store.paths import absolute, folder_of, safe_name
from plimsoll.store.rows import GAP_RECORDS_MAX, Row, RowReader

_SEQ_BITS: Final = 36
"""Bits of the 63-bit row id for the record number: 69 billion records in each of 134 million sessions."""

_PUT_BLOB: Final = (
    "INSERT INTO blob (session, digest, data) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data"
)
_FORTH: Final = "SELECT id, line FROM record WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
_BACK: Final = "SELECT id, line FROM record WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT ?"
_MAKE_INDEXES: Final = "CREATE TABLE IF NOT EXISTS search_index (session INTEGER PRIMARY KEY, data BLOB NOT NULL)"
_HAS_INDEXES: Final = "SELECT 1 FROM sqlite_master WHERE name = 'search_index'"
_ROWS_AT_ONCE: Final = 64
_LOCK_TRIES: Final = 100


class SqliteLines(RowReader):
    """The rows of one session."""

    def __init__(
        self,
        database: Database,
        session: int,
        lock: Lock | None,
        *,
        name: str,
        committed: CommittedLength | None = None,
    ) -> None:
        super().__init__()
        self._database = database
        self._session = session
        self._first_id = session << _SEQ_BITS
        self._lock = lock
        self._name = name
        self._committed = committed

    def tail(self) -> Tail:
        """See Lines. Acknowledged records that are absent count as missing."""
        tail, committed = super().tail(), self._committed
        if committed is None or committed.session != self._session:
            return tail
        return no_less(tail, records=committed.records, messages=committed.messages)

    def acknowledge(self, tail: Tail) -> None:
        """See Lines."""
        if self._lock is not None:
            self._lock.acknowledge(CommittedLength(session=self._session, records=tail.seq, messages=tail.messages))

    def rows(self, seq: int, stop: int) -> Iterator[Row]:
        """See RowReader. If a damaged page makes a range unreadable, its rows are read one at a time."""
        many = 1
        while seq < stop:
            found = self._found(_FORTH, seq, stop, many)
            if found is None:
                numbers = range(seq, min(seq + many, stop))
                found = [self._row(number) for number in numbers]
            if not found:
                return
            yield from found
            seq = found[-1].seq + 1
            many = min(many * 2, _ROWS_AT_ONCE)

    def rows_back(self, stop: int | None) -> Iterator[Row]:
        """See RowReader."""
        many = 1
        stop = self._findable(1 << _SEQ_BITS) if stop is None else stop
        while stop > 0:
            found = self._found(_BACK, 0, stop, many)
            if found is None:
                end = self._findable(stop - 1)
                yield from map(self._row, range(stop - 1, max(end, stop - GAP_RECORDS_MAX) - 1, -1))
                stop = end
                continue
            if not found:
                return
            yield from found
            stop = found[-1].seq
            many = min(many * 2, _ROWS_AT_ONCE)

    def _found(self, sql: str, start: int, stop: int, many: int) -> list[Row] | None:
        """Up to `many` rows numbered in `[start, stop)`; None if a damaged page prevents the query."""
        try:
            found = self._query(sql, (self._first_id + start, self._first_id + stop, many))
        except SessionDamaged:
            return None
        numbers = [row.seq for row in found]
        in_order = sorted(set(numbers), reverse=sql is _BACK)
        return found if numbers == in_order and all(start <= number < stop for number in numbers) else None

    def _row(self, seq: int) -> Row:
        """One row; its line is None if it cannot be read."""
        found = self._found(_FORTH, seq, seq + 1, 1)
        return found[0] if found else Row(seq, None)

    def _findable(self, stop: int) -> int:
        """The largest number, at most `stop`, below which the last row can be looked up without hitting a damaged page."""
        low, high = 0, stop
        while low < high:
            middle = (low + high + 1) // 2 if high < stop else high
            if self._found(_BACK, 0, middle, 1) is None:
                high = middle - 1
            else:
                low = middle
        return low

    def size_bytes(self) -> int:
        """Total bytes of all lines, newlines included."""
        sql = "SELECT size_bytes FROM record WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1"
        found = self._database.query(sql, (self._first_id, self._first_id + (1 << _SEQ_BITS)))
        return found[0][0] if found and isinstance(found[0][0], int) else 0

    def write(self, lines: Sequence[bytes], tail: Tail) -> None:
        """See Lines."""
        size = self.size_bytes()
        rows = []
        for seq, line in enumerate(lines, tail.seq):
            size += len(line)
            rows.append((self._first_id + seq, size, line.removesuffix(b"\n")))
        with self._database.transaction() as connection:
            if not connection.execute("SELECT 1 FROM session WHERE id = ?", (self._session,)).fetchone():
                raise StoreUnusable(self._database.path, reason="something else removed the session")
            connection.executemany("INSERT INTO record (id, size_bytes, line) VALUES (?, ?, ?)", rows)

    def put_blob(self, data: bytes) -> str:
        """See SessionLog. Content that does not match its digest is replaced."""
        digest = digest_of(data)
        if self._blob(digest) != data:
            with self._database.transaction() as connection:
                connection.execute(_PUT_BLOB, (self._session, digest, data))
        return digest

    def get_blob(self, reference: str) -> bytes:
        """See SessionLog."""
        reference = checked_reference(reference)
        sql = "SELECT digest FROM blob WHERE session = ? AND digest >= ? AND digest < ? LIMIT 2"
        found = self._database.query(
            sql, (self._session, reference, f"{reference}g")
        )  # "g" sorts after every hex digit
        digest = only_match(reference, [str(row[0]) for row in found])
        data = self._blob(digest)
        if not isinstance(data, bytes):
            raise ReferenceNotFound(reference)
        return checked_blob(self._name, digest, data)

    def blobs(self) -> Iterator[str]:
        """See SessionLog."""
        try:
            found = self._database.query("SELECT digest FROM blob WHERE session = ? ORDER BY digest", (self._session,))
        except SessionDamaged:  # perhaps only the index is damaged, not the table
            found = self._database.query("SELECT digest FROM blob NOT INDEXED WHERE session = ?", (self._session,))
        return (str(row[0]) for row in found)

    def get_index(self) -> bytes | None:
        """See KeepsIndex."""
        if not self._database.query(_HAS_INDEXES):
            return None
        found = self._database.query("SELECT data FROM search_index WHERE session = ?", (self._session,))
        return found[0][0] if found and isinstance(found[0][0], bytes) else None

    def put_index(self, data: bytes) -> None:
        """See KeepsIndex. Files of older versions have no table for it until now."""
        with self._database.transaction() as connection:
            connection.execute(_MAKE_INDEXES)
            if connection.execute("SELECT 1 FROM session WHERE id = ?", (self._session,)).fetchone():
                connection.execute("INSERT OR REPLACE INTO search_index VALUES (?, ?)", (self._session, data))

    def close(self) -> None:
        """See Lines."""
        if self._lock is not None:
            self._lock.release()

    def _blob(self, digest: str) -> object:
        sql = "SELECT data FROM blob WHERE session = ? AND digest = ?"
        found = self._database.query(sql, (self._session, digest))
        return found[0][0] if found else None

    def _query(self, sql: str, values: Sequence[int]) -> list[Row]:
        return [Row(row[0] - self._first_id, row[1]) for row in self._database.query(sql, values)]


class SqliteStore:
    """See Store. Creates nothing on disk before the first session."""

    def __init__(
        self, path: str | os.PathLike[str], *, durability: Durability = "fsync", clock: Clock = wall_clock_ms
    ) -> None:
        self.where = absolute(path, field="store")
        self._database = Database(self.where, durability=durability)
        self._clock = clock

    def sessions(self, *, archived: bool = False) -> list[SessionInfo]:
        """See Store."""
        if not self._database.exists():
            return []
        rows = self._database.query("SELECT id, name FROM session WHERE (archived > 0) = ?", (archived,))
        found = [self._info(row[0], str(row[1]), archived=archived) for row in rows]
        return newest_first(found)

    def create(self, name: str, about: Mapping[str, Any] | None = None) -> Log:
        """See Store."""
        line = header_line(safe_name(name), about or {}, self._clock())
        self._refuse_taken(name)
        lock = self._take_lock(name)
        with on_failure(lock.release):
            return self._log(self._add(name, [line]), name, lock)

    def create_from(self, name: str, lines: Iterable[bytes], blobs: Iterable[bytes] = ()) -> None:
        """See Store."""
        self._refuse_taken(name)
        with self._locked(name):
            self._add(name, checked_lines(name, lines), blobs)

    def open(self, name: str, *, writable: bool = True) -> Log:
        """See Store."""
        self._id(safe_name(name))
        if not writable:
            return self._log(self._id(name), name, None)
        lock = self._take_lock(name)
        with on_failure(lock.release):
            return self._log(self._id(name), name, lock)

    def delete(self, name: str) -> None:
        """See Store."""
        self._id(safe_name(name))
        with self._locked(name):
            session = self._id(name)
            first = session << _SEQ_BITS
            with self._database.transaction() as connection:
                connection.execute("DELETE FROM record WHERE id >= ? AND id < ?", (first, first + (1 << _SEQ_BITS)))
                connection.execute("DELETE FROM blob WHERE session = ?", (session,))
                if connection.execute(_HAS_INDEXES).fetchone():
                    connection.execute("DELETE FROM search_index WHERE session = ?", (session,))
                connection.execute("DELETE FROM session WHERE id = ?", (session,))
            self._remove_lock(name)

    def archive(self, name: str) -> None:
        """See Store."""
        sql = (
            "UPDATE session SET archived = (SELECT max(archived) + 1 FROM session WHERE name = ?)"
            " WHERE name = ? AND archived = 0"
        )
        self._id(safe_name(name))
        with self._locked(name), self._database.transaction() as connection:
            connection.execute(sql, (name, name))

    def restore(self, name: str) -> None:
        """See Store."""
        sql = (
            "UPDATE session SET archived = 0 WHERE archived > 0 AND name = ?"
            " AND archived = (SELECT max(archived) FROM session WHERE name = ?)"
        )
        with self._locked(name), self._database.transaction() as connection:
            if connection.execute("SELECT 1 FROM session WHERE name = ? AND archived = 0", (name,)).fetchone():
                raise SessionExists(name)
            if connection.execute(sql, (name, name)).rowcount != 1:
                raise SessionNotFound(name)

    def findings(self) -> tuple[str, ...]:
        """See Store. Checks every page of the file."""
        return self._database.findings() if self._database.exists() else ()

    def close(self) -> None:
        """Close the database. It reopens when needed."""
        self._database.close()

    def _id(self, name: str) -> int:
        sql = "SELECT id FROM session WHERE name = ? AND archived = 0"
        found = self._database.query(sql, (name,)) if self._database.exists() else []
        if not found:
            raise SessionNotFound(name)
        return int(found[0][0])

    def _refuse_taken(self, name: str) -> None:
        """Raise SessionExists if the name is taken, even while another process writes that session. Creates the file if missing."""
        self._database.check_writable()
        with suppress(SessionNotFound):
            self._id(safe_name(name))
            raise SessionExists(name)

    def _add(self, name: str, lines: Iterable[bytes], blobs: Iterable[bytes] = ()) -> int:
        with self._database.transaction() as connection:
            if connection.execute("SELECT 1 FROM session WHERE name = ? AND archived = 0", (name,)).fetchone():
                raise SessionExists(name)
            session = connection.execute("INSERT INTO session (name) VALUES (?)", (name,)).lastrowid
            assert session is not None
            size = 0
            for seq, line in enumerate(lines):
                size += len(line)
                row = ((session << _SEQ_BITS) + seq, size, line.removesuffix(b"\n"))
                connection.execute("INSERT INTO record (id, size_bytes, line) VALUES (?, ?, ?)", row)
            for data in blobs:
                connection.execute(_PUT_BLOB, (session, digest_of(data), data))
            return session

    def _log(self, session: int, name: str, lock: Lock | None) -> Log:
        lines = SqliteLines(self._database, session, lock, name=name, committed=self._committed(name))
        refuse_newer(name, lines.header())
        damage = []
        if lock is not None:
            self._database.check_writable()
        if lock is not None and lines.tail().seq == 0:
            lines.write([header_line(name, {}, self._clock())], Tail())
            damage.append(lost_header())
        where = f"{self.where}#{name}"
        return Log(lines, name=name, where=where, writable=lock is not None, clock=self._clock, damage=damage)

    def _info(self, session: int, name: str, *, archived: bool) -> SessionInfo:
        lines = SqliteLines(self._database, session, None, name=name)
        try:
            size_bytes = lines.size_bytes()
        except SessionDamaged:
            size_bytes = 0
        back = lines.raw_back()
        return session_info(
            name, lines.header(), lines.tail(), lines_back=back, size_bytes=size_bytes, archived=archived
        )

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        lock = self._take_lock(safe_name(name))
        try:
            yield
        finally:
            lock.release()

    def _committed(self, name: str) -> CommittedLength | None:
        """The acknowledged length of the session, or None if unknown."""
        with suppress(StoreUnusable):
            locks = open_root(OsCalls(), f"{self.where}-locks", create=False)
            if locks is not None:
                with locks:
                    return acknowledged(locks, f"{folder_of(name)}.lock")
        return None

    def _remove_lock(self, name: str) -> None:
        locks = open_root(OsCalls(), f"{self.where}-locks", create=False)
        if locks is not None:
            with locks, suppress(OSError):
                locks.remove(f"{folder_of(name)}.lock")

    def _take_lock(self, name: str) -> Lock:
        """Acquire the session's lock; retry if a delete removed its file meanwhile."""
        path = f"{self.where}-locks"
        locks = open_root(OsCalls(), path, create=True)
        assert locks is not None
        with locks, store_errors(path):
            for _ in range(_LOCK_TRIES):
                with ExitStack() as undo:
                    lock = Lock(locks, session=name, name=f"{folder_of(name)}.lock")
                    undo.callback(lock.release)
                    if lock.is_at(locks):
                        undo.pop_all()
                        return lock
        raise SessionBusy(name)
