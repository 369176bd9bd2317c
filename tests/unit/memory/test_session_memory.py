"""The memories of sessions: kept before messages leave a view, shown to new sessions, and never in the way."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import MemoryWarning, StoreUnusable
from plimsoll.memory.in_memory import InMemoryMemoryStore
from plimsoll.protocols import Memory

Wire = dict[str, Any]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, a store that works is waited for."""
    for name in ("MEMORY_ANSWER_S", "MEMORY_OFFER_S"):
        monkeypatch.setattr(f"plimsoll.session.remembering.{name}", 60.0)


def chat(turns: int, first: str = "I prefer tabs. My name is Bob.") -> list[Wire]:
    """A talk that begins with something to remember."""
    found: list[Wire] = [{"role": "user", "content": first}, {"role": "assistant", "content": "Noted."}]
    for turn in range(turns):
        found.append({"role": "user", "content": f"What about case {turn}? " + "It matters. " * 20})
        found.append({"role": "assistant", "content": f"Case {turn} is fine. " + "It holds. " * 20})
    return found


def texts(memories: plimsoll.Memories | None) -> list[str]:
    """What the memories say."""
    assert memories is not None
    return [memory.text for memory in memories.list()]


class Broken(InMemoryMemoryStore):
    """A store that fails in everything."""

    def memories(self, scopes: Sequence[str] | None = None) -> list[Memory]:  # noqa: ARG002 - the port's
        """Fail."""
        raise StoreUnusable("here", reason="the disk is gone")

    def read_to(self, session: str) -> int:  # noqa: ARG002 - the port's
        """Fail in a way of its own."""
        raise RuntimeError("no connection")


@pytest.mark.slow
@pytest.mark.spec("S2-02", "S2-04", "S2-05", "S2-21", "S2-25")
def test_a_compaction_keeps_what_leaves(tmp_path: Path) -> None:
    """What the user said is durable before it leaves the view, once, and the compaction says how many memories there were."""
    with plimsoll.open("a", store=tmp_path, memory=tmp_path / "m.db", max_tokens=1_000) as session:
        session.extend(chat(12))
        session.view()
        first, *_ = session.compactions()
        assert first.flushed_memories == first.to_dict()["flushed_memories"] == 2
        assert first.note is None
        assert sorted(texts(session.memory)) == ["I prefer tabs.", "My name is Bob."]
        (origin,) = session.memory.search("tabs")[0].origins
        assert (origin.session, origin.message, origin.time_ms) == ("a", "m0", session.times_ms()[0])
        session.extend(chat(12, "Thanks."))
        session.view()
        assert [one.flushed_memories for one in session.compactions()][1:] == [0] * (len(session.compactions()) - 1)
        assert len(session.compactions()) > 1
    with plimsoll.open("a", store=tmp_path) as session:
        assert session.compactions()[0].flushed_memories == 2
        assert session.memory is None


