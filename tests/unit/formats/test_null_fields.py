"""Fields that a dump of a response has as null, where the API takes them not at all: they stay out of requests."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

import plimsoll
from loopback import agent
from loopback.chat import Chat
from loopback.messages import Messages
from loopback.responses import Responses

ANSWER = agent.Answer("I look.", "One file matters.", [agent.Call("search", {"path": "a"})])


def dumps() -> dict[str, tuple[list[dict[str, Any]], Any, str]]:
    """A conversation in each format whose answers are dumps with every field, what judges it, and where it goes."""
    asked = {"role": "user", "content": "Look."}
    chat = Chat().respond(ANSWER, 0, {"messages": [asked], "model": "gpt-4o"})
    said = ChatCompletion.model_validate(chat).choices[0].message.model_dump()
    silent = {"role": "assistant", "content": "Done.", "tool_calls": None, "name": None, "refusal": None}
    api, body = Responses(), {"model": "gpt-4o", "input": [asked]}
    items = Response.model_validate(api.respond(ANSWER, 0, body)).model_dump(by_alias=True)["output"]
    messages, request = (
        Messages(),
        {"model": "claude-sonnet-4-6", "messages": [asked], "thinking": {"type": "adaptive"}},
    )
    blocks = Message.model_validate(messages.respond(ANSWER, 0, request)).model_dump()["content"]
    result = {"type": "tool_result", "tool_use_id": "toolu_0_0", "content": None, "is_error": None}
    return {
        "openai-chat": (
            [asked, said, {"role": "tool", "tool_call_id": "call_0_0", "content": "a"}, silent],
            Chat(),
            "messages",
        ),
        "openai-responses": (
            [asked, *items, {"type": "function_call_output", "call_id": "call_0_0", "output": "a"}],
            api,
            "input",
        ),
        "anthropic": (
            [asked, {"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}],
            messages,
            "messages",
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic"])
def test_dumps_with_every_field_are_sent_without_those_that_may_not_be_null(format: Any) -> None:
    """By `fit` and by a session; `validate` names them."""
    messages, api, place = dumps()[format]
    assert {found.code for found in plimsoll.validate(messages, format=format)} == {"unknown_field"}
    fitted = plimsoll.fit(messages, max_tokens=9_000, format=format).messages
    with plimsoll.open(store="memory:", format=format) as session:
        session.extend(messages)
        assert session.view() == fitted
        assert session.history() == messages
    assert plimsoll.validate(fitted, format=format) == []
    api.check(
        {"model": "claude-sonnet-4-6" if format == "anthropic" else "gpt-4o", place: fitted, "max_tokens": 99}
        if format == "anthropic"
        else {"model": "gpt-4o", place: fitted}
    )
