"""Calibrate a token counter by the usage that a provider reports.

Two values are estimated. The ratio of reported to counted tokens comes from the differences between consecutive calls, in which
constant content (such as a host's own system prompt or tools) cancels out; it is a mean of logarithms, weighted by size and
recency. The size of the constant content is then the remainder of the newest reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, exp, isfinite, log, sqrt
from typing import Any

from plimsoll.errors import SettingError
from plimsoll.light.dataclass import asdict, dataclass, fields, replace
from plimsoll.limits import SETTING_TOKENS_MAX

DIFFERENCE_TOKENS_MIN = 200
"""Smaller differences mostly measure rounding. They are accumulated up to this size."""

DIFFERENCE_TOKENS_MAX = 20_000
"""The weight of a difference is capped here."""

RATIO_MIN, RATIO_MAX = 0.5, 3.0
"""Limits of a plausible ratio: no vocabulary in use is further from o200k_base. A difference outside them means that the host
added or removed something uncounted, or that the report belongs to another request."""

REPORTS_KEPT = 5
"""Number of newest reports that estimate the constant content. Their maximum is used: a rise takes effect at once, a fall only
after this many reports."""

_DECAY = 0.8
"""Decay of the older weights for each new difference of at least DIFFERENCE_TOKENS_FULL."""

DIFFERENCE_TOKENS_FULL = 4_000
"""Smaller differences decay the older ones by less: a few short turns say little about a long history."""

_PRIOR_RATIO_TOKENS = 50.0
"""Weight, in tokens, of the prior ratio of 1."""

_PRIOR_SPREAD, _PRIOR_SPREAD_EXACT = 0.08, 0.02
"""Prior standard deviations, for an inexact and an exact counter: one turn may be prose and the next JSON, which no foreign
vocabulary counts equally well."""

_DEVIATIONS = 3.0
"""Standard deviations that the margin covers, once there are many differences."""

_MARGIN_MIN, _MARGIN_MAX = 1.01, 1.3
"""Limits of the margin; the upper one is raised to the counter's own margin if that is wider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrator:
    """The calibration of one provider and model. Immutable: `record` returns the next state.

    All counts are of whole requests (messages, tools and framing), by the uncalibrated counter.
    """

    counted: int | None = None
    """Counted tokens of the request that the next difference is measured from."""
    reported: int | None = None
    """Tokens the provider reported for that request."""
    differences: int = 0
    """Number of differences used."""
    weight: float = 0.0
    weighted: float = 0.0
    """Weighted sum of the logarithms of the ratios."""
    squared: float = 0.0
    """Weighted sum of their squares."""
    weights_squared: float = 0.0
    """Sum of the squared weights."""
    recent: tuple[tuple[int, int], ...] = ()
    """The newest reports, oldest first: tokens counted and tokens reported."""

    def record(self, *, counted: int, reported: int) -> Calibrator:
        """The state after a call with `counted` tokens by the counter and `reported` by the provider, cached ones included.

        For Anthropic, `reported` is the sum of input, cache reads and cache writes. Values below 1, and reports too small for the
        request, change nothing. A smaller request than before, as after a compaction, starts a new difference.
        """
        if not is_plausible(counted, reported):
            return self
        recent = (*self.recent, (counted, reported))[-REPORTS_KEPT:]
        return replace(self._differed(counted, reported), recent=recent)

    def _differed(self, counted: int, reported: int) -> Calibrator:
        """The state after adding the difference to the previous call."""
        if self.counted is None or self.reported is None or counted < self.counted:
            return replace(self, counted=counted, reported=reported)
        more_counted, more_reported = counted - self.counted, reported - self.reported
        if more_counted < DIFFERENCE_TOKENS_MIN:
            return self
        if not RATIO_MIN * more_counted <= more_reported <= RATIO_MAX * more_counted:
            return replace(self, counted=counted, reported=reported)
        value = log(more_reported / more_counted)
        weight = min(more_counted, DIFFERENCE_TOKENS_MAX)
        decay = _DECAY ** min(1.0, more_counted / DIFFERENCE_TOKENS_FULL)
        return replace(
            self,
            counted=counted,
            reported=reported,
            differences=self.differences + 1,
            weight=self.weight * decay + weight,
            weighted=self.weighted * decay + weight * value,
            squared=self.squared * decay + weight * value * value,
            weights_squared=self.weights_squared * decay**2 + weight**2,
        )

    @property
    def ratio(self) -> float:
        """Reported over counted tokens; 1.0 before the first difference."""
        return exp(self.weighted / (self.weight + _PRIOR_RATIO_TOKENS))

    @property
    def spread(self) -> float:
        """Standard deviation of the logarithm of the ratio; 0.0 with fewer than two differences."""
        if self.weight == 0:
            return 0.0
        mean = self.weighted / self.weight
        return sqrt(max(0.0, self.squared / self.weight - mean * mean))

    def margin(self, before: float) -> float:
        """The factor on top of `ratio` that covers its error; `before` is the counter's margin without calibration.

        Combines the spread of the differences with a prior that decays like old differences. It covers the error of the next
        difference as well as that of the mean.
        """
        if not self.differences or not self.weights_squared:
            return before
        prior = max(log(before) / _DEVIATIONS, _PRIOR_SPREAD) if before > 1 else _PRIOR_SPREAD_EXACT
        prior_weight = _DECAY ** (self.differences - 1)
        seen = self.weight**2 / self.weights_squared
        variance = (seen * self.spread**2 + prior_weight * prior**2) / (seen - 1 + prior_weight)
        margin = exp(_DEVIATIONS * (1 + 0.7 / seen) * sqrt(variance * (1 + 1 / seen)))
        return min(max(_MARGIN_MIN, margin), max(before, _MARGIN_MAX))

    def unseen(self, *, before: float = 1.0, exact: bool = False) -> int:
        """Tokens of constant content that every request carries and the counter does not see, such as a host's system prompt.

        The maximum over the newest reports; reports within the upper count are ignored. `before` is the counter's margin without
        calibration; an `exact` counter is used without ratio and margin. Never negative.
        """
        ratio, margin = (1.0, 1.0) if exact else (self.ratio, self.margin(before))
        beyond = (
            reported - counted * ratio for counted, reported in self.recent if reported > counted * ratio * margin
        )
        return ceil(max(beyond, default=0.0))

    def to_dict(self) -> dict[str, Any]:
        """The state as plain JSON data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Calibrator:
        """The inverse of `to_dict`. Unknown fields are ignored. Raises SettingError for invalid values."""
        known = {field.name: data[field.name] for field in fields(cls) if field.name in data}
        recent = _pairs(known.pop("recent", ()))
        for name, value in known.items():
            _check(name, value)
        state = cls(**known, recent=recent)
        reach = 1.001 * state.weight
        if not reach * log(RATIO_MIN) <= state.weighted <= reach * log(RATIO_MAX):
            raise SettingError("calibration.weighted", "gives a ratio outside 0.5 to 3")
        return state


def is_plausible(counted: int, reported: int) -> bool:
    """Whether a report is plausible for a request of `counted` tokens."""
    return 0 < counted <= SETTING_TOKENS_MAX and counted * RATIO_MIN <= reported <= SETTING_TOKENS_MAX


def _check(name: str, value: Any) -> None:
    optional = name in {"counted", "reported"}
    is_integer = optional or name == "differences"
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int if is_integer else (int, float)):
        raise SettingError(f"calibration.{name}", "must be a number")
    if not (abs(value) <= SETTING_TOKENS_MAX and isfinite(value)) or (value < 0 and name != "weighted"):
        raise SettingError(f"calibration.{name}", "must be a number of tokens")


def _pairs(value: Any) -> tuple[tuple[int, int], ...]:
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
