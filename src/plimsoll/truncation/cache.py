"""A cache of results by key, for cuts that are asked for again and again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Result = TypeVar("Result")


class ResultCache(Generic[Result]):
    """The most recently used results, at most `size_max` of them. Thread-safe.

    Keys should hold lengths and hashes of texts, not the texts, so that the cache keeps no content alive. Python's hash of a
    text has 64 bits and a new random key in each process, so nobody can prepare two texts that collide.
    """

    __slots__ = ("_lock", "_results", "_size_max", "hits")

    def __init__(self, size_max: int) -> None:
        self._results: OrderedDict[Hashable, Result] = OrderedDict()
        self._size_max = size_max
        self._lock = Lock()
        self.hits = 0
        """Number of calls answered from the cache."""

    def get(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """The result for `key`, made with `make` if it is not cached."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                self.hits += 1
                return self._results[key]
        made = make()  # without the lock: it may take long
        with self._lock:
            self._results[key] = made
            if len(self._results) > self._size_max:
                self._results.popitem(last=False)
        return made
