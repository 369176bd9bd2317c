"""LangChain's own agents with the middleware: long loops of tool calls, its own messages, what it does when things fail."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import pytest

import plimsoll

pytest.importorskip("langchain", reason="langchain is not installed: make test-frameworks")

from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from plimsoll.adapters.calls import session_name
from plimsoll.adapters.langchain import LangChainDialect, PlimsollMiddleware
from plimsoll.errors import SettingError

WINDOW = 4_000
TURNS = 150


@tool
def look(number: int) -> str:
    """Look at a lamp."""
    return "\n".join(f"{number}: lamp {line} at {line * number % 97} volts" for line in range(20))


def wires(messages: Any) -> list[dict[str, Any]]:
    """As Chat Completions takes them."""
    return [wire for message in messages for wire in LangChainDialect().wires(message)]


class Scripted(BaseChatModel):
    """Calls a tool, two at a time now and then, and ends each `TURNS`th time; refuses more tokens than its window."""

    seen: list[Any]
    window: int = WINDOW
    turns: int = TURNS

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        """The same: its script says what it calls."""
        return self

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        given = wires(messages)
        if plimsoll.count_tokens(given) > self.window:
            raise ContextOverflowError("too long")
        assert plimsoll.validate(given) == []
        self.seen.append(messages)
        number = len(self.seen)
        calls = [
            {"id": f"c{number}-{which}", "name": "look", "args": {"number": number}} for which in range(1 + number % 2)
        ]
        done = number % self.turns == 0
        usage = {"input_tokens": plimsoll.count_tokens(given), "output_tokens": 20, "total_tokens": 0}
        answer = AIMessage(f"step {number}", id=f"a{number}", tool_calls=[] if done else calls, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=answer)])


@pytest.fixture
def model() -> Scripted:
    """A model that has seen nothing yet."""
    return Scripted(seen=[])


def agent(model: Scripted, middleware: PlimsollMiddleware | None) -> Any:
    """LangChain's agent."""
    return create_agent(
        model,
        [look],
        middleware=[] if middleware is None else [middleware],
        checkpointer=InMemorySaver(),
        system_prompt="You keep the harbour's lamps.",
    )


def thread(name: Any) -> Any:
    """A configuration of a thread."""
    return {"configurable": {"thread_id": name}, "recursion_limit": 4 * TURNS}


def asked(text: str) -> Any:
    """What a user says."""
    return {"messages": [HumanMessage(text, id=text[:5])]}


@pytest.mark.slow
def test_a_long_loop(model: Scripted, tmp_path: Any) -> None:
    """An agent that calls tools for many turns never sends too much, keeps its whole state, and sends its own messages."""
    middleware = PlimsollMiddleware(store=str(tmp_path), max_tokens=WINDOW)
    made = agent(model, middleware)
    for text in ("first: look at all lamps, never at lamp 13", "second: go on"):
        state = made.invoke(asked(text), thread("t1"))

    assert len(model.seen) == 2 * TURNS
    held = {message.id: message for message in state["messages"]}
    assert len(held) == len(state["messages"]) > 4 * TURNS
    last = model.seen[-1]
    same = [message for message in last if message.id in held and message == held[message.id]]
    assert len(same) > 10
    assert all(message.id in held for message in last if isinstance(message, AIMessage | ToolMessage))
    assert isinstance(last[0], SystemMessage)
    with plimsoll.open("t1", store=str(tmp_path), read_only=True) as session:
        assert len(session.compactions()) > 2
        assert session.usage(last=1)[0].prompt_tokens == plimsoll.count_tokens(wires(last))
        assert session.history()[1:-1] == wires(state["messages"])[:-1]


def test_the_same_loop_without_it(model: Scripted) -> None:
    """The model's window is too small for the loop, so that the test above shows something."""
    with pytest.raises(ContextOverflowError):
        agent(model, None).invoke(asked("first"), thread("t1"))


@pytest.mark.slow
def test_async(model: Scripted, tmp_path: Any) -> None:
    """The same with the async methods, for two threads at once, each with a session of its own."""
    middleware = PlimsollMiddleware(store=str(tmp_path), max_tokens=WINDOW)
    made = agent(model, middleware)

    async def both() -> Any:
        return await asyncio.gather(*(made.ainvoke(asked(f"for {name}"), thread(name)) for name in ("t/1", "t2")))

    model.turns = 20
    asyncio.run(both())
    names = sorted(info.name for info in plimsoll.sessions(str(tmp_path)))
    assert names[0] == "t2"
    assert names[1].startswith("thread-")


def request(model: Scripted, messages: list[Any], **fields: Any) -> Any:
    """A model call as the agent makes it."""
    return ModelRequest(model=model, messages=messages, **fields)


def conversation(turns: int) -> list[Any]:
    """A conversation with metadata on each message."""
    found: list[Any] = [HumanMessage("Look at all lamps.", id="h0", additional_kwargs={"source": "door"})]
    for number in range(turns):
        call = {"id": f"c{number}", "name": "look", "args": {"number": number}}
        answer = AIMessage(
            [
                {"type": "text", "text": f"lamp {number}"},
                {"type": "tool_use", "id": f"c{number}", "name": "look", "input": {}},
            ],
            id=f"a{number}",
            tool_calls=[call],
            response_metadata={"model": "m"},
            additional_kwargs={"tool_calls": [{"id": f"c{number}"}], "kept": True},
        )
        found += [
            answer,
            ToolMessage("volts " * 300, id=f"t{number}", tool_call_id=f"c{number}", artifact={"raw": number}),
        ]
    return found


