"""Tokens are counted when somebody looks: a view far below its history costs what it holds, and the report is exact all the same."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import plimsoll
from plimsoll.tokens.exact import ExactCounter
from workloads import work

BUDGET = 2_000


@pytest.fixture
def counted_chars(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of all texts that reach the tokenizer."""
    found: list[int] = []
    slice_, count_all = ExactCounter._slice, ExactCounter.count_all

    def counting(self: Any, text: str) -> int:
        found.append(len(text))
        return slice_(self, text)

    def counting_all(self: Any, texts: Any) -> Any:
        found.extend(map(len, texts))
        return count_all(self, texts)

    monkeypatch.setattr(ExactCounter, "_slice", counting)
    monkeypatch.setattr(ExactCounter, "count_all", counting_all)
    return found


def chars(messages: list[dict[str, Any]]) -> int:
    """About how much text there is."""
    return sum(len(str(message)) for message in messages)


@pytest.mark.slow
def test_what_left_is_not_counted_for_the_view(counted_chars: list[int]) -> None:
    """Ten times the history is not ten times the counting; asking for the report counts the rest."""
    short, long = work(9_071, 60), work(9_072, 600)  # seeds of this test alone: what others counted is remembered
    assert chars(long) > 8 * chars(short)
    plimsoll.fit(short, max_tokens=BUDGET)
    for_short = sum(counted_chars)
    counted_chars.clear()
    fitted = plimsoll.fit(long, max_tokens=BUDGET)
    for_long = sum(counted_chars)

    assert for_long < 2 * for_short + 16 * BUDGET
    assert for_long < chars(long) / 4
    assert fitted.report.tokens_before == plimsoll.count_tokens(long)
    assert sum(counted_chars) > chars(long) / 2


@pytest.mark.slow
def test_the_report_is_of_what_was_given() -> None:
    """Changing the messages before reading the report changes nothing in it."""
    history = work(73, 60)
    tokens = plimsoll.count_tokens(history)
    fitted = plimsoll.fit(history, max_tokens=BUDGET)
    history.clear()
    fitted.messages.clear()

    assert fitted.report.tokens_before == tokens
    assert fitted.report.tokens_after <= BUDGET
    assert sum(action.tokens_before for action in fitted.report.actions) + 3 == tokens


@pytest.mark.slow
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda fitted: pickle.loads(pickle.dumps(fitted))])
def test_a_result_can_be_copied_and_sent(copied: Any) -> None:
    """With its report, whether that was read before or not."""
    fitted = plimsoll.fit(work(74, 60), max_tokens=BUDGET)
    again = copied(fitted)

    assert again == fitted
    assert again.report == fitted.report
    assert again.to_dict() == fitted.to_dict()


def test_fields_that_are_not_sent_are_not_counted() -> None:
    """A part that nobody may cut is counted as it goes out: the report's size is the count of the view."""
    refusal = {"type": "refusal", "refusal": "I will not.", "parsed_output": {"note": "a b c d e f g " * 20}}
    history = [
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": [{"type": "text", "text": "Well."}, refusal]},
    ]
    fitted = plimsoll.fit(history, max_tokens=400, format="openai-chat")

    assert "parsed_output" not in str(fitted.messages)
    assert fitted.report.tokens_after == plimsoll.count_tokens(fitted.messages, format="openai-chat")


def test_a_history_far_over_the_budget_is_measured_by_its_characters(counted_chars: list[int]) -> None:
    """Of a history of a hundred budgets the newest few are counted, and of the rest no message at all."""
    history = [
        {"role": role, "content": f"{number} of {id(role)}: " + "the tide is high at the harbour. " * 20}
        for number in range(1_500)
        for role in ("user", "assistant")
    ]
    fitted = plimsoll.fit(history, max_tokens=BUDGET)
    for_view = sum(counted_chars)

    assert for_view < 9 * BUDGET * 5
    assert fitted.report.tokens_after <= BUDGET
    assert fitted.report.tokens_before > 200 * BUDGET