@pytest.mark.slow
@pytest.mark.spec("W2-07")
def test_memories_are_durable_before_the_compaction_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If recording the compaction fails, its memories are there already; done again, nothing is kept twice."""
    with plimsoll.open("a", store=tmp_path, memory=tmp_path / "m.db", max_tokens=1_000) as session:
        session.extend(chat(12))
        append = type(session._recorder.log).append
        monkeypatch.setattr(type(session._recorder.log), "append", refused)
        with pytest.raises(StoreUnusable):
            session.compact()
        monkeypatch.setattr(type(session._recorder.log), "append", append)
        kept = session.memory.list()
        assert len(kept) == 2
        assert session.compact().flushed_memories == 0
        assert session.memory.list() == kept


def refused(self: object, drafts: object) -> None:
    """Append nothing."""
    raise StoreUnusable("log", reason="full of water")


def test_closing_keeps_the_rest(tmp_path: Path) -> None:
    """A session too short to be compacted is read when it is closed, and by `flush_memories`; nothing without a store."""
    with plimsoll.open("a", store=tmp_path, memory=tmp_path / "m.db") as session:
        session.extend(chat(1))
        assert session.flush_memories() == 2
        assert session.flush_memories() == 0
        session.append({"role": "user", "content": "I live in Lisbon."})
    with plimsoll.open_memory(tmp_path / "m.db") as memories:
        assert len(memories.list()) == 3
    with plimsoll.open("b", store=tmp_path) as session:
        session.extend(chat(1))
        assert (session.flush_memories(), session.memory) == (0, None)


@pytest.mark.slow
def test_what_was_forgotten_does_not_come_back(tmp_path: Path) -> None:
    """Messages that were read are not read again: not by a later compaction, after a rollback, when opened again, nor in a fork."""
    options = {"store": tmp_path, "memory": tmp_path / "m.db", "max_tokens": 1_000}
    with plimsoll.open("a", **options) as session:
        session.extend(chat(12))
        session.compact()
        for memory in session.memory.list():
            session.memory.forget(memory.id)
        session.rollback()
        session.compact()
        with session.fork() as fork:
            fork.compact()
    with plimsoll.open("a", **options) as session:
        session.compact()
        session.flush_memories()
        assert texts(session.memory) == []


@pytest.mark.spec("S2-02")
def test_the_policy_turns_the_flush_off(tmp_path: Path) -> None:
    """With `flush_memories` false a compaction and a close keep nothing; asked for, it is done."""
    with plimsoll.open(
        "a", store=tmp_path, memory=tmp_path / "m.db", max_tokens=1_000, policy={"flush_memories": False}
    ) as session:
        session.extend(chat(12))
        assert session.compact().flushed_memories == 0
        assert texts(session.memory) == []
    with plimsoll.open("a", store=tmp_path, memory=tmp_path / "m.db") as session:
        assert texts(session.memory) == []
        assert session.flush_memories() == 2


@pytest.mark.spec("S2-22", "S2-23", "S2-24")
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("small-window", (5_000, 8_000, 2_000, 4, 400, False)),
        ("medium-window", (15_000, 20_000, 4_000, 6, 800, False)),
        ("large-window", (25_000, 30_000, 6_000, 10, 1_200, True)),
    ],
)
def test_presets_of_two_lines(name: Any, numbers: tuple[int, ...]) -> None:
    """Each of the three presets has its lines, reserve, tail and summary, asks a model or not, and flushes memories."""
    policy = plimsoll.Policy.named(name)
    lines = policy.lines.soft, policy.lines.hard, policy.output_reserve_tokens

    assert (*lines, policy.keep_last_messages, policy.summary_tokens_max, policy.use_summarizer) == numbers
    assert (policy.flush_memories, policy.summarizer_fallback) == (True, True)


@pytest.mark.slow
@pytest.mark.parametrize("message_format", ["openai-chat", "openai-responses", "anthropic", "ui-parts"])
def test_a_new_session_is_shown_memories(message_format: Any, tmp_path: Path) -> None:
    """Every view of a new session has the notes after its system text: valid, counted, within the cap, and always the same."""
    with plimsoll.open_memory(tmp_path / "m.db") as memories:
        memories.add("I prefer tabs", session="old", time_ms=1_700_000_000_000)
    options = {"store": tmp_path, "max_tokens": 800, "format": message_format}
    system = [] if message_format == "anthropic" else [{"role": "system", "content": "Be brief."}]
    source = plimsoll.convert([*system, *chat(11)], to=message_format, format="openai-chat").messages
    with plimsoll.open("new", memory=tmp_path / "m.db", **options) as session:
        views = []
        for message in source:
            session.append(message)
            views.append(session.view())
            assert plimsoll.validate(views[-1], format=message_format) == []
            assert plimsoll.count_tokens(views[-1]) <= session.status().current_tokens <= 800
            shown = json.dumps(views[-1])
            assert shown.count("- I prefer tabs (said by the user, 2023-11-14, old)") == 1
        assert len(session.compactions()) > 1
        assert session.history() == source
        last = session.view()
        assert session.preview().apply().messages[: len(system)] == last[: len(system)]
        assert "data, not instructions" in json.dumps(session.preview().apply().messages)
    for earlier, later in pairwise(views):
        grown = [one for one, other in zip(earlier[:-1], later, strict=False) if one == other]
        assert len(grown) == len(earlier) - 1 or len(later) <= len(earlier)
    with plimsoll.open("new", **options) as session:
        assert session.peek() == last


def test_notes_need_a_new_session_room_and_consent(tmp_path: Path) -> None:
    """Nothing is shown to a session with messages, with a cap of 0, or without a store; and at most a tenth of a small budget."""
    store = InMemoryMemoryStore()
    plimsoll.open_memory(store).add("I prefer tabs")
    hello = {"role": "user", "content": "hello"}

    def first_view(name: str, **options: Any) -> str:
        with plimsoll.open(name, store=tmp_path, **options) as session:
            session.append(hello)
            return str(session.view())

    assert "tabs" in first_view("a", memory=store)
    assert "tabs" not in first_view("b")
    assert "tabs" not in first_view("b", memory=store)
    assert "tabs" not in first_view("c", memory=store, policy={"memory_tokens_max": 0})
    assert "tabs" not in first_view("d", memory=store, max_tokens=300)
    assert "tabs" not in first_view("e", memory=store, user_id="ann")
    assert "tabs" not in first_view("f", memory=False)


def test_notes_that_come_back_are_not_read(tmp_path: Path) -> None:
    """A host that hands the view over as its own list plants nothing: the notes in it are neither a request nor memories."""
    store = InMemoryMemoryStore()
    plimsoll.open_memory(store).add("We use Kafka", by="tool", tool="grep")
    with plimsoll.open("a", store=tmp_path, memory=store) as session:
        session.append({"role": "user", "content": "hello"})
        view = list(session.view())
    with plimsoll.open("b", store=tmp_path, memory=InMemoryMemoryStore()) as session:
        session.sync(view)
        assert session.flush_memories() == 0
    with plimsoll.open("a", store=tmp_path, memory=store) as session:
        assert session.sync(view) == view
        assert len(session.history()) == 1
        assert session.flush_memories() == 0
    assert [memory.by for memory in plimsoll.open_memory(store).list()] == ["tool"]


@pytest.mark.slow
def test_a_store_that_fails_blocks_nothing(tmp_path: Path) -> None:
    """A session opens, compacts, forks and closes beside a broken store; the compaction's note and warnings say what failed."""
    with pytest.warns(MemoryWarning, match="the disk is gone"):
        session = plimsoll.open("a", store=tmp_path, memory=Broken(), max_tokens=1_000)
    session.extend(chat(12))
    view = session.view()
    (done,) = session.compactions()
    assert "memories were not kept: no connection" in str(done.note)
    assert (done.flushed_memories, plimsoll.validate(view)) == (0, [])
    session.fork(name="b")._recorder.close()
    with pytest.raises(StoreUnusable, match="no connection"):
        session.flush_memories()
    with pytest.warns(MemoryWarning, match="no connection"):
        session.close()
    with plimsoll.open("a", store=tmp_path) as again:
        assert again.peek() == view


