"""Edited messages: what was edited changes, everything else stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from plimsoll.formats.anthropic.codec import labelled_text
from plimsoll.formats.convert import validate
from plimsoll.formats.registry import format_named
from plimsoll.message import Media, Message, Opaque, Text, ToolCall, ToolResult, text_message

CACHE = {"cache_control": {"type": "ephemeral"}}
CHAT_CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "f", "arguments": '{"a":1}', "extra_content": 1},
    "provider_specific_fields": 2,
}


def edited(format: str, wire: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The wire object after every part with one of the named fields got its new value."""
    found = format_named(format)
    message = found.decode(wire, 0)
    parts = tuple(
        replace(part, **{name: value for name, value in changes.items() if hasattr(part, name)})
        for part in message.parts
    )
    return found.encode(message.with_parts(parts))


@pytest.mark.parametrize(
    ("format", "wire", "changes", "expected"),
    [
        ("openai-chat", {"content": "long", "role": "user", "cache_control": None}, {"text": "l"}, {"content": "l", "role": "user", "cache_control": None}),
        (
            "openai-chat",
            {"role": "user", "content": [{"type": "text", "text": "long", "prompt_cache_breakpoint": {"mode": "explicit"}}]},
            {"text": "l"},
            {"role": "user", "content": [{"type": "text", "text": "l", "prompt_cache_breakpoint": {"mode": "explicit"}}]},
        ),
        (
            "openai-chat",
            {"role": "tool", "content": "long", "tool_call_id": "c", "name": "f"},
            {"content": "l"},
            {"role": "tool", "content": "l", "tool_call_id": "c", "name": "f"},
        ),
        (
            "openai-chat",
            {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]},
            {"arguments": "{}", "id": "c9"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c9", "type": "function", "function": {"name": "f", "arguments": "{}", "extra_content": 1}, "provider_specific_fields": 2}
                ],
            },
        ),
        (
            "openai-responses",
            {"type": "function_call_output", "id": "fo", "call_id": "c", "output": "long", "status": "completed"},
            {"content": "l"},
            {"type": "function_call_output", "id": "fo", "call_id": "c", "output": "l", "status": "completed"},
        ),
        (
            "openai-responses",
            {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "long text"},
            {"arguments": "l"},
            {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "l"},
        ),
        (
            "openai-responses",
            {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "long", "stderr": "e", "outcome": {"type": "exit", "exit_code": 1}}]},
            {"content": "l"},
            {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "l", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}]},
        ),
        (
            "anthropic",
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "long", **CACHE}]},
            {"content": "l"},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "l", **CACHE}]},
        ),
        (
            "anthropic",
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", **CACHE}]}]},
            {"content": "l"},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "l", **CACHE}]}]},
        ),
        (
            "anthropic",
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": "long"}, **CACHE}]},
            {"arguments": '{"a": "l"}'},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": "l"}, **CACHE}]},
        ),
        (
            "ui-parts",
            {"id": "m", "role": "assistant", "parts": [{"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {"a": 1}, "output": {"rows": [1]}, "providerExecuted": False}], "metadata": {"k": 1}},
            {"content": "l"},
            {"id": "m", "role": "assistant", "parts": [{"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {"a": 1}, "providerExecuted": False, "output": "l"}], "metadata": {"k": 1}},
        ),
        (
            "ui-parts",
            {"id": "m", "role": "assistant", "parts": [{"type": "tool-f", "toolCallId": "c", "state": "output-error", "input": {}, "errorText": "long"}]},
            {"content": "l"},
            {"id": "m", "role": "assistant", "parts": [{"type": "tool-f", "toolCallId": "c", "state": "output-error", "input": {}, "errorText": "l"}]},
        ),
    ],
)  # fmt: skip
def test_an_edit_changes_only_what_was_edited(
    format: str, wire: dict[str, Any], changes: dict[str, Any], expected: dict[str, Any]
) -> None:
    """A shorter text, result or argument replaces the old one and every other field survives."""
    assert edited(format, wire, **changes) == expected


@pytest.mark.parametrize(
    ("format", "wire", "kept"),
    [
        ("openai-chat", {"role": "assistant", "content": "a", "tool_calls": [CHAT_CALL], "reasoning_content": "r", "refusal": "no", "audio": {"id": "x"}}, {"role": "assistant", "content": "a"}),
        ("anthropic", {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "a"}, {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}]}, {"role": "assistant", "content": [{"type": "text", "text": "a"}]}),
        ("ui-parts", {"id": "m", "role": "assistant", "parts": [{"type": "step-start"}, {"type": "text", "text": "a"}, {"type": "data-x", "data": 1}]}, {"id": "m", "role": "assistant", "parts": [{"type": "text", "text": "a"}]}),
        ("openai-responses", {"type": "message", "role": "assistant", "id": "i", "status": "completed", "content": [{"type": "output_text", "text": "a", "annotations": []}, {"type": "refusal", "refusal": "no"}], "phase": "commentary"}, {"type": "message", "role": "assistant", "id": "i", "status": "completed", "content": [{"type": "output_text", "text": "a", "annotations": []}]}),
    ],
)  # fmt: skip
def test_removed_parts_are_gone(format: str, wire: dict[str, Any], kept: dict[str, Any]) -> None:
    """What is no longer among the parts is no longer sent, message-level fields included."""
    found = format_named(format)
    message = found.decode(wire, 0)
    texts = tuple(part for part in message.parts if isinstance(part, Text))
    assert found.encode(message.with_parts(texts)) == kept


@pytest.mark.parametrize(
    ("format", "wire"),
    [
        ("openai-chat", {"role": "tool", "tool_call_id": "c", "content": "r"}),
        ("openai-responses", {"type": "function_call_output", "call_id": "c", "output": "r"}),
    ],
)
def test_an_orphan_result_becomes_a_user_message(format: str, wire: dict[str, Any]) -> None:
    """A result replaced by words in the user's role is a plain user message, with or without the old wire object."""
    found = format_named(format)
    message = replace(found.decode(wire, 0).with_parts((Text(text="[r]"),)), role="user")
    for version in (message, replace(message, wire=None), replace(message, wire=None, format=None)):
        assert found.encode(version) == {"role": "user", "content": "[r]"}


def test_media_replaced_by_words() -> None:
    """An image replaced by words leaves the other blocks as they were."""
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    found = format_named("openai-chat")
    message = found.decode({"role": "user", "content": [{"type": "text", "text": "a", "extra_content": 1}, image]}, 0)
    parts = tuple(Text(text="[image]") if isinstance(part, Media) else part for part in message.parts)
    content = [{"type": "text", "text": "a", "extra_content": 1}, {"type": "text", "text": "[image]"}]
    assert found.encode(message.with_parts(parts)) == {"role": "user", "content": content}


def test_results_added_to_an_anthropic_message_come_first() -> None:
    """A result added to a user message of words stands before them, as the API wants it."""
    found = format_named("anthropic")
    message = found.decode({"role": "user", "content": "hello"}, 0)
    added = ToolResult(call_id="c", content="[no result]", is_error=True)
    wire = found.encode(message.with_parts((*message.parts, added)))
    result = {"type": "tool_result", "tool_use_id": "c", "content": "[no result]", "is_error": True}
    assert wire == {"role": "user", "content": [result, {"type": "text", "text": "hello"}]}


@pytest.mark.parametrize("state", ["input-available", "input-streaming", "approval-requested", "approval-responded"])
def test_results_added_to_a_pending_ui_call(state: str) -> None:
    """A result added to a UI message finishes the part of its call, in every pending state."""
    part = {"type": "tool-f", "toolCallId": "c", "state": state, "input": {}, "approval": {"id": "a", "approved": True}}
    found = format_named("ui-parts")
    message = found.decode({"id": "m", "role": "assistant", "parts": [part]}, 0)
    assert message.calls[0].id == "c"
    assert message.results == ()
    done = found.encode(message.with_parts((*message.parts, ToolResult(call_id="c", content="ok"))))
    assert done["parts"][0]["state"] == "output-available"
    assert done["parts"][0]["output"] == "ok"
    assert validate([done]) == []


@pytest.mark.parametrize(
    ("format", "message", "expected"),
    [
        ("openai-chat", text_message("user", "a"), {"role": "user", "content": "a"}),
        ("anthropic", text_message("user", "a"), {"role": "user", "content": "a"}),
        ("anthropic", text_message("system", "a"), {"role": "user", "content": labelled_text("a")}),
        ("openai-responses", text_message("assistant", "a"), {"role": "assistant", "content": "a"}),
        ("openai-chat", Message(role="assistant", parts=(ToolCall(id="c", name="f", arguments="{}"),)), {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}),
        ("anthropic", Message(role="assistant", parts=(ToolCall(id="c", name="f", arguments="not json"),)), {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"raw_arguments": "not json"}}]}),
        ("openai-responses", Message(role="tool", parts=(ToolResult(call_id="c", content="r"),)), {"type": "function_call_output", "call_id": "c", "output": "r"}),
    ],
)  # fmt: skip
def test_messages_made_here(format: str, message: Message, expected: dict[str, Any]) -> None:
    """A message that came from nowhere is written as the smallest valid object."""
    assert format_named(format).encode(message) == expected


