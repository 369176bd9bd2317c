"""The ladder: how strong a step each load allows, and where it comes down to."""

from __future__ import annotations

from typing import Any

import pytest

import plimsoll
from plimsoll.policy.budget import Level
from workloads import talk, turns, work

CONVERSATIONS = {"talk": talk(1, 60), "work": work(2, 30)}
LOADS = tuple(step / 40 for step in range(1, 49))
REVERSIBLE = {"keep", "repair", "shrink", "offload"}


def level_at(load: float) -> Level:
    """The level of a load by the lines of the design: soft 0.70, warn 0.85, hard 0.95."""
    return Level((load >= 0.70) + (load >= 0.85) + (load >= 0.95))


def loaded(name: str, load: float) -> tuple[plimsoll.Fitted, int]:
    """A conversation fitted into the budget that it is this share of."""
    messages = CONVERSATIONS[name]
    budget = max(1, int(plimsoll.count_tokens(messages) / load))
    return plimsoll.fit(messages, max_tokens=budget, policy="ladder"), budget


@pytest.mark.slow
@pytest.mark.spec("W0-01", "W0-10", "W0-13")
@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("load", LOADS)
def test_each_load_has_its_level(name: str, load: float) -> None:
    """The level follows the lines, and a run ends at or below the target or says why it did not (W0-01, W0-10, W0-13)."""
    fitted, budget = loaded(name, load)
    report = fitted.report

    assert report.level is level_at(report.tokens_before / budget)
    assert report.tokens_after <= budget
    if report.level is Level.none:
        assert fitted.messages == CONVERSATIONS[name]
    else:
        assert report.tokens_after <= budget // 2 or report.note


@pytest.mark.slow
@pytest.mark.spec("W0-01")
def test_a_sweep_passes_all_levels() -> None:
    """From an empty to an overfull budget all four levels come up, in order (W0-01)."""
    levels = [loaded("work", load)[0].report.level for load in LOADS]

    assert levels == sorted(levels)
    assert set(levels) == set(Level)


@pytest.mark.slow
@pytest.mark.spec("S0-19")
@pytest.mark.spec("W0-13", "W0-14")
@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("load", [0.70, 0.75, 0.80, 0.84])
def test_normal_takes_reversible_steps_only(name: str, load: float) -> None:
    """Past soft nobody's words leave: results and arguments may become a preview, and all else is as it was (W0-13, W0-14)."""
    fitted, _ = loaded(name, load)
    messages = CONVERSATIONS[name]

    assert {action.decision for action in fitted.report.actions} <= REVERSIBLE
    assert (fitted.report.summary, fitted.report.lost) == (None, ())
    assert [message["role"] for message in fitted.messages] == [message["role"] for message in messages]
    for after, before in zip(fitted.messages, messages, strict=True):
        assert after["role"] == "tool" or after["content"] == before["content"]


@pytest.mark.spec("W0-13")
def test_normal_brings_work_down_but_has_nothing_for_talk() -> None:
    """Old bulk leaves where there is any; where there is none the view stays and the note says so (W0-13)."""
    worked, budget = loaded("work", 0.8)
    talked, _ = loaded("talk", 0.8)

    assert worked.report.tokens_after <= budget // 2
    assert talked.messages == CONVERSATIONS["talk"]
    assert talked.report.stage == "none"
    assert talked.report.note


@pytest.mark.slow
@pytest.mark.spec("W0-02")
@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("policy", ["fill", "ladder"])
def test_one_percent_over_is_no_cliff(name: str, policy: str) -> None:
    """At 1 % over the budget at least 40 % of the tokens remain, and the newest messages as they were (W0-02)."""
    messages = CONVERSATIONS[name]
    total = plimsoll.count_tokens(messages)
    fitted = plimsoll.fit(messages, max_tokens=int(total / 1.01), policy=policy)

    assert fitted.report.tokens_after >= 0.4 * total
    assert fitted.messages[-4:] == messages[-4:]


@pytest.mark.spec("S0-20", "S1-46")
@pytest.mark.spec("W0-14")
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_aggressive_summarises_and_keeps_a_tail(name: str) -> None:
    """Past warn the past becomes one summary; system text, first request and the newest messages stay (W0-14)."""
    fitted, budget = loaded(name, 0.9)
    messages = CONVERSATIONS[name]

    assert fitted.report.level is Level.aggressive
    assert fitted.messages[:2] == messages[:2]
    assert fitted.messages[-3:] == messages[-3:]
    if name == "talk":
        assert fitted.report.stage == "rules"
        assert fitted.report.summary
        assert fitted.report.tokens_after > budget * 0.45


@pytest.mark.slow
@pytest.mark.spec("S0-25")
@pytest.mark.spec("W0-04")
def test_an_emergency_keeps_the_newest_request_whole() -> None:
    """Past hard, however large the rest is, the newest request is there word for word, whatever was done since (W0-04)."""
    asked = {"role": "user", "content": "And which of these do you mean?"}
    since = [message for message in work(6, 12)[1:] if message["role"] != "user"]
    for messages in ([*CONVERSATIONS["work"], asked], [*CONVERSATIONS["work"], asked, *since]):
        for share in (2, 4, 10, 50):
            budget = plimsoll.count_tokens(messages) // share
            fitted = plimsoll.fit(messages, max_tokens=budget, policy="ladder")

            assert fitted.report.level is Level.emergency
            assert asked in fitted.messages


@pytest.mark.slow
@pytest.mark.spec("W0-04", "W0-05", "W0-13")
def test_a_run_is_not_repeated() -> None:
    """What a run hands back is not acted on again, and summaries do not pile up (W0-04, W0-05, W0-13)."""
    for load in (0.75, 0.9, 1.2, 5):
        fitted, budget = loaded("work", load)
        again = plimsoll.fit(fitted.messages, max_tokens=budget, policy="ladder")

        assert again.messages == fitted.messages
        assert sum("[Summary of messages" in str(message["content"]) for message in again.messages) <= 1


def summaries(messages: list[dict[str, Any]]) -> int:
    """How many framed summaries a view holds."""
    return str(messages).count("[Summary of messages")


@pytest.mark.slow
@pytest.mark.spec("W0-05")
@pytest.mark.parametrize("format", ["openai-chat", "anthropic", "openai-responses"])
def test_a_caller_without_a_session_can_go_on_from_the_view(format: Any) -> None:
    """Sixty turns, each added to the view before: one summary at a time, no placeholder of ours that stays, and the first and the
    latest request whatever the room (W0-05).
    """
    view: list[dict[str, Any]] = []
    compactions = 0
    for turn in turns(5, 60):
        new = [
            message
            for message in plimsoll.convert(turn, to=format).messages
            if "conversation begins" not in str(message)
        ]
        fitted = plimsoll.fit([*view, *new], max_tokens=6_000, policy="ladder", format=format) if view + new else None
        view = fitted.messages if fitted else []
        compactions += fitted is not None and fitted.report.stage == "rules"

        assert summaries(view) <= 1
        assert "[Result of a call" not in str(view)
    assert compactions > 3
    assert "LIMIT-0" in str(view)
    assert "LIMIT-56" in str(view)
