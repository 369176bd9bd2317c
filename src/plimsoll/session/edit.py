"""Edits: messages that a host removed or changed. The log keeps the originals; the view continues without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plimsoll.formats.atoms import has_reasoning
from plimsoll.light.dataclass import dataclass, field
from plimsoll.message import Message
from plimsoll.protocols import Record, RecordDraft
from plimsoll.records.arrival import as_stored
from plimsoll.records.compactions import last_readable_compaction
from plimsoll.records.history import Branch, Run
from plimsoll.records.packing import unpacked
from plimsoll.records.values import kept_runs
from plimsoll.session.recorder import SessionRecorder


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Changes of earlier messages, as found in a host's list."""

    left: Sequence[Run] = ()
    """Positions of removed messages."""
    changed: Mapping[int, Message] = field(default_factory=dict)
    """Position -> new wording. A removed message may return this way."""

    def __bool__(self) -> bool:
        return bool(self.left or self.changed)

    @property
    def first(self) -> int:
        """The first changed position; -1 if the system text or tools before all messages have changed."""
        return min([*self.changed, *(run[0] for run in self.left)], default=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A compaction that a view may be based on."""

    seq: int
    position: int
    """Number of messages at the time."""
    covered: int
    """End of the positions that its summary covers."""
    shown: frozenset[int]
    """Positions of the messages in its view."""
    before: int | None
    """The compaction on which it is based."""

    @classmethod
    def of(cls, record: Record) -> Base:
        """The fields of interest of a compaction record."""
        data = unpacked(record.data)
        return cls(
            seq=record.seq,
            position=record.position,
            covered=(data["covers"] or (0, 0))[1],
            shown=frozenset(_shown(data["view"])),
            before=data["base"],
        )


def edit_draft(
    recorder: SessionRecorder, edit: Edit, bases: dict[int, Base | None], behind: Sequence[tuple[int, Message]] = ()
) -> RecordDraft:
    """The record of an edit: removed and changed messages, and the compaction that the view is based on from now on.

    `bases` caches compactions examined before and is extended. `behind` are the messages appended with the edit that follow a
    changed one.
    """
    format = recorder.meter.format
    stored = {position: as_stored(message, format, position)[0] for position, message in sorted(edit.changed.items())}
    base = _base(recorder, edit, bases)
    unbound = [*unbound_by(recorder, edit, base), *recorder.meter.bound(behind)]
    data = {
        "left": [list(run) for run in edit.left],
        "changed": [[position, message.wire] for position, message in stored.items()],
        "base": base,
        "prev": recorder.state.event,
        **({"unbound": unbound} if unbound else {}),
    }
    return RecordDraft(kind="edit", data=data)


def edit_as(original: SessionRecorder, forked: SessionRecorder) -> None:
    """Edit a fork as its original was edited after the message that the fork ends with, unless that one was removed itself."""
    branch, then, stop = original.state.history.branch, forked.state.history.branch, forked.log.messages
    if branch == then or not branch.holds(stop - 1):
        return
    left = [(start, min(end, stop)) for start, end in branch.left if start < stop]
    anew = [at for at, seq in branch.changed.items() if at < stop and branch.holds(at) and then.changed.get(at) != seq]
    changed = original.state.history.gathered([(at, at + 1) for at in anew])
    edit = Edit(left=[run for run in left if any(map(then.holds, range(*run)))], changed=changed)
    if edit:
        forked.append([], edit=edit_draft(forked, edit, {}))


def unbound_by(recorder: SessionRecorder, edit: Edit, base: int | None) -> list[int]:
    """Positions of messages in the view whose thinking depends on what an edit changes."""
    state = recorder.state
    messages = {
        entry.position: entry.message
        for entry in state.entries
        if entry.position is not None and has_reasoning(entry.shown)
    }
    if base != state.base:
        whole = {entry.position: entry.message for entry in state.entries if entry.position is not None and entry.whole}
        messages = state.history.gathered([(edit.first + 1, recorder.log.messages)], whole)
    return recorder.meter.bound(
        (at, message) for at, message in sorted({**messages, **edit.changed}.items()) if at > edit.first
    )


def _base(recorder: SessionRecorder, edit: Edit, bases: dict[int, Base | None]) -> int | None:
    """The newest compaction in force whose summary covers no removed or changed message."""
    log, seq = recorder.log, recorder.state.base
    touched = _Touched.by(edit, recorder.state.history.branch, log.messages)
    while seq is not None:
        if seq not in bases:
            record = last_readable_compaction(log, seq)
            bases[seq] = None if record is None else Base.of(record)
        found = bases[seq]
        if found is None or touched.spares(found):
            return None if found is None else found.seq
        seq = found.before
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Touched:
    """The positions that decide how far a view must go back."""

    end: int
    """No earlier message from this position on remains: the conversation was rewound to here."""
    words: frozenset[int]
    """Changed messages, except those in which only a tool result changed."""
    back: frozenset[int]
    """Removed messages that have returned."""

    @classmethod
    def by(cls, edit: Edit, before: Branch, stop: int) -> _Touched:
        """The positions that an edit touches. Removing messages in the middle may keep a summary that covers them."""
        after = before.edited(edit.left, edit.changed, 0).runs(0, stop)
        return cls(
            end=after[-1][1] if after else 0,
            words=frozenset(position for position, message in edit.changed.items() if message.role != "tool"),
            back=frozenset(position for position in edit.changed if not before.holds(position)),
        )

    def spares(self, base: Base) -> bool:
        """True if the summary covers nothing that was rewound or changed, and the view shows every changed message."""
        if self.end < base.covered or any(position < base.position for position in self.back):
            return False
        return all(position >= base.position or position in base.shown for position in self.words)


def _shown(items: Sequence[Any]) -> Iterator[int]:
    for start, stop in kept_runs(items):
        yield from range(start, stop)
