"""Calls that the provider runs itself, and its questions whether it may: they never part from what answers them."""

from __future__ import annotations

from typing import Any

import pytest

import plimsoll

Wire = dict[str, Any]

WORDS = "the load line of a ship is what it may be laden to " * 8


def searched(number: int, *, beside: bool) -> list[Wire]:
    """A turn whose web search is answered one message later: after a pause or, with `beside`, after a call of our own tool."""
    asks = {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search", "input": {"query": WORDS}}
    found = {
        "type": "web_search_result",
        "url": "https://example.org",
        "title": "Lines",
        "encrypted_content": "e" * 900,
    }
    answered = {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": [found]}
    reads = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": f"{number}.py"}}
    read = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": WORDS}
    return [
        {"role": "user", "content": f"question {number}: {WORDS}"},
        {"role": "assistant", "content": [{"type": "text", "text": WORDS}, asks, *([reads] if beside else [])]},
        *([{"role": "user", "content": [read]}] if beside else []),
        {"role": "assistant", "content": [answered, {"type": "text", "text": WORDS}]},
    ]


def approved(number: int) -> list[Wire]:
    """A turn in which an MCP server asks whether it may run a tool with large arguments, and is allowed to."""
    id = f"mcpr_{number}"
    server = {"server_label": "dice", "name": "roll", "arguments": "[" + "12345, " * 600 + "1]"}
    return [
        {"role": "user", "content": f"question {number}: {WORDS}"},
        {"type": "mcp_approval_request", "id": id, **server},
        {"type": "mcp_approval_response", "approval_request_id": id, "approve": True},
        {
            "type": "mcp_call",
            "id": f"mcp_{number}",
            **server,
            "output": WORDS,
            "error": None,
            "approval_request_id": id,
        },
    ]


def parted(messages: list[Wire]) -> list[str]:
    """The ids that are asked and not answered, or answered and not asked."""
    blocks = [block for message in messages for block in _blocks(message)]
    asked = [block["id"] for block in blocks if block["type"] in ("server_tool_use", "mcp_approval_request")]
    found = [block["tool_use_id"] for block in blocks if block["type"] == "web_search_tool_result"]
    found += [block["approval_request_id"] for block in blocks if block["type"] == "mcp_approval_response"]
    return sorted(set(asked) ^ set(found))


def _blocks(message: Wire) -> list[Wire]:
    content = message.get("content")
    return content if isinstance(content, list) else [message] if "type" in message else []


@pytest.mark.parametrize("policy", ["fill", "ladder"])
@pytest.mark.parametrize("beside", [False, True])
def test_a_search_stays_with_its_result(policy: Any, *, beside: bool) -> None:
    """A search whose result came in a later message leaves with that message, or stays with it, whatever the budget."""
    messages = [message for number in range(5) for message in searched(number, beside=beside)]
    whole = plimsoll.count_tokens(messages, format="anthropic")

    for share in range(3, 40, 6):
        view = plimsoll.fit(messages, max_tokens=whole * share // 40, format="anthropic", policy=policy).messages

        assert parted(view) == []
        assert plimsoll.validate(view, format="anthropic") == []


def test_an_approval_stays_with_its_question() -> None:
    """A large question for approval that becomes a note takes the approval with it."""
    messages = [message for number in range(3) for message in approved(number)]
    whole = plimsoll.count_tokens(messages, format="openai-responses")
    notes = 0

    for share in range(2, 30, 3):
        view = plimsoll.fit(messages, max_tokens=whole * share // 30, format="openai-responses").messages
        notes += any("left out" in str(message.get("content")) for message in view)

        assert parted(view) == []
    assert notes


def test_found_tools_are_cut_between_tools() -> None:
    """The output of a search for tools may hold definitions of tools and nothing else: a shorter one has fewer of them."""
    tools = [{"type": "function", "name": f"tool_{number}", "description": WORDS} for number in range(40)]
    asks = {
        "type": "tool_search_call",
        "call_id": "call_1",
        "execution": "client",
        "arguments": {},
        "status": "completed",
    }
    found = {
        "type": "tool_search_output",
        "call_id": "call_1",
        "execution": "client",
        "status": "completed",
        "tools": tools,
    }
    messages: list[Wire] = [{"role": "user", "content": "find tools"}, asks, found]

    view = plimsoll.fit(messages, max_tokens=1_500).messages

    kept = view[-1]["tools"]
    assert 0 < len(kept) < len(tools)
    assert kept == tools[: len(kept)]


ASKS: Wire = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "lines"}}
ANSWERED: Wire = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
SAYS: Wire = {"type": "text", "text": "Found."}
READS: Wire = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
READ: Wire = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}]}


def user(text: str = "Search.") -> Wire:
    """A request."""
    return {"role": "user", "content": text}


def agent(*blocks: Wire) -> Wire:
    """A message of the agent."""
    return {"role": "assistant", "content": list(blocks)}


