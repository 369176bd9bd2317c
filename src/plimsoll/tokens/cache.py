"""A cache of results, and of token counts by the hash of the text."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from plimsoll.dataclass import dataclass
from plimsoll.limits import COUNT_CACHE_TEXT_CHARS_MIN, COUNT_CACHE_TEXTS_MAX
from plimsoll.tokens.exact import ExactCounter

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from plimsoll.protocols import TokenCounter

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheInfo:
    """Statistics of a cache. `size` and `size_max` are numbers of texts."""

    hits: int
    misses: int
    size: int
    size_max: int


class LruCache(Generic[Result]):
    """The most recently used results by key, at most `size_max` of them. Thread-safe.

    Keys should hold lengths and hashes of texts, not the texts, so that the cache keeps no content alive. Python's hash of a
    text has 64 bits and a random key in each process, so outsiders cannot prepare colliding texts.
    """

    __slots__ = ("_hits", "_lock", "_misses", "_results", "_size_max")

    def __init__(self, size_max: int) -> None:
        self._results: OrderedDict[Hashable, Result] = OrderedDict()
        self._lock = Lock()
        self._size_max = size_max
        self._hits = 0
        self._misses = 0

    def get(self, key: Hashable, make: Callable[..., Result], *arguments: Any) -> Result:
        """The cached result for `key`, else `make(*arguments)`."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                self._hits += 1
                return self._results[key]
        made = make(*arguments)  # without the lock: it may take long
        self.put(key, made)
        return made

    def put(self, key: Hashable, result: Result) -> None:
        """Store a result that was not cached."""
        with self._lock:
            self._misses += 1
            self._results[key] = result
            if len(self._results) > self._size_max:
                self._results.popitem(last=False)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._results

    def info(self) -> CacheInfo:
        """Hits, misses and size."""
        with self._lock:
            return CacheInfo(hits=self._hits, misses=self._misses, size=len(self._results), size_max=self._size_max)


class CountCache(LruCache[int]):
    """A cache of counts by length and hash of the text. Texts that are faster to count than to look up are not cached."""

    __slots__ = ()

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

    def prime(self, texts: Iterable[str]) -> None:
        """Count many texts in advance, on all cores if the counter supports it; otherwise do nothing."""
        if not isinstance(self._counter, ExactCounter):
            return
        missing = self._cache.missing(texts)
        for text, tokens in zip(missing, self._counter.count_all(missing), strict=True):
            self._cache.put((len(text), hash(text)), tokens)

    def cache_info(self) -> CacheInfo:
        """Statistics of the cache of `count`; that of `upper` is separate."""
        return self._cache.info()
