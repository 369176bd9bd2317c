"""The context as text: which layers stay where not all fit, by priority and by what is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.environment.layers import LAYERS, PRIORITIES
from plimsoll.errors import SettingError


@pytest.fixture
def session(tmp_path: Path) -> Any:
    """A session with something in every layer."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (project / "package.json").write_text('{"name": "tide", "version": "2", "dependencies": {"moon": "1"}}')
    asked = {"id": "c1", "type": "function", "function": {"name": "sounding", "arguments": "{}"}}
    with plimsoll.open(
        "a",
        store="memory:",
        project=project,
        user_id="u-7",
        agent_id="pilot",
        title="Tides",
        preferences={"tone": "dry"},
    ) as opened:
        opened.append({"role": "user", "content": "Mend the drawbridge before the flood."})
        opened.append({"role": "assistant", "content": None, "tool_calls": [asked]})
        opened.append({"role": "tool", "tool_call_id": "c1", "content": "Error: no bottom"})
        yield opened


LINES = {
    "system": "Working directory: ",
    "session": "Session: a, user u-7, agent pilot, title Tides",
    "conversation": "Conversation: 3 messages; asked: Mend the drawbridge before the flood.",
    "tool": "Tools called: sounding 1 (1 failed)",
    "workspace": "branch main",
}


def kept(text: str) -> set[str]:
    """Which layers a text has whole."""
    return {layer for layer, words in LINES.items() if words in text}


@pytest.mark.spec("S1-05", "S1-10")
def test_every_layer_is_in_the_text(session: Any) -> None:
    """With room for all of them each says what it is, in the order of the layers."""
    text = session.context_text(1_000)

    assert kept(text) == set(LAYERS)
    places = [text.index(LINES[layer]) for layer in LAYERS]
    assert places == sorted(places)
    assert 'Preferences: {"tone": "dry"}' in text
    assert "Package: tide version 2, 1 dependencies" in text


@pytest.mark.spec("S1-10")
def test_layers_of_low_priority_leave_first(session: Any) -> None:
    """The smaller the room, the fewer layers, by their priority; never more than the room."""
    before = set(LAYERS)
    order: list[str] = []
    for room in range(400, 0, -4):
        text = session.context_text(room)
        assert plimsoll.count_tokens(text) <= room
        now = kept(text)
        order += sorted(before - now, key=PRIORITIES.__getitem__)
        before = before & now
    assert before == set()
    assert order == sorted(LAYERS, key=PRIORITIES.__getitem__)


@pytest.mark.spec("S1-10")
def test_priorities_and_queries_change_what_stays(session: Any) -> None:
    """A layer that is given a higher priority stays, and so does one that has what is asked for; the scores are told."""
    room = plimsoll.count_tokens(LINES["conversation"])
    assert kept(session.context_text(room)) == {"conversation"}
    assert kept(session.context_text(room, priorities={"tool": 99})) == {"tool"}
    assert kept(session.context_text(room, priorities={"tool": 31})) == {"tool"}
    assert kept(session.context_text(room, query="drawbridge flood", priorities={"tool": 31})) == {"conversation"}

    plain, scored = session.context().metadata, session.context("drawbridge tides").metadata
    assert (plain.priority, plain.relevance_score) == (dict(PRIORITIES), None)
    assert scored.relevance_score["conversation"] == scored.relevance_score["session"] == 0.5
    assert scored.relevance_score["tool"] == 0
    assert session.context(priorities={"tool": 3}).metadata.priority == {**PRIORITIES, "tool": 3}


@pytest.mark.spec("S1-10")
@pytest.mark.parametrize(
    "wrong", [{"priorities": {"moon": 3}}, {"priorities": {"tool": -1}}, {"priorities": [1]}, {"query": 3}]
)
def test_impossible_options_are_refused(session: Any, wrong: Any) -> None:
    """By a SettingError, in both calls."""
    for call in (session.context, session.context_text):
        with pytest.raises(SettingError):
            call(**wrong)
    with pytest.raises(SettingError):
        session.context_text(-1)


@pytest.mark.spec("S2-10")
def test_sessions_of_an_agent(tmp_path: Path) -> None:
    """An agent's sessions are listed by its id, which the context tells, after resuming and in forks too."""
    for store in (str(tmp_path / "s"), f"sqlite:///{tmp_path / 's.db'}"):
        for name, agent in (("a", "pilot"), ("b", "cook"), ("c", None)):
            plimsoll.open(name, store=store, agent_id=agent).close()
        assert [info.name for info in plimsoll.sessions(store, agent_id="pilot")] == ["a"]
        assert {info.name: info.agent_id for info in plimsoll.sessions(store)} == {"a": "pilot", "b": "cook", "c": None}
        with plimsoll.open("a", store=store) as session:
            assert session.context().session.agent_id == "pilot"
            session.append({"role": "user", "content": "x"})
            with session.fork(name="d") as fork:
                assert fork.context().session.agent_id == "pilot"
    with pytest.raises(SettingError):
        plimsoll.open("x", store="memory:", agent_id=3)  # type: ignore[arg-type]
