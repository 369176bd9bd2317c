"""Edits: a host has taken messages back, removed or changed them. The log keeps them all; the view goes on without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from plimsoll.dataclass import dataclass
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
    """What a host's list says of messages that were appended before."""

    left: Sequence[Run] = ()
    """Positions that are in it no longer."""
    changed: Mapping[int, Message] = field(default_factory=dict)
    """Position -> the message as it reads there now; one that had left may come back so."""

    def __bool__(self) -> bool:
        return bool(self.left or self.changed)

    @property
    def first(self) -> int:
        """The first position that it changes; -1 where what is sent before all messages has changed."""
        return min([*self.changed, *(run[0] for run in self.left)], default=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A compaction that a view may go on from."""

    seq: int
    position: int
    """How many messages there were."""
    covered: int
    """Its summary speaks of nothing from this position on."""
    shown: frozenset[int]
    """Positions of the messages that its view shows."""
    before: int | None
    """The compaction it went on from."""

    @classmethod
    def of(cls, record: Record) -> Base:
        """What the record of a compaction says."""
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
    """The record of an edit: what has left, what reads otherwise, and which compaction the view goes on from.

    `bases` are the compactions that were looked at before; those that are looked at now are added. `behind` are the messages that
    are appended with it and stand behind what has changed.
    """
    format = recorder.meter.format
    stored = {position: as_stored(message, format, position) for position, message in sorted(edit.changed.items())}
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


def unbound_by(recorder: SessionRecorder, edit: Edit, base: int | None) -> list[int]:
    """Positions of the messages whose thinking was made for what an edit changes, as far as the view may show them."""
    state = recorder.state
    said = {piece.position: piece.message for piece in state.pieces if piece.position is not None}
    if base != state.base:
        whole = {piece.position: piece.message for piece in state.pieces if piece.position is not None and piece.whole}
        said = state.history.gathered([(edit.first + 1, recorder.log.messages)], whole)
    return recorder.meter.bound(
        (at, message) for at, message in sorted({**said, **edit.changed}.items()) if at > edit.first
    )


def _base(recorder: SessionRecorder, edit: Edit, bases: dict[int, Base | None]) -> int | None:
    """The newest compaction in force that says nothing of what was taken back or reads otherwise now."""
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

    def spares(self, base: Base) -> bool:
        """Whether a compaction's summary speaks of nothing that was taken back, and its view shows whatever changed."""
        if self.end < base.covered or any(position < base.position for position in self.back):
            return False
        return all(position >= base.position or position in base.shown for position in self.words)


def _shown(items: Sequence[Any]) -> Iterator[int]:
    for start, stop in kept_runs(items):
        yield from range(start, stop)
