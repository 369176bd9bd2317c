"""Searches that a host never sees: where they are put back, and what becomes of them when something goes wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plimsoll.conversations.conversation import HostConversation, Prepared
from plimsoll.conversations.conversations import Conversations
from plimsoll.conversations.inner_searches import ROUNDS_MAX, as_given
from plimsoll.errors import StoreUnusable
from plimsoll.formats.overflow import Overflow
from plimsoll.proxy.flow import Asked, Flow

Wire = dict[str, Any]


def said(role: str, text: str | None, **fields: Any) -> Wire:
    """A message."""
    return {"role": role, "content": text, **fields}


def search(number: int) -> Wire:
    """A call of recall."""
    function = {"name": "plimsoll_recall", "arguments": json.dumps({"query": "why"})}
    return {"id": f"call_{number}", "type": "function", "function": function}


def begun() -> list[Wire]:
    """A conversation that is too long, up to the next question."""
    turns = [[said("user", f"question {n} " + "why " * 90), said("assistant", f"answer {n}")] for n in range(40)]
    return [message for turn in turns for message in turn]


def conversations(store: Any = "memory:", max_tokens: int = 3_000) -> Conversations:
    """Conversations whose models may search."""
    return Conversations(store, model="gpt-4o", max_tokens=max_tokens, recall_tools=True)


class Host:
    """A host whose model searches so often before each answer."""

    def __init__(self, kept: Conversations) -> None:
        self.kept = kept
        self.messages = begun()
        self.calls = 0

    def ask(self, question: str, answer: str, searches: int, thought: str | None = None) -> Prepared:
        """What was sent last for a question."""
        self.messages.append(said("user", question))
        request = {"model": "gpt-4o", "messages": list(self.messages)}
        sent = self.kept.prepare(request)
        assert sent.conversation is not None
        for _ in range(searches):
            self.calls += 1
            reply = said("assistant", thought, tool_calls=[search(self.calls)])
            found = sent.conversation.searched(request, [reply], None, to=sent)
            assert found is not None
            sent = found
        assert sent.conversation is not None
        assert sent.conversation.answered([said("assistant", answer)], to=sent) is None
        self.messages.append(said("assistant", "\n\n".join([*[thought] * searches, answer] if thought else [answer])))
        return sent


def calls_of(sent: Prepared) -> list[str]:
    """The ids of the calls in what was sent."""
    return [call["id"] for message in sent.body["messages"] for call in message.get("tool_calls") or ()]


def test_equal_turns_have_their_own_searches() -> None:
    """A question and an answer that come again do not bring the calls of the first time with them."""
    with conversations(max_tokens=6_000) as kept:  # half of it holds what three searches find
        host = Host(kept)
        host.messages += begun()
        sent = [calls_of(host.ask("Continue.", "Done.", 1)) for _ in range(3)]
        sent.append(calls_of(host.ask("End.", "Yes.", 0)))
        assert sent == [
            ["call_1"],
            ["call_1", "call_2"],
            ["call_1", "call_2", "call_3"],
            ["call_1", "call_2", "call_3"],
        ]


def test_secrets_that_only_the_model_said_are_sent_as_they_were() -> None:
    """Thinking is signed: a placeholder in it would be refused."""
    thought = 'password = "hunter2hunter2x"'
    with conversations() as kept:
        host = Host(kept)
        for sent in (host.ask("Look.", "Yes.", 2, thought), host.ask("Then?", "So.", 0)):
            assert "[secret" not in json.dumps(sent.body)
            assert json.dumps(thought) in json.dumps(sent.body)
        assert sent.conversation is not None
        assert "hunter2" not in json.dumps(sent.conversation.session.history())


@pytest.mark.parametrize("thought", [None, "I look."])
def test_a_conversation_with_many_searches_is_found_after_a_restart(tmp_path: Any, thought: str | None) -> None:
    """Its session holds more messages of searches than the host has of its own."""
    host = Host(conversations(tmp_path))
    host.messages = [said("user", "Start here. " + "why " * 3_500), said("assistant", "Yes.")]
    for number in range(3):
        before = host.ask(f"Go {number}.", f"Found {number}.", 4, thought)
    host.kept.close()
    with conversations(tmp_path) as host.kept:
        after = host.ask("And now?", "This.", 0)
        assert before.conversation is not None
        assert after.conversation is not None
        assert after.conversation.name == before.conversation.name
        assert calls_of(after)[: len(calls_of(before))] == calls_of(before)


def test_a_search_when_the_session_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is told, and still answers."""

    def fail(one: HostConversation) -> Any:
        raise StoreUnusable("s", reason="the disk is gone")

    with conversations() as kept:
        host = Host(kept)
        request = {"model": "gpt-4o", "messages": [*host.messages, said("user", "Look.")]}
        sent = kept.prepare(request)
        assert sent.conversation is not None
        with monkeypatch.context() as broken:
            broken.setattr(HostConversation, "session", property(fail))
            found = sent.conversation.searched(
                request, [said("assistant", None, tool_calls=[search(1)])], None, to=sent
            )
        assert found is not None
        assert "cannot be searched now" in json.dumps(found.body)


