"""Every option of `open` changes something that can be seen, and is remembered by the session."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from workloads import talk

TALK = talk(71, 60)
TOTAL = plimsoll.count_tokens(TALK)
TOOL = {
    "type": "function",
    "function": {"name": "read", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}},
}


def seen(session: plimsoll.Session) -> Any:
    """The budget and what the session makes of the talk."""
    session.extend(TALK)
    view = session.view()
    return session.status().max_tokens, view, [(done.stage, done.level) for done in session.compactions()]


OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "model": ({"model": "gpt-4o"}, {"model": "gpt-4"}),
    "max_tokens": ({"max_tokens": TOTAL * 2}, {"max_tokens": TOTAL // 2}),
    "policy": ({"max_tokens": int(TOTAL / 0.9)}, {"max_tokens": int(TOTAL / 0.9), "policy": "fill"}),
    "tools": ({"max_tokens": TOTAL}, {"max_tokens": TOTAL, "tools": [TOOL]}),
    "summarizer": ({"max_tokens": TOTAL}, {"max_tokens": TOTAL, "summarizer": lambda _: "They talked about leases."}),
    "recall_tools": ({"max_tokens": TOTAL}, {"max_tokens": TOTAL, "recall_tools": True}),
    "system": ({"max_tokens": TOTAL}, {"max_tokens": TOTAL, "system": "Speak in verse, always. " * 20}),
    "counter": ({"max_tokens": TOTAL}, {"max_tokens": TOTAL, "counter": len}),
}
ELSEWHERE = {
    "background",
    "name",
    "store",
    "format",
    "project",
    "user_id",
    "preferences",
    "configuration",
    "default_filter",
    "title",
    "max_sessions",
    "durability",
    "stats",
    "storage",
    "agent_id",
    "memory",
    "create",
    "read_only",
    "wait_s",
}
"""Tested below, in tests/unit/session_context, tests/unit/memory and in tests/contract: they change no view."""


@pytest.mark.slow
@pytest.mark.spec("W0-11", "W1-02", "W1-24")
@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_changes_what_comes_out(option: str) -> None:
    """With the option given, and nothing else, something else comes out (W0-11, W1-02, W1-24)."""
    before, now = ({"store": "memory:", **options} for options in OPTIONS[option])
    with plimsoll.open("x", **before) as plain, plimsoll.open("x", **now) as changed:
        assert seen(plain) != seen(changed)


@pytest.mark.spec("W1-24")
def test_no_option_is_forgotten() -> None:
    """Each option is in the table, or has a test of its own."""
    assert set(inspect.signature(plimsoll.open).parameters) == ELSEWHERE | set(OPTIONS)


def test_a_format_is_for_good() -> None:
    """A session told its format refuses messages of another, and keeps what it has."""
    with plimsoll.open("x", store="memory:", format="openai-responses") as session:
        session.append({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"})
        with pytest.raises(plimsoll.errors.FormatError):
            session.append({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]})
        assert len(session.history()) == 1


def test_options_are_remembered_and_may_be_changed(tmp_path: Path) -> None:
    """Opened again without options a session has those it was made with; one that is given then wins."""
    with plimsoll.open("x", store=str(tmp_path), max_tokens=3_000, policy="five-turns", tools=[TOOL]) as session:
        made = session.status().max_tokens
        assert made < 3_000
    with plimsoll.open("x", store=str(tmp_path)) as session:
        assert session.status().max_tokens == made
        assert session._recorder.meter.policy.name == "five-turns"
    with plimsoll.open("x", store=str(tmp_path), max_tokens=9_000) as session:
        assert session.status().max_tokens == made + 6_000


@pytest.mark.slow
@pytest.mark.spec("S0-27", "W0-11")
def test_stats_can_be_switched_off(tmp_path: Path) -> None:
    """Without them the same view is made and nothing is counted, also in forks and later openings."""
    views = []
    for stats in (True, False):
        with plimsoll.open(f"stats-{stats}", store=str(tmp_path), max_tokens=TOTAL, stats=stats) as session:
            session.extend(TALK)
            views.append(session.view())
            assert session.compactions()
            assert session.stats().compactions == int(stats)
            with session.fork(name=f"fork-{stats}") as fork:
                fork.compact()
                assert fork.stats().compactions == 2 * stats
        with plimsoll.open(f"stats-{stats}", store=str(tmp_path)) as session:
            session.compact()
            assert session.stats().compactions == 2 * stats
            assert (session.stats().tokens_saved > 0) is stats
    assert views[0] == views[1]
    with pytest.raises(plimsoll.errors.SettingError):
        plimsoll.open("x", store="memory:", stats="no")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.spec("S0-30")
def test_the_summariser_of_an_open_session_can_be_exchanged() -> None:
    """The next compaction asks the new one; None leaves the rules to speak; what cannot be asked is refused and changes nothing."""

    def first(_: Any) -> str:
        return "They talked about leases and queues, and agreed on both."

    with plimsoll.open("x", store="memory:", max_tokens=TOTAL, summarizer=first) as session:
        session.extend(TALK)
        assert session.compact().stage == "model"
        session.summarizer = None
        session.extend(TALK[:30])
        assert session.compact().stage == "rules"
        session.summarizer = lambda _: "The second one writes of leases, of queues, and of the pier."
        with pytest.raises(plimsoll.errors.SettingError):
            session.summarizer = 3  # type: ignore[assignment]
        session.extend(TALK[:30])
        done = session.compact()
    assert done.stage == "model"
    assert "The second one writes" in (done.summary or "")


@pytest.mark.spec("S0-01", "S2-20", "W2-08")
def test_a_mapping_replaces_fields_of_the_policy_that_holds(tmp_path: Path) -> None:
    """At first those of "ladder", later those of the session's own; all others stay."""
    policy = plimsoll.Policy.named("ladder", keep_last_turns=3)
    with plimsoll.open("x", store=str(tmp_path), max_tokens=TOTAL, policy={"keep_last_turns": 3}) as session:
        assert session._recorder.meter.policy == policy
    with plimsoll.open("x", store=str(tmp_path), policy={"lines": {"soft": 0.6}}) as session:
        assert session._recorder.meter.policy == plimsoll.Policy.named(policy, lines={"soft": 0.6})
    with plimsoll.open("y", store=str(tmp_path), policy={"preset": "five-turns", "keep_last_turns": 4}) as session:
        assert session._recorder.meter.policy == plimsoll.Policy.named("five-turns", keep_last_turns=4)


@pytest.mark.parametrize("field", ["max_tokens", "counter", "policy", "format", "summarizer"])
def test_impossible_options_make_no_session(tmp_path: Path, field: str) -> None:
    """A refused option leaves no session behind."""
    options: dict[str, Any] = {field: "nonsense"}
    with pytest.raises(plimsoll.errors.PlimsollError):
        plimsoll.open("x", store=str(tmp_path), **options)

    assert plimsoll.sessions(str(tmp_path)) == []
