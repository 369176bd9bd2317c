"""Learning from reported usage how far a counter's numbers are from the provider's.

Two things are learnt. The ratio of reported to counted tokens comes from differences between consecutive calls, in which what
every request carries (a system prompt or tools that the host keeps to itself) cancels out; the ratios are averaged as logarithms,
weighted by tokens, the newest most. What every request carries is then what is left of the newest reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from math import ceil, exp, isfinite, log, sqrt
from typing import Any

from plimsoll.dataclass import dataclass
from plimsoll.errors import SettingError
from plimsoll.limits import SETTING_TOKENS_MAX

DIFFERENCE_TOKENS_MIN = 200
"""Smaller differences say more about rounding than about the ratio. They are added up until they are large enough."""

DIFFERENCE_TOKENS_MAX = 20_000
"""A larger difference weighs no more than this."""

RATIO_MIN, RATIO_MAX = 0.5, 3.0
"""No vocabulary in use is further than this from o200k_base over a whole difference. What is, says nothing of the ratio: the
host added or removed something that is not counted, or the report belongs to another request."""

REPORTS_KEPT = 5
"""Newest reports that the tokens every request carries are taken from: more of them are believed at once, fewer only when all
of these agree."""

_KEPT = 0.8
"""Share of the older differences' weight that stays when one of DIFFERENCE_TOKENS_FULL or more is added."""

DIFFERENCE_TOKENS_FULL = 4_000
"""A smaller difference makes the older ones fade by less: a few short turns say little against a long history."""

_PRIOR_RATIO_TOKENS = 50.0
"""Weight of the belief in a ratio of 1, before the first report."""

_SPREAD_BEFORE, _SPREAD_EXACT = 0.08, 0.02
"""Least spread believed in before there is a sample: one turn may be prose and the next JSON, in any vocabulary but the
right one."""

_DEVIATIONS = 3.0
"""Standard deviations that the margin covers when there are many differences, of a spread that is itself estimated."""

