"""Several replies as one: whole or as events, wherever they are split."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest

from loopback import agent
from plimsoll.conversations.inner_searches import INNER_TOOLS
from plimsoll.formats.inner_calls import BETWEEN, joined, total
from plimsoll.proxy.reply import WHOLE_SIZE_BYTES_MAX
from plimsoll.proxy.rounds import Rounds
from unit.proxy.test_replies import APIS, STREAM, read, without_ids

SEARCH = agent.Answer("I look.", "Where was it?", [agent.Call("plimsoll_recall", {"query": "a"})])
BOTH = agent.Answer(
    "Found.", "", [agent.Call("search", {"path": "b"}), agent.Call("plimsoll_read", {"reference": "m1"})]
)


def responses(api: str) -> list[dict[str, Any]]:
    """An answer that searches, and one that calls a tool of the client and searches."""
    dialect, body = APIS[api]
    return [dialect.respond(SEARCH, 0, body), dialect.respond(BOTH, 1, body)]


def stream(api: str, response: dict[str, Any]) -> bytes:
    """A response as events."""
    dialect, _ = APIS[api]
    events = ((name, data if isinstance(data, str) else json.dumps(data)) for name, data in dialect.events(response))
    return "".join((f"event: {name}\n" if name else "") + f"data: {text}\n\n" for name, text in events).encode()


def taken(api: str, portions: list[list[bytes]], kind: str) -> bytes:
    """What a client gets of replies that come in portions."""
    rounds = Rounds(api, INNER_TOOLS)
    passed = b""
    for number, one in enumerate(portions):
        rounds.begin(200, kind, "")
        passed += b"".join(map(rounds.feed, one))
        if number + 1 < len(portions):
            rounds.turn()
    return passed + rounds.end(has_begun=bool(passed))


@pytest.mark.parametrize("api", APIS)
def test_streams_split_at_every_byte(api):
    """The client's events are the same, and say what the joined whole says, without a trace of the searches."""
    found = responses(api)
    whole = taken(api, [[json.dumps(one).encode()] for one in found], "application/json")
    streams = [stream(api, one) for one in found]
    passed = taken(api, [[one] for one in streams], STREAM)
    assert taken(api, [[one[at : at + 1] for at in range(len(one))] for one in streams], STREAM) == passed
    assert b"plimsoll" not in whole + passed
    _, of_whole = read(api, [whole], kind="application/json")
    _, of_stream = read(api, [passed])
    assert of_stream.is_complete
    assert without_ids(of_stream.answer()[0]) == without_ids(of_whole.answer()[0])
    summed, told = of_whole.answer()[1], of_stream.answer()[1]
    assert summed == total([one["usage"] for one in found])
    assert {**told, **summed} == told
    said = json.dumps(of_stream.answer()[0])
    assert '"search"' in said
    assert "I look." in said
    assert "Found." in said


@pytest.mark.parametrize("api", APIS)
def test_one_stream_without_a_search_says_the_same(api):
    """Of a reply that does not search, nothing is lost."""
    dialect, body = APIS[api]
    response = dialect.respond(agent.Answer("Yes.", "Hm.", [agent.Call("search", {})]), 0, body)
    _, before = read(api, [stream(api, response)])
    _, after = read(api, [taken(api, [[stream(api, response)]], STREAM)])
    assert after.answer() == before.answer()


def test_calls_whose_name_comes_in_pieces():
    """They are held until it is known whose they are, and then numbered without those in between."""

    def chunk(*calls: dict[str, Any]) -> bytes:
        return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [*calls]}}]}).encode() + b"\n\n"

    def piece(index: int, name: str, arguments: str = "") -> dict[str, Any]:
        return {"index": index, "id": f"c{index}", "function": {"name": name, "arguments": arguments}}

    rounds = Rounds("openai-chat", INNER_TOOLS)
    rounds.begin(200, STREAM, "")
    pieces = [
        piece(0, "plimsoll_"),
        piece(1, "plimsoll_re"),
        piece(0, "recall"),
        piece(1, "port", "{}"),
        piece(0, "", "{}"),
    ]
    passed = b"".join(rounds.feed(chunk(one)) for one in pieces)
    calls = [json.loads(line[6:])["choices"][0]["delta"]["tool_calls"] for line in passed.split(b"\n") if line]
    assert calls == [[{**pieces[1], "index": 0}, {**pieces[3], "index": 0}]]


def test_nonsense_is_passed_on():
    """What is no object of the API is the client's to make sense of."""
    rounds = Rounds("openai-chat", INNER_TOOLS)
    rounds.begin(200, STREAM, "")
    assert (
        rounds.feed(b"event: x\ndata: {no\ndata: json\n\ndata: [7]\n\n")
        == b"event: x\ndata: {no\ndata: json\n\ndata: [7]\n\n"
    )
    strange = b'data: {"choices": [{"delta": {"tool_calls": [{"index": []}]}}]}\n\n'
    assert rounds.feed(strange) == strange
    rounds.feed(b'data: {"choices": [{"delta": {"tool_calls": [7, {"index": "x"}]}}]}\n\ndata: {"choices": 7}\n\n')
    assert rounds.end(has_begun=True) == b""


def test_replies_that_are_too_large_or_no_json():
    """They are passed on as they are."""
    for data in (b"no json", b'{"choices": ' + b" " * WHOLE_SIZE_BYTES_MAX + b"[]}"):
        assert taken("openai-chat", [[data[:9], data[9:]]], "application/json") == data


def test_packed_replies():
    """They are unpacked though nobody asked for them, but no bombs."""
    rounds = Rounds("openai-chat", INNER_TOOLS)
    rounds.begin(200, "application/json", "deflate")
    assert rounds.unpacked(zlib.compress(b"{}")) == b"{}"
    rounds.begin(200, "application/json", "gzip")
    with pytest.raises(zlib.error):
        rounds.unpacked(zlib.compress(b" " * (WHOLE_SIZE_BYTES_MAX + 99)))


def test_sums():
    """Numbers are added, also within; all else is of the newest, and what one lacks is of the other."""
    one = {"a": 1, "in": {"b": 2, "c": None}, "tier": "x", "only": 3, "is": True}
    other = {"a": 4, "in": {"b": 1, "c": 5}, "tier": "y", "is": False, "new": 7}
    assert total([one, None, other]) == {"a": 5, "in": {"b": 3, "c": 5}, "tier": "y", "only": 3, "is": False, "new": 7}
    assert total([None]) is None


def test_texts_of_several_answers_are_apart():
    """Where the API has one text for them."""
    found = joined("openai-chat", responses("openai-chat"), INNER_TOOLS)
    assert found["choices"][0]["message"]["content"] == f"I look.{BETWEEN}Found."
