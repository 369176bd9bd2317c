"""Strands' own agent with the conversation manager: long loops of tool calls with a model that is a script."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import plimsoll

pytest.importorskip("strands", reason="strands-agents is not installed: make test-frameworks")

from strands import Agent, tool
from strands.agent.conversation_manager import NullConversationManager
from strands.models import Model
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException

from plimsoll.adapters.strands import PlimsollConversationManager, StrandsDialect

WINDOW = 4_000
RUNS = 15
TURNS = 20
"""Of each run: Strands nests one call in another, so that a run of some hundred is too deep for Python."""


@tool
def look(number: int) -> str:
    """Look at a lamp."""
    return "\n".join(f"{number}: lamp {line} at {line * number % 97} volts" for line in range(20))


def wires(messages: Any, system: str | None = None) -> list[dict[str, Any]]:
    """As Chat Completions takes them."""
    first = [] if system is None else [{"role": "system", "content": system}]
    return [*first, *(wire for message in messages for wire in StrandsDialect().wires(message))]


class Scripted(Model):
    """Calls a tool, two at a time now and then, and ends each `TURNS`th time; refuses more tokens than its window."""

    def __init__(self, window: int = WINDOW) -> None:
        self.seen: list[Any] = []
        self.counts: list[int] = []
        self.window = window

    def get_config(self) -> Any:
        """What it is called."""
        return {"model_id": "gpt-4o"}

    def update_config(self, **_: Any) -> None:
        """Not used."""

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """Not used."""
        raise NotImplementedError

    async def stream(self, messages: Any, *given_beside: Any, **_: Any) -> Any:
        """The next answer of the script, in pieces."""
        given = wires(messages, given_beside[1])
        self.counts.append(plimsoll.count_tokens(given))
        if self.counts[-1] > self.window:
            raise ContextWindowOverflowException("too long")
        assert plimsoll.validate(given) == []
        roles = [message["role"] for message in messages]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
        self.seen.append(messages)
        number = len(self.seen)
        calls = [] if number % TURNS == 0 else [f"c{number}-{which}" for which in range(1 + number % 2)]
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        for word in ("step ", str(number)):
            yield {"contentBlockDelta": {"delta": {"text": word}}}
        yield {"contentBlockStop": {}}
        for id in calls:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "look", "toolUseId": id}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"number": number})}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}
        counted = {"inputTokens": self.counts[-1], "outputTokens": 20, "totalTokens": self.counts[-1] + 20}
        yield {"metadata": {"usage": counted, "metrics": {"latencyMs": 1}}}


def agent(model: Scripted, manager: Any, **options: Any) -> Any:
    """An agent with one tool."""
    return Agent(
        model=model,
        tools=[look],
        system_prompt="You keep the harbour's lamps.",
        conversation_manager=manager,
        callback_handler=None,
        **options,
    )


@pytest.mark.slow
def test_a_long_loop(tmp_path: Any) -> None:
    """No call of 300 is sent too much; the agent's list and the session hold every message as it was."""
    model = Scripted()
    kept = PlimsollConversationManager(store=str(tmp_path), max_tokens=WINDOW)
    made = agent(model, kept)
    for run in range(RUNS):
        made(f"Look at all lamps of pier {run}, never at lamp 13.")

    assert len(model.seen) == RUNS * TURNS
    assert len(made.messages) == 2 * RUNS * TURNS
    [conversation] = kept.conversations
    session = conversation.session
    assert len(session.compactions()) > 2
    assert session.history() == wires(made.messages, made.system_prompt)
    assert session.usage(last=1)[0].prompt_tokens == model.counts[-1]
    last = model.seen[-1]
    assert last[-1]["content"] == made.messages[-2]["content"]
    assert sum(any(message["content"] == one["content"] for one in made.messages) for message in last) > 3


def test_the_same_loop_without_it() -> None:
    """The model's window is too small for the loop."""
    with pytest.raises(ContextWindowOverflowException):
        agent(Scripted(), NullConversationManager())("Look at all lamps of pier 1.")


@pytest.mark.slow
def test_streaming() -> None:
    """A host that reads the stream has the pieces as they come; one that leaves it can go on."""

    async def use() -> list[str]:
        made = agent(Scripted(), PlimsollConversationManager(store="memory:", max_tokens=WINDOW))
        left = made.stream_async("Look at the lamps.")
        await anext(left)
        await left.aclose()
        return [event["data"] async for event in made.stream_async("Go on.") if "data" in event]

    pieces = asyncio.run(use())

    assert pieces[0] == "step "
    assert len(pieces) >= 2 * (TURNS - 2)


