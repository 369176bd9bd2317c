"""What a search needs to know of a log: its history, without the view. Much faster to read than a replay."""

from __future__ import annotations

from collections.abc import Sequence

from plimsoll.compaction.view_message import ViewMessage
from plimsoll.formats.format import Format
from plimsoll.light.dataclass import dataclass, field
from plimsoll.protocols import Record, SessionLog
from plimsoll.records.compactions import last_readable_compaction
from plimsoll.records.facts import Facts
from plimsoll.records.history import Branch, History


@dataclass(frozen=True, slots=True)
class SearchableLog:
    """The history at the end of a log, as `ViewState` has it."""

    log: SessionLog
    format: Format
    history: History
    event: int | None = None
    """Number of the last compaction, rollback or edit record."""
    base: int | None = None
    """Number of the compaction record in force."""
    facts: Facts = field(default_factory=Facts)

    entries: Sequence[ViewMessage] = ()
    """Of the view nothing is known."""

    @classmethod
    def of(cls, log: SessionLog, format: Format, newest: Sequence[Record]) -> SearchableLog:
        """The history at the end of a log. `newest` is the result of `newest_records`."""
        history, facts = History(log, format), Facts()
        event = base = None
        for record in reversed(newest):
            if record.kind != "message":
                facts.take(record)
            match record.kind:
                case "compaction":
                    base = record.seq
                case "rollback" | "edit":
                    based_on = last_readable_compaction(log, record.data["base"])
                    base = None if based_on is None else based_on.seq
                case _:
                    continue
            event = record.seq
            if record.kind == "edit":
                history.take(record)
            else:
                history.go_back(Branch.of_data(record.data["state"].get("branch", {})))
        return cls(log=log, format=format, history=history, event=event, base=base, facts=facts)
