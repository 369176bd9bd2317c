"""The answer that the newest request follows stays: "change the second one" is about it."""

from __future__ import annotations

import random
from typing import Any

import pytest

import plimsoll

WORDS = "harbour crane pallet berth clerk ship anchor rope tide gull lamp chart signal winch".split()


def told(rng: random.Random, count: int) -> str:
    """So many sentences."""
    return " ".join(
        f"The {rng.choice(WORDS)} {rng.randrange(999)} is beside the {rng.choice(WORDS)}." for _ in range(count)
    )


def talk() -> list[dict[str, Any]]:
    """Sixty questions with long answers, and a last answer that is a list."""
    rng = random.Random(3)
    messages: list[dict[str, Any]] = []
    for number in range(60):
        messages += [
            {"role": "user", "content": f"Tell me of the {WORDS[number % 14]} number {number}."},
            {"role": "assistant", "content": told(rng, 14)},
        ]
    ideas = "\n".join(f"{number}. {told(rng, 1)}" for number in range(1, 31))
    return [*messages, {"role": "user", "content": "Give me ideas."}, {"role": "assistant", "content": ideas}]


TALK = talk()
SIZE_TOKENS = plimsoll.count_tokens(TALK)


@pytest.mark.parametrize("policy", ["fill", "ladder"])
@pytest.mark.parametrize("asked", [["Now rewrite the seventh idea."], ["Hm.", "Now rewrite the seventh idea."]])
def test_what_the_newest_request_is_about_is_whole_where_a_quarter_fits(asked: list[str], policy: Any) -> None:
    """The list that was just given is in the view, before the request or the requests that follow it."""
    history = [*TALK, *({"role": "user", "content": text} for text in asked)]
    view = plimsoll.fit(history, max_tokens=SIZE_TOKENS // 4, policy=policy).messages

    assert TALK[-1] in view
    assert view[-1] == history[-1]


def test_it_is_cut_where_little_fits_and_leaves_the_facts_their_room() -> None:
    """Of a tenth of a talk it takes about a tenth, with its beginning and its end."""
    budget = SIZE_TOKENS // 10
    view = plimsoll.fit([*TALK, {"role": "user", "content": "Now rewrite the seventh."}], max_tokens=budget).messages
    answer = next(message for message in view if message["role"] == "assistant")

    assert answer["content"].startswith(TALK[-1]["content"][:20])
    assert answer["content"].endswith(TALK[-1]["content"][-10:])
    assert plimsoll.count_tokens([answer]) <= budget * 0.12


def test_calls_that_were_answered_are_no_answer() -> None:
    """A user who speaks after the result of a tool is not answering it: it leaves by its worth, as before."""
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    looked = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": told(random.Random(4), 40)},
    ]
    history = [*TALK, {"role": "user", "content": "Look."}, *looked, {"role": "user", "content": "Stop, go home."}]
    plan = plimsoll.plan(history, max_tokens=SIZE_TOKENS // 10)

    assert "answer before the newest user message" not in {action.reason for action in plan.actions}
