"""The newest messages with id and time, bounded by number, time and tokens; and what is held of messages read back."""

from __future__ import annotations

import json
import time
from itertools import chain, count
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.environment.layers import Filter
from plimsoll.errors import SettingError
from plimsoll.limits import LARGE_MESSAGE_CACHE_ENTRIES_MAX, MESSAGE_CACHE_CHARS_MAX, MESSAGE_CACHE_ENTRIES_MAX
from plimsoll.message import Message, Text
from plimsoll.policy.policy import policy_named
from plimsoll.session.message_cache import MessageCache
from plimsoll.store.memory import InMemoryStore


@pytest.fixture
def session() -> Any:
    """Two hundred messages, one a second, the newest at 1,200,000 ms."""
    now = chain([0], count(1_001_000, 1_000))
    store = InMemoryStore(clock=lambda: next(now))
    with plimsoll.open("a", store=store, project=False, format="openai-chat") as opened:
        for number in range(200):
            opened.append({"role": "user", "content": f"word {number}"})
        yield opened


def store_of(kind: str, place: Path) -> Any:
    """A store that later openings find again."""
    return {"lines": str(place / "s"), "sqlite": f"sqlite:///{place / 's.db'}", "memory": InMemoryStore()}[kind]


def ids(session: plimsoll.Session, **bounds: Any) -> list[str]:
    """The ids of what is found."""
    return [said.id for said in session.messages(**bounds)]


def run_of(first: int, stop: int) -> list[str]:
    """Ids in order."""
    return [f"m{number}" for number in range(first, stop)]


@pytest.mark.slow
@pytest.mark.spec("S1-12")
@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({}, run_of(0, 200)),
        ({"last": 3}, run_of(197, 200)),
        ({"last": 0}, []),
        ({"last": 500}, run_of(0, 200)),
        ({"since_ms": 1_199_000}, run_of(198, 200)),
        ({"since_ms": 10**15}, []),
        ({"since_ms": -1}, run_of(0, 200)),
        ({"before": "m0"}, []),
        ({"before": "m70", "last": 2}, run_of(68, 70)),
        ({"before": "m100", "since_ms": 1_098_000, "last": 50}, run_of(97, 100)),
        ({"max_tokens": 0}, []),
    ],
)
def test_bounds(session: plimsoll.Session, bounds: dict[str, Any], expected: list[str]) -> None:
    """The newest messages that every bound allows, in order (S1-12)."""
    assert ids(session, **bounds) == expected


def test_token_bound(session: plimsoll.Session) -> None:
    """Together they take no more than the tokens allowed, and one more would."""
    found = session.messages(max_tokens=100)
    tokens = [plimsoll.count_tokens([said.message]) - 3 for said in session.messages(last=len(found) + 1)]

    assert sum(tokens[1:]) <= 100 < sum(tokens)


def test_ids_and_times(session: plimsoll.Session) -> None:
    """A message comes with the id that pin and fork take, the time it was appended, and whole."""
    said = session.messages(last=1)[0]

    assert (said.id, said.at_ms, said.message) == ("m199", 1_200_000, {"role": "user", "content": "word 199"})
    session.pin(said.id)
    with session.fork(at=session.messages(last=2)[0].id, name="b") as other:
        assert len(other.history()) == 199
        assert other.messages(last=1)[0].at_ms == 1_199_000


def test_nothing_shared(session: plimsoll.Session) -> None:
    """Changing what was handed out changes nothing in the session."""
    session.messages(last=1)[0].message["content"] = "changed"

    assert session.messages(last=1)[0].message["content"] == "word 199"


