"""The plan says why each exchange stays, and what failed and was not put right stays although it is old."""

import json
from typing import Any

import pytest

import plimsoll
from plimsoll.compaction import importance


def call(id: str, name: str, result: str, **arguments: str) -> list[dict[str, Any]]:
    """A tool call with its result."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": id, "content": result},
    ]


FAILED = "FAILED tests/test_quay.py::test_berth - AssertionError: 3 != 4\n1 failed, 41 passed in 2.10s"


def run(*, passes_later: bool) -> list[dict[str, Any]]:
    """An agent's run: a test fails early, many pages are read, and at the end perhaps the test passes."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Make the quay tests pass."}]
    messages += call("t0", "bash", FAILED, command="pytest tests/test_quay.py")
    for number in range(30):
        page = " ".join(f"paragraph {number} says something about the harbour" for _ in range(40))
        messages += call(f"r{number}", "read_page", page, page=f"page {number}")
    if passes_later:
        messages += call("t1", "bash", "42 passed in 2.00s", command="pytest tests/test_quay.py")
    return [
        *messages,
        {"role": "assistant", "content": "I have read the pages."},
        {"role": "user", "content": "Go on."},
    ]


@pytest.mark.spec("S2-34")
@pytest.mark.parametrize("passes_later", [False, True])
def test_an_error_that_is_not_resolved_stays_though_it_is_old(passes_later: bool) -> None:
    """A failed run of the tests stays word for word while newer pages leave; once the tests passed it leaves as they do."""
    plan = plimsoll.plan(run(passes_later=passes_later), max_tokens=4_000)
    failing = next(action for action in plan.actions if action.first == 1)
    shown = any(message.get("content") == FAILED for message in plan.apply().messages)

    assert shown is not passes_later
    assert (failing.decision, failing.reason) == (
        ("summarise", "older than the tail; its facts are in the summary")
        if passes_later
        else ("keep", importance.OPEN_ERROR)
    )


@pytest.mark.spec("S2-34")
def test_the_plan_says_why_each_exchange_stays() -> None:
    """Requests, decisions, values that later calls use, pins by the policy, and what is only new: each with its reason."""
    messages = [
        {"role": "system", "content": "You book berths."},
        {"role": "user", "content": "Please find a berth for the Alma."},
        *[
            {"role": "assistant", "content": f"Idle talk number {number}, which is long enough. " * 30}
            for number in range(9)
        ],
        *call("c1", "find", '{"berth_id": "BR-44107"}', ship="Alma"),
        {"role": "user", "content": "You must never book the north quay."},
        {
            "role": "assistant",
            "content": "I found that the berth is free because the Rosa left, so I decided to book it.",
        },
        *call("c2", "book", "booked", berth="BR-44107"),
        {"role": "assistant", "content": "Booked."},
        {"role": "user", "content": "Thanks."},
    ]
    plan = plimsoll.plan(messages, max_tokens=1_200)
    reasons = {action.first: action.reason for action in plan.actions if action.decision == "keep"}

    assert reasons[0] == "system text"
    assert reasons[1] == "first user message"
    assert reasons[11].endswith(importance.USED_LATER)
    assert reasons[13].endswith(importance.REQUEST)
    assert reasons[14].endswith(importance.DECISION)
    assert reasons[17] == "answer before the newest user message"
    assert reasons[18] == "newest user message"
    assert [action.to_dict()["reason"] for action in plan.report.actions] == [action.reason for action in plan.actions]


@pytest.mark.spec("S2-34")
def test_the_preview_of_a_session_shows_why(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    """`plimsoll compact --preview` has a line for the exchanges that stay for one reason."""
    from plimsoll.cli.main import main

    with plimsoll.open("work", store=str(tmp_path), max_tokens=16_000) as session:
        session.extend(run(passes_later=False))
    assert main(["compact", "work", "--store", str(tmp_path), "--preview", "--target", "4000"]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    assert importance.OPEN_ERROR in shown
    assert "first user message" in shown
