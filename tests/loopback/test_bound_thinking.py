"""Thinking of models that take it back only behind what it was made for: it leaves when that changes, and only then."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from loopback import agent
from loopback.direct import Refused, direct
from loopback.hosts import ANTHROPIC_TOOLS, AnthropicHost, ask, begun, following
from loopback.server import Provider

BOUND, FREE = "claude-opus-5-5", "claude-sonnet-4-6"
WINDOW = 12_000


def opened(store: str, **options: Any) -> plimsoll.Session:
    """A session of the host's."""
    given = {"format": "anthropic", "tools": ANTHROPIC_TOOLS, "system": agent.SYSTEM, "max_tokens": WINDOW, **options}
    return plimsoll.open("bound", store=store, **given)


def hosted(model: str, *, appends: str = "content") -> tuple[Provider, AnthropicHost]:
    """A provider that is asked without a socket, and its host."""
    provider = Provider(WINDOW, seed=3)
    return provider, AnthropicHost(direct(provider), model=model, appends=appends)


def talk(session: plimsoll.Session, host: AnthropicHost, turn: int, *, as_it_stands: bool = False) -> None:
    """One request, and what follows it. As it stands, no view is compacted for it."""
    if not session.history():
        session.extend(begun(host))
    view = session.peek() if as_it_stands else session.view()
    session.extend(following(host, ask(host, view), turn))


def thoughts(view: Any) -> int:
    """How many blocks of thinking there are."""
    return json.dumps(view).count('"signature"') + json.dumps(view).count('"redacted_thinking"')


@pytest.mark.slow
@pytest.mark.parametrize("named", ["by the session", "by its answers"])
def test_thinking_leaves_with_a_compaction_and_no_sooner(named: str) -> None:
    """What is thought later stays, as does all of it before the first compaction."""
    provider, host = hosted(BOUND, appends="response")
    with opened("memory:", **({"model": BOUND} if named == "by the session" else {})) as session:
        for turn in range(1, 30):
            talk(session, host, turn)
            if session.stats().compactions == 0:
                assert thoughts(session.peek()) == thoughts(session.history())
        session.compact()
        assert thoughts(session.peek()) == 0
        provider.window, said = 10 * WINDOW, len(session.history())
        for turn in range(60, 65):
            talk(session, host, turn, as_it_stands=True)
        assert thoughts(session.peek()) == thoughts(session.history()[said:]) > 0
    assert provider.refused == []


@pytest.mark.slow
@pytest.mark.parametrize("model", [BOUND, FREE])
def test_compactions_are_taken_back_and_done_again_at_any_time(model: str, tmp_path: Path) -> None:
    """With every request accepted, also by a session that is opened again; what is taken back is what it was."""
    provider, host = hosted(model)
    rng = random.Random(5)
    session = opened(str(tmp_path), model=model)
    for turn in range(1, 35):
        talk(session, host, turn)
        before, done = session.peek(), rng.choice(("compact", "again", "rollback", "reapply", "", "", ""))
        if done == "compact" and session.compact().id is not None and rng.random() < 0.5:
            session.rollback()
            assert session.peek() == before, turn
        if done in ("rollback", "reapply"):
            undone = {compaction.undone for compaction in session.compactions()}
            if (done == "reapply") in undone:
                getattr(session, done)()
        shown = session.peek()
        session.close()
        session = opened(str(tmp_path), model=model)
        assert session.peek() == shown, turn
    session.close()
    assert provider.refused == []


@pytest.mark.slow
def test_other_models_keep_the_thinking_that_they_ask_for() -> None:
    """An answer whose calls are being worked on keeps its thinking where the provider insists on it."""
    provider, host = hosted(FREE)
    with opened("memory:", model=FREE) as session:
        for turn in range(1, 25):
            talk(session, host, turn)
        while not thoughts(session.history()[-2:-1]):
            talk(session, host, 99)
        session.compact()
        assert thoughts(session.peek()) > 0
    assert provider.refused == []


@pytest.mark.slow
def test_answers_that_come_while_a_summary_is_written_leave_their_thinking_too() -> None:
    """They were thought behind the messages that the summary stands for."""
    provider, host = hosted(BOUND)
    with opened("memory:", model=BOUND) as session:
        for turn in range(1, 12):
            talk(session, host, turn)
        provider.window = 10 * WINDOW

        def summarizer(request: Any) -> str:
            for turn in range(12, 15):
                talk(session, host, turn, as_it_stands=True)
            return "The agent read two files and ran the tests. " * 4

        session.summarizer = summarizer
        session.compact()
        assert session.compactions()[-1].stage == "model"
        for turn in range(15, 18):
            talk(session, host, turn)
    assert provider.refused == []