_MARGIN_MIN, _MARGIN_MAX = 1.01, 1.3
"""The margin stays between these, or below the one before where that is wider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrator:
    """What was learnt for one provider and model. Immutable: `record` returns the next state.

    All counts are of whole requests: messages, tools and framing, by the counter without calibration.
    """

    counted: int | None = None
    """Tokens counted for the request that the next difference is taken from."""
    reported: int | None = None
    """Tokens the provider reported for that request."""
    differences: int = 0
    """How many were used so far."""
    weight: float = 0.0
    weighted: float = 0.0
    """Sum of logarithms of ratios, times their weights."""
    squared: float = 0.0
    """Sum of their squares, times their weights."""
    weights_squared: float = 0.0
    """Sum of the squares of the weights."""
    recent: tuple[tuple[int, int], ...] = ()
    """The newest reports, oldest first: tokens counted and tokens reported."""

    def record(self, *, counted: int, reported: int) -> Calibrator:
        """The state after one call: `counted` tokens by the counter, `reported` by the provider, cached ones included.

        For Anthropic that is input, cache reads and cache writes together. Values below 1, and a report so small that it cannot
        be of this request, change nothing. A request smaller than the one before, as after a compaction, starts a new difference.
        """
        if not is_believed(counted, reported):
            return self
        recent = (*self.recent, (counted, reported))[-REPORTS_KEPT:]
        return replace(self._differed(counted, reported), recent=recent)

    def _differed(self, counted: int, reported: int) -> Calibrator:
        """The state after the difference from the call before."""
        if self.counted is None or self.reported is None or counted < self.counted:
            return replace(self, counted=counted, reported=reported)
        more_counted, more_reported = counted - self.counted, reported - self.reported
        if more_counted < DIFFERENCE_TOKENS_MIN:
            return self
        if not RATIO_MIN * more_counted <= more_reported <= RATIO_MAX * more_counted:
            return replace(self, counted=counted, reported=reported)
        value = log(more_reported / more_counted)
        weight = min(more_counted, DIFFERENCE_TOKENS_MAX)
        kept = _KEPT ** min(1.0, more_counted / DIFFERENCE_TOKENS_FULL)
        return replace(
            self,
            counted=counted,
            reported=reported,
            differences=self.differences + 1,
            weight=self.weight * kept + weight,
            weighted=self.weighted * kept + weight * value,
            squared=self.squared * kept + weight * value * value,
            weights_squared=self.weights_squared * kept**2 + weight**2,
        )

    @property
    def ratio(self) -> float:
        """Reported over counted tokens; 1.0 before the first difference."""
        return exp(self.weighted / (self.weight + _PRIOR_RATIO_TOKENS))

    @property
    def spread(self) -> float:
        """Standard deviation of the logarithm of the ratio, from one difference to another; 0.0 before there are two."""
        if self.weight == 0:
            return 0.0
        mean = self.weighted / self.weight
        return sqrt(max(0.0, self.squared / self.weight - mean * mean))

    def margin(self, before: float) -> float:
        """The margin over `ratio`: from `before`, the counter's own, towards what the spread of the differences asks for.

        The spread is a sample's, with a belief about it that fades as fast as old differences do; both the next
        difference and the mean of those before it are off by it.
        """
        if not self.differences or not self.weights_squared:
            return before
        belief = max(log(before) / _DEVIATIONS, _SPREAD_BEFORE) if before > 1 else _SPREAD_EXACT
        faded = _KEPT ** (self.differences - 1)
        seen = self.weight**2 / self.weights_squared
        variance = (seen * self.spread**2 + faded * belief**2) / (seen - 1 + faded)
        margin = exp(_DEVIATIONS * (1 + 0.7 / seen) * sqrt(variance * (1 + 1 / seen)))
        return min(max(_MARGIN_MIN, margin), max(before, _MARGIN_MAX))

    def unseen(self, *, before: float = 1.0, exact: bool = False) -> int:
        """Tokens that every request carries beyond those counted: what the host keeps to itself, such as a system prompt or tools.

        Of the newest reports the one that says the most counts. A report that the upper count covers says nothing. `before` is
        the counter's own margin; an `exact` counter needs neither ratio nor margin. Never negative.
        """
        ratio, margin = (1.0, 1.0) if exact else (self.ratio, self.margin(before))
        beyond = (
            reported - counted * ratio for counted, reported in self.recent if reported > counted * ratio * margin
        )
        return ceil(max(beyond, default=0.0))

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Calibrator:
        """The state that `to_dict` gave; fields it does not know are left out. Raises SettingError for impossible values."""
        known = {field.name: data[field.name] for field in fields(cls) if field.name in data}
        recent = _pairs(known.pop("recent", ()))
        for name, value in known.items():
            _check(name, value)
        state = cls(**known, recent=recent)
        reach = 1.001 * state.weight
        if not reach * log(RATIO_MIN) <= state.weighted <= reach * log(RATIO_MAX):
            raise SettingError("calibration.weighted", "gives a ratio outside 0.5 to 3")
        return state


def is_believed(counted: int, reported: int) -> bool:
    """Whether a report can be of a request that is counted as so much."""
    return 0 < counted <= SETTING_TOKENS_MAX and counted * RATIO_MIN <= reported <= SETTING_TOKENS_MAX


def _check(name: str, value: Any) -> None:
    optional = name in {"counted", "reported"}
    whole = optional or name == "differences"
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise SettingError(f"calibration.{name}", "must be a number")
    if not (abs(value) <= SETTING_TOKENS_MAX and isfinite(value)) or (value < 0 and name != "weighted"):
        raise SettingError(f"calibration.{name}", "must be a number of tokens")


def _pairs(value: Any) -> tuple[tuple[int, int], ...]:
    """The newest reports as they were written down. Raises SettingError."""
    if not isinstance(value, (list, tuple)):
        raise SettingError("calibration.recent", "must be a list of pairs")
    pairs = []
    for pair in value[-REPORTS_KEPT:]:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise SettingError("calibration.recent", "must be a list of pairs")
        for tokens in pair:
            if isinstance(tokens, bool) or not isinstance(tokens, int) or not 0 < tokens <= SETTING_TOKENS_MAX:
                raise SettingError("calibration.recent", "must be numbers of tokens")
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)
