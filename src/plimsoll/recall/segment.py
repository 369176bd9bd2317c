"""One range of the history in the inverted index: which units have a term.

The lists hold, by term, the numbers of what has it. Those of a kept index stay in its bytes until they are asked for. There is a
list for each word, so a growing one is a `bytearray`, which the garbage collector does not track. It tracks every `array`.
"""

from __future__ import annotations

import math
import sys
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, chain, repeat
from typing import Final

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.recall.units import kinds_of, unit_ends
from plimsoll.recall.words import Terms

NUMBER: Final = "I"
"""The kind of number in the arrays of an index."""

NUMBER_SIZE_BYTES: Final = array(NUMBER).itemsize
_NONE: Final = memoryview(b"").cast(NUMBER)


class Postings:
    """Grows at its end: numbers are given in order."""

    __slots__ = ("_kept", "_lists", "_numbers", "_starts")

    def __init__(self, terms: Sequence[str] = (), counts: Iterable[int] = (), numbers: memoryview = _NONE) -> None:
        """`numbers` has those of each term, one term after the other. Raises ValueError if they are not as many as are counted."""
        self._kept = dict(zip(terms, range(len(terms)), strict=True))
        self._starts = list(accumulate(counts, initial=0))
        self._numbers = numbers
        self._lists = _Lists(self._kept)
        if not len(self._kept) == len(terms) == len(self._starts) - 1 or self._starts[-1] != len(numbers):
            raise ValueError("the numbers of an index do not fit together")

    def add(self, terms: Iterable[str], number: int) -> None:
        """Note a number for each of these terms, which are all different."""
        octets = number.to_bytes(NUMBER_SIZE_BYTES, sys.byteorder)
        deque(map(bytearray.extend, map(self._lists.__getitem__, terms), repeat(octets)), maxlen=0)  # without bytecode

    def get(self, term: str) -> Sequence[int]:
        """The numbers of a term, in order."""
        kept, octets = self._of_kept(term), self._lists.get(term)
        if octets is None:
            return kept
        grown = array(NUMBER, octets)
        return [*kept, *grown] if kept else grown

    def count(self, term: str) -> int:
        """How many numbers a term has."""
        return len(self._of_kept(term)) + len(self._lists.get(term, b"")) // NUMBER_SIZE_BYTES

    def known(self, terms: AbstractSet[str]) -> set[str]:
        """Those of these terms that have numbers. It takes time for these terms only, however many there are."""
        return {term for term in terms if term in self._lists or term in self._kept}

    def __len__(self) -> int:
        return len(self._kept) + len(self._lists) - self._lists.again

    def dumped(self) -> tuple[list[str], bytes, bytes]:
        """The terms, and as bytes how many numbers each has and the numbers."""
        terms = [*self._kept, *(term for term in self._lists if term not in self._kept)]
        counts = array(NUMBER, map(self.count, terms))
        return terms, counts.tobytes(), b"".join(chain.from_iterable(map(self._octets, terms)))

    def _octets(self, term: str) -> tuple[memoryview, bytes | bytearray]:
        """The numbers of a term as bytes: those that were kept before, and those since."""
        return self._of_kept(term), self._lists.get(term, b"")

    def _of_kept(self, term: str) -> memoryview:
        at = self._kept.get(term)
        return _NONE if at is None else self._numbers[self._starts[at] : self._starts[at + 1]]


class _Lists(dict[str, bytearray]):
    """Makes a list for a term that has none, and counts those that were kept before. A list is the bytes of its numbers."""

    def __init__(self, kept: Mapping[str, int]) -> None:
        self._kept = kept
        self.again = 0

    def __missing__(self, term: str) -> bytearray:
        self.again += term in self._kept
        made = self[term] = bytearray()
        return made


HALF_CHARS = 400
"""Neighbouring units, across messages, fill halves of windows of about this many characters."""

K1, B = 1.2, 0.75
"""The usual constants of BM25 (Robertson and Zaragoza, 2009)."""

NOBODY: Final[frozenset[str]] = frozenset()
"""Python makes a new empty set for each call of `frozenset`."""


class Entry(NamedTuple):
    """A piece of one part of a message."""

    position: int
    """Position of the message; a summary has a unique negative one."""
    part: int
    start: int
    """Index of its first character in the part."""
    text: str | None
    """None where it is read from the log."""
    reference: str
    """Reference of the whole part."""
    voice: str
    """Author: `user`, `tool result NAME`, `summary`, ..."""
    first: int
    """Its first unit in the segment."""
    history_position: int
    """Position of the message; for a summary, of the last message before it."""
    speaker: frozenset[str] = NOBODY
    """The terms of the name before the text, as in `Ann: ...`."""
    day: int = 0
    """The day it was said, as an ordinal of the calendar; 0 where none is known."""