VALID = {
    "in one message": [user(), agent(ASKS, ANSWERED, SAYS), user()],
    "paused": [user(), agent(SAYS, ASKS)],
    "after a pause": [user(), agent(SAYS, ASKS), agent(ANSWERED, SAYS), user()],
    "beside a call": [user(), agent(ASKS, READS), READ],
    "beside a call, with more said": [user(), agent(ASKS, READS), READ, user("and?")],
    "after the call beside it": [user(), agent(ASKS, READS), READ, agent(ANSWERED, SAYS), user()],
    "its id used again": [user(), agent(ASKS, ANSWERED, SAYS), user(), agent(ASKS, ANSWERED, SAYS)],
}
REFUSED = {
    "a result alone": [user(), agent(ANSWERED, SAYS), user()],
    "a call alone": [user(), agent(SAYS, ASKS), user()],
    "a call of an MCP server alone": [user(), agent({**ASKS, "type": "mcp_tool_use", "server_name": "s"}), user()],
    "a call never answered": [user(), agent(ASKS, READS), READ, agent(SAYS), user()],
    "a result after another request": [user(), agent(SAYS, ASKS), user(), agent(ANSWERED, SAYS)],
    "two results": [user(), agent(ASKS, ANSWERED, ANSWERED, SAYS), user()],
    "its id used again, without a result": [user(), agent(ASKS, ANSWERED, SAYS, ASKS), user()],
    "its id used again after that": [user(), agent(ASKS, ANSWERED, SAYS), agent(SAYS, ASKS), user()],
    "its id used twice": [user(), agent(ASKS, SAYS, ASKS), user()],
}


@pytest.mark.parametrize("messages", VALID.values(), ids=VALID.keys())
def test_a_search_may_wait_for_its_result(messages: list[Wire]) -> None:
    """Where the provider may still send the result, or has sent it, nothing is found and nothing changed."""
    assert plimsoll.validate(messages, format="anthropic") == []
    assert plimsoll.fit(messages, max_tokens=5_000, format="anthropic").messages == messages


@pytest.mark.parametrize("messages", REFUSED.values(), ids=REFUSED.keys())
def test_halves_of_a_search_become_text(messages: list[Wire]) -> None:
    """What the provider refuses as half of a search is reported, and sent as text; a session does the same."""
    found = {violation.code for violation in plimsoll.validate(messages, format="anthropic")}
    view = plimsoll.fit(messages, max_tokens=5_000, format="anthropic").messages

    assert found
    assert found <= {"call_without_result", "result_without_call"}
    assert plimsoll.validate(view, format="anthropic") == []
    assert "srvtoolu_1" in str(view)
    with plimsoll.open("half", store="memory:", max_tokens=5_000, format="anthropic") as session:
        for message in messages:
            session.append(message)
            assert plimsoll.validate(session.view(), format="anthropic") == []
        assert session.view() == view


@pytest.mark.parametrize("messages", VALID.values(), ids=VALID.keys())
def test_a_session_sends_a_search_as_it_is(messages: list[Wire], tmp_path: Any) -> None:
    """Message by message, and also where the session is opened again before each."""
    for count in range(1, len(messages) + 1):
        with plimsoll.open("search", store=tmp_path, max_tokens=5_000, format="anthropic") as session:
            session.append(messages[count - 1])
            if plimsoll.validate(messages[:count], format="anthropic") == []:
                assert session.view() == messages[:count]


def test_the_call_that_carries_a_signature_leaves_last() -> None:
    """Gemini signs the first of parallel calls, and refuses the others without it: of one answer it leaves after them."""
    calls: list[Wire] = [
        {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        for number in range(30)
    ]
    calls[0]["extra_content"] = {"google": {"thought_signature": "c2ln"}}
    results: list[Wire] = [{"role": "tool", "tool_call_id": call["id"], "content": WORDS} for call in calls]
    messages: list[Wire] = [user(), {"role": "assistant", "content": None, "tool_calls": calls}, *results]

    for tokens_max in (150, 400, 900):
        view = plimsoll.fit(messages, max_tokens=tokens_max).messages
        kept = next(message["tool_calls"] for message in view if "tool_calls" in message)
        assert len(kept) < len(calls)
        assert kept[0] == calls[0]


def run_beside(number: int, *, code: str, result: str) -> list[Wire]:
    """A turn in which code that the provider runs calls our own tool, and goes on with its result."""
    runs = {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "code_execution", "input": {"code": code}}
    caller = {"type": "code_execution_20250825", "tool_id": f"srvtoolu_{number}"}
    reads = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": "a.py"}, "caller": caller}
    ran = {"type": "code_execution_result", "stdout": WORDS, "stderr": "", "return_code": 0, "content": []}
    return [
        {"role": "user", "content": f"question {number}: {WORDS}"},
        {"role": "assistant", "content": [runs, reads]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": result}]},
        {
            "role": "assistant",
            "content": [
                {"type": "code_execution_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": ran},
                {"type": "text", "text": WORDS},
            ],
        },
    ]


@pytest.mark.parametrize("code", [WORDS, WORDS * 8])
@pytest.mark.parametrize("result", [WORDS, WORDS * 20])
def test_the_result_of_code_that_waited_has_its_call_or_is_text(code: str, result: str) -> None:
    """Whatever a compaction did to code that waits for our tool, the code's result is sent behind it, or as text."""
    turns = [run_beside(number, code=code, result=result) for number in range(6)]

    with plimsoll.open(store="memory:", format="anthropic", max_tokens=700) as session:
        for message in (message for turn in turns for message in turn):
            session.append(message)
            view = session.view()

            assert plimsoll.validate(view, format="anthropic") == []
        assert len(session.compactions()) > 2


def test_code_that_waits_for_a_tool_is_not_shortened_while_other_parts_can_be() -> None:
    """The provider goes on with code by the call in it: only what has its result makes room."""
    turn = run_beside(1, code=WORDS * 2, result=WORDS * 20)[:3]

    view = plimsoll.fit(turn, max_tokens=400, format="anthropic").messages

    assert view[1] == turn[1]
