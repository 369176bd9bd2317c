"""Filters of a search: who said it, with which tool, before or after a message or a day."""

from __future__ import annotations

import datetime as dt
from typing import Literal, TypeAlias, get_args

from plimsoll.compaction.references import position_named
from plimsoll.dataclass import dataclass
from plimsoll.errors import SettingError
from plimsoll.recall.segment import Entry
from plimsoll.validation import one_of, short_repr

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
