"""Edits: a host has taken messages back, removed or changed them. The log keeps them all; the view goes on without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plimsoll.chronicle import Chronicle
from plimsoll.events import Events, compaction_at
from plimsoll.history import Branch, Run
from plimsoll.message import Message
from plimsoll.payloads import as_stored, kept_runs, unpacked
from plimsoll.ports import Draft, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What a host's list says of messages that were appended before."""

    left: Sequence[Run] = ()
    """Positions that are in it no longer."""
    changed: Mapping[int, Message] = field(default_factory=dict)
    """Position -> the message as it reads there now; one that had left may come back so."""

    def __bool__(self) -> bool:
        return bool(self.left or self.changed)


def edit_draft(chronicle: Chronicle, edit: Edit) -> Draft:
    """The record of an edit: what has left, what reads otherwise, and which compaction the view goes on from."""
    format = chronicle.gauge.format
    stored = {position: as_stored(message, format, position) for position, message in sorted(edit.changed.items())}
    data = {
        "left": [list(run) for run in edit.left],
        "changed": [[position, message.wire] for position, message in stored.items()],
        "base": _base(chronicle, edit),
        "prev": chronicle.timeline.event,
    }
    return Draft(kind="edit", data=data)


def _base(chronicle: Chronicle, edit: Edit) -> int | None:
    """The newest compaction in force that says nothing of what was taken back or reads otherwise now."""
    log = chronicle.log
    touched = _Touched.by(edit, chronicle.timeline.history.branch, log.messages)
    return next((seq for seq in events_of(chronicle).in_force() if touched.spares(compaction_at(log, seq))), None)


def events_of(chronicle: Chronicle) -> Events:
    """What has happened to the view of a session."""
    return Events(chronicle.log, newest=chronicle.timeline.event, base=chronicle.timeline.base)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Touched:
    """Positions that decide how far a view has to go back."""

    end: int
    """From here on nothing of what there was is left: the conversation was taken back to this place."""
    words: frozenset[int]
    """Changed messages that are more than a tool's result."""
    back: frozenset[int]
    """Messages that had left and are there again."""

    @classmethod
    def by(cls, edit: Edit, before: Branch, stop: int) -> _Touched:
        """What an edit touches. Messages in the middle that leave may leave a summary that speaks of them where it is."""
        after = before.edited(edit.left, edit.changed, 0).runs(0, stop)
        return cls(
            end=after[-1][1] if after else 0,
            words=frozenset(position for position, message in edit.changed.items() if message.role != "tool"),
            back=frozenset(position for position in edit.changed if not before.holds(position)),
        )

    def spares(self, record: Record) -> bool:
        """Whether a compaction's summary speaks of nothing that was taken back, and its view shows whatever changed."""
        data = unpacked(record.data)
        covered = (data["covers"] or (0, 0))[1]
        if self.end < covered or any(position < record.position for position in self.back):
            return False
        shown = set(_shown(data["view"]))
        return all(position >= record.position or position in shown for position in self.words)


def _shown(items: Sequence[Any]) -> Iterator[int]:
    for start, stop in kept_runs(items):
        yield from range(start, stop)
