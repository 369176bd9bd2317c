"""Model calls of frameworks: blocks that Chat Completions does not have belong to the provider behind the framework."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from generated import PNG
from plimsoll.adapters.calls import AdaptedCalls
from plimsoll.adapters.parts import call_piece
from plimsoll.conversations.conversations import Conversations

Wire = dict[str, Any]

WORDS = "the load line of a ship is what it may be laden to " * 12
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
THOUGHT = {"type": "thinking", "thinking": "the lamps first", "signature": "c2lnbmVk" * 8}
SEALED = {"type": "redacted_thinking", "data": "c2VhbGVk" * 8}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "lamps"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
TEXT = {"type": "text", "text": "I look at pier 9."}


class AsTheyAre:
    """A framework whose messages are those of Chat Completions, with blocks of any provider."""

    def wires(self, message: Wire) -> Sequence[Wire]:
        """The message itself."""
        return (message,)

    def built(self, wire: Wire, origin: Wire | None) -> Wire:
        """The wire message itself."""
        del origin
        return wire


def looked(number: int, *blocks: Wire) -> list[Wire]:
    """A call of a tool that shows a picture, with such blocks before it."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    shown = [{"type": "text", "text": f"{number}: {WORDS}"}, PICTURE]
    return [
        {"role": "assistant", "content": [*blocks, TEXT], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": shown},
    ]


@pytest.mark.parametrize("blocks", [(THOUGHT,), (SEALED, THOUGHT), (THOUGHT, SEARCH, FOUND)], ids=str)
def test_blocks_of_the_open_turn_come_back_as_they_were(blocks: tuple[Wire, ...]) -> None:
    """Compactions change neither signed thinking, nor searches with their results, nor pictures in results, of what is going on."""
    calls = AdaptedCalls(AsTheyAre(), {"store": "memory:", "max_tokens": 2_500})
    held: list[Wire] = []
    compacted = 0
    for number in range(12):
        held += [{"role": "user", "content": f"request {number}"}, *looked(number, *blocks)]
        call = calls.prepare(held)
        compacted += call.is_changed

        assert call.messages[-2]["content"] == [*blocks, TEXT]
        assert call.messages[-1]["content"][-1] == PICTURE
        assert not any("any_blocks" in message for message in call.messages)
        call.answered(calls.recorded([{"role": "assistant", "content": [*blocks, TEXT]}]))
        held.append({"role": "assistant", "content": [*blocks, TEXT]})
    assert compacted > 4


def test_of_calls_made_at_once_the_signed_one_stays() -> None:
    """Gemini signs the first of several calls, and refuses the others without it."""
    calls = AdaptedCalls(AsTheyAre(), {"store": "memory:", "max_tokens": 1_500})
    held: list[Wire] = [{"role": "user", "content": "Look at all lamps."}]
    left = 0
    for number in range(12):
        made = [call_piece(f"c{number}-{at}", "look", {"at": at}, None if at else b"signed") for at in range(9)]
        held.append({"role": "assistant", "content": None, "tool_calls": made})
        held += [{"role": "tool", "tool_call_id": call["id"], "content": WORDS} for call in made]

        answers = [message for message in calls.prepare(held).messages if message.get("tool_calls")]
        assert answers
        for answer in answers:
            assert any("provider_specific_fields" in call for call in answer["tool_calls"])
            left += len(answer["tool_calls"]) < len(made)
    assert left


def test_thinking_in_the_content_is_thinking() -> None:
    """Mistral's thinking is a block of the content: it is sent back as it was or not at all, and never as text."""
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": WORDS}]}
    messages: list[Wire] = []
    for number in range(8):
        messages += [
            {"role": "user", "content": f"request {number}"},
            {"role": "assistant", "content": [thought, {"type": "text", "text": f"answer {number}: {WORDS}"}]},
        ]
    assert plimsoll.validate(messages) == []

    for budget in (200, 500, 900, 1_500):
        view = plimsoll.fit(messages, max_tokens=budget).messages

        blocks = [block for message in view if isinstance(message["content"], list) for block in message["content"]]
        thoughts = [block for block in blocks if "'thinking'" in str(block)]
        assert thoughts == [thought] * len(thoughts)
        assert plimsoll.count_tokens(view) <= budget


def test_others_blocks_in_chat_are_text() -> None:
    """Where no framework stands between, a block that Chat Completions does not have becomes text."""
    view = plimsoll.fit(
        [{"role": "user", "content": "x"}, {"role": "assistant", "content": [SEARCH]}], format="openai-chat"
    ).messages

    assert view[1]["content"][0]["type"] == "text"


BOGUS = [{"role": "user", "content": "q"}, {"role": "user", "content": [{"type": "bogus"}], "any_blocks": True}]


def test_no_message_of_a_caller_says_that_its_blocks_are_others_concern() -> None:
    """Only the adapters say so: a field of that name changes nothing, in whatever it comes."""
    whole = [*BOGUS, {"choices": [{"message": {**BOGUS[1], "role": "assistant"}}]}]

    assert len(plimsoll.validate(whole, format="openai-chat")) == 2
    with plimsoll.open(store="memory:", format="openai-chat") as synced, plimsoll.open(store="memory:") as appended:
        appended.extend(whole)
        views = [plimsoll.fit(whole, format="openai-chat").messages, synced.sync(whole), appended.view()]
    for view in views:
        assert plimsoll.validate(view, format="openai-chat") == []
        assert [message["content"][0]["type"] for message in view[1:]] == ["text", "text"]


def test_conversations_of_others_take_the_field_from_no_message() -> None:
    """A host that is no adapter, as the proxy, is sent what the API takes."""
    hosted = Conversations("memory:", max_tokens=400)
    body = {"messages": [*BOGUS, {"role": "assistant", "content": WORDS * 9}, {"role": "user", "content": "go on"}]}

    prepared = hosted.prepare(body, format="openai-chat")

    assert prepared.changed
    assert plimsoll.validate(prepared.body["messages"], format="openai-chat") == []


@pytest.mark.parametrize("redact", [False, True])
def test_a_stored_conversation_goes_on_with_its_blocks(redact: bool, tmp_path: Path) -> None:
    """Another process finds it by its messages, sees no edit in it, and sends its blocks as they are."""
    held: list[Wire] = []
    names = set()
    for number in range(8):
        answer, result = looked(number, THOUGHT, SEARCH, FOUND, {"type": "text", "text": f"sk-ant-{'a1' * 20}"})
        for more in ({"role": "user", "content": f"request {number}"}, result):
            calls = AdaptedCalls(AsTheyAre(), {"store": tmp_path, "max_tokens": 3_000, "redact": redact})
            held.append(more)
            call = calls.prepare(held)
            if more is not result:
                call.answered(calls.recorded([answer]))
                held.append(answer)
            assert call.conversation is not None
            names.add(call.conversation.name)
            session = call.conversation.session
            assert len(session.history(all=True)) == len(session.history()) == len(held)
            calls.conversations.close()
        assert call.messages[-2] == answer
    assert call.is_changed
    assert len(names) == 1


def test_a_conversation_stored_without_the_field_is_not_edited(tmp_path: Path) -> None:
    """Adapters did not always set it: the messages are known again."""
    asked = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, PICTURE]}
    held = [asked, *looked(1, THOUGHT, SEARCH), *looked(2, THOUGHT)]
    before = Conversations(tmp_path, redact=False)
    kept = before.prepare({"messages": held[:3]}, format="openai-chat").conversation
    before.close()

    call = AdaptedCalls(AsTheyAre(), {"store": tmp_path}).prepare(held)

    assert kept is not None
    assert call.conversation is not None
    assert call.conversation.name == kept.name
    session = call.conversation.session
    assert len(session.history(all=True)) == len(session.history()) == len(held)


