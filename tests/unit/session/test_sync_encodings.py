"""A host that writes its messages down anew says the same; one that says something else is noticed."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from anthropic.types import Message, TextBlock, ThinkingBlock, ToolUseBlock
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseReasoningItem

import plimsoll

Host = list[Any]
ARGUMENTS = '{"path": "a.py", "limit": 1, "deep": {"x": [1.5, true, null]}}'
MEANING = json.loads(ARGUMENTS)
OTHER_SPACE = json.dumps(dict(reversed(MEANING.items())), indent=2)


def chat() -> list[Host]:
    """One conversation as hosts of OpenAI's chat API write it."""
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": ARGUMENTS}}
    spaced = {**call, "function": {"name": "read", "arguments": OTHER_SPACE}}
    answer = ChatCompletionMessage.model_validate({"role": "assistant", "content": "I look.", "tool_calls": [call]})
    completion = ChatCompletion.model_validate(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-4o",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": answer.model_dump()}],
        }
    )
    said = {"role": "assistant", "content": "I look.", "tool_calls": [call]}
    answers: list[Any] = [
        *(
            said,
            answer,
            completion,
            answer.model_dump(),
            answer.model_dump(exclude_none=True),
            {**said, "tool_calls": answer.tool_calls},
        ),
        *(
            {**said, "content": [{"type": "text", "text": "I look."}], "refusal": None},
            {**said, "tool_calls": [spaced]},
        ),
    ]
    end: Host = [{"role": "tool", "tool_call_id": "c1", "content": "1: x"}, {"role": "user", "content": "so?"}]
    parts: Host = [
        {"tool_call_id": "c1", "content": [{"text": "1: x", "type": "text"}], "role": "tool", "name": None},
        {"content": [{"type": "text", "text": "so?"}], "role": "user"},
    ]
    return [[{"role": "user", "content": "why?"}, one, *rest] for rest in (end, parts) for one in answers]


def anthropic() -> list[Host]:
    """The same in Anthropic's."""
    blocks: list[Any] = [
        ThinkingBlock(type="thinking", thinking="hm", signature="s" * 80),
        TextBlock(type="text", text="I look."),
        ToolUseBlock(type="tool_use", id="t1", name="read", input=MEANING),
    ]
    whole = Message.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4",
            "content": blocks,
            "usage": {"input_tokens": 1, "output_tokens": 1},
            "stop_reason": "tool_use",
        }
    )
    dumped = [block.model_dump() for block in blocks]
    bare = [block.model_dump(exclude_none=True) for block in blocks]
    turned = [dict(reversed(block.items())) for block in bare]
    turned[2]["input"] = dict(reversed(MEANING.items()))
    answers: list[Any] = [{"role": "assistant", "content": content} for content in (blocks, dumped, bare, turned)]
    end: Host = [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "1: x"}]},
    ]
    parts: Host = [
        {
            "content": [
                {
                    "content": [{"text": "1: x", "type": "text"}],
                    "tool_use_id": "t1",
                    "type": "tool_result",
                    "cache_control": {"type": "ephemeral"},
                }
            ],
            "role": "user",
        },
    ]
    question = [{"role": "user", "content": "why?"}, {"role": "user", "content": [{"type": "text", "text": "why?"}]}]
    return [
        [first, one, *rest] for rest, first in zip((end, parts), question, strict=True) for one in (*answers, whole)
    ]


def responses() -> list[Host]:
    """The same in the responses API's, where an answer is several items."""
    items: list[Any] = [
        ResponseReasoningItem.model_validate({"id": "rs_1", "type": "reasoning", "summary": []}),
        ResponseOutputMessage.model_validate(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
            }
        ),
        ResponseFunctionToolCall.model_validate(
            {
                "id": "fc_1",
                "type": "function_call",
                "call_id": "c1",
                "name": "read",
                "arguments": ARGUMENTS,
                "status": "completed",
            }
        ),
    ]
    dumped = [item.model_dump() for item in items]
    bare = [item.model_dump(exclude_none=True) for item in items]
    spaced = [*bare[:2], {**bare[2], "arguments": OTHER_SPACE}]
    end: Host = [{"type": "function_call_output", "call_id": "c1", "output": "1: x"}]
    question = [
        {"role": "user", "content": "why?"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "why?"}]},
    ]
    return [[first, *one, *end] for first in question for one in (items, dumped, bare, spaced)]


MADE = {"openai-chat": chat, "anthropic": anthropic, "openai-responses": responses}


@pytest.mark.slow
@pytest.mark.parametrize("format", MADE)
def test_written_anew_it_says_the_same(format: str) -> None:
    """From each way to write a conversation down to each other: nothing is recorded, and what follows is appended."""
    new = {"role": "user", "content": "and now?"}
    written = MADE[format]()
    for first in written:
        with plimsoll.open("x", store="memory:", max_tokens=9_000) as session:
            session.sync(first)
            log = session._recorder.log
            before, view = log.length, session.sync(first)
            for other in written:
                assert session.sync(other) == view
                assert log.length == before
            session.sync([*written[0], new])
            assert log.length == before + 1
            assert session.history()[-1] == new


@pytest.mark.slow
@pytest.mark.parametrize("format", MADE)
def test_other_values_are_noticed(format: str) -> None:
    """1, 1.0 and true are different arguments, also where the host changes them in the very object that it gave before."""
    for number, written in enumerate(MADE[format]()):
        for new in (True, 1.0, 2, "1", None):
            with plimsoll.open("x", store="memory:", max_tokens=9_000) as session:
                held = copy.deepcopy(written)
                session.sync(held)
                call_of(held, new)
                view = session.sync(held)
                assert json.dumps(new) in json.dumps(limits(view)), (number, new)
                assert len(session.history()) == len(view)


def call_of(held: Host, limit: Any) -> None:
    """Change the limit in the arguments of the call, in place."""
    for item in held:
        for part in parts_of(item):
            function = field(part, "function") or part
            if field(function, "arguments"):
                put(function, "arguments", json.dumps({**json.loads(field(function, "arguments")), "limit": limit}))
            elif field(part, "input"):
                field(part, "input")["limit"] = limit


def limits(view: list[Any]) -> list[Any]:
    """The limits of the calls in a view."""
    found = [part for message in view for part in parts_of(message)]
    texts = [field(field(part, "function") or part, "arguments") for part in found]
    return [
        *(json.loads(text)["limit"] for text in texts if text),
        *(part["input"]["limit"] for part in found if field(part, "input")),
    ]


def parts_of(item: Any) -> list[Any]:
    """The item, and the blocks or calls in it."""
    if field(item, "choices"):
        return parts_of(field(field(item, "choices")[0], "message"))
    content = field(item, "content")
    return [item, *(content if isinstance(content, list) else []), *(field(item, "tool_calls") or [])]


def field(value: Any, name: str) -> Any:
    """A field of a dict or an object."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def put(value: Any, name: str, new: Any) -> None:
    """Change a field of either."""
    if isinstance(value, dict):
        value[name] = new
    else:
        setattr(value, name, new)
