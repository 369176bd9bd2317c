"""LlamaIndex's own agent with the memory and the managed model: long loops of tool calls with a model that is a script."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

import plimsoll
from plimsoll.errors import SettingError

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed: make test-frameworks")

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ImageBlock,
    LLMMetadata,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection

from plimsoll.adapters.llama_index import PlimsollMemory, conversations_of, managed
from plimsoll.adapters.llama_index_messages import LlamaIndexDialect

WINDOW = 4_000
TURNS = 150


def look(number: int) -> str:
    """Look at a lamp."""
    return "\n".join(f"{number}: lamp {line} at {line * number % 97} volts" for line in range(20))


def wires(messages: Any) -> list[dict[str, Any]]:
    """As Chat Completions takes them."""
    return [wire for message in messages for wire in LlamaIndexDialect().wires(message)]


class Scripted(FunctionCallingLLM):
    """Calls a tool, two at a time now and then, and ends each `turns`th time; refuses more tokens than its window."""

    seen: list[Any]
    counts: list[int]
    window: int = WINDOW
    turns: int = TURNS

    @property
    def metadata(self) -> LLMMetadata:
        """What it is."""
        return LLMMetadata(context_window=32_000, num_output=-1, is_function_calling_model=True, model_name="gpt-4o")

    def _answer(self, messages: Any) -> ChatResponse:
        given = wires(messages)
        self.counts.append(plimsoll.count_tokens(given))
        if self.counts[-1] > self.window:
            raise ValueError(f"This model's maximum context length is {self.window} tokens.")
        assert plimsoll.validate(given) == []
        self.seen.append(messages)
        number = len(self.seen)
        calls = [] if number % self.turns == 0 else [f"c{number}-{at}" for at in range(1 + number % 2)]
        blocks: list[Any] = [TextBlock(text=f"step {number}")]
        blocks += [ToolCallBlock(tool_call_id=id, tool_name="look", tool_kwargs={"number": number}) for id in calls]
        return ChatResponse(message=ChatMessage(role="assistant", blocks=blocks))

    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        """The next answer."""
        return self._answer(messages)

    async def achat(self, messages: Any, **given: Any) -> ChatResponse:
        """The same, by the other."""
        return self.chat(messages, **given)

    def stream_chat(self, messages: Any, **_: Any) -> Any:
        """The next answer, in pieces."""
        answer = self._answer(messages)

        def pieces() -> Any:
            yield ChatResponse(message=ChatMessage(role="assistant", content="step"), delta="step")
            yield answer

        return pieces()

    async def astream_chat(self, messages: Any, **given: Any) -> Any:
        """The same."""

        async def pieces() -> Any:
            for piece in self.stream_chat(messages, **given):
                yield piece

        return pieces()

    def complete(self, *_: Any, **__: Any) -> Any:
        """Not used."""
        raise NotImplementedError

    acomplete = stream_complete = astream_complete = complete

    def _prepare_chat_with_tools(self, tools: Any, *, chat_history: Any = None, **_: Any) -> dict[str, Any]:
        return {"messages": chat_history, "tools": [tool.metadata.to_openai_tool() for tool in tools]}

    def get_tool_calls_from_response(self, response: Any, *_: Any, **__: Any) -> Any:
        """The calls of an answer."""
        return [
            ToolSelection(tool_id=block.tool_call_id, tool_name=block.tool_name, tool_kwargs=block.tool_kwargs)
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]


def run(llm: Any, texts: list[str], memory: Any = None, *, is_streamed: bool = False) -> Any:
    """Runs of an agent with one tool."""
    made = FunctionAgent(
        llm=llm, tools=[look], system_prompt="You keep the lamps.", streaming=is_streamed, initial_state={}
    )

    async def use() -> None:
        for text in texts:
            await made.run(user_msg=text, memory=memory, max_iterations=10_000)

    asyncio.run(use())


@pytest.mark.slow
@pytest.mark.parametrize(("turns", "is_streamed"), [(TURNS, False), (30, True)])
def test_a_long_loop(tmp_path: Any, *, turns: int, is_streamed: bool) -> None:
    """No call of 300 is sent too much, within runs and between them; the session holds every message."""
    llm = managed(Scripted(seen=[], counts=[], turns=turns), store=str(tmp_path), max_tokens=WINDOW)
    memory = PlimsollMemory("m", store=str(tmp_path), max_tokens=WINDOW - 1_000)
    run(llm, ["first: never touch lamp 13", "second: go on"], memory, is_streamed=is_streamed)

    assert len(llm.seen) == 2 * turns
    held = wires(memory.get_all())
    assert sum(len(wire.get("tool_calls") or ()) for wire in held) == 3 * (turns - 1) + 1
    assert [wire["content"] for wire in held if wire["role"] == "user"] == [
        "first: never touch lamp 13",
        "second: go on",
    ]
    [conversation] = memory.conversations
    assert conversation.session.history() == held
    for one in conversations_of(llm):
        assert one.session.compactions()
        assert plimsoll.validate(list(one.session.view())) == []


@pytest.mark.slow
def test_many_runs_with_the_memory_alone(tmp_path: Any) -> None:
    """An agent of whose runs each fits needs the memory alone, which is as it was after the process was started again."""
    llm = Scripted(seen=[], counts=[], turns=3)
    for number in range(2):
        memory = PlimsollMemory("m/1", store=str(tmp_path), max_tokens=WINDOW - 1_500)
        run(llm, [f"go on {number}-{again}" for again in range(25)], memory)
        memory.conversations.close()

    assert len(llm.seen) == 150
    again = PlimsollMemory.from_defaults(name="m/1", store=str(tmp_path), max_tokens=WINDOW - 1_500)
    assert wires(again.get_all()) == wires(memory.get_all())
    assert plimsoll.count_tokens(wires(again.get())) <= WINDOW - 1_500
    again.reset()
    assert (again.get(), again.get_all()) == ([], [])


def test_the_same_loop_without_it() -> None:
    """The model's window is too small for the loop."""
    with pytest.raises(Exception, match="maximum context length"):
        run(Scripted(seen=[], counts=[]), ["first"])


