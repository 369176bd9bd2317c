"""`plimsoll.check`: whether messages are due for a compaction, without a session."""

from __future__ import annotations

from typing import Any

import pytest

import plimsoll
from plimsoll.errors import FormatError, SettingError
from plimsoll.policy.budget import Level
from workloads import talk, work

TALK = talk(81, 40)
TOTAL = plimsoll.count_tokens(TALK)


@pytest.mark.spec("S0-14", "S0-17", "S1-22", "S2-03", "S2-09")
@pytest.mark.parametrize(
    ("load", "level", "urgency", "due"),
    [
        (0.5, Level.none, "none", False),
        (0.75, Level.normal, "soft", True),
        (0.9, Level.aggressive, "soft", True),
        (0.97, Level.emergency, "hard", True),
        (1.5, Level.emergency, "hard", True),
    ],
)
def test_a_check_names_level_and_line(load: float, level: Level, urgency: str, due: bool) -> None:
    """By the default lines; the size is that of the request (S0-14, S0-17, S1-22, S2-03, S2-09)."""
    found = plimsoll.check(TALK, max_tokens=int(TOTAL / load))

    assert (found.level, found.urgency, found.should_compact) == (level, urgency, due)
    assert found.current_tokens == TOTAL
    assert found.max_tokens == int(TOTAL / load)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["ladder", "fill", "threshold-80", "small-window", "five-turns"])
@pytest.mark.parametrize("messages", [TALK, work(82, 25)], ids=["talk", "work"])
def test_a_check_says_what_fit_and_a_session_do(messages: Any, policy: str) -> None:
    """Due exactly where `fit` leaves level none behind, and as a session of these messages says."""
    for load in (0.3, 0.72, 0.82, 0.9, 1.02, 1.3):
        budget = int(plimsoll.count_tokens(messages) / load)
        found = plimsoll.check(messages, max_tokens=budget, policy=policy)
        report = plimsoll.fit(messages, max_tokens=budget, policy=policy).report

        assert report.level is found.level or (policy == "fill" and load > 1)
        assert found.should_compact or report.stage == "none"
        with plimsoll.open("x", store="memory:", max_tokens=budget, policy=policy) as session:
            session.extend(messages)
            if session.status().current_tokens == found.current_tokens:
                assert session.check() == found


def test_over_the_budget_is_always_due() -> None:
    """Also under a policy that has no step for it."""
    assert plimsoll.check(TALK, max_tokens=TOTAL - 1, policy=plimsoll.Policy(steps=())).should_compact
    assert not plimsoll.check(TALK, max_tokens=TOTAL, policy=plimsoll.Policy(steps=())).should_compact


def test_every_option_counts() -> None:
    """Tools are taken off the budget, system text is added, the model gives the window and the counter, the policy the lines."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    plain = plimsoll.check(TALK, max_tokens=9_000)

    assert plimsoll.check(TALK, max_tokens=9_000, tools=tools).max_tokens < 9_000
    assert plimsoll.check(TALK, max_tokens=9_000, system="Be brief.").current_tokens > plain.current_tokens
    assert plimsoll.check(TALK, model="gpt-4o").max_tokens == 128_000 - 16_384
    assert plimsoll.check(TALK, max_tokens=9_000, model="claude-sonnet-4-5").current_tokens > plain.current_tokens
    assert plimsoll.check(TALK, max_tokens=9_000, policy="five-turns").threshold == 4_000
    with pytest.raises(FormatError):
        plimsoll.check(work(83, 3), max_tokens=9_000, format="openai-responses")
    with pytest.raises(SettingError):
        plimsoll.check(TALK, max_tokens=0)
