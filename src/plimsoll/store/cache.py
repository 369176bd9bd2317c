"""A least-recently-used cache with a size limit and a time to live."""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from itertools import count
from threading import Lock as Mutex
from time import monotonic
from typing import Generic, TypeVar

from plimsoll.dataclass import dataclass
from plimsoll.errors import SettingError

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStats:
    """Counters of a cache since its creation."""

    entries: int
    hits: int
    misses: int
    evictions: int
    """Live entries removed to make room."""
    expirations: int
    """Entries removed because their time to live was over."""


class Cache(Generic[Key, Value]):
    """A cache of at most `entries_max` entries with a time to live of `ttl_s` seconds on a monotonic clock.

    Reading an entry makes it the most recently used but does not extend its life. An entry with `ttl_s` 0 is not stored; one with
    infinity never expires. Operations take amortised O(log n) time.
    """

    def __init__(
        self, entries_max: int = 100, *, ttl_s: float = 300.0, clock_s: Callable[[], float] = monotonic
    ) -> None:
        """Raises SettingError for a negative size or time."""
        if entries_max < 0:
            raise SettingError("entries_max", "must not be negative")
        self._entries_max = entries_max
        self._ttl_s = _checked(ttl_s)
        self._clock_s = clock_s
        self._mutex = Mutex()
        self._entries: OrderedDict[Key, tuple[Value, float, int]] = OrderedDict()  # value, expiry, sequence number
        self._times: list[tuple[float, int, Key]] = []  # a heap; the sequence number tells replaced entries
        self._turns = count()
        self._hits = self._misses = self._evictions = self._expirations = 0

    def get(self, key: Key) -> Value | None:
        """The value; None if missing or expired."""
        with self._mutex:
            found = self._entries.get(key)
            if found is not None and found[1] <= self._clock_s():
                del self._entries[key]
                self._expirations += 1
                found = None
            if found is None:
                self._misses += 1
                return None
            self._hits += 1
            self._entries.move_to_end(key)
            return found[0]

    def set(self, key: Key, value: Value, *, ttl_s: float | None = None) -> None:
        """Store a value for `ttl_s` seconds, by default the cache's own. Replacing a value evicts no other entry."""
        good_for_s = self._ttl_s if ttl_s is None else _checked(ttl_s)
        with self._mutex:
            now_s = self._clock_s()
            self._entries.pop(key, None)
            if good_for_s == 0 or self._entries_max == 0:
                return
            if len(self._entries) >= self._entries_max:
                self._purge(now_s)
            while len(self._entries) >= self._entries_max:
                self._entries.popitem(last=False)
                self._evictions += 1
            turn = next(self._turns)
            self._entries[key] = (value, now_s + good_for_s, turn)
            self._remember(now_s + good_for_s, turn, key)

    def clear(self) -> None:
        """Remove all entries."""
        with self._mutex:
            self._entries.clear()
            self._times.clear()

    def stats(self) -> CacheStats:
        """Counters since the cache was created."""
        with self._mutex:
            return CacheStats(
                entries=len(self._entries),
                hits=self._hits,
                misses=self._misses,
                evictions=self._evictions,
                expirations=self._expirations,
            )

    def __len__(self) -> int:
        return len(self._entries)

    def _purge(self, now_s: float) -> int:
        purged = 0
        while self._times and self._times[0][0] <= now_s:
            _until, turn, key = heapq.heappop(self._times)
            found = self._entries.get(key)
            if found is not None and found[2] == turn:
                del self._entries[key]
                purged += 1
        self._expirations += purged
        return purged

    def _remember(self, until_s: float, turn: int, key: Key) -> None:
        if math.isinf(until_s):
            return
        heapq.heappush(self._times, (until_s, turn, key))
        if len(self._times) > 2 * len(self._entries) + 64:  # most of the heap is stale: rebuild it
            live = ((until, turn, key) for key, (_value, until, turn) in self._entries.items())
            self._times = [one for one in live if not math.isinf(one[0])]
            heapq.heapify(self._times)


def _checked(ttl_s: float) -> float:
    if math.isnan(ttl_s) or ttl_s < 0:
        raise SettingError("ttl_s", "must not be negative")
    return ttl_s
