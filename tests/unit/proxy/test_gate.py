"""Requests that certainly fit are let through unread, and no other."""

from __future__ import annotations

import json
import random
import threading
from dataclasses import replace
from typing import Any

import pytest

import plimsoll
from loopback import agent
from plimsoll.conversations.conversations import Conversations
from plimsoll.proxy.flow import Asked, Flow
from plimsoll.proxy.gate import MARGIN_TOKENS, TRACKS_MAX, Gate, added_bytes

PATH = "/v1/chat/completions"


def body(messages: list[Any], **fields: Any) -> bytes:
    """A request as an SDK writes it."""
    return json.dumps(
        {"messages": messages, "model": "gpt-4o", **fields}, separators=(",", ":"), ensure_ascii=False
    ).encode()


def said(text: str) -> dict[str, str]:
    """A message."""
    return {"role": "user", "content": text}


KNOWN = [said("question " + "why " * 200), {"role": "assistant", "content": "so"}]


@pytest.mark.parametrize(
    ("raw", "bound"),
    [
        pytest.param(body(KNOWN), 0, id="the same"),
        pytest.param(body([*KNOWN, said("more")]), len(b',{"role":"user","content":"more"}'), id="longer"),
        pytest.param(body(KNOWN[:1]), 0, id="shorter"),
        pytest.param(body([*KNOWN, said("more")], max_tokens=5), None, id="another reserve"),
        pytest.param(body([*KNOWN, said("x")]).replace(b"gpt-4o", b"gpt-4"), None, id="another model"),
        pytest.param(body(KNOWN).replace(b"gpt-4o", b"gpt-4o-mini"), None, id="a longer name of the model"),
        pytest.param(body(KNOWN, previous_response_id="r"), None, id="another conversation"),
        pytest.param(body([*KNOWN, {"role": "user", "content": [{"type": "image_url"}]}]), None, id="a picture"),
        pytest.param(body([*KNOWN, said("x" * 300_000)]), None, id="very much more"),
    ],
)
def test_the_bound_of_what_was_added(raw, bound):
    """By bytes, where that is a bound."""
    assert added_bytes(raw, body(KNOWN)) == bound


def test_a_number_that_grows_is_no_longer_text():
    """The reserve is a setting, also where only a digit was added."""
    known = json.dumps({"max_tokens": 100, "messages": KNOWN}).encode()
    assert added_bytes(known.replace(b"100", b"1000"), known) is None
    assert added_bytes(known.replace(b"100", b"900"), known) is None


def test_a_picture_is_seen_across_the_edge_of_the_change():
    """Though a part of the word was there before."""
    known = body([{"role": "user", "content": [{"type": "im"}]}])
    raw = known.replace(b'"im"', b'"image"')
    assert added_bytes(raw, known) is None


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_holds(seed):
    """For random edits of random requests the bound is never below what was added."""
    rng = random.Random(seed)
    held = [said(agent.request(number)) for number in range(rng.randrange(1, 8))]
    known = plimsoll.count_tokens(held)
    other = [dict(message) for message in held]
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(other))
        text = rng.choice(("a", "界", "0", "🚢", "\n\t", "}{", '"', "x1y2")) * rng.randrange(1, 60)
        match rng.randrange(3):
            case 0:
                other.insert(at, said(text))
            case 1:
                other[at]["content"] = text + other[at]["content"]
            case _:
                other.append(said(text))
    added = added_bytes(body(other), body(held))
    assert added is not None
    assert plimsoll.count_tokens(other) <= known + added + MARGIN_TOKENS


def test_what_has_no_room_is_read():
    """A request passes while what was added has room; one of a conversation that was changed never does."""
    gate = Gate()
    track = gate.passed(PATH, body(KNOWN), 200)
    longer = body([*KNOWN, said("x" * 60)])
    assert gate.find(PATH, longer)[1] is track
    assert gate.find("/v1/other", longer) is None
    assert gate.find(PATH, body([*KNOWN, said("x" * 300)])) is None
    gate.passed(PATH, longer, None, after=track)
    assert gate.find(PATH, longer) is None
    assert gate.must_read(PATH, body([*KNOWN, said("x" * 60), said("y")]))
    assert not gate.must_read(PATH, body([said("Something else. " * 50)]))


def test_another_window_is_another_budget():
    """A request that was found to fit a long window is read before it is sent to a shorter one."""
    raw = body([said("why " * 20_000)])
    with Conversations("memory:", model="gpt-4o") as kept:
        flow = Flow(kept)
        asked = Asked(path=PATH, format="openai-chat", raw=raw, text=raw, window_tokens=1_000_000)
        flow.exchange(asked).prepare()
        assert flow.exchange(asked).lane == "same"
        assert flow.exchange(replace(asked, window_tokens=None)).lane == "read"


def test_a_large_request_that_fits_by_its_size_is_sent_before_it_is_counted():
    """Counting it takes long. It is recorded afterwards; one that may be too long is counted first."""
    raw = body([said("why " * 20_000)])
    with Conversations("memory:", model="gpt-4.1") as kept:
        exchange = Flow(kept).exchange(Asked(path=PATH, format="openai-chat", raw=raw, text=raw))
        assert exchange.ready is None
        assert exchange.prepare() is raw
        assert (exchange.lane, exchange.needs_note, len(kept)) == ("small", True, 0)
        exchange.note()
        assert len(kept) == 1
    with Conversations("memory:", max_tokens=60_000) as kept:
        exchange = Flow(kept).exchange(Asked(path=PATH, format="openai-chat", raw=raw, text=raw))
        assert exchange.prepare() is raw
        assert (exchange.lane, exchange.needs_note, len(kept)) == ("read", False, 1)


def test_requests_of_several_threads():
    """Nothing is lost or raised while some are noted and others looked for, and what is remembered stays bounded."""
    gate, faults = Gate(), []

    def work(seed: int) -> None:
        rng, track = random.Random(seed), None
        try:
            for _ in range(400):
                raw = body([said("x" * 300), said(f"{rng.randrange(40)}")])
                gate.must_read(PATH, raw)
                found = gate.find(PATH, raw)
                track = gate.passed(PATH, raw, rng.choice((None, 500)), after=found[1] if found else track)
        except Exception as error:  # noqa: BLE001 - told by the test
            faults.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert sum(map(len, gate._alike.values())) == len(gate._tracks) <= TRACKS_MAX
    assert gate._size_bytes == sum(len(track.raw) for track in gate._tracks.values())
