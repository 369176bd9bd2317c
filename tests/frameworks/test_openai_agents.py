"""The OpenAI Agents SDK's own runner with the session and the filter: long loops of tool calls with a model that is a script."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import plimsoll

pytest.importorskip("agents", reason="openai-agents is not installed: make test-frameworks")

from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from plimsoll.adapters.openai_agents import PlimsollFilter, PlimsollSession

WINDOW = 4_000
TURNS = 150


@function_tool
def look(number: int) -> str:
    """Look at a lamp."""
    return "\n".join(f"{number}: lamp {line} at {line * number % 97} volts" for line in range(20))


class Scripted(Model):
    """Calls a tool, two at a time now and then, and ends each `turns`th time; refuses more tokens than its window."""

    def __init__(self, turns: int = TURNS) -> None:
        self.turns = turns
        self.seen: list[Any] = []

    async def get_response(self, *args: Any, **given: Any) -> ModelResponse:
        """The next answer of the script."""
        items = args[1] if len(args) > 1 else given["input"]
        assert plimsoll.count_tokens(items) <= WINDOW
        assert plimsoll.validate(items, format="openai-responses") == []
        self.seen.append(items)
        number = len(self.seen)
        output: list[Any] = [
            ResponseFunctionToolCall(
                id=f"fc_{number}_{which}",
                call_id=f"c{number}_{which}",
                name="look",
                arguments=f'{{"number": {number}}}',
                type="function_call",
            )
            for which in range(1 + number % 2)
        ]
        if number % self.turns == 0:
            said = ResponseOutputText(text=f"done {number}", type="output_text", annotations=[])
            output = [
                ResponseOutputMessage(
                    id=f"msg_{number}", content=[said], role="assistant", status="completed", type="message"
                )
            ]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Not used."""
        raise NotImplementedError


def run(model: Scripted, text: str, *, session: Any, chosen: Any) -> Any:
    """One run of an agent."""
    config = RunConfig(call_model_input_filter=chosen, tracing_disabled=True)
    agent = Agent(name="keeper", instructions="You keep the lamps.", model=model, tools=[look])
    return asyncio.run(Runner.run(agent, text, session=session, run_config=config, max_turns=10 * TURNS))


def texts(items: Any) -> list[str]:
    """What users said."""
    return [item["content"] for item in items if item.get("role") == "user"]


@pytest.mark.slow
def test_a_long_loop(tmp_path: Any) -> None:
    """No call is sent too much, over two runs and two processes; the session holds every item once, as the runner gave it."""
    model = Scripted()
    for text in ("first: never touch lamp 13", "second: go on"):
        memory = PlimsollSession("t/1", store=str(tmp_path), max_tokens=WINDOW)
        run(model, text, session=memory, chosen=memory.filter)
        items: Any = asyncio.run(memory.get_items())
        memory.filter.conversations.close()

    assert len(model.seen) == 2 * TURNS
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    assert len(calls) == len(set(calls)) > 2.5 * TURNS
    assert texts(items) == ["first: never touch lamp 13", "second: go on"]
    ids = {item.get("id") for item in items}
    kept = [item for item in model.seen[-1] if item.get("type") == "function_call"]
    assert kept
    assert all(item["id"] in ids for item in kept)
    with plimsoll.open(memory.session.name, store=str(tmp_path), read_only=True) as session:
        assert session.stats().compactions > 2


@pytest.mark.slow
def test_the_filter_with_a_session_of_the_sdk() -> None:
    """The filter alone keeps runs within the window that keep their items elsewhere."""
    model, memory, kept = Scripted(), SQLiteSession("s"), PlimsollFilter(store="memory:", max_tokens=WINDOW)
    for text in ("first", "second"):
        run(model, text, session=memory, chosen=kept)

    assert len(model.seen) == 2 * TURNS
    assert len(list(kept.conversations)) == 1
    memory.close()


def test_the_same_loop_without_it() -> None:
    """The model's window is too small for the loop."""
    with pytest.raises(AssertionError):
        run(Scripted(), "first", session=None, chosen=None)


def test_the_protocol_of_sessions(tmp_path: Any) -> None:
    """Items come back as they were added, the newest ones with a limit; popping and clearing remove them."""

    async def use() -> None:
        memory = PlimsollSession("one", store=str(tmp_path))
        items: Any = [{"role": "user", "content": f"item {number}"} for number in range(5)]
        assert await memory.get_items() == []
        assert await memory.pop_item() is None
        await memory.add_items(items[:3])
        await memory.add_items(items[3:])
        assert await memory.get_items() == items
        assert await memory.get_items(2) == items[3:]
        assert await memory.pop_item() == items[4]
        memory.filter.conversations.close()
        again = PlimsollSession("one", store=str(tmp_path))
        assert await again.get_items() == items[:4]
        await again.clear_session()
        assert await again.get_items() == []
        await again.add_items(items[:1])
        assert await again.get_items() == items[:1]
        again.filter.conversations.close()

    asyncio.run(use())


def test_a_session_for_each_request(tmp_path: Any) -> None:
    """A program that makes the object anew for each request has all items in it; the one before need not be closed."""

    async def use() -> None:
        items: Any = [{"role": "user", "content": f"item {number}"} for number in range(4)]
        made = []
        for number, item in enumerate(items):
            made.append(PlimsollSession("one", store=str(tmp_path)))
            assert await made[-1].get_items() == items[:number]
            await made[-1].add_items([item])
        assert await made[0].get_items() == items
        assert await made[0].pop_item() == items[3]
        assert await made[3].get_items() == items[:3]

    asyncio.run(use())
    assert [found.name for found in plimsoll.sessions(str(tmp_path))] == ["one"]


def test_runs_with_a_session_for_each(tmp_path: Any) -> None:
    """Each run of an agent goes on from those before it, also where its calls are compacted; no item is there twice."""
    model, said, made = Scripted(turns=10), ["one", "two", "three"], []
    for text in said:
        made.append(PlimsollSession("one", store=str(tmp_path), max_tokens=WINDOW))
        run(model, text, session=made[-1], chosen=made[-1].filter)
    items: Any = asyncio.run(made[-1].get_items())

    assert texts(items) == said
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    results = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    assert sorted(calls) == sorted(results)
    assert len(set(calls)) == len(calls) > 30
    assert made[0].session.history() == items
    assert made[0].session.compactions()
