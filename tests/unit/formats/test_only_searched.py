"""A model that searched until it was stopped, and said nothing: its client is given words in the place of an answer."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll.formats.inner_calls import NO_ANSWER, joined
from plimsoll.formats.inner_streams import joined_stream
from plimsoll.formats.streams import answer_reader

NAME = "plimsoll_recall"
CALL = {"id": "c1", "type": "function", "function": {"name": NAME, "arguments": "{}"}}
ITEM = {"type": "function_call", "id": "fc1", "call_id": "c1", "name": NAME, "arguments": "{}"}
BLOCK = {"type": "tool_use", "id": "c1", "name": NAME, "input": {}}
EVENTS: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        {"id": "a", "choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [{"index": 0, **CALL}]}}]},
        {"id": "a", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ],
    "openai-responses": [
        {"type": "response.created", "response": {"id": "r", "created_at": 1}},
        {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
        {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
        {"type": "response.completed", "response": {"id": "r", "created_at": 1, "output": [ITEM]}},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3}}},
        {"type": "content_block_start", "index": 0, "content_block": BLOCK},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ],
}
WHOLE: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None, "tool_calls": [CALL]},
                "finish_reason": "tool_calls",
            }
        ]
    },
    "openai-responses": {"output": [ITEM]},
    "anthropic": {"content": [BLOCK], "stop_reason": "tool_use"},
}


@pytest.mark.parametrize("format", EVENTS)
def test_a_stream_of_searches_alone_ends_in_words(format: Any) -> None:
    """What the client reads of the stream is an answer that is over, with words and without the call."""
    stream = joined_stream(format, {NAME})
    sent = [one for event in EVENTS[format] for one in stream.take(str(event.get("type", "")), event)]
    sent += stream.end()
    reader = answer_reader(format)
    for _, data in sent:
        reader.take(data)
    assert reader.is_complete
    assert NO_ANSWER in str(reader.messages())
    assert NAME not in str(sent)
    assert "tool_calls" not in str(sent[-1])
    assert "tool_use" not in str(sent)


@pytest.mark.parametrize("format", WHOLE)
def test_a_whole_answer_of_searches_alone_has_words(format: Any) -> None:
    """The same of a whole response, whose reason is no longer that of calls."""
    found = joined(format, [WHOLE[format]], {NAME})
    assert NO_ANSWER in str(found)
    assert not any(word in str(found) for word in (NAME, "tool_calls", "tool_use"))