def test_made_ui_messages_have_stable_ids() -> None:
    """A UI message made here has an id that depends on nothing but what it says."""
    found = format_named("ui-parts")
    first, again, other = (found.encode(text_message("user", text)) for text in ("a", "a", "b"))
    assert first["id"] == again["id"] != other["id"]


def test_opaque_parts_show_every_sent_field() -> None:
    """Fields that no part stands for are carried as opaque parts, so that they are counted; bookkeeping is not."""
    wire = {
        "role": "assistant",
        "content": "a",
        "refusal": "r",
        "audio": {"id": "x"},
        "images": [1],
        "odd": [1],
        "none": None,
    }
    parts = format_named("openai-chat").decode(wire, 0).parts
    assert [part.wire for part in parts if isinstance(part, Opaque)] == [
        {"refusal": "r"},
        {"audio": {"id": "x"}},
        {"images": [1]},
    ]
    document = {
        "type": "document",
        "source": {"type": "url", "url": "https://example.org/a.pdf"},
        "context": "long",
        **CACHE,
    }
    shown = format_named("anthropic").decode({"role": "user", "content": [document], "id": "m", "usage": {"a": 1}}, 0)
    assert [part.wire for part in shown.parts if isinstance(part, Opaque)] == [{"context": "long"}]
    assert format_named("anthropic").encode(shown.with_parts(shown.parts))["content"] == [document]
