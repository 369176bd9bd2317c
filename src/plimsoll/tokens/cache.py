"""A cache of token counts by content hash."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from plimsoll.dataclass import dataclass
from plimsoll.limits import COUNT_CACHE_TEXT_CHARS_MIN, COUNT_CACHE_TEXTS_MAX
from plimsoll.tokens.exact import ExactCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from plimsoll.protocols import TokenCounter

_Key: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheInfo:
    """Statistics of a cache. `size` and `size_max` are numbers of texts."""

    hits: int
    misses: int
    size: int
    size_max: int


class CountCache:
    """An LRU cache of counts by length and 64-bit hash of the text. Thread-safe; stores no text.

    The hash is Python's, with a random key in each process, so outsiders cannot prepare colliding texts.
    """

    __slots__ = ("_counts", "_hits", "_lock", "_misses", "_size_max")

    def __init__(self, size_max: int = COUNT_CACHE_TEXTS_MAX) -> None:
        self._counts: OrderedDict[_Key, int] = OrderedDict()
        self._lock = Lock()
        self._size_max = size_max
        self._hits = 0
        self._misses = 0

    def count(self, text: str, by: Callable[[str], int]) -> int:
        """The cached count of `text`, else `by(text)`. Short texts are faster to count than to look up."""
        if len(text) < COUNT_CACHE_TEXT_CHARS_MIN:
            return by(text)
        key = (len(text), hash(text))
        with self._lock:
            found = self._counts.get(key)
            if found is not None:
                self._counts.move_to_end(key)
                self._hits += 1
                return found
        tokens = by(text)
        self._keep(key, tokens)
        return tokens

    def missing(self, texts: Iterable[str]) -> list[str]:
        """The distinct texts that are worth caching and not cached."""
        with self._lock:
            return list(
                {
                    key: text
                    for text in texts
                    if len(text) >= COUNT_CACHE_TEXT_CHARS_MIN and (key := (len(text), hash(text))) not in self._counts
                }.values()
            )

    def keep(self, text: str, tokens: int) -> None:
        """Store a count that was made elsewhere."""
        self._keep((len(text), hash(text)), tokens)

    def _keep(self, key: _Key, tokens: int) -> None:
        with self._lock:
            self._misses += 1
            self._counts[key] = tokens
            if len(self._counts) > self._size_max:
                self._counts.popitem(last=False)

    def info(self) -> CacheInfo:
        """Hits, misses and size. Texts too short to cache count as neither hit nor miss."""
        with self._lock:
            return CacheInfo(hits=self._hits, misses=self._misses, size=len(self._counts), size_max=self._size_max)


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

    def prime(self, texts: Iterable[str]) -> None:
        """Count many texts in advance, on all cores if the counter supports it; otherwise do nothing."""
        if not isinstance(self._counter, ExactCounter):
            return
        missing = self._cache.missing(texts)
        for text, tokens in zip(missing, self._counter.count_all(missing), strict=True):
            self._cache.keep(text, tokens)

    def cache_info(self) -> CacheInfo:
        """Statistics of the cache of `count`; that of `upper` is separate."""
        return self._cache.info()
