"""What each format's messages are read as."""

from __future__ import annotations

import json
from typing import Any

import pytest

from generated import FORMATS
from plimsoll.formats.registry import decode_all, format_named
from plimsoll.message import Message


def read(format: str, wire: dict[str, Any]) -> Message:
    """The message in a wire object."""
    return format_named(format).decode(wire, 0)


def kinds(message: Message) -> list[str]:
    """The names of its parts."""
    return [type(part).__name__ for part in message.parts]


@pytest.mark.parametrize(
    ("format", "wire", "role", "expected"),
    [
        ("openai-chat", {"role": "developer", "content": "a"}, "system", ["Text"]),
        ("openai-chat", {"role": "function", "name": "f", "content": "a"}, "tool", ["ToolResult"]),
        ("openai-chat", {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}, "assistant", ["ToolCall"]),
        ("openai-chat", {"role": "assistant", "content": "a", "reasoning_content": "r", "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "free"}}]}, "assistant", ["Reasoning", "Text", "ToolCall"]),
        ("openai-responses", {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"}, "assistant", ["Reasoning"]),
        ("openai-responses", {"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}, "status": "completed"}, "assistant", ["ToolCall"]),
        ("openai-responses", {"type": "local_shell_call_output", "id": "c", "output": "o"}, "tool", ["ToolResult"]),
        ("openai-responses", {"type": "web_search_call", "id": "w", "status": "completed", "action": {}}, "assistant", ["Opaque"]),
        ("openai-responses", {"type": "image_generation_call", "id": "i", "status": "completed", "result": "AAAA"}, "assistant", ["Media"]),
        ("openai-responses", {"type": "compaction", "encrypted_content": "e"}, "assistant", ["Opaque"]),
        ("openai-responses", {"id": "msg_1"}, "assistant", ["Opaque"]),
        ("openai-responses", {"type": "from_the_future", "x": 1}, "assistant", ["Opaque"]),
        ("openai-responses", {"role": "developer", "content": "a"}, "system", ["Text"]),
        ("anthropic", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}, {"type": "text", "text": "a"}]}, "user", ["ToolResult", "Text"]),
        ("anthropic", {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "d"}, {"type": "from_the_future"}]}, "assistant", ["Reasoning", "Opaque"]),
        ("anthropic", {"role": "user", "content": [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}]}, "user", ["Opaque"]),
        ("ui-parts", {"id": "m", "role": "assistant", "parts": [{"type": "tool-f", "toolCallId": "c", "state": "output-denied", "input": {}, "approval": {"id": "a", "approved": False}}]}, "assistant", ["ToolCall", "ToolResult"]),
        ("ui-parts", {"id": "m", "role": "assistant", "parts": [{"type": "tool-f", "tool_call_id": "c", "state": "output-available", "input": {}, "output": 0}]}, "assistant", ["ToolCall", "ToolResult"]),
        ("ui-parts", {"id": "m", "role": "user", "parts": [{"type": "data-x", "data": 1}, {"type": "source-url", "sourceId": "s", "url": "u"}]}, "user", ["Opaque", "Opaque"]),
    ],
)  # fmt: skip
def test_parts(format: str, wire: dict[str, Any], role: str, expected: list[str]) -> None:
    """Each kind of block or item becomes the part that stands for it, and unknown ones are carried as they are."""
    message = read(format, wire)
    assert (message.role, kinds(message)) == (role, expected)


@pytest.mark.spec("W3-04")
@pytest.mark.parametrize(
    ("output", "content"),
    [
        (0, "0"),
        (False, "false"),
        ("", ""),
        ("0", "0"),
        (None, ""),
        ({"a": "é"}, '{"a":"é"}'),
        ([], "[]"),
        ("\ud800", "\ud800"),
    ],
)
def test_falsy_outputs_are_kept(output: object, content: str) -> None:
    """A tool's output is said as it is: nothing falsy becomes an empty object, and text is not quoted again."""
    part = {
        "type": "dynamic-tool",
        "toolName": "f",
        "toolCallId": "c",
        "state": "output-available",
        "input": {},
        "output": output,
    }
    assert read("ui-parts", {"id": "m", "role": "assistant", "parts": [part]}).results[0].content == content


def test_signatures_are_kept() -> None:
    """Signed and sealed thinking carries its signature, wherever the format puts it."""
    block = {"type": "thinking", "thinking": "t", "signature": "sig"}
    told = {"type": "reasoning", "text": "t", "providerMetadata": {"anthropic": {"signature": "sig"}}}
    item = {
        "type": "reasoning",
        "id": "r",
        "summary": [{"type": "summary_text", "text": "t"}],
        "encrypted_content": "sig",
    }
    messages = (
        read("anthropic", {"role": "assistant", "content": [block]}),
        read("ui-parts", {"id": "m", "role": "assistant", "parts": [told]}),
        read("openai-responses", item),
    )
    assert [(message.parts[0].text, message.parts[0].signature) for message in messages] == [("t", "sig")] * 3


def test_legacy_functions_pair() -> None:
    """A legacy function call and the message that answers it have the same id, so that they are one exchange."""
    call = read(
        "openai-chat", {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    )
    answer = read("openai-chat", {"role": "function", "name": "f", "content": "a"})
    assert call.calls[0].id == answer.results[0].call_id


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_decoded_is_private(format: Any) -> None:
    """Changing the input afterwards changes no message."""
    wire = {
        "id": "m",
        "role": "user",
        "content": [{"type": "text", "text": "a"}],
        "parts": [{"type": "text", "text": "a"}],
    }
    found, messages = decode_all([wire], format)
    wire["content"][0]["text"] = wire["parts"][0]["text"] = "b"
    assert "'b'" not in str(found.encode(messages[0]))


def test_a_computer_call_of_several_actions_has_them_as_arguments() -> None:
    """Newer models send a list of actions in place of one: they are what the call costs and says."""
    actions = [{"type": "click", "x": 1, "y": 2, "button": "left"}, {"type": "type", "text": "load line"}]
    wire = {"type": "computer_call", "id": "cu_1", "call_id": "call_1", "actions": actions, "status": "completed"}

    call = format_named("openai-responses").decode(wire, 0).calls[0]

    assert json.loads(call.arguments) == actions
