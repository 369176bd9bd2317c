"""The Google Agent Development Kit's own runner with the plugin: long loops of tool calls with a model that is a script."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import plimsoll

pytest.importorskip("google.adk", reason="google-adk is not installed: make test-frameworks")

from google.adk.agents import Agent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai.types import (
    Blob,
    Content,
    FunctionCall,
    FunctionResponse,
    GenerateContentResponseUsageMetadata,
    Part,
)

from plimsoll.adapters.google_adk import AdkDialect, CallIds, PlimsollPlugin

WINDOW = 4_000
TURNS = 150


def look(number: int) -> str:
    """Look at a lamp."""
    return "\n".join(f"{number}: lamp {line} at {line * number % 97} volts" for line in range(20))


def wires(contents: Any) -> list[dict[str, Any]]:
    """As Chat Completions takes them."""
    ids = CallIds()
    return [wire for content in contents for wire in AdkDialect().wires(ids.filled(content))]


class Scripted(BaseLlm):
    """Calls a tool, two at a time now and then, and ends each `turns`th time; refuses more tokens than its window."""

    model: str = "gpt-4o"
    seen: list[Any] = []  # noqa: RUF012 - Pydantic copies it
    counts: list[int] = []  # noqa: RUF012
    window: int = WINDOW
    turns: int = TURNS

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        """The next answer."""
        system = {"role": "system", "content": llm_request.config.system_instruction}
        given = [system, *wires(llm_request.contents)]
        self.counts.append(plimsoll.count_tokens(given))
        if self.counts[-1] > self.window:
            raise ValueError(f"The input token count ({self.counts[-1]}) exceeds the maximum number of tokens allowed.")
        assert plimsoll.validate(given) == []
        asked = 0
        for content in llm_request.contents:  # as Gemini wants it: all results of a turn in one content
            results = sum(part.function_response is not None for part in content.parts)
            assert results in (0, asked)
            asked = sum(part.function_call is not None for part in content.parts)
        self.seen.append(list(llm_request.contents))
        number = len(self.seen)
        parts = [Part(text=f"step {number}")]
        if number % self.turns:
            parts += [
                Part(function_call=FunctionCall(name="look", args={"number": number}), thought_signature=b"s")
                for _ in range(1 + number % 2)
            ]
        counted = GenerateContentResponseUsageMetadata(prompt_token_count=self.counts[-1], candidates_token_count=20)
        if stream:
            yield LlmResponse(content=Content(role="model", parts=[Part(text="step")]), partial=True)
        yield LlmResponse(content=Content(role="model", parts=parts), usage_metadata=counted)


def runner(llm: Scripted, *plugins: Any) -> InMemoryRunner:
    """A runner of an agent with one tool."""
    agent = Agent(name="keeper", model=llm, instruction="You keep the lamps.", tools=[look])
    return InMemoryRunner(app=App(name="lamps", root_agent=agent, plugins=list(plugins)))


def run(llm: Scripted, texts: list[str], *plugins: Any, mode: Any = StreamingMode.NONE) -> list[Any]:
    """Runs of an agent in one session; returns the events."""
    config = RunConfig(max_llm_calls=10_000, streaming_mode=mode)
    return asyncio.run(runner(llm, *plugins).run_debug(texts, run_config=config, quiet=True))


@pytest.mark.slow
def test_a_long_loop(tmp_path: Any) -> None:
    """No call of 300 is sent too much; the kit's events and plimsoll's session hold every message."""
    llm, kept = Scripted(), PlimsollPlugin(store=str(tmp_path), max_tokens=WINDOW)
    events = run(llm, ["first: never touch lamp 13", "second: go on"], kept)

    assert len(llm.seen) == 2 * TURNS
    assert sum(len(event.get_function_responses()) for event in events) == 3 * (TURNS - 1) + 1
    [conversation] = kept.conversations
    history = conversation.session.history()
    assert len(conversation.session.compactions()) > 2
    assert sum(len(wire.get("tool_calls") or ()) for wire in history) == 3 * (TURNS - 1) + 1
    assert conversation.session.usage(last=1)[0].prompt_tokens == llm.counts[-1]
    calls = [part.function_call for content in llm.seen[-1] for part in content.parts if part.function_call]
    assert calls
    assert {call.id for call in calls} == {None}
    assert not kept._under_way
    assert not kept._agents


def test_the_same_loop_without_it() -> None:
    """The model's window is too small for the loop."""
    with pytest.raises(ValueError, match="exceeds the maximum"):
        run(Scripted(), ["first"])


