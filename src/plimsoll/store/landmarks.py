"""Records that binary searches over a log have met, so that the next search begins near its end."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from operator import itemgetter
from typing import Final, TypeAlias

from plimsoll.protocols import Record

_LANDMARKS_MAX: Final = 4_096


Landmark: TypeAlias = tuple[int, int, int, int, str]
"""Where a record is, from a start up to an end, with its number, its position and its kind.

The garbage collector does not track tuples of numbers and strings, and a long session has thousands of these.
"""

_END: Final = 1
_SEQ: Final = 2


class Landmarks:
    """Where some records of a log are. What is known of a log that was cut has to be forgotten."""

    def __init__(self) -> None:
        self._known: list[Landmark] = []

    def note(self, start: int, end: int, record: Record) -> None:
        """Remember a record. All others are forgotten when they are many, or not in one order with it: then the log is damaged."""
        known = self._known
        at = bisect_left(known, start, key=itemgetter(0))
        after = known[at] if at < len(known) else None
        if after is not None and after[0] == start:
            return
        before = known[at - 1][_SEQ] if at else -1
        if len(known) >= _LANDMARKS_MAX or not before < record.seq < (after[_SEQ] if after else record.seq + 1):
            known.clear()
            at = 0
        known.insert(at, (start, end, record.seq, record.position, record.kind))

    def around(self, holds: Callable[[Record], bool], end: int) -> tuple[int, int]:
        """Two places, up to `end`, between which the first record is for which `holds`, which is true for all later ones.

        `holds` may look at the number, the position and the kind of a record.
        """
        at = bisect_left(self._known, True, key=lambda known: holds(_record(known)))  # noqa: FBT003 - what is looked for
        low = self._known[at - 1][_END] if at else 0
        high = self._known[at][0] if at < len(self._known) else end
        return min(low, end), min(high, end)

    def forget(self) -> None:
        """Forget all."""
        self._known.clear()


def _record(landmark: Landmark) -> Record:
    _, _, seq, position, kind = landmark
    return Record(seq=seq, position=position, kind=kind, at_ms=0, data={})
