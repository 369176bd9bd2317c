"""The SQLite file behind a store: safe creation, lazy connection, transactions, and translation of errors."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any, Final
from urllib.parse import quote

from plimsoll.errors import NewerFormat, SessionDamaged, StoreError, StoreFull, StoreUnusable, on_failure
from plimsoll.light.dataclass import dataclass
from plimsoll.protocols import Durability
from plimsoll.store.folder import open_root
from plimsoll.store.os_calls import OsCalls, store_errors

SCHEMA_VERSION: Final = 1
APPLICATION_ID: Final = 0x504C4D53  # "PLMS"

_BUSY_TIMEOUT_S: Final = 30.0
_PAGE_SIZE_BYTES: Final = 16_384
"""Large enough for several messages per page. Larger pages waste as much space and cost more to sync."""

_SHARED_SIZE_BYTES: Final = 32_768
"""The step in which SQLite's shared memory file grows."""

_CHECKPOINT_PAGES: Final = 256
_FINDINGS_MAX: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """What one kind of file holds. Files of another kind are refused."""

    application_id: int
    version: int
    statements: str
    """SQL that creates the tables, separated by semicolons."""


SESSIONS: Final = Schema(
    application_id=APPLICATION_ID,
    version=SCHEMA_VERSION,
    statements="""
CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, archived INTEGER NOT NULL DEFAULT 0, UNIQUE (name, archived)
);
CREATE TABLE record (id INTEGER PRIMARY KEY, size_bytes INTEGER NOT NULL, line BLOB NOT NULL);
CREATE TABLE blob (session INTEGER NOT NULL, digest TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (session, digest))
""",
)
"""A record's id combines session and number in one integer, so that rows are stored in reading order."""

_abandoned: list[sqlite3.Connection] = []
"""Connections inherited over a fork. Closing them in the child would release the parent's file locks."""


