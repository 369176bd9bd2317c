"""Statistics of compactions: how many there were and how much they saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plimsoll.light.dataclass import dataclass, field
from plimsoll.policy.budget import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Statistics of compactions. Immutable and thus safe to share between threads; `after` returns the next value."""

    compactions: int = 0
    emergencies: int = 0
    tokens_saved: int = 0
    ratio_sum: float = field(default=0.0, repr=False)

    @property
    def mean_ratio(self) -> float:
        """Mean of tokens after / tokens before, in [0, 1]; 1.0 without compactions."""
        return self.ratio_sum / self.compactions if self.compactions else 1.0

    def after(self, *, tokens_before: int, tokens_after: int, level: Level) -> Stats:
        """The statistics with one more compaction, counted once whatever its level and number of steps.

        Ignores an empty view. A compaction that grew the view counts as having saved nothing.
        """
        if tokens_before <= 0:
            return self
        kept = min(max(0, tokens_after), tokens_before)
        return Stats(
            compactions=self.compactions + 1,
            emergencies=self.emergencies + (level >= Level.emergency),
            tokens_saved=self.tokens_saved + tokens_before - kept,
            ratio_sum=self.ratio_sum + kept / tokens_before,
        )

    def totals(self) -> list[float]:
        """The row for the log: compactions, emergencies, tokens saved, sum of ratios."""
        return [self.compactions, self.emergencies, self.tokens_saved, self.ratio_sum]

    @classmethod
    def of_totals(cls, row: Sequence[Any]) -> Stats:
        """Inverse of `totals`."""
        compactions, emergencies, saved, ratio = row
        return cls(compactions=compactions, emergencies=emergencies, tokens_saved=saved, ratio_sum=ratio)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "compactions": self.compactions,
            "emergencies": self.emergencies,
            "mean_ratio": self.mean_ratio,
            "tokens_saved": self.tokens_saved,
        }
