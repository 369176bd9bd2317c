"""Which format messages are in."""

from __future__ import annotations

import random
from typing import Any

import pytest

from generated import FORMATS, random_history
from plimsoll.errors import FormatError, SettingError
from plimsoll.formats.convert import validate
from plimsoll.formats.detect import detect
from plimsoll.formats.registry import decode_all, format_named


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], "openai-chat"),
        ([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "openai-chat"),
        ([{"role": "developer", "content": "a"}], "openai-chat"),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}]}], "openai-chat"),
        ([{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {}}]}], "anthropic"),
        ([{"role": "assistant", "content": [{"type": "text", "text": "a", "citations": None}]}], "anthropic"),
        ([{"role": "assistant", "content": [{"type": "thinking", "thinking": "a"}]}], "anthropic"),
        ([{"role": "assistant", "content": [{"type": "thinking", "thinking": []}]}], "openai-chat"),
        ([{"role": "user", "content": "a"}, {"type": "function_call", "call_id": "c"}], "openai-responses"),
        ([{"role": "user", "content": [{"type": "input_text", "text": "a"}]}], "openai-responses"),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}], "anthropic"),
        ([{"role": "user", "parts": []}], "ui-parts"),
        ([{"role": "narrator", "content": "a"}], "openai-chat"),
    ],
)
def test_detect(messages: list[dict[str, Any]], expected: str) -> None:
    """The first message that can be in only one format decides; plain ones are chat."""
    assert detect(messages) == expected


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_detect_generated(format: str) -> None:
    """Histories with tools are recognised in every format."""
    for seed in range(100):
        wires = random_history(random.Random(seed), format)
        if "tool" in str(wires) or "function_call" in str(wires):
            assert detect(wires) == format


@pytest.mark.parametrize(
    ("messages", "position"),
    [
        ([{"content": "a"}], 0),
        ([{"role": "user", "content": "a"}, {"text": "b"}], 1),
        ("hello", None),
        ({"role": "user"}, None),
        (None, None),
        ([{"role": "user", "content": "a"}, "b"], 1),
        ([{"role": "user", "content": "a"}, {"role": "user", "content": 5}], 1),
        ([{"role": "user", "content": "a"}, {"role": "narrator", "content": "b"}], 1),
        ([{"role": "user", "content": b"bytes"}], 0),
        ([{"role": "user", "content": "a", 5: "b"}], 0),
        ([{"role": "assistant", "tool_calls": [{"id": 5, "function": {}}]}], 0),
        ([{"role": "assistant", "tool_calls": "x"}], 0),
    ],
)
def test_what_is_no_message_is_refused(messages: Any, position: int | None) -> None:
    """Anything else is a FormatError that names the position."""
    with pytest.raises(FormatError) as caught:
        decode_all(messages)
    assert caught.value.position == position


def test_unknown_formats_are_refused() -> None:
    """A format that does not exist is a SettingError that lists the ones that do."""
    for call in (lambda: format_named("gemini"), lambda: decode_all([], "gemini"), lambda: validate([], format="x")):
        with pytest.raises(SettingError, match="openai-chat, openai-responses, anthropic, ui-parts"):
            call()


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"role": "user", "content": [{"text": "hello"}]}, "Converse"),
        ({"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "read", "input": {}}}]}, "Converse"),
        ({"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "x"}]}}]}, "Converse"),
        ({"role": "user", "parts": [{"text": "hello"}]}, "Gemini"),
        ({"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]}, "Gemini"),
        (
            {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "t", "toolName": "read"}]},
            "UI messages",
        ),
        ({"role": "tool", "content": [{"type": "tool-result", "toolCallId": "t", "toolName": "read"}]}, "UI messages"),
    ],
)
def test_messages_of_other_apis_are_refused(message: dict[str, Any], words: str) -> None:
    """What would be sent as JSON text, calls and all, is refused by name; parts that merely lack a type are repaired as before."""
    with pytest.raises(FormatError, match=words) as caught:
        decode_all([{"role": "user", "content": "hi"}, message])

    assert caught.value.position == 1
    assert decode_all([{"role": "user", "content": [{"type": "text", "text": "a"}, {"text": "b"}]}])
    assert decode_all([{"role": "user", "content": [{"type": ["tool-call"]}]}])
