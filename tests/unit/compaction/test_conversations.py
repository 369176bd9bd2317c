"""Every real conversation, in two formats, at five budgets: within the budget, valid, whole where it fits, full where not."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import pytest

import plimsoll
import proof
from conversations import anthropic, conversations
from plimsoll.errors import CannotFit

BUDGETS = (1_000, 4_000, 8_000, 32_000, 128_000)
FORMATS = ("openai-chat", "anthropic")


def cases(*, sample: bool) -> Iterator[tuple[str, str, int]]:
    """Id, format and budget; of a sample every conversation is part, at one of its budgets in each format."""
    for number, id in enumerate(conversations()):
        for which, format in enumerate(FORMATS):
            for place, budget in enumerate(BUDGETS):
                if not sample or (number + 2 * which) % len(BUDGETS) == place:
                    yield id, format, budget


def read(id: str, format: str) -> tuple[list[dict[str, Any]], Any]:
    """A conversation's messages and the system text beside them, where the format has it there."""
    return (conversations()[id], None) if format == "openai-chat" else anthropic(id)


def system_tokens(system: Any) -> int:
    """The least a system text beside the messages costs."""
    blocks = [{"text": system}] if isinstance(system, str) else system or []
    return sum(proof.tokens(block["text"]) for block in blocks)


def check_view(id: str, format: str, budget: int) -> float | None:
    """Assert the promises on one conversation; what share of the budget is used where something had to leave."""
    messages, system = read(id, format)
    try:
        fitted = plimsoll.fit(messages, max_tokens=budget, format=format, system=system)
    except CannotFit as refusal:
        pytest.fail(f"{id} as {format} at {budget}: {refusal}")
    assert proof.least_tokens(fitted.messages) + system_tokens(fitted.system) <= budget
    proof.fits(fitted.messages, budget, format)
    assert fitted.report.tokens_after <= budget
    if fitted.report.tokens_before <= budget:
        assert plimsoll.validate(messages, format=format) or fitted.messages == messages
        return None
    check_frame(messages, system, fitted, format, budget)
    return fitted.report.tokens_after / budget


def check_frame(messages: list[Any], system: Any, fitted: plimsoll.Fitted, format: str, budget: int) -> None:
    """System text and newest user message are there word for word whenever together they fit; whatever is kept is in order."""
    frame = [messages[at] for at in (*proof.leading_system(messages), *proof.requests(messages)[-1:])]
    beside = plimsoll.count_tokens([{"role": "system", "content": system}]) if isinstance(system, str) else 0
    if plimsoll.count_tokens(frame, format=format) + beside <= budget:
        assert fitted.system == system
        assert proof.strange_words(frame, fitted.messages) == []
    if plimsoll.validate(messages, format=format) == []:
        assert proof.strange_words(fitted.messages, messages) == []


@pytest.mark.slow
def test_conversations_fit() -> None:
    """Each conversation at one budget in each format: the promises hold, and what had to be cut uses the budget."""
    used = [(budget, check_view(id, format, budget)) for id, format, budget in cases(sample=True)]
    shares = [share for budget, share in used if share is not None and budget >= 4_000]

    assert len(used) >= 160
    assert median(shares) >= 0.9


@pytest.mark.soak
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_all_conversations_fit(budget: int, format: str) -> None:
    """Every conversation at every budget: the promises hold, and the median one that had to be cut uses 90 % of it."""
    found = [check_view(*case) for case in cases(sample=False) if case[1:] == (format, budget)]
    shares = [share for share in found if share is not None]

    assert budget < 4_000 or median(shares) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["ladder", "graded-200k", "threshold-80", "five-turns", "medium-window"])
def test_conversations_fit_under_other_policies(policy: str) -> None:
    """One in eight conversations under each policy: within the budget, valid, in order."""
    for id, format, budget in list(cases(sample=True))[::8]:
        messages, system = read(id, format)
        fitted = plimsoll.fit(messages, max_tokens=budget, format=format, system=system, policy=policy)

        proof.fits(fitted.messages, budget, format)
