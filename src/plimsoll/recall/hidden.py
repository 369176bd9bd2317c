"""What a search leaves out of a segment: the messages that are shown, and what the filters do not admit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence

from plimsoll.recall.filters import Filters
from plimsoll.recall.segment import Segment

_RUNS_MAX = 32
"""Runs of hidden units that are cut out of a list one by one. With more of them each number is looked at."""


class Hidden:
    """The entries of a segment that are left out, and their units, which are few runs where a view shows the newest messages."""

    def __init__(self, segment: Segment, shown: Container[int], filters: Filters | None) -> None:
        self.entries = {number for number, entry in enumerate(segment.entries) if entry.position in shown}
        if filters is not None:
            self.entries.update(number for number, entry in enumerate(segment.entries) if not filters.admits(entry))
        self._entry_of = segment.entry_of
        self._runs = list(_runs(segment, sorted(self.entries)))

    def without(self, units: Sequence[int]) -> Sequence[int]:
        """The units, which are in order, that are not left out."""
        if not self._runs or not len(units):
            return units
        if len(self._runs) > _RUNS_MAX:
            entry_of, entries = self._entry_of, self.entries
            return [unit for unit in units if entry_of[unit] not in entries]
        left: list[int] = []
        at = 0
        for start, stop in self._runs:
            left += units[at : bisect_left(units, start, at)]
            at = bisect_left(units, stop, at)
        left += units[at:]
        return left

    def seen_of(self, units: set[int]) -> set[int]:
        """The units that are not left out."""
        return set(self.without(sorted(units))) if self._runs else units


def _runs(segment: Segment, entries: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The units of these entries as runs `[start, stop)`, in order."""
    start = stop = 0
    for number in entries:
        units = segment.units_of_entry(number)
        if units.start != stop:
            if stop > start:
                yield start, stop
            start = units.start
        stop = units.stop
    if stop > start:
        yield start, stop
