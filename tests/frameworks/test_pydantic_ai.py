"""Pydantic AI's own agents with the capability: long loops of tool calls with a model that is a function."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from itertools import pairwise
from typing import Any

import pytest

import plimsoll
from generated import PNG

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: make test-frameworks")

from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import UsageLimits

from plimsoll.adapters.pydantic_ai import PlimsollCapability, PydanticDialect, joined

WINDOW = 4_000
TURNS = 150


def wires(messages: Any) -> list[Any]:
    """As Chat Completions takes them."""
    return [wire for message in messages for wire in PydanticDialect().wires(message)]


class Script:
    """Calls a tool, two at a time now and then, and ends each `TURNS`th time; refuses more tokens than its window."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, messages: Any, _info: Any) -> ModelResponse:
        """The next answer."""
        given = wires(messages)
        assert plimsoll.count_tokens(given) <= WINDOW
        assert plimsoll.validate(given) == []
        self.seen.append(messages)
        number = len(self.seen)
        if number % TURNS == 0:
            return ModelResponse(parts=[TextPart(f"done {number}")])
        calls = [
            ToolCallPart("look", {"number": number}, tool_call_id=f"c{number}-{at}") for at in range(1 + number % 2)
        ]
        return ModelResponse(parts=[TextPart(f"step {number}"), *calls])


def agent(script: Script, *capabilities: Any) -> Any:
    """An agent with one tool."""
    made: Any = Agent(FunctionModel(script), instructions="You keep the lamps.", capabilities=list(capabilities))

    @made.tool_plain
    def look(number: int) -> str:
        """Look at a lamp."""
        return "\n".join(f"{number}: lamp {line} at {line * number % 97} volts" for line in range(20))

    return made


def run(made: Any, text: str, history: Any = None) -> Any:
    """One run; returns all messages."""
    limits = UsageLimits(request_limit=None)
    return made.run_sync(text, message_history=history, usage_limits=limits).all_messages()


@pytest.mark.slow
def test_a_long_loop(tmp_path: Any) -> None:
    """No request is sent too much over two runs, the history keeps every message, and what is sent is of it."""
    script, kept = Script(), PlimsollCapability(store=str(tmp_path), max_tokens=WINDOW)
    made = agent(script, kept)
    history = run(made, "first: never touch lamp 13")
    history = run(made, "second: go on", history)

    assert len(script.seen) == 2 * TURNS
    assert len(history) == 4 * TURNS
    [conversation] = kept.conversations
    assert conversation.session.stats().compactions > 2
    assert wires(history)[:-1] == [wire for wire in conversation.session.history() if wire["role"] != "system"][:-1]
    last = script.seen[-1]
    assert sum(any(message is one for one in history) for message in last) > 3
    for earlier, later in pairwise(last):
        assert type(earlier) is not type(later)


def test_the_same_loop_without_it() -> None:
    """The model's window is too small for the loop."""
    with pytest.raises(AssertionError):
        run(agent(Script()), "first")


@pytest.mark.slow
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_refusal_is_answered_with_less(*, is_streamed: bool) -> None:
    """When the window is smaller than it was said to be, the request is made once more with less; a second refusal comes through."""
    counts, window = list[int](), 1_400

    def answer(messages: Any, _: Any = None) -> ModelResponse:
        counts.append(plimsoll.count_tokens(wires(messages)))
        if counts[-1] > window:
            raise ModelHTTPError(400, "m", {"code": "context_length_exceeded", "message": "maximum context length"})
        return ModelResponse(parts=[TextPart("Done.")])

    async def pieces(messages: Any, info: Any) -> Any:
        yield answer(messages, info).parts[0].content

    history: list[Any] = [
        ModelRequest(parts=[UserPromptPart(f"{number} " + "volts " * 300)])
        if number % 2 == 0
        else ModelResponse(parts=[TextPart("amps " * 300)])
        for number in range(14)
    ]
    kept = PlimsollCapability(store="memory:", max_tokens=3_500, model="gpt-4o")
    agent = Agent(FunctionModel(answer, stream_function=pieces), capabilities=[kept], instructions="Be brief.")

    def run() -> str:
        if not is_streamed:
            return agent.run_sync("And now?", message_history=history).output

        async def stream() -> str:
            async with agent.run_stream("And now?", message_history=history) as found:
                return await found.get_output()

        return asyncio.run(stream())

    assert run() == "Done."
    assert len(counts) == 2
    assert counts[1] <= window < counts[0]
    [conversation] = kept.conversations
    assert conversation.session.history()[-1]["content"] == "Done."

    window = 10
    with pytest.raises(ModelHTTPError):
        run()
    assert len(counts) == 4


