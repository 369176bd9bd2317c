"""What a search leaves out: by filters of who said it, with which tool and when, and the messages that are shown."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from typing import Literal, TypeAlias, get_args

from plimsoll.compaction.references import position_named
from plimsoll.errors import SettingError
from plimsoll.light.dataclass import dataclass
from plimsoll.policy.validation import one_of, short_repr
from plimsoll.recall.segment import Entry, Segment

SpeakerRole: TypeAlias = Literal["user", "assistant", "tool", "system", "summary"]
"""Whose words are searched: `tool` are results of tools; calls, and thinking, are the assistant's."""

HitOrder: TypeAlias = Literal["best", "said"]
"""The order of hits: best first, or as they were said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A message or a day of the history."""

    position: int | None = None
    day: int | None = None
    """An ordinal of the calendar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What an entry has to be to be found. None admits all."""

    role: SpeakerRole | None = None
    tool: str | None = None
    before: Bound | None = None
    after: Bound | None = None

    def admits(self, entry: Entry) -> bool:
        """Whether an entry is searched."""
        return (
            (self.role is None or _role_of(entry.voice) == self.role)
            and (self.tool is None or entry.voice in {f"tool call {self.tool}", f"tool result {self.tool}"})
            and (self.before is None or _is_before(entry, self.before))
            and (self.after is None or not (_is_before(entry, self.after) or _is_at(entry, self.after)))
        )


def filters_of(
    role: str | None = None, tool: str | None = None, before: str | int | None = None, after: str | int | None = None
) -> Filters | None:
    """The filters that a caller gives, checked; None if there are none. Raises SettingError."""
    if role is None and tool is None and before is None and after is None:
        return None
    if tool is not None and not isinstance(tool, str):
        raise SettingError("tool", f"the name of a tool is needed, not {short_repr(tool)}")
    return Filters(
        role=None if role is None else one_of("role", role, get_args(SpeakerRole)),
        tool=tool,
        before=None if before is None else _bound("before", before),
        after=None if after is None else _bound("after", after),
    )


def _bound(name: str, given: str | int) -> Bound:
    position = position_named(given)
    if position is not None:
        return Bound(position=position)
    try:
        return Bound(day=dt.date.fromisoformat(given if isinstance(given, str) else "").toordinal())
    except ValueError:
        wrong = f"{short_repr(given)} is neither a message, such as m12, nor a day, such as 2026-05-17"
        raise SettingError(name, wrong) from None


def _role_of(voice: str) -> str:
    if voice.startswith("tool call"):
        return "assistant"
    return voice.split(" ", 1)[0]


def _is_before(entry: Entry, bound: Bound) -> bool:
    """Whether an entry comes before a message, or was said before a day. The day of some is not known; they are before none."""
    if bound.position is not None:
        return entry.history_position < bound.position
    return 0 < entry.day < (bound.day or 0)


def _is_at(entry: Entry, bound: Bound) -> bool:
    return entry.history_position == bound.position if bound.position is not None else entry.day == 0


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
