"""Lines that do not lie in the order of their numbers: moved, doubled, or put in from another log. Read by number all the same.

Numbers are under the checksum, so they say where a record belongs. The index is made only when reading comes upon a number that
nothing explains; it takes a pass over the file, and some bytes of memory a record.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import field
from itertools import pairwise

from plimsoll.dataclass import dataclass
from plimsoll.protocols import DamageKind, Record
from plimsoll.store.log_file import LogFile
from plimsoll.store.record import Span, spans


@dataclass(slots=True)
class _Place:
    """Where a record lies, with what cannot be read before it."""

    seq: int
    offset: int
    size_bytes: int
    bad: list[Span]
    doubles: list[tuple[int, int]] = field(default_factory=list)
    """Where there are more records of its number."""


class ByNumber:
    """The records of a log file by their numbers; of several with one number, the first in the file."""

    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._places: list[_Place] = []
        self._rest: list[Span] = []
        self._end = 0
        self.is_in_order = True
        """Whether they lie in the order of their numbers, each once."""

    def extend(self, end: int) -> None:
        """Take in what lies before `end`."""
        lying: list[_Place] = []
        for span in self._file.spans(self._end, end):
            if span.record is None:
                self._rest.append(span._replace(line=b""))
            else:
                lying.append(_Place(span.record.seq, span.offset, span.size_bytes, self._rest))
                self._rest = []
        self._end = max(self._end, end)
        if any(one.seq >= other.seq for one, other in pairwise([*self._places[-1:], *lying])):
            self.is_in_order = False
        if lying:
            self._places = _single(self._places + lying)

    def odd(self) -> list[tuple[Span, DamageKind]]:
        """The fewest records that would have to be moved, and those that are there twice."""
        lying = sorted(self._places, key=lambda place: place.offset)
        in_place = _longest_rise([place.seq for place in lying])
        moved = [place for at, place in enumerate(lying) if at not in in_place]
        found: list[tuple[Span, DamageKind]] = [
            (self._span(place.offset, place.size_bytes), "misplaced") for place in moved
        ]
        return found + [(self._span(*double), "repeated") for place in lying for double in place.doubles]

    def come(self, end: int) -> tuple[int, int]:
        """How many records and messages there are by the last number."""
        self.extend(end)
        if not self._places:
            return 0, 0
        last = self._record(self._places[-1])
        return last.seq + 1, last.messages

    def forward(self, seq: int, end: int) -> Iterator[Span]:
        """Spans from a number on, in the order of numbers; what cannot be read comes before what lies behind it."""
        self.extend(end)
        for place in self._places[bisect_left(self._places, seq, key=lambda place: place.seq) :]:
            yield from place.bad
            yield self._span(place.offset, place.size_bytes)
            for double in place.doubles:
                yield self._span(*double)
        yield from self._rest

    def backward(self, end: int) -> Iterator[Span]:
        """The same, from the end back."""
        self.extend(end)
        yield from reversed(self._rest)
        for place in reversed(self._places):
            yield self._span(place.offset, place.size_bytes)
            for double in place.doubles:
                yield self._span(*double)
            yield from reversed(place.bad)

    def first(self, holds: Callable[[Record], bool], end: int) -> Record | None:
        """The first record for which `holds`, which must hold for every record after it."""
        self.extend(end)
        at = bisect_left(self._places, True, key=lambda place: holds(self._record(place)))  # noqa: FBT003 - False sorts first
        return self._record(self._places[at]) if at < len(self._places) else None

    def _record(self, place: _Place) -> Record:
        record = self._span(place.offset, place.size_bytes).record
        assert record is not None
        return record

    def _span(self, offset: int, size_bytes: int) -> Span:
        return spans(self._file.read_at(offset, size_bytes), offset)[0]


def _single(places: list[_Place]) -> list[_Place]:
    """Places in the order of numbers, one for each."""
    found: list[_Place] = []
    for place in sorted(places, key=lambda place: (place.seq, place.offset)):
        if found and found[-1].seq == place.seq:
            found[-1].doubles.append((place.offset, place.size_bytes))
            found[-1].bad = [*found[-1].bad, *place.bad]
        else:
            found.append(place)
    return found


def _longest_rise(numbers: list[int]) -> set[int]:
    """The places of a longest rising part of different numbers."""
    ends: list[int] = []  # the smallest number that a rise of each length can end in
    last: list[int] = []  # and where it is
    before: list[int] = []
    for at, number in enumerate(numbers):
        length = bisect_left(ends, number)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [number]
        last[length : length + 1] = [at]
    found: set[int] = set()
    at = last[-1] if last else -1
    while at >= 0:
        found.add(at)
        at = before[at]
    return found