def sent(middleware: PlimsollMiddleware, given: Any) -> Any:
    """What the model is called with."""
    seen: list[Any] = []

    def handler(made: Any) -> Any:
        seen.append(made)
        return ModelResponse(result=[AIMessage("ok")])

    middleware.wrap_model_call(given, handler)
    return seen[-1]


def test_metadata_is_kept(model: Scripted) -> None:
    """A message that was cut keeps its id, artifact and metadata; one that was not is the same object."""
    given = conversation(12)
    view = sent(PlimsollMiddleware(store="memory:", max_tokens=3_000), request(model, given)).messages
    cut = [message for message in view if message.id and not any(message is one for one in given)]
    whole = [message for message in view if any(message is one for one in given)]

    assert whole
    assert cut
    for message in cut:
        original = next(one for one in given if one.id == message.id)
        assert type(message) is type(original)
        assert getattr(message, "artifact", None) == getattr(original, "artifact", None)
        assert message.response_metadata == original.response_metadata
        assert len(str(message.content)) < len(str(original.content))
    assert [message.id for message in given] == [message.id for message in conversation(12)]


@pytest.mark.parametrize("id", [123, 1.5, uuid.UUID(int=7), "", "a\0b"])
def test_a_thread_is_named_by_anything(id: Any) -> None:
    """The framework takes numbers and UUIDs as they are; the session has them as text."""
    middleware = PlimsollMiddleware(store="memory:", max_tokens=WINDOW)
    made = agent(Scripted(seen=[], turns=1), middleware)
    for _ in range(2):
        made.invoke(asked("first"), thread(id))

    [conversation] = middleware.conversations
    assert conversation.session.name == session_name(str(id))


def test_a_name_is_text() -> None:
    """Anything else is refused where it is given, not in the first call of a model."""
    with pytest.raises(SettingError, match="name: text is needed, not 123"):
        PlimsollMiddleware(name=123)  # type: ignore[arg-type]


def test_without_a_thread(model: Scripted, tmp_path: Any) -> None:
    """Without a thread a conversation is recognised by its messages."""
    middleware = PlimsollMiddleware(store=str(tmp_path), max_tokens=3_000)
    for given in (conversation(3), conversation(9), [HumanMessage("Something else.")]):
        sent(middleware, request(model, given))

    assert len(plimsoll.sessions(str(tmp_path))) == 2


def test_a_refusal_is_answered_with_less(model: Scripted) -> None:
    """When the provider's window is smaller than it was said to be, the call is made once more with less."""
    model.window = 2_500
    middleware = PlimsollMiddleware(store="memory:", max_tokens=3_500)
    tried: list[int] = []

    def handler(made: Any) -> Any:
        tried.append(plimsoll.count_tokens(wires(made.messages)))
        return ModelResponse(result=[model.invoke(made.messages)])

    middleware.wrap_model_call(request(model, conversation(9)), handler)

    assert len(tried) == 2
    assert tried[1] <= 2_500 < tried[0]


@pytest.mark.parametrize("is_async", [False, True])
def test_other_errors_pass(model: Scripted, is_async: bool) -> None:
    """An error of the model comes through as it is, after one call, and no answer is expected any more."""
    middleware = PlimsollMiddleware(store="memory:", max_tokens=3_500)
    calls: list[int] = []

    def handler(_made: Any) -> Any:
        calls.append(1)
        raise ValueError("no")

    async def ahandler(made: Any) -> Any:
        return handler(made)

    given = request(model, conversation(1))
    with pytest.raises(ValueError, match="no"):
        asyncio.run(middleware.awrap_model_call(given, ahandler)) if is_async else middleware.wrap_model_call(
            given, handler
        )
    assert calls == [1]
    assert [held.awaited for held in middleware.conversations] == [0]


def test_tools_count(model: Scripted) -> None:
    """The tools of a call are in its budget."""

    @tool
    def long(text: str) -> str:
        """Do something."""
        return text

    long.description = "word " * 1_200
    middleware = PlimsollMiddleware(store="memory:", max_tokens=3_000)
    view = sent(middleware, request(model, conversation(12), tools=[long])).messages

    assert plimsoll.count_tokens(wires(view)) <= 1_800


@pytest.mark.parametrize(
    ("message", "wire"),
    [
        (
            HumanMessage(["a", {"type": "text", "text": "b"}]),
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        ),
        (
            HumanMessage([{"type": "image", "base64": "AAAA", "mime_type": "image/png"}]),
            [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
        ),
        (HumanMessage([{"type": "image", "odd": 1}]), [{"type": "image", "odd": 1}]),
        (
            AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}]),
            [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}],
        ),
    ],
)
def test_blocks(message: Any, wire: Any) -> None:
    """Blocks of content are written as Chat Completions has them; unknown ones stay as they are."""
    assert wires([message])[0]["content"] == wire


def test_invalid_calls() -> None:
    """A call whose arguments are no JSON is written with them, and read back as invalid."""
    bad = {"id": "c1", "name": "look", "args": '{"number": ', "error": "cut", "type": "invalid_tool_call"}
    message = AIMessage("", invalid_tool_calls=[bad], id="a1")
    [wire] = wires([message])
    built = LangChainDialect().built(json.loads(json.dumps(wire)), message)

    assert wire["tool_calls"][0]["function"]["arguments"] == bad["args"]
    assert (built.id, built.invalid_tool_calls[0]["args"]) == ("a1", bad["args"])
