"""Results remembered by content, without keeping the content: what was cut once need not be cut again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Result = TypeVar("Result")


class ResultCache(Generic[Result]):
    """The results made last, by key, at most `size_max` of them. Safe between threads.

    A key should hold lengths and hashes, not texts: Python's own text hash has 64 bits and is keyed anew in every process, so
    nobody outside can prepare two texts that share it.
    """

    __slots__ = ("_lock", "_results", "_size_max", "hits")

    def __init__(self, size_max: int) -> None:
        self._results: OrderedDict[Hashable, Result] = OrderedDict()
        self._size_max = size_max
        self._lock = Lock()
        self.hits = 0
        """How often a result was at hand."""

    def get(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """The result under that key, made now if it is not known."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                self.hits += 1
                return self._results[key]
        made = make()
        with self._lock:
            self._results[key] = made
            if len(self._results) > self._size_max:
                self._results.popitem(last=False)
        return made
