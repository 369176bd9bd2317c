"""The Microsoft Agent Framework's own agent with the middleware: long loops of tool calls with a client that is a script."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import plimsoll

pytest.importorskip("agent_framework", reason="agent-framework-core is not installed: make test-frameworks")

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
)

from plimsoll.adapters.agent_framework import AgentFrameworkDialect, PlimsollChatMiddleware

WINDOW = 4_000
TURNS = 150


def look(number: int) -> str:
    """Look at a lamp."""
    return "\n".join(f"{number}: lamp {line} at {line * number % 97} volts" for line in range(20))


def wires(messages: Any) -> list[dict[str, Any]]:
    """As Chat Completions takes them."""
    return [wire for message in messages for wire in AgentFrameworkDialect().wires(message)]


class Refused(Exception):
    """What a service says of a request that is too long."""


class Scripted(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """Calls a tool, two at a time now and then, and ends each `turns`th time; refuses more tokens than its window."""

    def __init__(self, window: int = WINDOW, turns: int = TURNS) -> None:
        super().__init__(function_invocation_configuration={"max_iterations": 10_000})
        self.seen: list[Any] = []
        self.counts: list[int] = []
        self.window = window
        self.turns = turns

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        answer = self._answer([Message("system", [options["instructions"]]), *messages])
        if not stream:

            async def whole() -> ChatResponse[Any]:
                return answer

            return whole()

        async def pieces() -> Any:
            for content in answer.messages[0].contents:
                yield ChatResponseUpdate(contents=[content], role="assistant", message_id=answer.messages[0].message_id)
            yield ChatResponseUpdate(contents=[Content.from_usage(answer.usage_details or {})], role="assistant")

        return self._build_response_stream(pieces())

    def _answer(self, messages: Any) -> ChatResponse[Any]:
        given = wires(messages)
        self.counts.append(plimsoll.count_tokens(given))
        if self.counts[-1] > self.window:
            raise Refused(f"This model's maximum context length is {self.window} tokens.")
        assert plimsoll.validate(given) == []
        self.seen.append(messages)
        number = len(self.seen)
        contents = [Content.from_text(f"step {number}")]
        if number % self.turns:
            contents += [
                Content.from_function_call(f"c{number}-{at}", "look", arguments=f'{{"number": {number}}}')
                for at in range(1 + number % 2)
            ]
        counted: Any = {"input_token_count": self.counts[-1], "output_token_count": 20}
        return ChatResponse(messages=[Message("assistant", contents, message_id=f"a{number}")], usage_details=counted)


def agent(client: Scripted, *middleware: Any) -> Any:
    """An agent with one tool."""
    return Agent(client, instructions="You keep the lamps.", tools=[look], middleware=list(middleware))


@pytest.mark.slow
def test_a_long_loop(tmp_path: Any) -> None:
    """No call of 300 is sent too much; what is sent is of the session's own messages, and plimsoll's session holds all."""
    client, kept = Scripted(), PlimsollChatMiddleware(store=str(tmp_path), max_tokens=WINDOW)
    made = agent(client, kept)
    session = made.create_session()

    async def use() -> None:
        for text in ("first: never touch lamp 13", "second: go on"):
            await made.run(text, session=session)

    asyncio.run(use())

    assert len(client.seen) == 2 * TURNS
    [conversation] = kept.conversations
    history = conversation.session.history()
    assert len(conversation.session.compactions()) > 2
    assert sum(len(wire.get("tool_calls") or ()) for wire in history) == 3 * (TURNS - 1) + 1
    assert [wire["content"] for wire in history if wire["role"] == "user"] == [
        "first: never touch lamp 13",
        "second: go on",
    ]
    assert conversation.session.usage(last=1)[0].prompt_tokens == client.counts[-1]
    kept_ids = {f"a{number}" for number in range(1, 2 * TURNS)}
    assert sum(message.message_id in kept_ids for message in client.seen[-1]) > 3


def test_the_same_loop_without_it() -> None:
    """The client's window is too small for the loop."""
    with pytest.raises(Refused):
        asyncio.run(agent(Scripted()).run("first"))


@pytest.mark.slow
def test_streaming(tmp_path: Any) -> None:
    """Updates come as they do without it; the answer is recorded at the end, with what was counted."""
    client, kept = Scripted(turns=20), PlimsollChatMiddleware(store=str(tmp_path), max_tokens=WINDOW)

    async def use() -> list[str]:
        return [update.text async for update in agent(client, kept).run("go", stream=True) if update.text]

    texts = asyncio.run(use())

    assert texts == [f"step {number}" for number in range(1, 21)]
    [conversation] = kept.conversations
    assert conversation.session.history()[-1]["content"] == "step 20"
    assert conversation.session.usage(last=1)[0].prompt_tokens == client.counts[-1]


def conversation(turns: int) -> list[Message]:
    """A conversation with metadata on each message, with calls in pairs whose results are one message."""
    found = [Message("user", ["Look at all lamps."], message_id="u", additional_properties={"source": "door"})]
    for number in range(turns):
        ids = [f"c{number}-{at}" for at in range(2)]
        found.append(
            Message("assistant", [Content.from_function_call(id, "look", arguments="{}") for id in ids], message_id="a")
        )
        results = [Content.from_function_result(id, result="volts " * 300, exception="odd") for id in ids]
        found.append(Message("tool", results, message_id=f"r{number}"))
    return [*found, Message("assistant", ["Done."]), Message("user", ["And now?"])]