def conversation(turns: int) -> list[Any]:
    """A conversation with calls in pairs."""
    found: list[Any] = [{"role": "user", "content": [{"text": "Look at all lamps."}], "tracking_id": "u"}]
    for number in range(turns):
        calls = [{"toolUseId": f"x{number}-{at}", "name": "look", "input": {"number": number}} for at in range(2)]
        found.append(
            {"role": "assistant", "content": [{"toolUse": call} for call in calls], "tracking_id": f"a{number}"}
        )
        results = [
            {
                "toolUseId": call["toolUseId"],
                "status": "error",
                "content": [{"text": "volts " * 300}, {"json": {"n": 1}}],
            }
            for call in calls
        ]
        found.append({"role": "user", "content": [{"toolResult": one} for one in results], "tracking_id": f"r{number}"})
    return [*found, {"role": "assistant", "content": [{"text": "Done."}]}]


@pytest.mark.slow
def test_a_refusal_is_answered_with_less() -> None:
    """When the model's window is smaller than it was said to be, the call is made once more with less, and not a third time."""
    model = Scripted(window=2_500)
    manager = PlimsollConversationManager(store="memory:", max_tokens=3_500)
    made = agent(model, manager, messages=conversation(4))
    assert 2_500 < plimsoll.count_tokens(wires(made.messages)) < 3_400
    made("And now?", limits={"turns": 1})

    assert len(model.counts) == 2
    assert model.counts[1] <= 2_500 < model.counts[0]

    model.window = 10
    with pytest.raises(ContextWindowOverflowException):
        made("And now?", limits={"turns": 1})
    assert len(model.counts) == 4


def test_results_keep_what_a_wire_message_does_not_hold() -> None:
    """A result that was cut keeps its status and its other parts, and its neighbour is the same object."""
    dialect, message = StrandsDialect(), conversation(1)[2]
    first, second = dialect.wires(message)
    cut = {**first, "content": [{"type": "text", "text": "volts [cut]"}, first["content"][1]]}
    [made] = dialect.joined([dialect.built(cut, message), dialect.built(dict(second), message)])

    result = made["content"][0]["toolResult"]
    assert (result["status"], result["toolUseId"]) == ("error", "x0-0")
    assert result["content"] == [{"text": "volts [cut]"}, {"json": {"n": 1}}]
    assert made["content"][1] is message["content"][1]
    assert made["tracking_id"] == "r0"
    assert message == conversation(1)[2]


@pytest.mark.parametrize(
    ("block", "written"),
    [
        ({"image": {"format": "png", "source": {"bytes": b"abc"}}}, "data:image/png;base64,YWJj"),
        ({"image": {"format": "png", "source": {"location": {"type": "s3", "uri": "s3://b/k"}}}}, "s3://b/k"),
    ],
)
def test_pictures(block: Any, written: str) -> None:
    """Pictures are counted as such, and handed back as they were when the text beside them is cut."""
    message: Any = {"role": "user", "content": [{"text": "look at this"}, block]}
    [wire] = StrandsDialect().wires(message)
    assert wire["content"][1] == {"type": "image_url", "image_url": {"url": written}}

    made = StrandsDialect().built({**wire, "content": [{"type": "text", "text": "cut"}, wire["content"][1]]}, message)
    assert made["content"] == [{"text": "cut"}, block]
    assert made["content"][1] is block


def test_reasoning_and_cache_marks() -> None:
    """Signed reasoning comes back as it is; a mark for the cache is not sent as text."""
    said: Any = [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
        {"text": "long " * 50},
        {"cachePoint": {"type": "default"}},
        {"toolUse": {"toolUseId": "c", "name": "look", "input": {"number": 1}, "reasoningSignature": "r"}},
    ]
    message: Any = {"role": "assistant", "content": said, "metadata": {"custom": {"a": 1}}}
    [wire] = StrandsDialect().wires(message)
    blocks = [block if block["type"] == "thinking" else {**block, "text": "cut"} for block in wire["content"]]
    made = StrandsDialect().built({**wire, "content": blocks}, message)

    assert made["content"] == [said[0], {"text": "cut"}, said[3]]
    assert made["metadata"] == {"custom": {"a": 1}}


@pytest.mark.slow
def test_with_a_session_of_the_framework(tmp_path: Any) -> None:
    """An agent that is started again has its whole list, and goes on in the same session."""
    for _ in range(2):
        kept = PlimsollConversationManager(store=str(tmp_path / "kept"), max_tokens=WINDOW)
        stored = FileSessionManager(session_id="s", storage_dir=str(tmp_path / "theirs"))
        made = agent(Scripted(), kept, session_manager=stored)
        made("Look at all lamps.")
        kept.conversations.close()

    assert len(made.messages) == 4 * TURNS
    assert len(plimsoll.sessions(str(tmp_path / "kept"))) == 1