class Database:
    """A connection opened on first use, and again after a fork or an I/O error. Shared by threads."""

    def __init__(self, path: str, *, durability: Durability, schema: Schema = SESSIONS) -> None:
        self.path = path
        self._schema = schema
        self.mutex = RLock()
        self._durability = durability
        self._connection: sqlite3.Connection | None = None
        self._refusal: Callable[[], StoreError] | None = None
        """Makes the error of a connection that can only read."""
        self._pid = 0
        self._uses = 0
        self._close_after_use = False

    def exists(self) -> bool:
        """True if the file exists."""
        return os.path.lexists(self.path)

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a statement. Values are always passed as parameters."""
        with self._used(), self._errors():
            return self._connected().execute(sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: committed durably when the block ends, rolled back if it raises."""
        with self._used(), self._errors():
            self.check_writable()
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
            with on_failure(partial(_roll_back, connection)):
                yield connection
                connection.execute("COMMIT")

    def findings(self) -> tuple[str, ...]:
        """The messages of SQLite's integrity check; empty if the file is intact."""
        try:
            found = [str(row[0]) for row in self.query(f"PRAGMA integrity_check({_FINDINGS_MAX})")]
        except SessionDamaged as error:
            return (error.detail,)
        return tuple(text for text in found if text != "ok")

    def check_writable(self) -> None:
        """Raise StoreUnusable or StoreFull if the file can only be read."""
        with self._used(), self._errors():
            self._connected()
            if self._refusal is not None:
                raise self._refusal()

    def close(self) -> None:
        """Close the connection; it reopens when needed.

        If this thread is inside a statement (a session was garbage-collected during it), closing waits until the statement is done.
        """
        with self.mutex:
            if self._uses:
                self._close_after_use = True
                return
            connection, self._connection = self._connection, None
            if connection is None:
                return
            if self._pid != os.getpid():
                _abandoned.append(connection)
                return
            with suppress(sqlite3.Error):
                connection.close()

    @contextmanager
    def _used(self) -> Iterator[None]:
        """Hold the connection during one statement or transaction."""
        with self.mutex:
            self._uses += 1
            try:
                yield
            finally:
                self._uses -= 1
                if self._close_after_use and not self._uses:
                    self._close_after_use = False
                    self.close()

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and self._pid != os.getpid():
            _abandoned.append(self._connection)
            self._connection = None
        if self._connection is None:
            self._make_file()
            self._connection = self._connect()
            self._pid = os.getpid()
        return self._connection

    def _make_file(self) -> None:
        """Create the file with owner-only permissions if it is missing. SQLite gives the WAL file the same mode."""
        folder_path, name = os.path.split(self.path)
        with store_errors(self.path):
            folder = open_root(OsCalls(), folder_path, create=True, forbidden=0o002)
            assert folder is not None
            with folder:
                there = folder.stat_name(name)
                if there is None:
                    with suppress(FileExistsError):
                        fd = folder.open_file(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
                        os.close(fd)
                        folder.sync()
                for end in ("", "-wal", "-shm", "-journal"):  # SQLite would block on opening a FIFO
                    there = folder.stat_name(f"{name}{end}")
                    if there is not None and not stat.S_ISREG(there.st_mode):
                        raise StoreUnusable(f"{self.path}{end}", reason="not a regular file")

    def _connect(self) -> sqlite3.Connection:
        deadline = time.monotonic() + _BUSY_TIMEOUT_S
        while True:
            try:
                return self._connect_once()
            except sqlite3.OperationalError as error:
                if _primary(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _connect_once(self) -> sqlite3.Connection:
        connection = _open(self.path)
        try:
            with on_failure(connection.close):
                self._refusal = None
                _prepare(connection, self.path, self._schema, durability=self._durability)
        except sqlite3.OperationalError as error:
            if not _is_out_of_space(error, self.path):
                if _primary(error) not in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}:
                    raise
                return self._connect_read_only(
                    error, partial(StoreUnusable, self.path, reason="not allowed to write there")
                )
            self._close_after_use = True  # somebody may make room, and others write: this connection would not see it
            return self._connect_read_only(error, partial(StoreFull, self.path))
        return connection

    def _connect_read_only(self, cause: sqlite3.Error, refusal: Callable[[], StoreError]) -> sqlite3.Connection:
        """Open read-only. Where nothing can be written no WAL can be shared either; if there is none, the file is complete."""
        if _size_bytes(f"{self.path}-wal"):
            raise cause
        connection = _open(f"file:{quote(self.path)}?mode=ro&immutable=1", uri=True)
        with on_failure(connection.close):
            _check_version(connection, self.path, self._schema)
        self._refusal = refusal
        return connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if _is_out_of_space(error, self.path):
                raise StoreFull(self.path) from error
            if _primary(error) == sqlite3.SQLITE_IOERR:
                self.close()
            raise _store_error(error, self.path) from error


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _open(database: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(database, isolation_level=None, timeout=_BUSY_TIMEOUT_S, check_same_thread=False, uri=uri)


def _prepare(connection: sqlite3.Connection, path: str, schema: Schema, *, durability: Durability) -> None:
    connection.execute(f"PRAGMA page_size = {_PAGE_SIZE_BYTES}")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA secure_delete = ON")
    new = _check_version(connection, path, schema)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'fsync' else 'NORMAL'}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    connection.execute(f"PRAGMA journal_size_limit = {_CHECKPOINT_PAGES * _PAGE_SIZE_BYTES}")
    if new:
        _create(connection, schema)


def _create(connection: sqlite3.Connection, schema: Schema) -> None:
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:  # otherwise another process was faster
        for statement in schema.statements.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {schema.application_id}")
        connection.execute(f"PRAGMA user_version = {schema.version}")
    connection.execute("COMMIT")


def _check_version(connection: sqlite3.Connection, path: str, schema: Schema) -> bool:
    """True if the file is empty. Raises NewerFormat, and StoreUnusable for another application's database."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if version == 0 and application == 0 and tables == 0:
        return True
    if application != schema.application_id:
        raise StoreUnusable(path, reason="a database of another application")
    if version > schema.version:
        raise NewerFormat(path, version=version, supported=schema.version)
    return False


def _primary(error: sqlite3.Error) -> int:
    """SQLite's primary result code."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _is_out_of_space(error: sqlite3.Error, path: str) -> bool:
    """True if what SQLite reports like any other I/O error came of a full disk or the process's file size limit."""
    code = getattr(error, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_IOERR_SHMSIZE:
        return _free_bytes(path) < _SHARED_SIZE_BYTES
    return code == sqlite3.SQLITE_IOERR_WRITE and _is_at_size_limit(path)


def _size_bytes(path: str) -> int:
    with suppress(FileNotFoundError):
        return Path(path).stat().st_size
    return 0


def _free_bytes(path: str) -> int:
    try:
        found = os.statvfs(os.path.dirname(path))  # noqa: PTH120 - a Path would be made only to be taken apart
    except OSError:
        return _SHARED_SIZE_BYTES
    return found.f_bavail * found.f_frsize


def _is_at_size_limit(path: str) -> bool:
    try:
        from resource import RLIM_INFINITY, RLIMIT_FSIZE, getrlimit  # noqa: PLC0415 - only some systems have it
    except ImportError:
        return False
    limit = getrlimit(RLIMIT_FSIZE)[0]
    files = (file for file in (Path(path), Path(f"{path}-wal")) if file.exists())
    return limit != RLIM_INFINITY and any(file.stat().st_size + _PAGE_SIZE_BYTES > limit for file in files)


def _store_error(error: sqlite3.Error, path: str) -> StoreError:
    match _primary(error):
        case sqlite3.SQLITE_FULL:
            return StoreFull(path)
        case sqlite3.SQLITE_CORRUPT:
            return SessionDamaged(path, detail=str(error))
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreUnusable(path, reason="not allowed to write or read there")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreUnusable(path, reason=f"locked by other processes for {_BUSY_TIMEOUT_S:.0f} s")
    return StoreUnusable(path, reason=str(error))
