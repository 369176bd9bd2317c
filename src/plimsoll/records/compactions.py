"""The linked chain of compactions, rollbacks and edits ("events") in a log.

Each event names the one before it. If that one cannot be read, the log is searched for its predecessor, so damage to one record
costs only that record.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Final

from plimsoll.errors import SessionDamaged, SettingError
from plimsoll.policy.validation import short_repr
from plimsoll.protocols import Record, SessionLog
from plimsoll.records.packing import unpacked
from plimsoll.records.stats import Stats
from plimsoll.records.values import Compaction, compaction_of, seq_of

IMPORT: Final = "import"
"""The stage of compactions made by another tool, and the trigger of the one that an imported session starts from."""

_EVENTS = ("compaction", "rollback", "edit")

BEGINNINGS = frozenset({"compaction", "rollback"})
"""Kinds of records at which replay can start, because they store the whole state."""


def session_record(log: SessionLog) -> Record | None:
    """The first record, which is about the session; None if it cannot be read."""
    first = next(iter(log.read()), None)
    return first if first is not None and first.seq == 0 else None


def record_at(log: SessionLog, seq: int) -> Record:
    """The record of that number. Raises SessionDamaged if it cannot be read."""
    found = next(iter(log.read(seq)), None)
    if found is None or found.seq != seq:
        raise SessionDamaged(log.name, detail=f"record {seq} cannot be read")
    return found


def compaction_at(log: SessionLog, seq: int) -> Record:
    """The compaction record of that number. Raises SessionDamaged if it cannot be read or has another kind."""
    found = record_at(log, seq)
    if found.kind != "compaction":
        raise SessionDamaged(log.name, detail=f"the compaction in record {seq} cannot be read")
    return found


def last_readable_compaction(log: SessionLog, seq: int | None) -> Record | None:
    """The compaction `seq` or, if it cannot be read, the newest readable one before it. None stands for the beginning."""
    while seq is not None:
        try:
            return compaction_at(log, seq)
        except SessionDamaged:
            seq = _compaction_before(log, seq)
    return None


def newest_records(log: SessionLog) -> list[Record]:
    """The newest records, newest first, back to the compaction or rollback at which replay starts."""
    found: list[Record] = []
    for record in log.read_back():
        found.append(record)
        if record.kind in BEGINNINGS:
            break
    return found


def totals_at(log: SessionLog, seq: int | None) -> list[float]:
    """The statistics stored by a compaction; zeros at the beginning."""
    base = last_readable_compaction(log, seq)
    return Stats().totals() if base is None else list(base.data["state"]["stats"])


def turned_at(log: SessionLog, base: int | None) -> int:
    """The number of messages at the first event after compaction `base`, that is when the view was first based on another."""
    since = 0 if base is None else base + 1
    return next((record.position for record in log.read(since) if record.kind in _EVENTS), log.messages)


def _compaction_before(log: SessionLog, seq: int) -> int | None:
    """The compaction in force when a record was written, as far as earlier events can be read."""
    event = _event_before(log, seq)
    if event is None or event.kind == "compaction":
        return None if event is None else event.seq
    return _earlier(log, event, "base")


def _event_at(log: SessionLog, seq: int) -> Record | None:
    """The event of that number or, if it cannot be read, the newest one before it."""
    try:
        found = record_at(log, seq)
    except SessionDamaged:
        return _event_before(log, seq)
    return found if found.kind in _EVENTS else _event_before(log, seq)


def _event_before(log: SessionLog, seq: int) -> Record | None:
    """The newest readable event before a record."""
    return next((found for found in log.read_back() if found.seq < seq and found.kind in _EVENTS), None)


def _earlier(log: SessionLog, record: Record, field: str) -> int | None:
    """The record that a field names. Raises SessionDamaged if it is not an earlier one, which rules out cycles."""
    seq = record.data.get(field, -1)
    if seq is None or (isinstance(seq, int) and 0 <= seq < record.seq):
        return seq
    raise SessionDamaged(log.name, detail=f"record {record.seq} does not name an earlier record")


class CompactionChain:
    """Follows the chain in a log. `newest` is the last event, `base` the compaction that the view is based on."""

    def __init__(self, log: SessionLog, *, newest: int | None, base: int | None) -> None:
        self._log = log
        self._newest = newest
        self._base = base

    def before(self, seq: int) -> int | None:
        """The compaction on which another was based. Raises SessionDamaged if either cannot be read."""
        base = _earlier(self._log, compaction_at(self._log, seq), "base")
        return None if base is None else compaction_at(self._log, base).seq

    def compactions(self) -> list[Compaction]:
        """Every readable compaction, oldest first, including undone ones."""
        in_force = set(self.in_force())
        found = [record for record in self._back() if record.kind == "compaction"]
        return [compaction_of(record, undone=record.seq not in in_force) for record in reversed(found)]

    def written(self, after: int) -> list[tuple[Record, str]]:
        """Compactions after record `after` whose summary was written by a model, a person or another tool, with that text.

        Oldest first, including undone ones.
        """
        found = takewhile(lambda record: record.seq > after, self._back())
        written = [(record, unpacked(record.data).get("written")) for record in found if record.kind == "compaction"]
        return [(record, words) for record, words in reversed(written) if words]

    def in_force(self) -> list[int]:
        """Numbers of the compactions that the view is based on, newest first."""
        found, seq = [], self._base
        while (record := last_readable_compaction(self._log, seq)) is not None:
            found.append(record.seq)
            seq = _earlier(self._log, record, "base")
        return found

    def to_undo(self, compaction_id: str | None) -> int:
        """The compaction to undo: the given one, else the newest not imported. Raises SettingError if it is not in force."""
        in_force = self.in_force()
        if compaction_id is None:
            own = [seq for seq in in_force if unpacked(compaction_at(self._log, seq).data)["stage"] != IMPORT]
            if not own:
                imported = f"; what was imported is undone by its id only, c{in_force[0]}" if in_force else ""
                raise SettingError("compaction_id", f"no compaction is in force{imported}")
            return own[0]
        seq = seq_of(compaction_id)
        if seq not in in_force:
            raise SettingError("compaction_id", f"{short_repr(compaction_id)} is not a compaction in force")
        return seq

    def to_redo(self, compaction_id: str | None) -> int:
        """The undone compaction to redo, by default the newest. Raises SettingError if there is none."""
        undone = [compaction.id for compaction in self.compactions() if compaction.undone]
        chosen = undone[-1] if compaction_id is None and undone else compaction_id
        if chosen not in undone:
            named = (
                "no compaction" if compaction_id is None else f"{short_repr(compaction_id)} is not a compaction that"
            )
            raise SettingError("compaction_id", f"{named} was undone")
        return seq_of(chosen)

    def _back(self) -> Iterator[Record]:
        """Yield every event, newest first."""
        seq = self._newest
        while seq is not None:
            record = _event_at(self._log, seq)
            if record is None:
                return
            yield record
            seq = _earlier(self._log, record, "prev")