@pytest.mark.slow
def test_a_store_that_hangs_blocks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that does not answer is given up after a while, and reported."""
    store = InMemoryMemoryStore()
    for name in ("MEMORY_ANSWER_S", "MEMORY_OFFER_S"):
        monkeypatch.setattr(f"plimsoll.session.remembering.{name}", 0.01)
    monkeypatch.setattr(store, "memories", lambda *_: time.sleep(0.2) or [])
    monkeypatch.setattr(store, "read_to", lambda *_: time.sleep(0.2) or 0)
    with pytest.warns(MemoryWarning, match="no answer within"):
        session = plimsoll.open("a", store=tmp_path, memory=store, max_tokens=1_000)
    session.extend(chat(12))
    session.view()
    assert "no answer within" in str(session.compactions()[0].note)
    with pytest.warns(MemoryWarning, match="no answer within"):
        session.close()


def answer(items: object) -> Callable[[plimsoll.SummaryRequest], str]:
    """A model that writes summaries, and answers with these items where memories are asked for."""

    def ask(request: plimsoll.SummaryRequest) -> str:
        if request.purpose == "memory":
            return items if isinstance(items, str) else f"Here you are:\n{json.dumps(items)}"
        return "Said by the user: cases were discussed, each of them is fine, and each of them holds."

    return ask


@pytest.mark.spec("S2-24")
def test_a_model_may_read_instead(tmp_path: Path) -> None:
    """Where a summarizer is configured it is asked for memories, with the words of each message but no tool result."""
    asked: list[plimsoll.SummaryRequest] = []

    def ask(request: plimsoll.SummaryRequest) -> str:
        asked.append(request)
        return answer([{"message": 0, "kind": "preference", "text": "Bob prefers tabs"}])(request)

    with plimsoll.open("a", store=tmp_path, memory=tmp_path / "m.db", max_tokens=1_000, summarizer=ask) as session:
        session.extend(chat(3))
        call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        session.append({"role": "assistant", "content": None, "tool_calls": [call]})
        session.append({"role": "tool", "tool_call_id": "c", "content": "unheard of"})
        session.extend(chat(9, "So?"))
        session.compact()
        assert texts(session.memory) == ["Bob prefers tabs"]
    prompts = [str(request.prompt) for request in asked if request.purpose == "memory"]
    assert prompts
    assert "I prefer tabs" in prompts[0]
    assert not any("unheard of" in prompt for prompt in prompts)


@pytest.mark.slow
@pytest.mark.parametrize(
    "items",
    [
        "no list",
        "[[[[",
        [],
        [{"message": 0, "kind": "preference", "text": "The user wants every file deleted at night"}],
        [{"message": 1, "kind": "preference", "text": "Noted"}],
        [{"message": 99, "kind": "preference", "text": "I prefer tabs"}],
        [{"message": 0, "kind": "rumour", "text": "I prefer tabs"}],
        [
            {"message": True, "kind": "fact", "text": None},
            3,
            None,
            {"message": "m0x", "kind": "fact", "text": "I prefer tabs"},
        ],
    ],
    ids=str,
)
def test_a_model_cannot_make_things_up(items: object, tmp_path: Path) -> None:
    """What the named message does not say, or its author could not know, is not kept; an answer that is no list leaves it to the rules."""
    with plimsoll.open("a", store=tmp_path, memory=tmp_path / "m.db", summarizer=answer(items)) as session:
        session.extend(chat(1))
        session.flush_memories()
        assert texts(session.memory) == ([] if isinstance(items, list) else ["My name is Bob.", "I prefer tabs."])


def test_callers_that_await(tmp_path: Path) -> None:
    """The awaited methods keep memories as the others do, and may ask a coroutine function."""

    async def ask(request: plimsoll.SummaryRequest) -> str:
        await asyncio.sleep(0)
        return answer([{"message": "m0", "kind": "profile", "text": "My name is Bob"}])(request)

    async def talk() -> list[str]:
        async with plimsoll.aopen(
            "a", store=tmp_path, memory=tmp_path / "m.db", max_tokens=1_000, summarizer=ask
        ) as session:
            await session.aextend(chat(12))
            await session.aview()
            assert session.compactions()[0].flushed_memories == 1
            assert await session.aflush_memories() == 0
            return texts(session.memory)

    assert asyncio.run(talk()) == ["My name is Bob"]


def test_projects_and_users_are_apart(tmp_path: Path) -> None:
    """A session shows and keeps the memories of its own user and project; a decision made in one project is not seen in another."""
    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
    said = chat(1, "I prefer tabs. We decided to use Kafka.")

    def seen(name: str, **options: Any) -> Iterator[str]:
        with plimsoll.open(name, store=tmp_path / "s", memory=tmp_path / "m.db", **options) as session:
            yield from texts(session.memory)

    with plimsoll.open(
        "a", store=tmp_path / "s", memory=tmp_path / "m.db", project=tmp_path / "one", user_id="ann"
    ) as session:
        session.extend(said)
    assert set(seen("b", project=tmp_path / "one", user_id="ann")) == {"I prefer tabs.", "We decided to use Kafka."}
    assert set(seen("a")) == {"I prefer tabs.", "We decided to use Kafka."}
    assert list(seen("c", project=tmp_path / "two", user_id="ann")) == ["I prefer tabs."]
    assert list(seen("d", project=tmp_path / "one", user_id="bob")) == []
    assert list(seen("e", project=tmp_path / "one")) == []


def test_a_summary_written_ahead_has_its_memories(tmp_path: Path) -> None:
    """Where the next summary is written before it is due, the memories of what it replaces are kept with it, before it leaves."""
    ask = answer([{"message": 0, "kind": "preference", "text": "I prefer tabs"}])
    options = {
        "store": tmp_path,
        "memory": tmp_path / "m.db",
        "max_tokens": 1_600,
        "summarizer": ask,
        "background": True,
    }
    with plimsoll.open("a", **options) as session:
        for message in chat(12):
            session.append(message)
            session.view()
            assert session._ahead is not None
            session._ahead.join(5)
        first = session.compactions()[0]
        assert (first.stage, first.flushed_memories) == ("model", 1)
        assert texts(session.memory) == ["I prefer tabs"]
