"""A cache of results by key, and of token counts by the hash of the text."""

from __future__ import annotations

import math
from _thread import allocate_lock  # the Lock of threading, which takes half a millisecond to import
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from plimsoll.light.dataclass import dataclass
from plimsoll.limits import COUNT_CACHE_TEXT_CHARS_MIN, COUNT_CACHE_TEXTS_MAX
from plimsoll.tokens.exact import ExactCounter

if TYPE_CHECKING:
    from plimsoll.protocols import TokenCounter

Result = TypeVar("Result")

_ABSENT: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStats:
    """Counters of a cache since its creation."""

    entries: int
    hits: int
    misses: int
    evictions: int
    """Live entries removed to make room."""
    expirations: int
    """Entries removed because their time was over."""


class LruCache(Generic[Result]):
    """The most recently used results by key, at most `size_max` of them, each for `hold_s` seconds of a clock. Thread-safe.

    Using a result does not extend its time. Keys should hold lengths and hashes of texts, not the texts, so that the cache keeps
    no content alive. Python's hash of a text has 64 bits and a random key in each process, so outsiders cannot prepare colliding
    texts.
    """

    def __init__(self, size_max: int, *, hold_s: float = math.inf, clock_s: Callable[[], float] = lambda: 0.0) -> None:
        self._results: OrderedDict[Hashable, Any] = OrderedDict()
        """By last use."""
        self._until_s: dict[Hashable, float] = {}
        """When each result expires, by age; empty if results never do."""
        self._lock = allocate_lock()
        self._size_max = size_max if hold_s > 0 else 0
        self._hold_s = hold_s
        self._clock_s = clock_s
        self._hits = self._misses = self._evictions = self._expirations = 0

    def find(self, key: Hashable) -> Result | None:
        """The cached result; None if there is none."""
        found = self._found(key)
        return None if found is _ABSENT else found

    def get(self, key: Hashable, make: Callable[..., Result], *arguments: Any) -> Result:
        """The cached result for `key`, else `make(*arguments)`."""
        found: Result = self._found(key)
        if found is _ABSENT:
            found = make(*arguments)  # without the lock: it may take long
            self.put(key, found)
        return found

    def _found(self, key: Hashable) -> Any:
        with self._lock:
            if self._until_s:
                self._purge()
            found = self._results.get(key, _ABSENT)
            if found is _ABSENT:
                self._misses += 1
            else:
                self._results.move_to_end(key)
                self._hits += 1
            return found

    def put(self, key: Hashable, result: Result) -> None:
        """Store a result. Replacing one evicts no other."""
        if not self._size_max:
            return
        with self._lock:
            self._purge()
            self._results[key] = result
            self._results.move_to_end(key)
            if self._hold_s < math.inf:
                self._until_s.pop(key, None)
                self._until_s[key] = self._clock_s() + self._hold_s
            if len(self._results) > self._size_max:
                self._until_s.pop(self._results.popitem(last=False)[0], None)
                self._evictions += 1

    def _purge(self) -> None:
        now_s = self._clock_s() if self._until_s else 0
        for key in [*takewhile(lambda key: self._until_s[key] <= now_s, self._until_s)]:
            del self._results[key], self._until_s[key]
            self._expirations += 1

    def clear(self) -> None:
        """Remove all results."""
        with self._lock:
            self._results.clear()
            self._until_s.clear()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._results

    def info(self) -> CacheStats:
        """Counters since the cache was created."""
        with self._lock:
            return CacheStats(
                entries=len(self._results),
                hits=self._hits,
                misses=self._misses,
                evictions=self._evictions,
                expirations=self._expirations,
            )


class CountCache(LruCache[int]):
    """A cache of counts by length and hash of the text. Texts that are faster to count than to look up are not cached."""

    def __init__(self, size_max: int = COUNT_CACHE_TEXTS_MAX) -> None:
        super().__init__(size_max)

    def count(self, text: str, by: Callable[[str], int]) -> int:
        """The cached count of `text`, else `by(text)`."""
        if len(text) < COUNT_CACHE_TEXT_CHARS_MIN:
            return by(text)
        return self.get((len(text), hash(text)), by, text)

    def missing(self, texts: Iterable[str]) -> list[str]:
        """The distinct texts that are worth caching and not cached."""
        long = {(len(text), hash(text)): text for text in texts if len(text) >= COUNT_CACHE_TEXT_CHARS_MIN}
        return [text for key, text in long.items() if key not in self]


class CachingCounter:
    """A TokenCounter that counts each long text once; otherwise the same as the counter it wraps."""

    __slots__ = ("_cache", "_counter", "_uppers")

    def __init__(self, counter: TokenCounter, *, size_max: int = COUNT_CACHE_TEXTS_MAX) -> None:
        self._counter = counter
        self._cache = CountCache(size_max)
        self._uppers = self._cache if counter.exact else CountCache(size_max)

    @property
    def name(self) -> str:
        """Name of the wrapped counter."""
        return self._counter.name

    @property
    def serial(self) -> int:
        """Distinguishes callers' counters of the same name; 0 for plimsoll's own."""
        return getattr(self._counter, "serial", 0)

    @property
    def exact(self) -> bool:
        """Whether the wrapped counter is exact."""
        return self._counter.exact

    def count(self, text: str) -> int:
        """The wrapped counter's `count`, cached."""
        return self._cache.count(text, self._counter.count)

    def upper(self, text: str) -> int:
        """The wrapped counter's `upper`, cached."""
        return self._uppers.count(text, self._counter.upper)

    def upper_by_lines(self, text: str) -> int:
        """See the function of that name."""
        if not isinstance(self._counter, ExactCounter):
            return self.upper(text)
        return self._cache.get((len(text), hash(text)), self._counter.count_by_lines, text)

    def prime(self, texts: Iterable[str]) -> None:
        """Count many texts in advance, if the counter counts them on all cores; otherwise do nothing."""
        if not isinstance(self._counter, ExactCounter):
            return
        missing = self._cache.missing(texts)
        if sum(map(len, missing)) <= self._counter.left_chars():
            return
        for text, tokens in zip(missing, self._counter.count_all(missing), strict=True):
            self._cache.put((len(text), hash(text)), tokens)

    def cache_info(self) -> CacheStats:
        """Counters of the cache of `count`; that of `upper` is separate."""
        return self._cache.info()


def upper_by_lines(counter: TokenCounter, text: str) -> int:
    """The same as `counter.upper(text)`, in less time for drafts of one text, which have most of their lines in common."""
    return counter.upper_by_lines(text) if isinstance(counter, CachingCounter) else counter.upper(text)
