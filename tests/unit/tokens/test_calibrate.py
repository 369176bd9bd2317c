"""Learning a provider's ratio from what it reports, against simulated providers."""

from __future__ import annotations

import json
import random
import statistics
from typing import Any

import pytest

from plimsoll.errors import SettingError
from plimsoll.tokens.calibrate import Calibrator
from plimsoll.tokens.counter import counter_for


class Provider:
    """Bills `ratio` tokens for each counted one, more or less by `noise` from turn to turn, and `extra` for every request."""

    def __init__(self, ratio: float, *, noise: float, extra: int, seed: int) -> None:
        self.rng = random.Random(seed)
        self.ratio, self.noise = ratio, noise
        self.counted = 0
        self.billed = float(extra)

    def turn(self, low: int = 300, high: int = 6000) -> tuple[int, int]:
        """One more turn: tokens counted and tokens billed for the whole request."""
        more = self.rng.randint(low, high)
        self.counted += more
        self.billed += more * self.ratio * self.rng.lognormvariate(0, self.noise)
        return self.counted, round(self.billed)


def _after(provider: Provider, calls: int) -> Calibrator:
    state = Calibrator()
    for _ in range(calls):
        counted, billed = provider.turn()
        state = state.record(counted=counted, reported=billed)
    return state


def predicted(state: Calibrator, counted: int, margin: float = 1.0) -> float:
    """What the next report should say: while requests grow, the last one and the difference by the ratio."""
    if state.counted is None or state.reported is None or counted < state.counted:
        return counted * state.ratio * margin
    return state.reported + (counted - state.counted) * state.ratio * margin


@pytest.mark.spec("WE-11")
@pytest.mark.parametrize("ratio", [0.6, 0.9, 1.0, 1.25, 1.5, 2.4])
@pytest.mark.parametrize("extra", [0, 900])
def test_ten_calls_are_enough(ratio: float, extra: int) -> None:
    """After ten calls the next request is predicted within 3 %, and the ratio known within 3 % (WE-11)."""
    for seed in range(20):
        provider = Provider(ratio, noise=0.03, extra=extra, seed=seed)
        state = _after(provider, 10)
        assert state.ratio == pytest.approx(ratio, rel=0.03)
        counted, billed = provider.turn()
        assert predicted(state, counted) == pytest.approx(billed, rel=0.03)


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.06])
def test_upper_stays_above_the_truth(noise: float) -> None:
    """In at least 99 of 100 next requests the bill is not above the upper prediction, from the second call on."""
    held = []
    for seed in range(400):
        provider = Provider(random.Random(seed).uniform(0.8, 1.7), noise=noise, extra=500, seed=seed)
        state = _after(provider, 2 + seed % 12)
        counted, billed = provider.turn()
        held.append(billed <= predicted(state, counted, state.margin(1.15)))
    assert statistics.fmean(held) >= 0.99


def test_the_margin_shrinks_with_agreement() -> None:
    """Reports that agree bring the margin of an estimate well below what it was, and never below 1 %."""
    margins = [_after(Provider(1.3, noise=0.01, extra=0, seed=1), calls).margin(1.4) for calls in (1, 4, 12)]
    assert margins[0] == 1.4
    assert margins[0] > margins[1] > margins[2] >= 1.01
    assert margins[2] < 1.15


def test_without_reports_nothing_is_corrected() -> None:
    """A new state predicts what was counted, for an exact counter without any margin."""
    state = Calibrator()
    assert (state.ratio, state.margin(1.0), state.spread) == (1.0, 1.0, 0.0)
    assert predicted(state, 1234) == 1234


@pytest.mark.parametrize(
    ("calls", "differences"),
    [
        ([(1000, 1500)], 0),
        ([(1000, 1500), (1100, 1650)], 0),
        ([(1000, 1500), (1100, 1650), (1300, 1950)], 1),
        ([(1000, 1500), (2000, 3000)], 1),
        ([(1000, 1500), (2000, 1400)], 0),
        ([(5000, 7500), (1000, 1500)], 0),
        ([(5000, 7500), (1000, 1500), (2000, 3000)], 1),
        ([(1000, 0), (2000, 3000), (0, 5), (-5, 10), (10**30, 5), (3000, 4500)], 1),
    ],
)
def test_which_differences_count(calls: list[tuple[int, int]], differences: int) -> None:
    """Less than 200 tokens wait and add up; shrinking requests and reports start anew; impossible numbers change nothing."""
    state = Calibrator()
    for counted, reported in calls:
        state = state.record(counted=counted, reported=reported)
    assert state.differences == differences
    assert state.ratio == pytest.approx(1.5 if differences else 1.0, rel=0.07)


def test_one_absurd_report_is_clipped() -> None:
    """A report a hundred times too large counts as three times too large, and is outweighed by the next ones."""
    state = _after(Provider(1.2, noise=0.01, extra=0, seed=3), 6)
    assert state.counted is not None
    assert state.reported is not None
    hit = state.record(counted=state.counted + 1000, reported=state.reported + 100_000)
    assert hit.ratio < 1.7
    assert _after(Provider(1.2, noise=0.01, extra=0, seed=3), 6) == state


def test_states_are_values() -> None:
    """Recording returns a new state and leaves the old one as it was."""
    state = Calibrator()
    state.record(counted=10, reported=20)
    assert state == Calibrator()


def test_states_survive_json() -> None:
    """A state written as JSON and read back predicts the same; fields of a later version are left out."""
    state = _after(Provider(1.4, noise=0.05, extra=100, seed=2), 7)
    data = json.loads(json.dumps(state.to_dict()))
    assert Calibrator.from_dict(data) == state
    assert Calibrator.from_dict({**data, "later": 1}) == state


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("counted", "5"),
        ("counted", -1),
        ("reported", 1.5),
        ("weight", float("nan")),
        ("weight", -1.0),
        ("weighted", float("inf")),
        ("squared", None),
        ("weights_squared", -1),
        ("differences", True),
        ("weighted", 1e9),
    ],
)
def test_impossible_states_are_refused(field: str, value: Any) -> None:
    """Reading names the field that cannot be, instead of counting with it."""
    data = _after(Provider(1.4, noise=0.05, extra=100, seed=2), 7).to_dict() | {field: value}
    with pytest.raises(SettingError, match=f"calibration.{field}"):
        Calibrator.from_dict(data)


def test_a_calibrated_counter_counts_by_the_learnt_ratio() -> None:
    """Counts of an estimated model move to the provider's ratio, and `upper` lies between count and the old upper."""
    text = "The quick brown fox jumps over the lazy dog. " * 50
    plain = counter_for("claude-sonnet-4-5")
    state = _after(Provider(0.9, noise=0.01, extra=0, seed=5), 10)
    tuned = counter_for("claude-sonnet-4-5", state)
    assert tuned.count(text) == pytest.approx(plain.count(text) * 0.9, rel=0.03)
    assert tuned.count(text) < tuned.upper(text) < plain.upper(text)
    assert not tuned.exact
