"""How the summary and the verbatim tail share the room: the less of a history fits, the more of the room is facts."""

from __future__ import annotations

import json
from itertools import pairwise
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


@pytest.mark.slow
@pytest.mark.spec("S2-34")
@pytest.mark.parametrize("history", [RUN, TALK], ids=["run", "talk"])
def test_far_below_its_history_a_view_is_mostly_summary(history: list[Any]) -> None:
    """At a twentieth of the history most of the view are facts, at nine tenths of it the tail has as much."""
    tokens = plimsoll.count_tokens(history)

    assert summary_share(history, tokens // 20) > 0.7
    assert summary_share(history, tokens * 9 // 10) < 0.55


@pytest.mark.slow
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


def written(id: str, answer: bool) -> list[dict[str, Any]]:
    """The agent writes a long file, and perhaps the tool says that it is done."""
    text = "".join(f"line {n} of the page says {n * 37 % 991}; " for n in range(300))
    call = {"id": id, "type": "function", "function": {"name": "write", "arguments": json.dumps({"text": text})}}
    calling = {"role": "assistant", "content": None, "tool_calls": [call]}
    return [calling, {"role": "tool", "tool_call_id": id, "content": "done"}] if answer else [calling]


@pytest.mark.slow
@pytest.mark.spec("S2-34")
def test_what_a_finished_call_was_given_makes_room_for_facts() -> None:
    """Arguments of an answered call in the newest exchange become a preview; those of a call that still waits have more."""
    finished = plimsoll.fit([*RUN, *written("call_w", answer=True)], max_tokens=2_000).messages
    waiting = plimsoll.fit([*RUN, *written("call_w", answer=False)], max_tokens=2_000).messages

    given, kept = (
        plimsoll.count_tokens(next(m for m in view if m.get("tool_calls"))["tool_calls"][0]["function"]["arguments"])
        for view in (finished, waiting)
    )
    assert given < 200
    assert kept > 400


@pytest.mark.spec("S2-34")
def test_a_huge_newest_result_leaves_room_to_others() -> None:
    """One result larger than the budget takes 60 % at most of what system text and the newest request leave."""
    page = "".join(f"line {n} of the page says {n * 37 % 991}; " for n in range(2_000))
    call = {"id": "call_r", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    reading = {"role": "assistant", "content": None, "tool_calls": [call]}
    newest = [reading, {"role": "tool", "tool_call_id": "call_r", "content": page}]

    assert summary_share([*RUN, *newest], 2_000) > 0.35
    alone = plimsoll.fit([RUN[0], *newest], max_tokens=2_000).messages
    assert plimsoll.count_tokens(alone) > 1_900


@pytest.mark.slow
@pytest.mark.spec("S2-34")
def test_no_room_stays_empty_while_facts_wait() -> None:
    """Room that no further exchange fits into goes to the summary: at least 97 % of the budget is used, whatever it is.

    Where the summary says all, there is less room than an exchange takes verbatim, without its line in the summary.
    """
    exchange = plimsoll.count_tokens(step(27)) - plimsoll.count_tokens(
        "\n  BK-13831 | B27\n- Next is booking BK-13831."
    )
    for history in (RUN, RUN[:60], TALK):
        for budget in range(420, 700, 20):
            view = plimsoll.fit(history, max_tokens=budget).messages
            waits = any("Left out:" in str(message["content"]) for message in view)
            assert budget - plimsoll.count_tokens(view) <= (budget * 0.03 if waits else exchange)


@pytest.mark.slow
@pytest.mark.spec("W1-15")
def test_a_model_is_asked_for_no_more_than_it_writes_in_one_reply() -> None:
    """However much room there is, an answer of at most 8,192 tokens is asked for, and each request holds many messages."""
    asked: list[Any] = []
    long = [m for n in range(12) for m in ({"role": "user", "content": f"{n} goes"}, *RUN[1:])]
    plimsoll.fit(
        long,
        max_tokens=plimsoll.count_tokens(long) // 4,
        policy={"summarizer_input_tokens_max": 60_000},
        summarizer=lambda request: asked.append(request) or "Zoe painted all the cranes.",
    )

    assert {request.tokens_max for request in asked} == {8_192}
    assert len(asked) < 8


@pytest.mark.spec("S2-34")
@pytest.mark.parametrize("percent", [10, 12])
def test_room_that_a_summary_no_longer_needs_goes_to_messages(percent: int) -> None:
    """A large exchange that stays cut makes the summary of the rest short: what is free then shows more of it."""
    history: list[dict[str, Any]] = [{"role": "user", "content": "Read the sources and write the script."}]
    for number in range(10):
        source = "\n".join(f"export const view_{number}_{n} = makeView('{n}', {n * 7});" for n in range(200))
        function = {"name": "read", "arguments": json.dumps({"file_path": f"/srv/part{number}.ts"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        history += [
            {"role": "assistant", "content": f"I look at part {number}.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": source},
        ]
    history.append({"role": "assistant", "content": "All parts are read."})
    budget = plimsoll.count_tokens(history) * percent // 100

    assert plimsoll.count_tokens(plimsoll.fit(history, max_tokens=budget).messages) > budget * 0.97


def test_what_no_statement_fits_into_does_not_go_to_the_tail_again_and_again() -> None:
    """In a small budget a long statement may not fit into the end of the summary's room, which stays the summary's."""
    did = (
        "Moved house",
        "Sold a bakery",
        "Bought a tandem",
        "Met a dentist",
        "Lost seven keys",
        "Found one kitten",
        "Sailed",
    )
    beside = ", beside the {}th lighthouse of the county where cousin {} had a workshop for barometers"
    talk = [
        text
        for n in range(40)
        for text in (
            f"{did[n % 7]} in {1950 + n} near Port {n * 37 % 101}{beside.format(n * 7 % 13, n * 37) * (n % 4)}.",
            f"{'I see.' * (n % 2)} Go on please, what happened then?",
        )
    ]
    messages = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(talk)]
    shares = [summary_share(messages, budget) for budget in range(200, 420, 10)]

    assert [pair for pair in pairwise(shares) if pair[1] < pair[0] - 0.01] == []


def test_a_long_last_answer_leaves_the_room_to_facts_where_little_of_the_talk_fits() -> None:
    """Of a tenth of a talk its newest answer takes a tenth; of half of it, it is whole."""
    answer = " ".join(f"Tip {n} for harbour {n * 37 % 991}: arrive early." for n in range(40))
    history = [*TALK[:120], {"role": "user", "content": "Any tips?"}, {"role": "assistant", "content": answer}]
    tokens = plimsoll.count_tokens(history)

    tenth, half = (plimsoll.fit(history, max_tokens=tokens // part).messages for part in (10, 2))

    assert plimsoll.count_tokens(tenth[-1:]) <= tokens // 10 * 0.12
    assert tenth[-1]["content"].startswith("Tip 0 for harbour 0")
    assert half[-1]["content"] == answer


def test_how_a_talk_began_leaves_room_to_what_was_said_since() -> None:
    """A pasted page takes a quarter of the room at most where it began a talk; where it is a task, it stays as it was."""
    page = " ".join(f"Berth {n} is {n * 37 % 991} metres long and has a crane." for n in range(60))
    asked = {"role": "user", "content": f"Please summarise this page.\n{page}"}
    budget = 1_500

    talk = plimsoll.fit([asked, {"role": "assistant", "content": "It lists berths."}, *TALK[:400]], max_tokens=budget)
    task = plimsoll.fit([asked, *RUN[1:]], max_tokens=budget)

    began, given = (next(m for m in view.messages if m["role"] == "user") for view in (talk, task))
    assert plimsoll.count_tokens([began]) <= budget * 0.27
    assert plimsoll.count_tokens([given]) >= budget * 0.4
    assert began["content"].startswith("Please summarise this page.")
