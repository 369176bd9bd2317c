"""Searching for a string as it stands: for a query of signs alone, such as `!==`, which has no words to look up."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterator

from plimsoll.recall.filters import Filters, Hidden
from plimsoll.recall.index import Index
from plimsoll.recall.ranking import Candidate
from plimsoll.recall.segment import Segment

LITERAL_CHARS_MAX = 1 << 22
"""Characters that are looked through, the newest first."""

LITERAL_UNITS_MAX = 200
"""Statements that are found."""


def with_string(
    index: Index, string: str, shown: Container[int], filters: Filters | None = None
) -> Iterator[Candidate]:
    """The units that have a string, newest first. Linear in the text that is looked through."""
    left = LITERAL_CHARS_MAX
    count = 0
    for segment in reversed(index.segments):
        hidden = Hidden(segment, shown, filters)
        for number in range(len(segment.entries) - 1, -1, -1):
            if number in hidden.entries:
                continue
            text = segment.text_of(segment.entries[number])
            for unit in _units_with(segment, number, text, string):
                entry, start, end = segment.span(unit)
                score = 1 - count / LITERAL_UNITS_MAX / 2
                yield Candidate(score, entry, entry.start + start, text[start:end], matches=True, piece=text)
                count += 1
            left -= len(text)
            if left <= 0 or count >= LITERAL_UNITS_MAX:
                return


def _units_with(segment: Segment, number: int, text: str, string: str) -> Iterator[int]:
    """The units of an entry in which a string begins, in order."""
    units = segment.units_of_entry(number)
    at = text.find(string)
    while at >= 0 and units:
        unit = bisect_right(segment.end_of, at, units.start, units.stop)
        yield unit
        units = range(unit + 1, units.stop)
        at = text.find(string, segment.end_of[unit])