@pytest.mark.parametrize(
    "thinking",
    [
        {
            "reasoning_content": WORDS,
            "thinking_blocks": [{"type": "thinking", "thinking": WORDS, "signature": "c2ln" * 60}],
        },
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "c2ln" * 90, "id": "r"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": WORDS}]}]},
    ],
    ids=["litellm", "openrouter", "mistral"],
)
def test_signed_thinking_of_what_is_going_on_stays_whole(thinking: Wire) -> None:
    """Routers send the thinking of Claude and of others in fields of their own: in the open turn it stays as it was, or its calls leave."""
    messages: list[Wire] = []
    for number in range(8):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        answer = {"role": "assistant", "content": None, **thinking, "tool_calls": [call]}
        result = {"role": "tool", "tool_call_id": f"c{number}", "content": WORDS * 3}
        messages += [*([{"role": "user", "content": f"request {number}"}] if number % 4 == 0 else []), answer, result]
    seen = 0
    for budget in range(400, 3_000, 100):
        view = plimsoll.fit(messages, max_tokens=budget, format="openai-chat").messages

        newest = max((at for at, message in enumerate(view) if message["content"] == "request 4"), default=len(view))
        answers = [message for message in view[newest:] if message.get("tool_calls")]
        seen += len(answers)
        for answer in answers:
            first = {"content": answer["content"][:1]} if "content" in thinking else answer
            assert {**first, **thinking} == first
        assert not any("thinking_blocks" in str(message["content"]) for message in view)
        assert plimsoll.count_tokens(view, format="openai-chat") <= budget
    assert seen > 20
