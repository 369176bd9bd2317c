"""Memories in one SQLite file in WAL mode, shared by processes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, get_args

from plimsoll.memory.ranking import MemoryRanking
from plimsoll.protocols import Durability, Memory, MemoryKind, MemoryOrigin, Speaker
from plimsoll.store.database import Database, Schema
from plimsoll.store.paths import absolute

_SCHEMA: Final = Schema(
    application_id=0x504C4D4D,  # "PLMM"
    version=1,
    statements="""
CREATE TABLE memory (id TEXT PRIMARY KEY, scope BLOB NOT NULL, data TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX memory_scope ON memory (scope);
CREATE TABLE reading (session BLOB PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID
""",
)


class SqliteMemoryStore:
    """The port `MemoryStore` on one file, which the first memory creates."""

    def __init__(self, path: str, *, durability: Durability = "fsync") -> None:
        self._database = Database(absolute(path, field="memory"), durability=durability, schema=_SCHEMA)
        self._ranking = MemoryRanking()
        self._has_deleted = False
        self._decoded: dict[str, tuple[str, Memory | None]] = {}
        """The rows that were read last."""

    @property
    def where(self) -> str:
        """See MemoryStore."""
        return self._database.path

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """See MemoryStore."""
        self._has_deleted = False
        with self._database.transaction():
            yield
        if self._has_deleted:
            self._database.query(
                "PRAGMA wal_checkpoint(TRUNCATE)"
            )  # the log beside the file still has what was deleted

    def memories(self, scopes: Sequence[str] | None = None) -> list[Memory]:
        """See MemoryStore. Damaged rows are skipped."""
        if not self._database.exists():
            return []
        sql, values = "SELECT id, data FROM memory", list(map(_key, scopes or ()))
        if scopes is not None:
            sql += f" WHERE scope IN ({', '.join('?' * len(values))})"
        rows = self._database.query(f"{sql} ORDER BY id", values)
        self._decoded = {id: self._read(id, data) for id, data in rows}
        return [memory for _, memory in self._decoded.values() if memory is not None]

    def _read(self, id: str, data: str) -> tuple[str, Memory | None]:
        """A row with its memory, which is decoded again only if it has changed."""
        known = self._decoded.get(id)
        return known if known is not None and known[0] == data else (data, memory_of(data))

    def put(self, memories: Sequence[Memory]) -> None:
        """See MemoryStore."""
        sql = "INSERT OR REPLACE INTO memory (id, scope, data) VALUES (?, ?, ?)"
        for memory in memories:
            self._database.query(sql, (memory.id, _key(memory.scope), memory_text(memory)))

    def delete(self, ids: Sequence[str]) -> None:
        """See MemoryStore."""
        for id in ids:
            self._has_deleted = True
            self._database.query("DELETE FROM memory WHERE id = ?", (id,))

    def search(self, query: str, scopes: Sequence[str], limit: int) -> list[Memory]:
        """See MemoryStore."""
        return self._ranking.search(query, self.memories(scopes), limit)

    def read_to(self, session: str) -> int:
        """See MemoryStore."""
        if not self._database.exists():
            return 0
        rows = self._database.query("SELECT position FROM reading WHERE session = ?", (_key(session),))
        return int(rows[0][0]) if rows else 0

    def set_read_to(self, session: str, position: int) -> None:
        """See MemoryStore."""
        sql = "INSERT OR REPLACE INTO reading (session, position) VALUES (?, ?)"
        self._database.query(sql, (_key(session), position))

    def close(self) -> None:
        """See MemoryStore."""
        self._database.close()


def _key(text: str) -> bytes:
    """A scope or session as bytes, since SQLite's text cannot hold lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def memory_text(memory: Memory) -> str:
    """A memory as one line of ASCII."""
    return json.dumps(memory.to_dict())


def memory_of(text: str) -> Memory | None:
    """Inverse of `memory_text`; None for damaged text."""
    try:
        data = json.loads(text)
        data["origins"] = tuple(MemoryOrigin(**origin) for origin in data["origins"])
        memory = Memory(**data)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return memory if _is_sound(memory) else None


def _is_sound(memory: Memory) -> bool:
    """Whether the fields of a memory that was read have the types and values that the rest of the package relies on."""
    texts = (memory.id, memory.text, memory.scope)
    names = (name for origin in memory.origins for name in (origin.session, origin.message, origin.tool))
    numbers = (memory.time_ms, memory.hits, memory.importance, *(origin.time_ms for origin in memory.origins))
    return (
        all(isinstance(text, str) for text in texts)
        and memory.kind in get_args(MemoryKind)
        and memory.by in get_args(Speaker)
        and all(type(number) is int for number in numbers)
        and isinstance(memory.confidence, float | int)
        and all(name is None or isinstance(name, str) for name in (memory.superseded_by, *names))
    )
