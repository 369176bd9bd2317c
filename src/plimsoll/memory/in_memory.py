"""Memories that end with the process: for tests, and for programs that keep them elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

from plimsoll.errors import on_failure
from plimsoll.memory.ranking import MemoryRanking
from plimsoll.protocols import Memory


class InMemoryMemoryStore:
    """The port `MemoryStore` in two dictionaries."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._memories: dict[str, Memory] = {}
        self._read_to: dict[str, int] = {}
        self._ranking = MemoryRanking()

    @property
    def where(self) -> str:
        """See MemoryStore."""
        return "memory:"

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """See MemoryStore."""
        with self._lock:
            before = dict(self._memories), dict(self._read_to)
            with on_failure(lambda: self._restore(*before)):
                yield

    def memories(self, scopes: Sequence[str] | None = None) -> list[Memory]:
        """See MemoryStore."""
        with self._lock:
            found = sorted(self._memories.values(), key=lambda memory: memory.id)
        return [memory for memory in found if scopes is None or memory.scope in scopes]

    def put(self, memories: Sequence[Memory]) -> None:
        """See MemoryStore."""
        with self._lock:
            self._memories |= {memory.id: memory for memory in memories}

    def delete(self, ids: Sequence[str]) -> None:
        """See MemoryStore."""
        with self._lock:
            for id in ids:
                self._memories.pop(id, None)

    def search(self, query: str, scopes: Sequence[str], limit: int) -> list[Memory]:
        """See MemoryStore."""
        return self._ranking.search(query, self.memories(scopes), limit)

    def read_to(self, session: str) -> int:
        """See MemoryStore."""
        return self._read_to.get(session, 0)

    def set_read_to(self, session: str, position: int) -> None:
        """See MemoryStore."""
        with self._lock:
            self._read_to[session] = position

    def close(self) -> None:
        """See MemoryStore. The memories stay: several sessions may share the store."""

    def _restore(self, memories: dict[str, Memory], read_to: dict[str, int]) -> None:
        self._memories, self._read_to = memories, read_to