def acting(number: int, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    """A call of a tool and its result."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": "done " * 150},
    ]


@pytest.mark.spec("S1-15", "S1-16")
def test_files(tmp_path: Path) -> None:
    """The files that were read and modified, how often and where last: now, after resuming, and as of each compaction (S1-15,
    S1-16).
    """
    policy = policy_named("ladder", strategy="summary")
    with plimsoll.open("a", store=str(tmp_path), project=False, max_tokens=3_000, policy=policy) as session:
        session.append({"role": "user", "content": "Mend the crane."})
        session.extend(acting(1, "read_file", path="src/crane.py"))
        for number in range(2, 12):
            session.extend(acting(number, "read_file", path=f"docs/page{number}.md"))
        first = session.compact()
        session.extend(acting(12, "bash", command="sed -i s/a/b/ src/crane.py"))
        found = {file.path: file for file in session.files()}
        then = {file.path: file for file in session.files(first.id)}
    with plimsoll.open("a", store=str(tmp_path), project=False) as session:
        assert {file.path: file for file in session.files()} == found
        session.compact()
        assert {file.path: file for file in session.files(first.id)} == then
        with pytest.raises(SettingError):
            session.files("c1")

    before, now = then["src/crane.py"], found["src/crane.py"]
    assert (before.mentions, before.last_mentioned, before.modified) == (1, 1, False)
    assert (now.mentions, now.last_mentioned, now.modified) == (2, 23, True)
    assert set(then) < set(found) == {"src/crane.py", *(f"docs/page{number}.md" for number in range(2, 12))}
    assert list(found) == sorted(found)


WORDS = [{"role": "user", "content": f"word {number}"} for number in range(80)]


@pytest.mark.slow
@pytest.mark.spec("S1-12", "W1-24")
@pytest.mark.parametrize(
    ("default_filter", "kept"),
    [
        (None, 80),
        ({}, 50),
        ({"max_messages": 7}, 7),
        ({"max_messages": None}, 80),
        ({"max_tokens": 30}, 4),
        ({"max_messages": None, "time_window_s": 10}, 11),
        (Filter(max_messages=3), 3),
        (Filter(max_tokens=None, max_messages=None, time_window_s=None), 80),
    ],
)
@pytest.mark.parametrize("kind", ["lines", "sqlite", "memory"])
def test_default_filter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, default_filter: Any, kept: int
) -> None:
    """Where nobody says, the session's own bounds hold, the usual ones (50 messages, 32,000 tokens, a day) for those it leaves
    out; they are there after resuming and in forks, and each gives way to what is asked for (S1-12, W1-24).
    """
    monkeypatch.setattr("plimsoll.session.messages.time.time", lambda: 1_080.0)
    store = store_of(kind, tmp_path)
    with plimsoll.open("a", store=store, project=False, format="openai-chat", default_filter=default_filter) as session:
        for at_ms, word in enumerate(WORDS, 1_001):
            session._recorder.log._clock = lambda at_ms=at_ms: at_ms * 1_000
            session.append(word)
    with plimsoll.open("a", store=store, project=False) as session, session.fork(name="b") as fork:
        assert ids(session) == ids(fork) == run_of(80 - kept, 80)
        assert ids(session, last=2) == ids(session)[-2:]
        assert ids(session, last=80, since_ms=0, max_tokens=10**6) == run_of(0, 80)
        assert len(session.history()) == 80


@pytest.mark.parametrize(
    "wrong",
    [
        7,
        "x",
        {"messages": 3},
        {"max_messages": -1},
        {"max_tokens": 1.5},
        {"time_window_s": -1},
        {"time_window_s": float("nan")},
        {"time_window_s": True},
        {"time_window_s": "day"},
        {1: 2},
    ],
)
def test_impossible_filters(tmp_path: Path, wrong: Any) -> None:
    """A filter that cannot be is refused by name, and no session is made."""
    with pytest.raises(SettingError) as refusal:
        plimsoll.open("a", store=str(tmp_path), default_filter=wrong)

    assert refusal.value.field in {"default_filter", "max_messages", "max_tokens", "time_window_s"}
    assert plimsoll.sessions(str(tmp_path)) == []


@pytest.mark.parametrize(
    "bounds", [{"last": -1}, {"last": 1.5}, {"max_tokens": True}, {"before": "x"}, {"before": "m200"}]
)
def test_impossible_bounds(session: plimsoll.Session, bounds: dict[str, Any]) -> None:
    """A bound that cannot be is refused."""
    with pytest.raises(SettingError):
        session.messages(**bounds)


@pytest.mark.slow
def test_reads_no_further_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few newest messages of a long history are found by reading few."""
    with plimsoll.open("a", store=str(tmp_path), durability="os", project=False, format="openai-chat") as session:
        session.extend([{"role": "user", "content": f"word {number}"} for number in range(5_000)])
        log = type(session._recorder.log)
        read, seen = log.read_messages, []

        def counting(self: Any, *bounds: Any) -> Any:
            for record in read(self, *bounds):
                seen.append(record.position)
                yield record

        monkeypatch.setattr(log, "read_messages", counting)
        assert len(session.messages(last=5)) == 5
        assert len(seen) <= 64


def test_a_page_is_decoded_once() -> None:
    """Reading a large text page by page reads it from the log once; the session says so."""
    text = "".join(f"line {number} of the log\n" for number in range(20_000))
    with plimsoll.open("a", store="memory:", max_tokens=8_000, format="openai-chat", recall_tools=True) as session:
        session.extend(
            [
                {"role": "user", "content": "go"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "tail", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "c", "content": text},
            ]
        )
        shown = str(session.view())
        reference = shown[shown.index("m2.0-") :][:13]
        pages = [session.read(reference, offset=at, limit=50_000) for at in range(0, len(text), 50_000)]

        held = session.cache_info()

    assert "".join(pages) == text
    assert held.misses <= 1
    assert held.hits >= len(pages) - 1


def message(chars: int) -> Message:
    """A message of that many characters."""
    return Message(role="user", parts=(Text(text="x" * chars),))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chars", "held"),
    [(10, MESSAGE_CACHE_ENTRIES_MAX), (MESSAGE_CACHE_CHARS_MAX + 1, LARGE_MESSAGE_CACHE_ENTRIES_MAX)],
)
def test_what_is_held_is_bounded(chars: int, held: int) -> None:
    """However many messages are read back, few are held, and of large ones fewer."""
    found = MessageCache(lambda start, stop: {position: message(chars) for position in range(start, stop)})
    for position in range(2_000):
        assert found.find(position) is not None

    assert found.info().entries == held
    assert found.info().evictions >= 2_000 - held


def test_neighbours_come_along() -> None:
    """Messages asked for in order are read several at a time, each once."""
    asked: list[tuple[int, int]] = []

    def read(start: int, stop: int) -> dict[int, Message]:
        asked.append((start, stop))
        return {position: message(position) for position in range(start, stop)}

    found = MessageCache(read)
    assert [len(said.text) for position in range(160) if (said := found.find(position))] == list(range(160))
    assert len(asked) == 10
    assert (found.info().hits, found.info().misses) == (150, 10)


def test_what_cannot_be_read_is_not_held() -> None:
    """A message that is not there is asked for again each time, and may come."""
    answers: list[dict[int, Message]] = [{}, {0: message(3)}]
    found = MessageCache(lambda *_: answers.pop(0))

    assert found.find(0) is None
    assert found.find(0) == message(3)


def test_time_is_now(tmp_path: Path) -> None:
    """Times are of the appending, in milliseconds."""
    with plimsoll.open("a", store=str(tmp_path)) as session:
        session.append({"role": "user", "content": "x"})

        assert abs(session.messages()[0].at_ms - time.time() * 1000) < 60_000
