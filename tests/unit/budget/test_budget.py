"""Budgets, load lines, levels, checks and stats."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.errors import SettingError
from plimsoll.policy.budget import (
    Budget,
    Level,
    LoadLines,
    check_of,
    level_named,
    level_of,
    mark_tokens,
    recommend,
    status_of,
)
from plimsoll.records.stats import Stats

LINES = LoadLines().resolve(10_000)


def test_budget_is_window_less_reserve_and_tools():
    """The tokens a view may use are the window less the output reserve and the tool schemas."""
    budget = Budget(window_tokens=200_000, output_reserve_tokens=8_000, tools_tokens=500)

    assert budget.tokens == 191_500


def test_budget_of_a_size_holds_nothing_back():
    """Budget.of is exactly the size given."""
    assert Budget.of(4_000).tokens == 4_000


@pytest.mark.spec("W0-10")
@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"window_tokens": 0}, "window_tokens"),
        ({"window_tokens": -5}, "window_tokens"),
        ({"window_tokens": 10.0}, "window_tokens"),
        ({"window_tokens": True}, "window_tokens"),
        ({"window_tokens": "100"}, "window_tokens"),
        ({"window_tokens": 10**400}, "window_tokens"),
        ({"window_tokens": 100, "output_reserve_tokens": 100}, "output_reserve_tokens"),
        ({"window_tokens": 100, "output_reserve_tokens": -1}, "output_reserve_tokens"),
        ({"window_tokens": 100, "output_reserve_tokens": math.nan}, "output_reserve_tokens"),
        ({"window_tokens": 100, "output_reserve_tokens": 60, "tools_tokens": 40}, "tools_tokens"),
    ],
)
def test_budget_with_nothing_left_names_the_field(options, field):
    """A budget of nothing, and an amount that is no whole number, is a SettingError that names its field."""
    with pytest.raises(SettingError) as raised:
        Budget(**options)

    assert raised.value.field == field


@pytest.mark.spec("S0-15")
@pytest.mark.parametrize(
    ("tokens", "level"),
    [
        (0, Level.none),
        (6_999, Level.none),
        (7_000, Level.normal),
        (8_499, Level.normal),
        (8_500, Level.aggressive),
        (9_499, Level.aggressive),
        (9_500, Level.emergency),
        (10_000, Level.emergency),
        (20_000, Level.emergency),
    ],
)
def test_a_line_is_passed_by_reaching_it(tokens, level):
    """A level begins exactly at its line."""
    assert level_of(tokens, LINES) is level


@pytest.mark.parametrize(
    ("lines", "budget", "expected"),
    [
        (LoadLines(), 10_000, (5_000, 7_000, 8_500, 9_500)),
        (LoadLines(), 192_000, (96_000, 134_400, 163_200, 182_400)),
        (LoadLines(), 10, (5, 7, 9, 10)),
        (LoadLines(), 1, (0, 1, 1, 1)),
        (LoadLines(soft=(0.8, 100_000), warn=(0.8, 100_000), hard=0.95), 1_000_000, None),
        (
            LoadLines(soft=(0.8, 1_000), warn=(0.8, 1_000), hard=0.95, target=(0.5, 500)),
            10_000,
            (500, 1_000, 1_000, 9_500),
        ),
        (LoadLines(soft=5_000, warn=8_000, hard=8_000, target=(0.5, 2_500)), 10_000, (2_500, 5_000, 8_000, 8_000)),
        (LoadLines(soft=5_000, warn=8_000, hard=8_000, target=4_000), 3_000, (1_500, 3_000, 3_000, 3_000)),
        (LoadLines(soft=1, warn=1, hard=1), 100, (50, 100, 100, 100)),
    ],
)
def test_lines_resolve_to_tokens(lines, budget, expected):
    """Ratios are shares of the budget, numbers are tokens, of a pair the smaller wins, and no line lies above the budget."""
    if expected is None:
        with pytest.raises(SettingError) as raised:
            lines.resolve(budget)
        assert raised.value.field == "target"
        return
    resolved = lines.resolve(budget)

    assert (resolved.target, resolved.soft, resolved.warn, resolved.hard) == expected


@pytest.mark.parametrize(
    ("marks", "field"),
    [
        ({"soft": 0.9}, "soft"),
        ({"warn": 0.96}, "warn"),
        ({"target": 0.70}, "target"),
        ({"target": 0.0}, "target"),
        ({"target": -0.1}, "target"),
        ({"soft": math.nan}, "soft"),
        ({"soft": math.inf}, "soft"),
        ({"hard": 1.5}, "hard"),
        ({"hard": True}, "hard"),
        ({"hard": "0.9"}, "hard"),
        ({"hard": None}, "hard"),
        ({"hard": (0.9,)}, "hard"),
        ({"hard": (0.9, 0.5)}, "hard"),
        ({"soft": 900, "warn": 800, "hard": 1_000, "target": 10}, "soft"),
    ],
)
def test_lines_out_of_order_name_the_mark(marks, field):
    """Lines that are no ratio and no tokens, or out of order, are refused with the name of the mark."""
    with pytest.raises(SettingError) as raised:
        LoadLines(**marks)

    assert raised.value.field == field


def test_mixed_lines_out_of_order_are_found_when_resolved():
    """Where ratios meet tokens, the order is checked in the budget they are used in."""
    lines = LoadLines(soft=0.7, warn=5_000, hard=6_000, target=0.1)

    assert lines.resolve(6_500).soft == 4_550
    with pytest.raises(SettingError) as raised:
        lines.resolve(100_000)
    assert raised.value.field == "soft"


@given(budget=st.integers(1, 10**9))
def test_resolved_lines_are_in_order_for_any_budget(budget):
    """The default lines are in order in every budget, and usage at a line is at least its ratio."""
    lines = LoadLines().resolve(budget)

    assert 0 <= lines.target < lines.soft <= lines.warn <= lines.hard <= budget
    assert lines.soft * 100 >= 70 * budget > (lines.soft - 1) * 100


def test_ratios_multiply_exactly():
    """A ratio of a round budget is the round number, float noise or not."""
    assert [mark_tokens(ratio, 100, up=True) for ratio in (0.07, 0.29, 0.57, 0.58)] == [7, 29, 57, 58]


@pytest.mark.spec("S0-04")
def test_levels_are_ordered_and_print_their_names():
    """Levels compare in order, print as words, and an unknown one prints its number."""
    assert [str(level) for level in sorted(Level)] == ["none", "normal", "aggressive", "emergency"]
    assert str(Level(99)) == "Level(99)"
    assert Level(99) > Level.emergency
    assert level_named("level", "normal") is Level.normal


@pytest.mark.parametrize("value", ["panic", 1, None, True, "Level(99)", b"normal"])
def test_unknown_level_names_are_refused(value):
    """A level is given by itself or by one of four words."""
    with pytest.raises(SettingError):
        level_named("act_at", value)


@pytest.mark.spec("S0-16")
@pytest.mark.parametrize(
    ("tokens", "start", "words"),
    [
        (100, "OK", ""),
        (7_000, "INFO", "monitoring"),
        (8_500, "WARNING", ""),
        (9_500, "CRITICAL", "immediate compaction"),
    ],
)
def test_recommendations_start_with_their_urgency(tokens, start, words):
    """The sentence for people starts CRITICAL, WARNING, INFO or OK."""
    sentence = recommend(tokens, LINES)

    assert sentence.startswith(start)
    assert words in sentence


@pytest.mark.spec("W2-09")
@pytest.mark.parametrize(
    ("tokens", "urgency", "threshold", "due"),
    [
        (6_999, "none", 7_000, False),
        (7_000, "soft", 7_000, True),
        (8_500, "soft", 8_500, True),
        (9_500, "hard", 9_500, True),
    ],
)
def test_check_names_the_line_reached_or_the_next(tokens, urgency, threshold, due):
    """The threshold of a check is the line that was reached, or the next one when none was."""
    check = check_of(tokens, LINES)

    assert (check.urgency, check.threshold, check.should_compact) == (urgency, threshold, due)
    assert check.current_tokens == tokens
    assert check.to_dict()["level"] == str(check.level)


def test_check_only_advises_below_the_level_it_acts_at():
    """A passed line below `act_at` is reported and nothing is due."""
    check = check_of(7_500, LINES, act_at=Level.aggressive)

    assert (check.should_compact, check.urgency, check.level) == (False, "soft", Level.normal)


@pytest.mark.spec("S0-05")
def test_status_is_a_share_of_the_budget():
    """The ratio is of the budget, not of the window."""
    status = status_of(7_500, LINES)

    assert (status.usage_ratio, status.max_tokens, status.level) == (0.75, 10_000, Level.normal)
    assert status.to_dict()["level"] == "normal"


@pytest.mark.spec("S0-06")
@pytest.mark.spec("W0-12")
def test_stats_count_each_compaction_once():
    """Every compaction counts once at any level, and the mean is of after / before."""
    stats = Stats().after(tokens_before=1_000, tokens_after=500, level=Level.normal)
    stats = stats.after(tokens_before=1_000, tokens_after=100, level=Level.emergency)

    assert stats.to_dict() == {
        "compactions": 2,
        "emergencies": 1,
        "mean_ratio": pytest.approx(0.3),
        "tokens_saved": 1_400,
    }


@pytest.mark.parametrize(("before", "after"), [(100, 106), (0, 0), (0, 50), (100, -5)])
def test_stats_never_save_less_than_nothing(before, after):
    """A compaction that grew saved nothing, one of nothing is none; the mean stays within 0 and 1."""
    stats = Stats().after(tokens_before=before, tokens_after=after, level=Level.normal)

    assert stats.tokens_saved >= 0
    assert 0 <= stats.mean_ratio <= 1