class Segment:
    """The index of one range of the history: units by term, and entries by the terms of their headings."""

    def __init__(self, read: Callable[[Entry], str] = lambda _entry: "") -> None:
        """`read` gives the text of entries that have none."""
        self._read = read
        self.chars = 0
        self.entries: list[Entry] = []
        self.entry_of = array("I")  # by unit, as are end_of, size_of, half_of and kinds
        self.end_of = array("I")  # in characters of the piece
        self.size_of = array("I")  # in distinct terms
        self.half_of = array("I")
        self.kinds = bytearray()
        self.size_of_half = array("I", [0])
        self.first_of_half = array("I", [0])
        self.terms_count = 0
        self._half_chars = 0
        self._norms: tuple[int, list[float]] = (-1, [])
        self.units = Postings()
        self.headings = Postings()

    def add(self, entry: Entry, heading: Iterable[str], terms: Terms) -> None:
        """Append a piece. Takes time linear in its text."""
        number, text = len(self.entries), entry.text or ""
        self.entries.append(entry)
        self.chars += len(text)
        self.headings.add(heading, number)
        searched = unescaped(text) if entry.voice.startswith("tool ") else text
        start = 0
        for end in unit_ends(text):
            found = terms.of(searched[start:end])
            self.kinds.append(kinds_of(text[start:end], found))
            self._unit(number, end, end - start, found)
            start = end

    def _unit(self, entry: int, end: int, chars: int, found: set[str]) -> None:
        unit = len(self.end_of)
        if self._half_chars and self._half_chars + chars > HALF_CHARS:
            self.size_of_half.append(0)
            self.first_of_half.append(unit)
            self._half_chars = 0
        self._half_chars += chars
        self.size_of_half[-1] += len(found)
        self.terms_count += len(found)
        self.entry_of.append(entry)
        self.end_of.append(end)
        self.size_of.append(len(found))
        self.half_of.append(len(self.size_of_half) - 1)
        self.units.add(found, unit)

    def counted(self) -> list[int]:
        """What was counted while the segment grew."""
        return [self.chars, self.terms_count, self._half_chars]

    def recount(self, counted: Sequence[int]) -> None:
        """Take over what was counted."""
        self.chars, self.terms_count, self._half_chars = counted

    def text_of(self, entry: Entry) -> str:
        """The text of an entry."""
        return self._read(entry) if entry.text is None else entry.text

    def span(self, unit: int) -> tuple[Entry, int, int]:
        """The entry of a unit, and its characters `[start, end)` in the text of the entry."""
        entry = self.entries[self.entry_of[unit]]
        return entry, self.end_of[unit - 1] if unit > entry.first else 0, self.end_of[unit]

    def window_norms(self) -> list[float]:
        """By window, what BM25 adds to a frequency for the window's length. Computed again after the segment has grown."""
        if self._norms[0] != self.terms_count:
            sizes = self.size_of_half
            fixed, per_term = K1 * (1 - B), K1 * B * len(sizes) / max(1, 2 * self.terms_count)
            pairs = zip(sizes, [*sizes[1:], 0], strict=True)
            self._norms = (self.terms_count, [fixed + per_term * (one + next_one) for one, next_one in pairs])
        return self._norms[1]

    def units_of_half(self, half: int) -> range:
        """The units of a half-window; empty if there is none of that number."""
        firsts = self.first_of_half
        if half >= len(firsts):
            return range(0)
        return range(firsts[half], firsts[half + 1] if half + 1 < len(firsts) else len(self.end_of))

    def units_of_entry(self, number: int) -> range:
        """The units of an entry."""
        after = self.entries[number + 1].first if number + 1 < len(self.entries) else len(self.end_of)
        return range(self.entries[number].first, after)


def unescaped(text: str) -> str:
    """The text with escaped white space replaced at equal length, so that an escape does not become part of the next word."""
    if "\\" not in text:
        return text
    return text.replace("\\n", "  ").replace("\\t", "  ").replace("\\r", "  ")


def rarity(among: int, count: int) -> float:
    """The inverse document frequency of BM25."""
    return math.log(1 + (among - count + 0.5) / (count + 0.5))


def is_among(numbers: Sequence[int], number: int) -> bool:
    """Whether a number is among these, which are in order."""
    at = bisect_left(numbers, number)
    return at < len(numbers) and numbers[at] == number