@pytest.mark.slow
def test_a_refusal_is_answered_with_less() -> None:
    """When the service's window is smaller than it was said to be, the call is made once more with less, and not a third time."""
    client = Scripted(window=2_500, turns=1)
    made = agent(client, PlimsollChatMiddleware(store="memory:", max_tokens=3_500))
    asyncio.run(made.run(conversation(4)))
    assert len(client.counts) == 2
    assert client.counts[1] <= 2_500 < client.counts[0]

    client.window = 10
    with pytest.raises(Refused):
        asyncio.run(made.run(conversation(4)))
    assert len(client.counts) == 4


@pytest.mark.slow
def test_a_streamed_refusal_is_answered_with_less() -> None:
    """The service refuses when its stream is read: then another stream takes its place, once, and what it says is recorded."""
    client = Scripted(window=2_500, turns=1)
    kept = PlimsollChatMiddleware(store="memory:", max_tokens=3_500)

    async def use() -> tuple[list[str], str]:
        stream = agent(client, kept).run(conversation(4), stream=True)
        texts = [update.text async for update in stream if update.text]
        return texts, (await stream.get_final_response()).text

    assert asyncio.run(use()) == (["step 1"], "step 1")
    assert len(client.counts) == 2
    assert client.counts[1] <= 2_500 < client.counts[0]
    [one] = kept.conversations
    assert one.session.history()[-1]["content"] == "step 1"
    assert one.session.usage(last=1)[0].prompt_tokens == client.counts[1]

    client.window = 10
    with pytest.raises(Refused):
        asyncio.run(use())
    assert len(client.counts) == 4


def test_a_stream_that_is_closed_early_is_closed_to_its_source() -> None:
    """The service's own stream ends with what is read of it, and what was to be cleaned up is, once."""
    done: list[str] = []

    class Watched(Scripted):
        def _inner_get_response(self, **given: Any) -> Any:
            inner = super()._inner_get_response(**given)

            async def pieces() -> Any:
                try:
                    async for update in inner:
                        yield update
                finally:
                    done.append("closed")

            return self._build_response_stream(pieces()).with_cleanup_hook(lambda: done.append("cleaned up"))

    async def use() -> None:
        kept = PlimsollChatMiddleware(store="memory:", max_tokens=WINDOW)
        stream = agent(Watched(turns=1), kept).run("go", stream=True)
        async for _ in stream:
            break
        await stream.close()
        assert done == ["closed", "cleaned up"]

    asyncio.run(use())


def test_what_the_service_keeps_is_left_alone() -> None:
    """A conversation that the service keeps is sent as it is, and nothing is recorded of it."""
    client, kept = Scripted(turns=1), PlimsollChatMiddleware(store="memory:", max_tokens=100)
    asyncio.run(agent(client, kept).run(conversation(1), options={"conversation_id": "theirs"}))

    assert len(client.seen[0]) == 1 + len(conversation(1))
    assert list(kept.conversations) == []


def test_results_keep_what_a_wire_message_does_not_hold() -> None:
    """A result that was cut keeps its exception, and its neighbour is the same object."""
    dialect, message = AgentFrameworkDialect(), conversation(1)[2]
    first, second = dialect.wires(message)
    [made] = dialect.joined(
        [dialect.built({**first, "content": "volts [cut]"}, message), dialect.built(dict(second), message)]
    )

    assert (made.role, made.message_id) == ("tool", "r0")
    assert (made.contents[0].result, made.contents[0].exception) == ("volts [cut]", "odd")
    assert made.contents[0].items[0].text == "volts [cut]"
    assert made.contents[1] is message.contents[1]
    assert message.contents[0].result == "volts " * 300


def test_pictures_and_reasoning() -> None:
    """Pictures are counted as such; they and reasoning come back as they were when the text beside them is cut."""
    picture = Content.from_data(b"abc", "image/png")
    message = Message("user", [Content.from_text("look at this"), picture])
    [wire] = wires([message])
    assert wire["content"][1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}}
    cut = {**wire, "content": [{"type": "text", "text": "cut"}, wire["content"][1]]}
    made = AgentFrameworkDialect().built(cut, message)
    assert (made.contents[0].text, made.contents[1] is picture) == ("cut", True)

    thought = Content.from_text_reasoning(text="hm", protected_data="p")
    said = Message("assistant", [thought, Content.from_text("long " * 50)])
    [wire] = wires([said])
    made = AgentFrameworkDialect().built(
        {**wire, "content": [wire["content"][0], {"type": "text", "text": "cut"}]}, said
    )
    assert made.contents[0] is thought
    assert made.text == "cut"


def test_authors_of_messages_are_their_names() -> None:
    """Who says a message tells several agents and users apart; a result of a tool has no author."""
    [asked], [told] = (
        AgentFrameworkDialect().wires(Message(role, ["Nine lamps."], author_name="Ann Lee"))
        for role in ("user", "assistant")
    )
    result = Message("tool", [Content.from_function_result("c1", result="9")], author_name="keeper")

    assert asked == {"role": "user", "content": "Nine lamps.", "name": "Ann_Lee"}
    assert told == {"role": "assistant", "content": "Nine lamps.", "name": "Ann_Lee"}
    assert "name" not in AgentFrameworkDialect().wires(result)[0]