def conversation(turns: int) -> list[ChatMessage]:
    """A conversation with calls in pairs."""
    found = [ChatMessage(role="system", content="You keep the lamps."), ChatMessage(role="user", content="Look.")]
    for number in range(turns):
        ids = [f"x{number}-{at}" for at in range(2)]
        found.append(
            ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id=id, tool_name="look") for id in ids])
        )
        found += [
            ChatMessage(role="tool", content="volts " * 300, additional_kwargs={"tool_call_id": id, "raw": number})
            for id in ids
        ]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("way", ["chat", "achat", "stream_chat", "astream_chat"])
def test_a_refusal_is_answered_with_less(way: str) -> None:
    """When the window is smaller than it was said to be, the call is made once more with less, whichever way it was asked."""
    llm = managed(Scripted(seen=[], counts=[], window=2_500), store="memory:", max_tokens=3_500)

    async def use() -> None:
        found = getattr(llm, way)(conversation(4))
        found = await found if way.startswith("a") else found
        if way == "stream_chat":
            list(found)
        if way == "astream_chat":
            assert [piece.delta async for piece in found] == ["step", None]

    asyncio.run(use())

    assert len(llm.counts) == 2
    assert llm.counts[1] <= 2_500 < llm.counts[0]
    [one] = conversations_of(llm)
    assert one.session.history()[-1]["content"] == "step 1"


class Usage(BaseModel):
    """A report as an SDK has it."""

    prompt_tokens: int = 700
    completion_tokens: int = 20


