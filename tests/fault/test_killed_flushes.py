"""Processes killed around the flush of memories: each fact is kept once, and before what said it leaves the view."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import plimsoll

Wire = dict[str, Any]


def said(number: int) -> list[Wire]:
    """A round of talk with one thing to remember."""
    fill = "It matters, and it holds. " * 30
    return [
        {"role": "user", "content": f"Remember that harbour number {number} is open. {fill}"},
        {"role": "assistant", "content": f"Noted, number {number}. {fill}"},
    ]


def talk_until_killed(place: Path, start: int, acks: int) -> None:
    """Append rounds and ask for views, which compact, saying when each is done. Never returns."""
    try:
        with plimsoll.open("a", store=place, memory=place / "m.db", max_tokens=700) as session:
            for number in range(start, start + 5):
                session.extend(said(number))
                os.write(acks, b".")
                session.view()
                os.write(acks, b".")
        time.sleep(60)
    finally:
        os._exit(3)


def start_and_kill(place: Path, start: int, rng: random.Random) -> None:
    """Start a talk at a round, and kill it a random while after one of its first steps."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        talk_until_killed(place, start, writing)
    os.close(writing)
    for _ in range(rng.randrange(1, 6)):
        os.read(reading, 1)
    time.sleep(rng.random() ** 2 * 0.05)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(reading)
    assert os.WIFSIGNALED(status), "the talk stopped by itself"


def kill_often(place: Path, kills: int, seed: int) -> int:
    """Kill one talk again and again; after each kill, and at the end, every fact is where it must be, once.

    Returns how many memories compactions kept.
    """
    rng = random.Random(seed)
    rounds = 0
    for _ in range(kills):
        start_and_kill(place, rounds, rng)
        with plimsoll.open("a", store=place, policy={"flush_memories": False}, memory=place / "m.db") as session:
            rounds = -(-session.message_count // 2)
            gone = max((one.covers[1] for one in session.compactions() if one.covers), default=0)
            counts = [len(memory.origins) for memory in session.memory.list(superseded=True)]
            kept = {memory.text for memory in session.memory.list()}
            assert counts == [1] * len(kept)
            assert {f"harbour number {number} is open." for number in range(gone // 2)} <= kept
            if session.message_count % 2:
                session.append({"role": "assistant", "content": "Noted."})
    with plimsoll.open("a", store=place, memory=place / "m.db", max_tokens=700) as session:
        for number in range(rounds, rounds + 4):
            session.extend(said(number))
            session.view()
        session.flush_memories()
        assert session.flush_memories() == 0
        found = sorted(memory.text for memory in session.memory.list(superseded=True))
        assert found == sorted(f"harbour number {number} is open." for number in range(rounds + 4))
        return sum(one.flushed_memories for one in session.compactions())


@pytest.mark.spec("W2-07")
@pytest.mark.parametrize("kills", [3, pytest.param(12, marks=pytest.mark.slow)])
def test_facts_are_kept_once_when_killed(kills: int, tmp_path: Path) -> None:
    """Over some kills at random times, no fact is lost and none is there twice."""
    kill_often(tmp_path, kills, 5)


@pytest.mark.soak
@pytest.mark.slow
def test_facts_are_kept_once_over_many_kills(tmp_path: Path) -> None:
    """The same over 200 kills."""
    assert sum(kill_often(tmp_path / str(seed), 10, seed) for seed in range(20)) > 20
