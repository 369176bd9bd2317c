"""Inverted lists: by term, the numbers of what has it. Those of a kept index stay in its bytes until they are asked for."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, repeat
from typing import Final

NUMBER: Final = "I"
"""The kind of number in the arrays of an index."""


class Postings:
    """Grows at its end: numbers are given in order."""

    __slots__ = ("_kept", "_lists", "_numbers", "_starts")

    def __init__(self, terms: Sequence[str] = (), counts: Iterable[int] = (), numbers: Sequence[int] = ()) -> None:
        """`numbers` has those of each term, one term after the other. Raises ValueError if they are not as many as are counted."""
        self._kept = dict(zip(terms, range(len(terms)), strict=True))
        self._starts = list(accumulate(counts, initial=0))
        self._numbers = numbers
        self._lists = _Lists(self._kept)
        if not len(self._kept) == len(terms) == len(self._starts) - 1 or self._starts[-1] != len(numbers):
            raise ValueError("the numbers of an index do not fit together")

    def add(self, terms: Iterable[str], number: int) -> None:
        """Note a number for each of these terms, which are all different."""
        deque(
            map(list.append, map(self._lists.__getitem__, terms), repeat(number)), maxlen=0
        )  # a loop without bytecode

    def get(self, term: str) -> Sequence[int]:
        """The numbers of a term, in order."""
        kept, grown = self._of_kept(term), self._lists.get(term)
        if grown is None:
            return kept
        return [*kept, *grown] if kept else grown

    def count(self, term: str) -> int:
        """How many numbers a term has."""
        return len(self._of_kept(term)) + len(self._lists.get(term, ()))

    def __len__(self) -> int:
        """The number of terms."""
        return len(self._kept) + len(self._lists) - self._lists.again

    def dumped(self) -> tuple[list[str], bytes, bytes]:
        """The terms, and as bytes how many numbers each has and the numbers."""
        terms = [*self._kept, *(term for term in self._lists if term not in self._kept)]
        counts = array(NUMBER, map(self.count, terms))
        return terms, counts.tobytes(), array(NUMBER, chain.from_iterable(map(self.get, terms))).tobytes()

    def _of_kept(self, term: str) -> Sequence[int]:
        at = self._kept.get(term)
        return () if at is None else self._numbers[self._starts[at] : self._starts[at + 1]]


class _Lists(dict[str, list[int]]):
    """Makes a list for a term that has none, and counts those that were kept before."""

    def __init__(self, kept: Mapping[str, int]) -> None:
        self._kept = kept
        self.again = 0

    def __missing__(self, term: str) -> list[int]:
        self.again += term in self._kept
        made = self[term] = []
        return made
