"""Requests that go on from a response by its id."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plimsoll.conversations.conversation import HostConversation
from plimsoll.conversations.conversations import Conversations
from plimsoll.proxy import response_ids
from plimsoll.proxy.flow import READ_AT_ONCE_BYTES_MAX, Asked, Flow
from plimsoll.proxy.response_ids import ResponseLinks

FOUND = [{"type": "function_call_output", "call_id": "c", "output": "lease \U0001f600"}]
KEY = ("Bearer", "sk-of-one-client")


def sent(known: ResponseLinks, credentials: tuple[str, ...] = KEY, **request: Any) -> Any:
    """What is sent for a request; None: as it came."""
    found = known.followed(credentials, json.dumps(request).encode())
    return None if found is None else json.loads(found)


def test_the_provider_goes_on_from_its_last_response() -> None:
    """The id is replaced, what was found comes first, and all else stays."""
    known = ResponseLinks()
    known.note(KEY, "r1", "r3", FOUND)
    known.note(KEY, "r4", "r4")
    assert sent(known, model="m", input="And?", previous_response_id="r1", store=True) == {
        "model": "m",
        "input": [*FOUND, {"role": "user", "content": "And?"}],
        "previous_response_id": "r3",
        "store": True,
    }
    assert sent(known, previous_response_id="r1")["input"] == FOUND
    for other in ("r3", "r4", None, ["r1"], 7, "\ud800"):
        assert sent(known, input="And?", previous_response_id=other) is None
    assert known.followed(KEY, b'{"previous_response_id": r1}') is None


def test_a_response_is_its_own_client_s() -> None:
    """What was searched for one key is not sent for another that names the response, and no key is kept in clear."""
    known = ResponseLinks()
    known.note(KEY, "r1", "r3", FOUND)
    for other in ((), ("Bearer", "sk-of-another"), KEY[:1], (*KEY, "sk-of-another")):
        assert sent(known, other, previous_response_id="r1") is None
    assert sent(known, previous_response_id="r1")["previous_response_id"] == "r3"
    assert "sk-of-one-client" not in repr(vars(known))


def test_a_response_of_the_same_id_takes_the_place_of_the_one_before() -> None:
    """Also one from which the provider goes on as it was shown."""
    known = ResponseLinks()
    known.note(KEY, "r1", "r3", FOUND)
    known.note(KEY, "r1", "r1")
    assert sent(known, previous_response_id="r1") is None
    assert known._size_bytes == 0


@pytest.mark.parametrize(
    ("name", "most"), [("LINKS_MAX", 2), ("LINKS_SIZE_BYTES_MAX", 2 * len(json.dumps(["last", FOUND])))]
)
def test_the_oldest_are_forgotten(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their number and size are bounded."""
    monkeypatch.setattr(response_ids, name, most)
    known = ResponseLinks()
    for number in range(4):
        known.note(KEY, f"r{number}", "last", FOUND)
        known.note(KEY, f"r{number}", "last", FOUND)
    assert [sent(known, previous_response_id=f"r{number}") is None for number in range(4)] == [True, True, False, False]


def test_ids_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider's ids may be of any length, and what is kept of them all is bounded."""
    monkeypatch.setattr(response_ids, "LINKS_SIZE_BYTES_MAX", 10_000)
    known = ResponseLinks()
    for number in range(20):
        known.note(KEY, f"{number}" + "s" * 4_000, f"{number}" + "u" * 4_000)
    assert [number for number in range(20) if sent(known, previous_response_id=f"{number}" + "s" * 4_000)] == [18, 19]
    assert sum(map(len, [*known._known, *known._known.values()])) < 10_000


def asked(text: str, **fields: Any) -> Asked:
    """A request for a response."""
    raw = json.dumps({"model": "gpt-4.1", "input": text, **fields}).encode()
    return Asked(path="/v1/responses", format="openai-responses", raw=raw, text=raw, credentials=KEY)


@pytest.mark.parametrize(("size", "is_at_once"), [(100, True), (READ_AT_ONCE_BYTES_MAX, False)])
def test_a_large_request_is_not_read_where_it_comes_in(
    size: int, is_at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All clients would wait. A worker reads it, and what goes on from no known response is as any other."""
    read = []
    followed = ResponseLinks.followed
    monkeypatch.setattr(ResponseLinks, "followed", lambda *given: (read.append(1), followed(*given))[1])
    with Conversations("memory:", model="gpt-4.1") as kept:
        flow = Flow(kept)
        flow.links.note(KEY, "r1", "r3", FOUND)
        exchange = flow.exchange(asked("why " * (size // 4), previous_response_id="r1"))
        assert (exchange.ready is not None, len(read)) == (is_at_once, is_at_once)
        body = json.loads(exchange.ready or exchange.prepare())
        assert (exchange.lane, body["previous_response_id"], body["input"][0]) == ("other", "r3", FOUND[0])

        other = flow.exchange(asked("previous_response_id " * (size // 20)))
        assert (other.ready or other.prepare()) is other.asked.raw
        assert other.lane == "small"


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses"])
def test_what_is_beside_a_client_s_call_is_searched_once(format: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it finds is recorded, and linked where a request may go on from the answer by its id."""
    searched = []
    monkeypatch.setattr(HostConversation, "_search", lambda _, *given: (searched.append(given), "It was the lease.")[1])
    turns = [{"role": "user", "content": f"question {number} " + "why " * 90} for number in range(40)]
    calls = [{"name": name, "arguments": "{}"} for name in ("plimsoll_recall", "own")]
    if format == "openai-chat":
        made = [{"id": call["name"], "type": "function", "function": call} for call in calls]
        response: Any = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": made}}]}
        path, request = "/v1/chat/completions", {"messages": turns}
    else:
        made = [{"type": "function_call", "call_id": call["name"], **call} for call in calls]
        response = {"id": "r1", "status": "completed", "output": made}
        path, request = "/v1/responses", {"input": turns}
    with Conversations("memory:", model="gpt-4o", max_tokens=3_000, recall_tools=True) as kept:
        flow, raw = Flow(kept), json.dumps({"model": "gpt-4o", **request}).encode()
        exchange = flow.exchange(Asked(path=path, format=format, raw=raw, text=raw, credentials=KEY))
        exchange.prepare()
        reply = exchange.reply(200, "application/json")
        reply.feed(json.dumps(response).encode())
        reply.end()
        assert exchange.next_round(reply) is None
        exchange.link(("r1", "r1") if format == "openai-responses" else None)
        exchange.finish(reply)
        assert exchange.prepared is not None
        assert exchange.prepared.conversation is not None
        assert "It was the lease." in repr(exchange.prepared.conversation.session.history()[-1])
    assert len(searched) == 1
    if format == "openai-responses":
        assert sent(flow.links, previous_response_id="r1")["input"][0]["output"] == "It was the lease."
