"""What the caches of a session read of its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

from plimsoll.errors import SessionClosed
from plimsoll.message import Message
from plimsoll.records.compactions import compaction_at
from plimsoll.records.ledgers import extend_by_position
from plimsoll.records.packing import unpacked
from plimsoll.summary.ledger import Ledger

if TYPE_CHECKING:
    from plimsoll.protocols import SessionLog
    from plimsoll.records.history import History
    from plimsoll.records.replay import ViewState


class HasLog(Protocol):
    """What is read of a recorder: its log, and the state that it has come to."""

    log: SessionLog
    state: ViewState


class LogReader:
    """Reads for a recorder that it does not keep: a cycle would keep a dropped session until a garbage collection."""

    __slots__ = ("_log", "_recorder")

    def __init__(self, recorder: HasLog) -> None:
        self._log, self._recorder = recorder.log, ref(recorder)

    def _history(self) -> History:
        if (recorder := self._recorder()) is None:
            raise SessionClosed(self._log.name, path=self._log.where)
        return recorder.state.history

    def messages(self, start: int, stop: int) -> dict[int, Message]:
        """The messages from a position up to another that can be read."""
        return self._history().gathered([(start, stop)])

    def ledger(self, seq: int) -> Mapping[str, Any]:
        """The `ledger` field of a compaction record. Raises SessionDamaged."""
        found: Mapping[str, Any] = unpacked(compaction_at(self._log, seq).data)["ledger"]
        return found

    def ledger_anew(self, seq: int) -> Ledger:
        """The ledger of what a compaction covers, from the messages themselves. Raises SessionDamaged."""
        _, stop = compaction_at(self._log, seq).data["covers"] or (0, 0)
        return extend_by_position(self._history().decoded(0, stop))