@pytest.mark.slow
@pytest.mark.parametrize("between", ["compact", "compact and peek", "compact and reapply", "rollback"])
def test_an_answer_to_an_older_view_leaves_its_thinking(between: str) -> None:
    """The view has changed between the request and its answer; what is thought afterwards stays."""
    provider, host = hosted(BOUND, appends="response")
    with opened("memory:", model=BOUND) as session:
        for turn in range(1, 12):
            talk(session, host, turn)
        if between == "rollback":
            session.compact()
        view = session.view()
        answers = following(host, ask(host, view), 12)
        if between == "rollback":
            session.rollback()
        else:
            session.compact()
        if between == "compact and peek":
            session.peek()
        if between == "compact and reapply":
            session.rollback()
            session.reapply()
        provider.window, kept = 10 * WINDOW, thoughts(session._recorder.written())
        session.extend(answers)
        assert thoughts(session._recorder.written()) == kept
        for turn in range(13, 17):
            talk(session, host, turn, as_it_stands=True)
        assert thoughts(session.peek()) > kept
    assert provider.refused == []


@pytest.mark.slow
def test_a_fitted_list_and_a_window_leave_it_where_they_change_anything() -> None:
    """And keep it where they change nothing."""
    _, host = hosted(BOUND)
    messages: list[Any] = begun(host)
    for turn in range(1, 30):
        messages += following(host, ask(host, plimsoll.fit(messages, max_tokens=WINDOW, model=BOUND).messages), turn)
    options: dict[str, Any] = {"model": BOUND, "system": agent.SYSTEM, "tools": ANTHROPIC_TOOLS}
    assert thoughts(plimsoll.fit(messages, max_tokens=500_000, **options).messages) > 10
    assert thoughts(plimsoll.fit(messages, max_tokens=6_000, **options).messages) == 0
    recent = plimsoll.window(messages, max_tokens=6_000, **options)
    assert recent.excluded_count > 0
    assert thoughts(recent.messages) == 0
    ask(host, recent.messages)
    whole = plimsoll.fit(messages, max_tokens=500_000, **options).messages
    with pytest.raises(Refused, match="signature"):
        ask(host, [host.said("Another request."), *whole[1:]])


def edited(held: list[Any], rng: random.Random) -> list[Any]:
    """The list with one of the user's messages changed, as hosts do: an old result cleared, or words of its own."""
    at = rng.choice([at for at, wire in enumerate(held) if isinstance(wire, dict) and wire["role"] == "user"])
    content = held[at]["content"]
    cleared = (
        [{**part, "content": "[cleared]"} for part in content] if isinstance(content, list) else f"{content} (edited)"
    )
    return [*held[:at], {"role": "user", "content": cleared}, *held[at + 1 :]]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "appends"), [(BOUND, "content"), (BOUND, "response"), (FREE, "content")])
def test_thinking_leaves_behind_what_a_host_changes_in_its_list(
    model: str, appends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages, the system text, and answers asked for again: every request is accepted, also by a session opened again."""
    provider, host = hosted(model, appends=appends)
    rng = random.Random(8)
    session = opened(str(tmp_path), model=model)
    held = begun(host)
    thought = 0
    for turn in range(1, 40):
        done = rng.choice(("edit", "again", "system", "compact", "rollback", "open", *[""] * 12))
        if done == "edit":
            held = edited(held, rng)
        if done == "system":
            monkeypatch.setattr(agent, "SYSTEM", f"{agent.SYSTEM} It is {turn} o'clock.")
        session.sync(held, system=agent.SYSTEM)
        if done == "compact":
            session.compact()
        if done == "rollback" and any(not made.undone for made in session.compactions()):
            session.rollback()
        if done == "open":
            session.close()
            session = opened(str(tmp_path), model=model)
        view = session.sync(held, system=agent.SYSTEM)
        thought += thoughts(view) > 0
        new = following(host, ask(host, view), turn)
        if done == "again":
            new = following(host, ask(host, session.sync([*held, *new][: len(held)])), turn)
        held += new
    assert provider.refused == []
    assert thought > 8
    session.close()
