"""An agent's loop over a session: every view fits, and between two compactions a view only grows at its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import plimsoll
import proof
import workloads
from conversations import anthropic, conversations, longest
from plimsoll.compaction.settle import NO_RESULT

Wire = dict[str, Any]
BUDGETS = (16_000, 64_000)


def by_turn(messages: Iterable[Wire]) -> list[list[Wire]]:
    """A message with the results that follow it is one turn."""
    found: list[list[Wire]] = []
    for message in messages:
        if found and message["role"] == "tool":
            found[-1].append(message)
        else:
            found.append([message])
    return found


def settled(view: list[Wire]) -> list[Wire]:
    """A view without the placeholders at its end: they give way to the results when those come."""
    end = len(view)
    while end and NO_RESULT in str(view[end - 1]):
        end -= 1
    return view[:end]


def check_loop(turns: list[list[Wire]], budget: int, *, format: Any = "openai-chat") -> None:
    """Assert for each turn: within the budget by an independent count, and the view before plus the new, byte for byte, except at
    compactions; valid at each compaction and at the end; in all, at most one compaction for 40 % of the budget of new tokens.
    """
    with plimsoll.open("loop", store="memory:", max_tokens=budget, format=format) as session:
        before: list[Wire] = []
        done = new_tokens = 0
        for turn in turns:
            session.extend(turn)
            new_tokens += plimsoll.count_tokens(turn, format=format)
            view = session.view()
            assert plimsoll.count_tokens(view, format=format) <= budget
            if session.stats().compactions == done:
                assert view[: len(before)] == before
            else:
                done += 1
                assert session.stats().compactions == done
                proof.fits(view, budget, format)
            before = settled(view)
        proof.fits(session.view(), budget, format)
        assert session.history() == [message for turn in turns for message in turn]
        assert done <= max(1, new_tokens / (0.4 * budget))
        assert (done > 0) == (new_tokens > 0.7 * budget)


@pytest.mark.slow
@pytest.mark.spec("W0-13", "W1-14", "W2-11")
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("which", range(2))
def test_the_longest_conversations_turn_by_turn(which: int, budget: int) -> None:
    """The view asked for after each turn of the longest real conversations (W0-13, W1-14, W2-11)."""
    check_loop(by_turn(conversations()[longest()[which]]), budget)


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS)
def test_the_longest_conversation_message_by_message(budget: int) -> None:
    """The view asked for in the middle of exchanges too: calls without a result have a placeholder at the end, and nowhere else."""
    check_loop([[message] for message in conversations()[longest()[0]]], budget)


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS)
def test_the_longest_conversation_in_anthropics_form(budget: int) -> None:
    """The same in Anthropic's form."""
    check_loop([[message] for message in anthropic(longest()[0])[0]], budget, format="anthropic")


@pytest.mark.slow
@pytest.mark.spec("S0-42", "S1-01", "S1-57", "S2-01")
@pytest.mark.spec("W1-01", "W1-02", "W1-14", "W2-11")
@pytest.mark.parametrize(("seed", "budget"), [(0, 3_000), (1, 8_000), (2, 20_000)])
def test_generated_work(seed: int, budget: int) -> None:
    """An agent that reads much, in budgets where one result can be a tenth of the whole."""
    check_loop(list(workloads.turns(seed, 120)), budget)


@pytest.mark.soak
@pytest.mark.parametrize("budget", [*BUDGETS, 4_000, 32_000])
@pytest.mark.parametrize("which", range(20))
def test_many_conversations_in_every_way(which: int, budget: int) -> None:
    """The twenty longest conversations: by turn, by message, and in Anthropic's form."""
    id = longest()[which]
    check_loop(by_turn(conversations()[id]), budget)
    check_loop([[message] for message in conversations()[id]], budget)
    check_loop([[message] for message in anthropic(id)[0]], budget, format="anthropic")
