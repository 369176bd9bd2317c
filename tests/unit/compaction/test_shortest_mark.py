"""The shortest mark: in the smallest budgets too, what left the view is not left without a word."""

from __future__ import annotations

from typing import Any

import pytest

import plimsoll
import proof
from generated import FORMATS
from plimsoll.errors import CannotFit

SENTENCE = "The old crane moved a pallet to the next berth while the clerk wrote it down. "
MARKS = ("[… earlier]", "not shown", "[Summary of messages", "[… 前文]", "条消息未显示")


def history(format: Any, *, system: int, request: int) -> list[dict[str, Any]]:
    """Talk after a system text of so many sentences, with a newest request of so many."""
    messages = [{"role": "system", "content": SENTENCE * system}] if system else []
    for number in range(6):
        messages.append({"role": "user", "content": f"Go on with step {number}. {SENTENCE}"})
        messages.append({"role": "assistant", "content": f"Step {number} is done. {SENTENCE}"})
    messages.append({"role": "user", "content": SENTENCE * request or "next"})
    return plimsoll.convert(messages, to=format).messages


def texts(view: list[dict[str, Any]]) -> list[str]:
    """Every text in a view but the roles."""
    return [text for message in view for text in list(proof._values(message))[1:] if text]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["fill", "ladder"])
@pytest.mark.parametrize(("system", "request_size"), [(0, 0), (0, 1), (3, 0), (3, 1), (1, 6), (0, 6), (20, 0)])
@pytest.mark.parametrize("format", FORMATS)
def test_what_leaves_leaves_a_mark_in_every_budget(format: str, system: int, request_size: int, policy: str) -> None:
    """Only a view in which every text is cut to one token has none."""
    messages = history(format, system=system, request=request_size)
    for budget in (*range(24, 60, 4), 67, 90, 150, 300):
        try:
            fitted = plimsoll.fit(messages, max_tokens=budget, policy=policy, format=format)
        except CannotFit:
            continue
        shown = texts(fitted.messages)
        assert fitted.report.tokens_after <= budget
        is_marked = any(mark in text for mark in MARKS for text in shown)
        assert is_marked or not fitted.report.lost or all(proof.tokens(text) == 1 for text in shown), (budget, shown)
        again = plimsoll.fit(fitted.messages, max_tokens=budget, policy=policy, format=format)
        assert again.messages == fitted.messages


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_a_small_request_stays_whole_beside_its_mark(format: str) -> None:
    """The system text gives way to the mark, not a request of less than half of the budget."""
    messages = history(format, system=20, request=1)
    for budget in range(60, 130, 9):
        fitted = plimsoll.fit(messages, max_tokens=budget, format=format)
        assert texts(fitted.messages)[-1] == SENTENCE


@pytest.mark.parametrize("format", FORMATS)
def test_short_marks_do_not_pile_up(format: str) -> None:
    """A view is gone on from with one mark, which counts again where there is room."""
    messages = history(format, system=0, request=1)
    view = plimsoll.fit(messages, max_tokens=34, format=format).messages
    assert "[… earlier]" in texts(view)

    again = plimsoll.fit([*view, *history(format, system=0, request=1)], max_tokens=60, format=format).messages
    marks = [text for text in texts(again) if any(mark in text for mark in MARKS)]
    assert len(marks) == 1
    assert "not shown" in marks[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "history",
    [
        [{"role": "user", "content": []}, {"role": "assistant", "content": None}],
        [{"role": "user", "content": ""}, {"role": "assistant", "content": [{"type": "text", "text": SENTENCE * 20}]}],
        [
            {"role": "assistant", "content": SENTENCE},
            {"role": "assistant", "content": [{"type": "text", "text": "a b"}]},
        ],
    ],
)
@pytest.mark.parametrize("policy", ["fill", "ladder", "five-turns"])
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5"])
def test_the_tokens_that_a_refusal_names_are_enough(history: Any, policy: Any, model: str) -> None:
    """Whatever the budget that was refused: with what it needs the messages fit, with one less they do not."""
    options: dict[str, Any] = {"policy": policy, "model": model, "format": "anthropic"}
    for budget in range(1, 30):
        try:
            plimsoll.fit(history, max_tokens=budget, **options)
        except CannotFit as refusal:
            needed = refusal.needed_tokens
            assert needed > budget
            assert plimsoll.fit(history, max_tokens=needed, **options).report.tokens_after <= needed
            with pytest.raises(CannotFit):
                plimsoll.fit(history, max_tokens=needed - 1, **options)