def test_parts_keep_what_a_wire_message_does_not_hold() -> None:
    """A tool result that is cut keeps its metadata, and its neighbours in the request stay the same objects."""
    first = ToolReturnPart("look", "volts " * 50, tool_call_id="c1", metadata={"raw": 1})
    second = ToolReturnPart("look", {"lamp": 2}, tool_call_id="c2")
    request, dialect = ModelRequest(parts=[first, second], run_id="r"), PydanticDialect()
    cut = {**dialect.wires(request)[0], "content": "volts [cut]"}
    [made] = joined([dialect.built(cut, request), dialect.built(dict(dialect.wires(request)[1]), request)])

    assert isinstance(made, ModelRequest)
    assert made.run_id == "r"
    assert (made.parts[0].content, made.parts[0].metadata) == ("volts [cut]", {"raw": 1})
    assert made.parts[1] is second
    assert first.content == "volts " * 50


def test_responses_are_read_back() -> None:
    """A response of which the text was cut keeps its thinking, its calls and its metadata."""
    thinking, call = ThinkingPart("hm", signature="s"), ToolCallPart("look", {"number": 1}, tool_call_id="c1")
    response, dialect = ModelResponse(parts=[thinking, TextPart("long " * 50), call], model_name="m"), PydanticDialect()
    [wire] = dialect.wires(response)
    blocks = [block if block["type"] == "thinking" else {**block, "text": "long [cut]"} for block in wire["content"]]
    made = dialect.built({**wire, "content": blocks}, response)

    assert made.parts == [thinking, TextPart("long [cut]"), call]
    assert made.model_name == "m"


def test_pictures_of_tools_and_models_are_counted_and_come_back() -> None:
    """A picture that a tool returned, or the model made, is counted as one, and is the same object where the text beside it is cut."""
    picture = BinaryContent(b64decode(PNG), media_type="image/png")
    shown = ModelRequest(parts=[ToolReturnPart("look", ["volts " * 50, picture], tool_call_id="c1")])
    made = ModelResponse(parts=[FilePart(picture), TextPart("volts " * 50)])
    for message in (shown, made):
        [wire] = PydanticDialect().wires(message)
        drawn = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
        assert drawn in wire["content"]
        cut = [block if block == drawn else {"type": "text", "text": "volts [cut]"} for block in wire["content"]]
        [part, *others] = PydanticDialect().built({**wire, "content": cut}, message).parts
        assert [part.content, *(other.content for other in others)] in (
            [["volts [cut]", picture]],
            [picture, "volts [cut]"],
        )


def test_pictures_and_retries() -> None:
    """Pictures are counted as such and handed back; a retry is the result of its call."""
    picture = ImageUrl(url="https://harbour/lamp.png")
    request = ModelRequest(
        parts=[UserPromptPart(["look:", picture]), RetryPromptPart("no", tool_name="look", tool_call_id="c1")]
    )
    user, retry = PydanticDialect().wires(request)

    assert user["content"][1] == {"type": "image_url", "image_url": {"url": picture.url}}
    assert (retry["role"], retry["tool_call_id"]) == ("tool", "c1")
    made = PydanticDialect().built({**user, "content": [{"type": "text", "text": "cut"}, user["content"][1]]}, request)
    assert made.parts[0].content == ["cut", picture]
