"""The chain of compactions and rollbacks in a log: which there were, and which of them the view goes on from."""

from __future__ import annotations

from collections.abc import Iterator

from plimsoll.errors import SettingError
from plimsoll.payloads import Compaction, compaction_of, seq_of, unpacked
from plimsoll.ports import Record, SessionLog

IMPORT = "import"
"""The trigger of the compaction that stands for what another tool had done."""


class Events:
    """Follows the chain in one log. `newest` is the last event, `base` the compaction the view goes on from."""

    def __init__(self, log: SessionLog, *, newest: int | None, base: int | None) -> None:
        self._log = log
        self._newest = newest
        self._base = base

    def record(self, seq: int) -> Record:
        """One record of the log by its number."""
        return next(iter(self._log.read(seq)))

    def compactions(self) -> list[Compaction]:
        """Every compaction, oldest first, those undone included."""
        in_force = set(self.in_force())
        found = [record for record in self._back() if record.kind == "compaction"]
        return [compaction_of(record, undone=record.seq not in in_force) for record in reversed(found)]

    def in_force(self) -> list[int]:
        """Numbers of the compactions that the view goes on from, newest first."""
        found, seq = [], self._base
        while seq is not None:
            found.append(seq)
            seq = self.record(seq).data["base"]
        return found

    def to_undo(self, compaction_id: str | None) -> int:
        """The compaction in force that is meant, by default the newest one of our own. Raises SettingError without one."""
        in_force = self.in_force()
        if compaction_id is None:
            own = [seq for seq in in_force if unpacked(self.record(seq).data)["trigger"] != IMPORT]
            if not own:
                raise SettingError(
                    "compaction_id", "no compaction is in force; what was imported is undone by its id only"
                )
            return own[0]
        seq = seq_of(compaction_id)
        if seq not in in_force:
            raise SettingError("compaction_id", f"{str(compaction_id)[:40]!r} is no compaction in force")
        return seq

    def to_redo(self, compaction_id: str | None) -> int:
        """The undone compaction that is meant, by default the newest. Raises SettingError without one."""
        undone = [compaction.id for compaction in self.compactions() if compaction.undone]
        chosen = undone[-1] if compaction_id is None and undone else compaction_id
        if chosen not in undone:
            raise SettingError("compaction_id", "no such compaction has been undone")
        return seq_of(chosen)

    def _back(self) -> Iterator[Record]:
        """Compactions and rollbacks, newest first."""
        seq = self._newest
        while seq is not None:
            record = self.record(seq)
            yield record
            seq = record.data["prev"]
