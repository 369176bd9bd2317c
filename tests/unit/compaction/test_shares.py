"""How the summary and the verbatim tail share the room: the less of a history fits, the more of the room is facts."""

from __future__ import annotations

from typing import Any

import pytest

import plimsoll
from plimsoll.summary.frame import recognise


def step(number: int) -> list[dict[str, Any]]:
    """The agent reads a value and works with it."""
    id, code = f"call_{number}", f"BK-{number * 7919 % 99991:05d}"
    call = {"id": id, "type": "function", "function": {"name": "lookup", "arguments": f'{{"booking": "{code}"}}'}}
    page = f'{{"booking_id": "{code}", "berth": "B{number}", "note": "{"waiting for the crane " * 12}"}}'
    return [
        {"role": "assistant", "content": f"Next is booking {code}.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": page},
    ]


RUN = [{"role": "user", "content": "Find every booking."}, *(message for n in range(200) for message in step(n))]
TALK = [
    {
        "role": ("user", "assistant")[n % 2],
        "content": f"In {1700 + n} Ana sold {n} boats to Ben in Port {n * 37 % 991}.",
    }
    for n in range(600)
]


def summary_share(messages: list[Any], budget: int, **options: Any) -> float:
    """The part of a view that its summary takes."""
    view = plimsoll.fit(messages, max_tokens=budget, **options).messages
    summaries = [m for m in view if isinstance(m["content"], str) and recognise(m["content"])]
    return plimsoll.count_tokens(summaries) / plimsoll.count_tokens(view)


@pytest.mark.spec("S2-34")
@pytest.mark.parametrize("history", [RUN, TALK], ids=["run", "talk"])
def test_far_below_its_history_a_view_is_mostly_summary(history: list[Any]) -> None:
    """At a twentieth of the history most of the view are facts, at nine tenths of it the tail has as much."""
    tokens = plimsoll.count_tokens(history)

    assert summary_share(history, tokens // 20) > 0.7
    assert summary_share(history, tokens * 9 // 10) < 0.55


@pytest.mark.spec("S2-34")
@pytest.mark.parametrize("history", [RUN, TALK], ids=["run", "talk"])
def test_a_models_summary_that_fits_is_not_cut_for_older_messages(history: list[Any]) -> None:
    """Prose of two thirds of the budget stays whole; what it does not need of its room the tail has."""
    budget = plimsoll.count_tokens(history) // 10
    prose = ""
    while plimsoll.count_tokens(prose) < budget * 2 // 3:
        prose += f"Crane {len(prose)} at pier {len(prose) * 37 % 991} was painted by Zoe.\n"

    long = plimsoll.fit(history, max_tokens=budget, summarizer=lambda _: prose)
    short = plimsoll.fit(history, max_tokens=budget, summarizer=lambda _: "Zoe painted all the cranes.")

    assert prose.strip() in str(long.messages[0]["content"]) + str(long.messages[1]["content"])
    assert plimsoll.count_tokens(short.messages) > budget * 0.9
    assert history is RUN or len(short.messages) > len(long.messages)