@pytest.mark.parametrize(
    "report",
    [
        {"raw": {"usage": Usage()}},
        {"raw": SimpleNamespace(usage=Usage())},
        {"raw": {"usage": {"input_tokens": 700, "output_tokens": 20}}},
        {"additional_kwargs": {"prompt_tokens": 700, "completion_tokens": 20, "total_tokens": 720}},
    ],
    ids=["dictionary of objects", "object", "Anthropic's names", "beside the message"],
)
@pytest.mark.parametrize("way", ["chat", "astream_chat"])
def test_what_the_provider_counted_is_recorded(way: str, report: Any) -> None:
    """Wherever an integration puts the report; of a stream it may come before the last piece."""
    whole = ChatResponse(message=ChatMessage(role="assistant", content="Done."), **report)
    bare = ChatResponse(message=whole.message, raw={"usage": None})

    class Counting(Scripted):
        def chat(self, *_: Any, **__: Any) -> ChatResponse:
            return whole

        async def astream_chat(self, *_: Any, **__: Any) -> Any:
            async def pieces() -> Any:
                yield whole
                yield bare

            return pieces()

    llm = managed(Counting(seen=[], counts=[]), store="memory:")

    async def use() -> None:
        if way == "chat":
            llm.chat(conversation(1))
        else:
            assert [piece async for piece in await llm.astream_chat(conversation(1))] == [whole, bare]

    asyncio.run(use())
    [one] = conversations_of(llm)
    assert [(each.prompt_tokens, each.completion_tokens) for each in one.session.usage()] == [(700, 20)]


def test_results_and_calls_keep_what_a_wire_message_does_not_hold() -> None:
    """A result that was cut keeps what is beside it; calls that an integration keeps beside the blocks are written as calls."""
    dialect, result = LlamaIndexDialect(), conversation(1)[-1]
    [wire] = dialect.wires(result)
    made = dialect.built({**wire, "content": "volts [cut]"}, result)
    assert (made.content, made.additional_kwargs, made.role) == ("volts [cut]", result.additional_kwargs, result.role)

    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"number": 1}'}}
    said = ChatMessage(role="assistant", content="long " * 50, additional_kwargs={"tool_calls": [call], "kept": 1})
    [wire] = dialect.wires(said)
    assert wire["tool_calls"] == [call]
    made = dialect.built({**wire, "content": "cut"}, said)
    assert (made.content, made.additional_kwargs) == ("cut", said.additional_kwargs)


def test_pictures_and_thinking() -> None:
    """Pictures are counted as such; they and thinking come back as they were when the text beside them is cut."""
    picture, thought = ImageBlock(url="https://harbour/lamp.png"), ThinkingBlock(content="hm")
    for role, block, written in (
        ("user", picture, {"type": "image_url", "image_url": {"url": "https://harbour/lamp.png"}}),
        ("assistant", thought, {"type": "thinking", "thinking": "hm"}),
    ):
        message = ChatMessage(role=role, blocks=[block, TextBlock(text="long " * 50)])
        [wire] = wires([message])
        assert wire["content"][0] == written
        made = LlamaIndexDialect().built({**wire, "content": [written, {"type": "text", "text": "cut"}]}, message)
        assert made.blocks == [block, TextBlock(text="cut")]
        assert made.blocks[0] is message.blocks[0]


def test_only_models_are_managed() -> None:
    """Anything else, and what is managed already, is refused; the model given stays as it was."""
    llm = Scripted(seen=[], counts=[])
    made = managed(llm, store="memory:")
    assert (type(llm), type(made).__name__, isinstance(made, Scripted)) == (Scripted, "Scripted", True)
    for wrong in (made, "gpt-4o"):
        with pytest.raises(SettingError):
            managed(wrong)  # type: ignore[type-var]
    with pytest.raises(SettingError):
        conversations_of(llm)


def test_a_memory_for_each_request(tmp_path: Any) -> None:
    """A program that makes the memory anew for each request has all messages in it; the one before need not be closed."""
    made = []
    for number in range(3):
        made.append(PlimsollMemory("one", store=str(tmp_path)))
        made[-1].put(ChatMessage(role="user", content=f"question {number}"))

    for memory in made:
        assert [message.content for message in memory.get_all()] == [f"question {number}" for number in range(3)]
        assert len(memory.get()) == 3
    made[0].reset()
    assert made[2].get_all() == []
    assert [found.name for found in plimsoll.sessions(str(tmp_path))] == ["one"]
