"""Options of opening that concern the store: how many sessions are listed, and what an append survives."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import SessionNotFound, SettingError
from plimsoll.limits import SESSION_TITLE_CHARS_MAX
from plimsoll.store.memory import InMemoryStore
from plimsoll.store.open import open_store
from plimsoll.store.os_calls import OsCalls


def names(store: Any, *, archived: bool = False) -> list[str]:
    """The sessions of a store."""
    return sorted(info.name for info in plimsoll.sessions(store, archived=archived))


def filled(store: Any, count: int, **options: Any) -> None:
    """Sessions s0, s1, ..., each with a message and a time of its own."""
    for number in range(count):
        with plimsoll.open(f"s{number}", store=store, **options) as session:
            session.append({"role": "user", "content": f"words of s{number}"})
        time.sleep(0.003)


@pytest.mark.slow
@pytest.mark.spec("W1-24")
@pytest.mark.parametrize("kind", ["lines", "sqlite", "memory"])
def test_sessions_beyond_the_most_are_archived(tmp_path: Path, kind: str) -> None:
    """The sessions changed longest ago leave the list, none is lost, and opening one brings it back whole (W1-24)."""
    store = {"lines": str(tmp_path / "s"), "sqlite": f"sqlite:///{tmp_path / 's.db'}", "memory": InMemoryStore()}[kind]
    filled(store, 5, max_sessions=3)
    assert (names(store), names(store, archived=True)) == (["s2", "s3", "s4"], ["s0", "s1"])

    with plimsoll.open("s0", store=store, max_sessions=3) as session:
        assert session.history() == [{"role": "user", "content": "words of s0"}]
        session.append({"role": "user", "content": "more"})
    assert "s0" in names(store)
    assert "s0" not in names(store, archived=True)


@pytest.mark.parametrize("kind", ["lines", "sqlite", "memory"])
def test_archived_sessions_can_be_deleted(tmp_path: Path, kind: str) -> None:
    """Deleting an archived session by its name removes that one for good, and asking again finds none."""
    store = {"lines": str(tmp_path / "s"), "sqlite": f"sqlite:///{tmp_path / 's.db'}", "memory": InMemoryStore()}[kind]
    filled(store, 3, max_sessions=1)
    plimsoll.delete("s0", store)

    assert (names(store), names(store, archived=True)) == (["s2"], ["s1"])
    with pytest.raises(SessionNotFound):
        plimsoll.delete("s0", store)


def test_without_the_option_nothing_is_archived(tmp_path: Path) -> None:
    """Nobody's session leaves the list unasked."""
    filled(str(tmp_path), 5)

    assert (len(names(str(tmp_path))), names(str(tmp_path), archived=True)) == (5, [])


def test_a_session_that_is_written_stays(tmp_path: Path) -> None:
    """A session somebody has open is not archived under their hands."""
    with plimsoll.open("old", store=str(tmp_path)) as session:
        filled(str(tmp_path), 3, max_sessions=1)
        session.append({"role": "user", "content": "x"})

    assert "old" in names(str(tmp_path))


@pytest.mark.parametrize("value", [0, -1, 1.5, "3", True])
def test_impossible_numbers(tmp_path: Path, value: Any) -> None:
    """A number of sessions that cannot be is refused, and no session is made."""
    with pytest.raises(SettingError):
        plimsoll.open("a", store=str(tmp_path / "s"), max_sessions=value)

    assert names(str(tmp_path / "s")) == []


@pytest.mark.parametrize(("durability", "syncs"), [("fsync", 3), ("os", 0)])
def test_durability(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: Any, syncs: int) -> None:
    """Each append is brought to the disk, or none is, as the option says."""
    with plimsoll.open("a", store=str(tmp_path), durability=durability, format="openai-chat") as session:
        done: list[int] = []
        for name in ("sync", "sync_data"):
            monkeypatch.setattr(OsCalls, name, staticmethod(done.append))
        for _ in range(3):
            session.append({"role": "user", "content": "x"})

    assert len(done) == syncs


def test_unknown_durability(tmp_path: Path) -> None:
    """Another word is refused by name, also for a store that is open already and has its own."""
    for store in (str(tmp_path), InMemoryStore(), open_store(str(tmp_path))):
        with pytest.raises(SettingError) as refusal:
            plimsoll.open("a", store=store, durability="sometimes")  # type: ignore[arg-type]
        assert refusal.value.field == "durability"


@pytest.mark.parametrize("kind", ["lines", "sqlite", "memory"])
def test_titles_are_listed(tmp_path: Path, kind: str) -> None:
    """A session made with a title is listed with it, cut to a line's length; one without has none."""
    store = {"lines": str(tmp_path / "s"), "sqlite": f"sqlite:///{tmp_path / 's.db'}", "memory": InMemoryStore()}[kind]
    for name, title in (("a", "Tide tables 潮"), ("b", "x" * 9_999), ("c", None)):
        plimsoll.open(name, store=store, title=title).close()
    listed = {info.name: info.title for info in plimsoll.sessions(store)}

    assert listed == {"a": "Tide tables 潮", "b": "x" * SESSION_TITLE_CHARS_MAX, "c": None}
    with pytest.raises(SettingError) as refusal:
        plimsoll.open("d", store=store, title=7)  # type: ignore[arg-type]
    assert refusal.value.field == "title"
    assert len(plimsoll.sessions(store)) == 3


@pytest.mark.spec("S1-50")
def test_a_session_without_a_name_is_a_new_one(tmp_path: Path) -> None:
    """Without a name each opening makes a session of its own, whose name opens it again (S1-50)."""
    made = []
    for number in range(20):
        with plimsoll.open(store=str(tmp_path)) as session:
            session.append({"role": "user", "content": str(number)})
            made.append(session.name)

    assert len(set(made)) == 20
    assert sorted(made) == sorted(names(str(tmp_path)))
    for number, name in enumerate(made):
        with plimsoll.open(name, store=str(tmp_path)) as session:
            assert session.history() == [{"role": "user", "content": str(number)}]


@pytest.mark.spec("S1-28", "S1-34", "W1-21")
def test_projects_keep_their_sessions_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In `project:` the same name is another session in each project, wherever in the project one stands, and none of them is
    among those of no project (S1-28, S1-34, W1-21).
    """
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "home"))
    places = [tmp_path / "a" / "b-c", tmp_path / "a-b" / "c", tmp_path / "a" / "b" / "c"]
    for place in places:
        (place / "inside" / "deep").mkdir(parents=True)
        (place / ".git").mkdir()
        monkeypatch.chdir(place / "inside")
        with plimsoll.open("main", store="project:") as session:
            session.append({"role": "user", "content": str(place)})
    for place in places:
        for spec in (f"project:{place}", f"project:{place}/inside/deep"):
            assert names(spec) == ["main"]
            with plimsoll.open("main", store=spec) as session:
                assert session.history() == [{"role": "user", "content": str(place)}]
    assert names(None) == []
    plimsoll.delete("main", f"project:{places[0]}")
    assert [names(f"project:{place}") for place in places] == [[], ["main"], ["main"]]
