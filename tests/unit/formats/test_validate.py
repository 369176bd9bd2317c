"""What each provider refuses, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll.formats.convert import validate

U = {"role": "user", "content": "u"}
A = {"role": "assistant", "content": "a"}


def chat_calls(*ids: Any, **more: Any) -> dict[str, Any]:
    """A chat message with one call for each id."""
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls, **more}


def tool(id: Any, content: Any = "r") -> dict[str, Any]:
    """A tool message."""
    return {"role": "tool", "tool_call_id": id, "content": content}


CHAT: list[tuple[list[Any], list[tuple[int, str]]]] = [
    ([U, chat_calls("a", "b"), tool("b"), tool("a"), A], []),
    ([U, chat_calls("a"), tool("a", ""), A, chat_calls("a"), tool("a")], []),
    ([U, {"role": "assistant", "content": ""}], []),
    ([U, {"role": "assistant", "content": None, "refusal": "no"}], []),
    ([U, chat_calls("a"), U], [(1, "call_without_result")]),
    ([U, chat_calls("a", "b"), tool("a")], [(1, "call_without_result")]),
    ([U, chat_calls("a"), U, tool("a")], [(1, "call_without_result"), (3, "result_without_call")]),
    ([U, tool("a")], [(1, "result_without_call")]),
    ([U, chat_calls("a"), tool("a"), tool("a")], [(3, "duplicate_result")]),
    ([U, chat_calls("a", "a"), tool("a")], [(1, "duplicate_id")]),
    ([U, chat_calls(""), A], [(1, "missing_id")]),
    ([U, chat_calls(None), A], [(1, "missing_id")]),
    ([U, chat_calls("a", tool_calls=[]), A], [(1, "empty_content"), (1, "empty_tool_calls")]),
    ([{"role": "user", "content": None}], [(0, "empty_content")]),
    ([{"role": "user", "content": []}], [(0, "empty_content")]),
    ([{"role": "user", "content": 5}], [(0, "wrong_type")]),
    ([{"role": "user", "content": ["a"]}], [(0, "wrong_type")]),
    ([{"role": "user", "content": [{"type": "text"}]}], [(0, "wrong_type")]),
    ([{"role": "system", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}], [(0, "unknown_block")]),
    ([{"role": "narrator", "content": "a"}], [(0, "unknown_role")]),
    ([{"role": ["user"], "content": "a"}, U], [(0, "unknown_role")]),
]


def uses(*ids: Any, **more: Any) -> dict[str, Any]:
    """An Anthropic message with one call for each id."""
    blocks = [{"type": "tool_use", "id": id, "name": "f", "input": {}, **more} for id in ids]
    return {"role": "assistant", "content": blocks}


def results(*ids: Any, then: Any = (), **more: Any) -> dict[str, Any]:
    """An Anthropic message with one result for each id."""
    blocks = [{"type": "tool_result", "tool_use_id": id, "content": "r", **more} for id in ids]
    return {"role": "user", "content": [*blocks, *then]}


def words(text: Any, role: str = "user") -> dict[str, Any]:
    """An Anthropic message of one text block."""
    return {"role": role, "content": [{"type": "text", "text": text}]}


WORDS = words("a")["content"]
THINKING = {"type": "thinking", "thinking": "t", "signature": "s"}
ANTHROPIC: list[tuple[list[Any], list[tuple[int, str]]]] = [
    ([U, uses("a", "b"), results("b", "a", then=words("x")["content"]), A], []),
    ([U, uses("a", "b"), results("a"), results("b"), U, A, A], []),
    ([U, A, {"role": "assistant", "content": ""}], []),
    ([U, uses("a"), U], [(1, "call_without_result")]),
    ([U, uses("a", "b"), results("a")], [(1, "call_without_result")]),
    ([U, uses("a"), A, U, results("a")], [(4, "results_not_first")]),
    ([U, uses("a"), results("a"), A, results("a")], [(4, "result_without_call")]),
    ([results("a"), A], [(0, "result_without_call")]),
    ([U, uses("a"), results("a", "a")], [(2, "duplicate_result")]),
    ([U, uses("a"), results("a"), uses("a"), results("a")], [(3, "duplicate_id")]),
    ([U, uses("x:1"), results("x:1")], [(1, "bad_id")]),
    ([U, uses("a\n"), results("a\n")], [(1, "bad_id")]),
    ([U, uses(""), A, U], [(1, "missing_id")]),
    ([U, uses("a", name="f g"), results("a")], [(1, "bad_name")]),
    ([U, uses("a", input="{}"), results("a")], [(1, "wrong_type")]),
    ([U, uses("a"), {"role": "user", "content": [*words("x")["content"], *results("a")["content"]]}], [(2, "results_not_first")]),
    ([U, uses("a"), results("a", is_error=True, content="")], [(2, "empty_content")]),
    ([A, U], [(0, "first_not_user")]),
    ([{"role": "system", "content": "s"}, U, A], [(0, "system_inside")]),
    ([U, {"role": "system", "content": "s"}, A], []),
    ([U, {"role": "system", "content": [THINKING]}], [(1, "wrong_place")]),
    ([U, {"role": "tool", "content": "s"}], [(1, "unknown_role")]),
    ([words("")], [(0, "empty_text")]),
    ([words(" \n")], [(0, "empty_text")]),
    ([{"role": "user", "content": " "}], [(0, "empty_content")]),
    ([{"role": "user", "content": []}], [(0, "empty_content")]),
    ([{"role": "user", "content": None}], [(0, "empty_content")]),
    ([U, {"role": "assistant", "content": ""}, U], [(1, "empty_content")]),
    ([{"role": "user", "content": 5}], [(0, "wrong_type")]),
    ([{"role": "user", "content": [5]}], [(0, "wrong_type")]),
    ([words(5)], [(0, "wrong_type")]),
    ([U, {"role": "assistant", "content": "a "}], [(1, "trailing_whitespace")]),
    ([U, {"role": "assistant", "content": "a "}, U], []),
    ([U, words("a\n", "assistant")], [(1, "trailing_whitespace")]),
    ([U, {"role": "assistant", "content": [THINKING]}, U], [(1, "thinking_last")]),
    ([U, {"role": "assistant", "content": [THINKING, *WORDS]}], []),
    ([{"role": "user", "content": [THINKING, *WORDS]}], [(0, "wrong_place")]),
    ([{"role": "user", "content": [{"words": "a"}]}], [(0, "unknown_block")]),
]  # fmt: skip


def call(id: Any, **more: Any) -> dict[str, Any]:
    """A function_call item."""
    return {"type": "function_call", "call_id": id, "name": "f", "arguments": "{}", **more}


def output(id: Any, value: Any = "r") -> dict[str, Any]:
    """A function_call_output item."""
    return {"type": "function_call_output", "call_id": id, "output": value}


def mcp_call(**more: Any) -> dict[str, Any]:
    """A call that the provider carried out on an MCP server."""
    return {"type": "mcp_call", "id": "m", "name": "f", "server_label": "s", "arguments": "{}", **more}


REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
RESPONSES: list[tuple[list[Any], list[tuple[int, str]]]] = [
    ([U, REASONING, call("a"), call("b"), output("b"), output("a"), A], []),
    ([U, call("a"), U, output("a")], []),
    ([U, REASONING, REASONING, A, {"type": "web_search_call", "id": "w", "status": "completed", "action": {}}], []),
    ([U, call("a"), A], [(1, "call_without_result")]),
    ([U, output("a")], [(1, "result_without_call")]),
    ([U, output("a"), call("a")], [(1, "result_without_call"), (2, "call_without_result")]),
    ([U, call("a"), output("a"), output("a")], [(3, "duplicate_result")]),
    ([U, call("a"), call("a"), output("a")], [(2, "duplicate_id")]),
    ([U, call(""), A], [(1, "missing_id")]),
    ([U, call("a", arguments={}), output("a")], [(1, "wrong_type")]),
    ([U, call("a"), output("a", 5)], [(2, "wrong_type")]),
    ([U, mcp_call(output=None), mcp_call(output="a"), mcp_call()], []),
    ([U, mcp_call(output=[])], [(1, "wrong_type")]),
    ([U, REASONING, U], [(1, "reasoning_alone")]),
    ([U, call("a"), REASONING, output("a")], [(2, "reasoning_alone")]),
    ([U, REASONING], [(1, "reasoning_alone")]),
    ([{"type": "message", "role": "user", "content": None}], [(0, "empty_content")]),
    ([{"role": "user", "content": [{"type": "output_text", "text": "a"}]}], [(0, "unknown_block")]),
    ([{"role": "assistant", "content": [{"type": "input_text", "text": "a"}]}], [(0, "unknown_block")]),
    ([{"role": "tool", "content": "a"}], [(0, "unknown_role")]),
    ([{"type": 5}], [(0, "wrong_type")]),
    ([{"content": "a"}], [(0, "unknown_block")]),
]


def ui(*parts: Any, role: Any = "assistant", **more: Any) -> dict[str, Any]:
    """A UI message of these parts."""
    return {"id": "m", "role": role, "parts": list(parts), **more}


def ui_tool(state: str, **more: Any) -> dict[str, Any]:
    """A tool part in that state."""
    return {"type": "tool-f", "toolCallId": "c", "state": state, "input": {}, **more}


T = {"type": "text", "text": "a"}
UI: list[tuple[list[Any], list[tuple[int, str]]]] = [
    ([ui(T, role="user"), ui({"type": "step-start"}, ui_tool("output-available", output=0), T)], []),
    ([ui(ui_tool("output-error", errorText=""))], []),
    ([ui(ui_tool("input-streaming"))], []),
    ([ui(ui_tool("approval-responded", approval={"id": "a", "approved": True}))], []),
    ([ui(ui_tool("approval-responded", approval={"id": "a", "approved": True})), ui(T)], [(0, "call_without_result")]),
    ([ui(ui_tool("input-available"))], [(0, "call_without_result")]),
    ([ui(ui_tool("input-available", providerExecuted=True))], []),
    ([ui(ui_tool("output-available"))], [(0, "wrong_type")]),
    ([ui(ui_tool("done"))], [(0, "wrong_type")]),
    ([ui(ui_tool("output-available", output=1), ui_tool("output-available", output=1))], [(0, "duplicate_id")]),
    ([ui(ui_tool("output-available", output=1, toolCallId=""))], [(0, "missing_id")]),
    ([ui(ui_tool("output-available", output=1), role="user")], [(0, "wrong_place")]),
    ([ui()], [(0, "empty_content")]),
    ([ui(T, id="")], [(0, "missing_id")]),
    ([ui(T, role="tool")], [(0, "unknown_role")]),
    ([ui({"type": "text", "text": 5})], [(0, "wrong_type")]),
    ([ui({"type": "unheard-of"})], [(0, "unknown_block")]),
    ([ui("a")], [(0, "wrong_type")]),
    ([{"id": "m", "role": "user", "parts": 5}], [(0, "wrong_type")]),
]

TABLES = {"openai-chat": CHAT, "anthropic": ANTHROPIC, "openai-responses": RESPONSES, "ui-parts": UI}
CASES = [(format, wires, expected) for format, table in TABLES.items() for wires, expected in table]


@pytest.mark.parametrize(("format", "wires", "expected"), CASES)
def test_rules(format: Any, wires: list[Any], expected: list[tuple[int, str]]) -> None:
    """Each rule finds exactly the message that breaks it, and nothing else."""
    assert [(found.position, found.code) for found in validate(wires, format=format)] == expected


@pytest.mark.parametrize(
    ("system", "codes"),
    [("s", []), ([{"type": "text", "text": "s"}], []), ([{"type": "text", "text": ""}], ["empty_text"]), (5, ["wrong_type"]), (["s"], ["unknown_block"])],
)  # fmt: skip
def test_system_text_is_checked(system: Any, codes: list[str]) -> None:
    """Blank or malformed system text is reported without a position."""
    found = validate([U], format="anthropic", system=system)
    assert [violation.code for violation in found] == codes
    assert all(violation.position is None for violation in found)


def test_violations_are_plain_data() -> None:
    """A violation says where, what and why, as JSON."""
    (found,) = validate([U, tool("a")])
    assert found.to_dict() == {"position": 1, "code": "result_without_call", "reason": found.reason}
