"""Records that binary searches over a log have met, so that the next search begins near its end."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from plimsoll.protocols import Record

_LANDMARKS_MAX: Final = 4_096


class Landmark(NamedTuple):
    """A record without its data, and where it is: from `start` up to `end`."""

    start: int
    end: int
    record: Record


class Landmarks:
    """Where some records of a log are. What is known of a log that was cut has to be forgotten."""

    def __init__(self) -> None:
        self._known: list[Landmark] = []

    def note(self, start: int, end: int, record: Record) -> None:
        """Remember a record. All others are forgotten when they are many, or not in one order with it: then the log is damaged."""
        known = self._known
        at = bisect_left(known, start, key=lambda landmark: landmark.start)
        after = known[at] if at < len(known) else None
        if after is not None and after.start == start:
            return
        before = known[at - 1].record.seq if at else -1
        if len(known) >= _LANDMARKS_MAX or not before < record.seq < (after.record.seq if after else record.seq + 1):
            known.clear()
            at = 0
        known.insert(at, Landmark(start, end, replace(record, data={}, raw=None)))

    def around(self, holds: Callable[[Record], bool], end: int) -> tuple[int, int]:
        """Two places, up to `end`, between which the first record is for which `holds`, which is true for all later ones."""
        at = bisect_left(self._known, True, key=lambda known: holds(known.record))  # noqa: FBT003 - what is looked for
        low = self._known[at - 1].end if at else 0
        high = self._known[at].start if at < len(self._known) else end
        return min(low, end), min(high, end)

    def forget(self) -> None:
        """Forget all."""
        self._known.clear()
