"""One suite over every store of memories: what it keeps, finds and deletes, whoever implements the port."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll.errors import StoreUnusable
from plimsoll.memory.in_memory import InMemoryMemoryStore
from plimsoll.memory.opening import memory_store
from plimsoll.memory.sqlite import memory_of, memory_text
from plimsoll.protocols import Memory, MemoryOrigin, MemoryStore
from plimsoll.store.open import open_store

Again = Callable[[], MemoryStore]

ORIGIN = MemoryOrigin(time_ms=1_000, session="s", message="m3", created_ms=5)


def memory(name: str, text: str, scope: str = "user", **fields: object) -> Memory:
    """A memory with the fields that a test does not care about."""
    made = Memory(
        id=name,
        text=text,
        kind="fact",
        by="user",
        scope=scope,
        origins=(ORIGIN,),
        confidence=0.5,
        importance=5,
        time_ms=1_000,
    )
    return replace(made, **fields)


@pytest.fixture(params=["sqlite", "memory"])
def again(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Again]:
    """A function that opens the same store anew each time."""
    shared = InMemoryMemoryStore()
    opened: list[MemoryStore] = []

    def reopen() -> MemoryStore:
        found = memory_store(shared if request.param == "memory" else f"sqlite:///{tmp_path / 'deep' / 'memory.db'}")
        assert found is not None
        opened.append(found)
        return found

    yield reopen
    for one in opened:
        one.close()


@pytest.fixture
def store(again: Again) -> MemoryStore:
    """A store with nothing in it."""
    return again()


@pytest.mark.spec("S2-25", "S2-26")
def test_what_is_put_is_there_after_reopening(again: Again) -> None:
    """Memories come back equal in every field, lone surrogates and NULs included, and so does how far a session was read."""
    store = again()
    odd = memory("mem-2", "odd \ud800 text \0 here", "project:/tmp/\udcff", superseded_by="mem-1", hits=3, hit_ms=9)
    with store.exclusive():
        store.put([memory("mem-1", "我喜欢空格"), odd])
        store.set_read_to("session \ud800", 7)
    store.close()

    reopened = again()
    assert list(reopened.memories()) == [memory("mem-1", "我喜欢空格"), odd]
    assert (reopened.read_to("session \ud800"), reopened.read_to("another")) == (7, 0)


def test_an_empty_store_has_nothing(store: MemoryStore) -> None:
    """Reading, searching and closing a store that was never written to gives nothing, and creates nothing."""
    assert (list(store.memories()), list(store.memories(["user"])), store.read_to("s")) == ([], [], 0)
    assert list(store.search("tabs", ["user"], 5)) == []
    assert not Path(store.where).exists()
    store.close()
    store.close()


def test_scopes_are_apart(store: MemoryStore) -> None:
    """A scope shows its own memories only, whatever its name looks like."""
    scopes = ["user", "user:a", "user:a/project:/p", "project:/p", "project:/p%", "project:/P"]
    with store.exclusive():
        store.put([memory(f"mem-{number}", f"tabs {scope}", scope) for number, scope in enumerate(scopes)])

    for scope in scopes:
        assert [found.scope for found in store.memories([scope])] == [scope]
        assert [found.scope for found in store.search("tabs", [scope], 9)] == [scope]
    assert list(store.memories([])) == []
    assert len(store.memories()) == len(scopes)


def test_putting_replaces_and_deleting_is_final(again: Again) -> None:
    """A known id is replaced, an unknown one deleted without effect, and what was deleted is not in the file any more."""
    store = again()
    with store.exclusive():
        store.put([memory("mem-1", "first"), memory("mem-2", "a quite unusual sentence")])
        store.put([memory("mem-1", "second")])
    with store.exclusive():
        store.delete(["mem-2", "mem-9"])

    assert [found.text for found in again().memories()] == ["second"]
    place = Path(store.where)
    store.close()
    if place.exists():
        assert all(b"unusual" not in path.read_bytes() for path in place.parent.iterdir())


def change_and_fail(store: MemoryStore) -> None:
    """Make changes inside a block that raises."""
    with store.exclusive():
        store.put([memory("mem-2", "undone")])
        store.delete(["mem-1"])
        store.set_read_to("s", 4)
        raise ZeroDivisionError


def test_a_block_that_raises_changes_nothing(store: MemoryStore) -> None:
    """What was done inside `exclusive` is undone if it raises."""
    with store.exclusive():
        store.put([memory("mem-1", "kept")])
    with pytest.raises(ZeroDivisionError):
        change_and_fail(store)

    assert ([found.id for found in store.memories()], store.read_to("s")) == (["mem-1"], 0)


def test_search_is_best_first_in_both_languages(store: MemoryStore) -> None:
    """The memory that shares most with the query is first; superseded ones and those that share nothing are not found."""
    texts = [
        "I prefer tabs in Go code",
        "I prefer dark mode",
        "我喜欢用空格缩进",
        "我住在上海",
        "the deploy branch is release",
    ]
    with store.exclusive():
        store.put([memory(f"mem-{number}", text) for number, text in enumerate(texts)])
        store.put([memory("mem-9", "I prefer tabs in all code", superseded_by="mem-0")])

    def found(query: str, limit: int = 9) -> list[str]:
        return [one.text for one in store.search(query, ["user"], limit)]

    assert found("tabs for Go")[0] == texts[0]
    assert found("缩进")[0] == texts[2]
    assert found("上海") == [texts[3]]
    assert found("deployment branches") == [texts[4]]
    assert found("prefer", 1) == [texts[1]]
    assert found("elephants") == found("") == []


def test_threads_take_turns(store: MemoryStore) -> None:
    """Changes of several threads inside `exclusive` are made one after the other: no increment is lost."""
    with store.exclusive():
        store.put([memory("mem-1", "counted")])

    def count() -> None:
        for _ in range(10):
            with store.exclusive():
                (held,) = store.memories(["user"])
                store.put([replace(held, hits=held.hits + 1)])

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [one.hits for one in store.memories()] == [30]


def test_another_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    """The file of a store of sessions is no store of memories: one clear error, and the file is as it was."""
    place = tmp_path / "all.db"
    sessions = open_store(f"sqlite:///{place}")
    sessions.create("a").close()
    sessions.close()
    before = place.read_bytes()

    store = memory_store(place)
    assert store is not None
    with pytest.raises(StoreUnusable, match="another application"):
        store.memories()
    store.close()
    assert place.read_bytes() == before


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"id": 1}', "null"])
def test_damaged_memories_are_skipped(damage: str) -> None:
    """A row that holds no memory, or one with fields of the wrong type, is read as none."""
    text = memory_text(memory("mem-1", "x"))

    assert memory_of(text) == memory("mem-1", "x")
    assert memory_of(damage) is None
    assert memory_of(text.replace('"fact"', '"rumour"')) is None
    assert memory_of(text.replace('"time_ms": 1000', '"time_ms": "now"')) is None
