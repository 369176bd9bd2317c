"""What the records of a session say besides its view: pins, what was counted, and what was noted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from plimsoll.compaction.readers import Reader
from plimsoll.dataclass import dataclass
from plimsoll.protocols import Record
from plimsoll.records.stats import Stats
from plimsoll.records.usage import learnt
from plimsoll.tokens.calibrate import Calibrator


@dataclass(slots=True, kw_only=True)
class Facts:
    """What holds after a record. Each compaction and rollback repeats it in its `state`, so nothing before is read again."""

    pins: set[int] = field(default_factory=set)
    stats: Stats = field(default_factory=Stats)
    calibration: Calibrator = field(default_factory=Calibrator)
    reported: int | None = None
    """What the provider counted for the newest request since the last compaction, rollback or edit."""
    context: int | None = None
    """Number of the newest note about where the session runs; None while that is what the session record says."""
    title: str | None = None
    """The title it was given since it was made; None while that is what the session record says."""
    reader: Reader | None = None
    """The tool that the view is kept for, where it reads one back in words of its own."""

    def take(self, record: Record) -> None:
        """Let a record have its effect."""
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
            case _:
                pass

    def copied(self) -> Facts:
        """The same, to be changed apart from these."""
        return replace(self, pins=set(self.pins))

    def to_data(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "pins": sorted(self.pins),
            "stats": self.stats.totals(),
            "calibration": self.calibration.to_dict(),
            "context": self.context,
            **({} if self.title is None else {"title": self.title}),
            "reader": self.reader,
        }

    def _restore(self, data: Mapping[str, Any]) -> None:
        """Go by what `to_data` wrote."""
        self.reported = None
        self.stats = Stats.of_totals(data["stats"])
        self.pins = set(data["pins"])
        self.calibration = Calibrator.from_dict(data["calibration"])
        self.context = data.get("context")
        self.title = data.get("title")
        self.reader = data.get("reader")
