"""The state of a session apart from its view: pins, statistics, calibration and notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plimsoll.compaction.readers import Reader
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.protocols import Record
from plimsoll.records.stats import Stats
from plimsoll.records.usage import learnt
from plimsoll.tokens.calibrate import Calibrator


@dataclass(slots=True, kw_only=True)
class Facts:
    """State after a record. Compactions and rollbacks repeat it in `state`, so that no earlier record has to be read."""

    pins: set[int] = field(default_factory=set)
    stats: Stats = field(default_factory=Stats)
    calibration: Calibrator = field(default_factory=Calibrator)
    reported: int | None = None
    """The provider's count for the newest request since the last compaction, rollback or edit."""
    context: int | None = None
    """Number of the newest context note; None if the session record is current."""
    title: str | None = None
    """The title set after creation; None if the session record is current."""
    reader: Reader | None = None
    """The tool that loads this session's view and rewrites it in its own words."""

    notes: str | None = None
    """The notes of earlier sessions that this one's views show."""

    def take(self, record: Record) -> None:
        """Apply a record."""
        match record.kind:
            case "compaction" | "rollback":
                self._restore(record.data["state"])
            case "edit":
                self.reported = None
            case "pin":
                change = self.pins.add if record.data["pinned"] else self.pins.discard
                change(record.data["position"])
            case "usage":
                self.calibration, self.reported = learnt(self.calibration, record.data), record.data["prompt"]
            case "note" if record.data.get("what") == "context":
                self.context = record.seq
            case "note" if record.data.get("what") == "title":
                self.title = record.data["title"]
            case "note" if record.data.get("what") == "memories":
                self.notes = record.data["text"]
            case _:
                pass

    def copied(self) -> Facts:
        """An independent copy."""
        return replace(self, pins=set(self.pins))

    def to_data(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "pins": sorted(self.pins),
            "stats": self.stats.totals(),
            "calibration": self.calibration.to_dict(),
            "context": self.context,
            **({} if self.title is None else {"title": self.title}),
            **({} if self.notes is None else {"notes": self.notes}),
            "reader": self.reader,
        }

    def _restore(self, data: Mapping[str, Any]) -> None:
        """Restore what `to_data` wrote."""
        self.reported = None
        self.stats = Stats.of_totals(data["stats"])
        self.pins = set(data["pins"])
        self.calibration = Calibrator.from_dict(data["calibration"])
        self.context = data.get("context")
        self.title = data.get("title")
        self.notes = data.get("notes")
        self.reader = data.get("reader")