@pytest.mark.slow
def test_streaming() -> None:
    """Pieces come as they do without it; the answer is recorded once."""
    llm, kept = Scripted(turns=20), PlimsollPlugin(store="memory:", max_tokens=WINDOW)
    events = run(llm, ["go"], kept, mode=StreamingMode.SSE)

    assert sum(bool(event.partial) for event in events) == 20
    [conversation] = kept.conversations
    assert [wire["content"] for wire in conversation.session.history() if wire["role"] == "assistant"] == [
        f"step {number}" for number in range(1, 21)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("mode", [StreamingMode.NONE, StreamingMode.SSE])
def test_a_refusal_is_answered_with_less(mode: Any) -> None:
    """When the window is smaller than it was said to be, the call is made once more with less, and the run goes on."""
    llm, kept = Scripted(window=2_500, turns=20), PlimsollPlugin(store="memory:", max_tokens=3_500)
    events = run(llm, ["go"], kept, mode=mode)

    assert len(llm.seen) == 20
    refused = [count for count in llm.counts if count > 2_500]
    assert refused
    assert len(llm.counts) == 20 + len(refused)
    [conversation] = kept.conversations
    said = [wire["content"] for wire in conversation.session.history() if wire["role"] == "assistant"]
    assert said == [f"step {number}" for number in range(1, 21)]
    assert sum(len(event.get_function_responses()) for event in events) == 29
    assert not kept._under_way
    assert not kept._agents


@pytest.mark.slow
def test_a_second_refusal_comes_through() -> None:
    """It is the model's first refusal, which says that a second call was made."""
    llm, kept = Scripted(window=10, turns=20), PlimsollPlugin(store="memory:", max_tokens=3_500)
    with pytest.raises(ValueError, match="exceeds the maximum") as refused:
        run(llm, ["volts " * 2_000], kept)
    assert ["once more with less" in note for note in refused.value.__notes__] == [True]
    assert len(llm.counts) == 2
    assert llm.counts[1] < llm.counts[0]
    assert not kept._under_way
    assert not kept._agents


def test_an_agent_that_is_stopped_is_let_go() -> None:
    """When its run is cancelled while the model is asked, nothing waits for an answer any longer."""
    kept, is_asked = PlimsollPlugin(store="memory:", max_tokens=WINDOW), asyncio.Event()

    class Silent(Scripted):
        """Never answers."""

        async def generate_content_async(self, *_: Any, **__: Any) -> Any:
            """Nothing."""
            is_asked.set()
            await asyncio.sleep(60)
            yield LlmResponse()

    async def stopped() -> None:
        running = asyncio.ensure_future(runner(Silent(), kept).run_debug("go", quiet=True))
        await is_asked.wait()
        [conversation] = kept.conversations
        assert conversation.awaited == 1
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert conversation.awaited == 0

    asyncio.run(stopped())
    assert not kept._under_way
    assert not kept._agents


def turn() -> list[Content]:
    """Two calls without ids, and their results."""
    calls = [Part(function_call=FunctionCall(name="look", args={"at": at}), thought_signature=b"s") for at in range(2)]
    results = [
        Part(function_response=FunctionResponse(name="look", response={"result": f"{at} " + "volts " * 50}))
        for at in range(2)
    ]
    return [Content(role="model", parts=calls), Content(role="user", parts=results)]


def test_calls_without_ids_are_paired_in_order() -> None:
    """Calls and results that have no id get one for the time they are compacted, the same one each time."""
    said, first, second = wires(turn())
    assert [call["id"] for call in said["tool_calls"]] == [first["tool_call_id"], second["tool_call_id"]]
    assert wires(turn()) == wires(turn())
    assert turn()[0].parts[0].function_call.id is None  # type: ignore[index,union-attr]


def test_results_keep_what_a_wire_message_does_not_hold() -> None:
    """A result that was cut keeps its name, a call that was cut its signature; their neighbours are the same objects."""
    dialect, ids = AdkDialect(), CallIds()
    said, answered = (ids.filled(content) for content in turn())
    first, second = dialect.wires(answered)
    [made] = dialect.joined(
        [dialect.built({**first, "content": "volts [cut]"}, answered), dialect.built(dict(second), answered)]
    )
    response = made.parts[0].function_response
    assert (response.name, response.response) == ("look", {"result": "volts [cut]"})
    assert made.parts[1] is answered.parts[1]

    [wire] = dialect.wires(said)
    calls = [{**call, "function": {**call["function"], "arguments": '{"at": "cut"}'}} for call in wire["tool_calls"]]
    made = dialect.built({**wire, "tool_calls": calls}, said)
    assert made.parts[0].function_call.args == {"at": "cut"}
    assert made.parts[0].thought_signature == b"s"


def test_pictures_and_thoughts() -> None:
    """Pictures are counted as such; they and thoughts come back as they were when the text beside them is cut."""
    picture = Part(inline_data=Blob(data=b"abc", mime_type="image/png"))
    thought = Part(text="hm", thought=True, thought_signature=b"s")
    for role, part, written in (
        ("user", picture, {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}}),
        ("model", thought, {"type": "thinking", "thinking": "hm"}),
    ):
        content = Content(role=role, parts=[part, Part(text="long " * 50)])
        [wire] = wires([content])
        assert wire["content"][0] == written
        made = AdkDialect().built({**wire, "content": [written, {"type": "text", "text": "cut"}]}, content)
        assert made.parts[0] is part
        assert made.parts[1].text == "cut"