def test_requests_of_one_conversation_at_the_same_time_search_each_for_themselves() -> None:
    """Each so often, and each is told when it is the last time."""
    with conversations() as kept:
        messages = [*begun(), said("user", "Look.")]
        requests = [{"messages": messages}, {"messages": [*messages, said("assistant", "Yes."), said("user", "And?")]}]
        sent = [kept.prepare({"model": "gpt-4o", **request}) for request in requests]
        assert sent[0].conversation is sent[1].conversation is not None
        reply = [said("assistant", None, tool_calls=[search(1)])]
        for _ in range(ROUNDS_MAX):
            for number, request in enumerate(requests):
                assert "the last search" not in json.dumps(sent[number].body)
                found = sent[0].conversation.searched(request, reply, None, to=sent[number])
                assert found is not None
                sent[number] = found
        for number, request in enumerate(requests):
            assert "the last search" in json.dumps(sent[number].body)
            assert sent[0].conversation.searched(request, reply, None, to=sent[number]) is None


def test_a_request_that_is_sent_again_does_not_search_more_often() -> None:
    """What the provider found too long between two searches is still the same request."""
    with conversations() as kept:
        body = json.dumps({"model": "gpt-4o", "messages": [*begun(), said("user", "Look.")]}).encode()
        asked = Flow(kept).exchange(Asked(path="/v1/chat/completions", format="openai-chat", raw=body, text=body))
        asked.prepare()
        rounds = 0
        response = {"choices": [{"message": said("assistant", None, tool_calls=[search(1)]), "finish_reason": "stop"}]}
        while rounds <= ROUNDS_MAX:
            reply = asked.reply(200, "application/json")
            reply.feed(json.dumps(response).encode())
            reply.end()
            if asked.next_round(reply) is None:
                break
            rounds += 1
            if rounds == 1:
                assert asked.retry(Overflow(window_tokens=2_000, counted_tokens=2_600)) is not None
        assert rounds == ROUNDS_MAX


def test_histories_as_hosts_have_them() -> None:
    """In each API the answers are joined, without the searches and with the host's own calls."""
    use = {"type": "tool_use", "id": "a", "name": "plimsoll_recall", "input": {}}
    text, own = {"type": "text", "text": "So."}, {**use, "id": "b", "name": "own"}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    anthropic = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": [text, use]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [text, own]},
        {"role": "user", "content": [{**result, "tool_use_id": "b"}]},
    ]
    joined = {"role": "assistant", "content": [text, text, own]}
    assert as_given(anthropic, "anthropic") == [anthropic[0], joined, anthropic[4]]
    call = {"type": "function_call", "call_id": "a", "name": "plimsoll_recall", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "a", "output": "x"}
    items = [said("user", "Hi."), call, output, {**call, "call_id": "b", "name": "own"}, {**output, "call_id": "b"}]
    assert as_given(items, "openai-responses") == [items[0], *items[3:]]
