"""Hosts killed while they hand over their list: handed over again, nothing is there twice and nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import struct
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import plimsoll

ACK = struct.Struct("<i")
Wire = dict[str, Any]


def lists(steps: int) -> list[list[Wire]]:
    """What a host holds at each step: it grows, now and then under another system text, or goes back and another way."""
    held: list[Wire] = [{"role": "system", "content": "be brief"}]
    found: list[list[Wire]] = []
    for number in range(steps):
        if number % 4 == 3:
            held = [{"role": "system", "content": f"be brief at {number}"}, *held[1:]]
        if number % 7 == 6:
            held = held[:-3]
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        held = [
            *held,
            {"role": "user", "content": f"request {number} " + "why? " * 20},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"line {number} " * 40},
            {"role": "assistant", "content": f"answer {number}"},
        ]
        found.append(held)
    return found


LISTS = lists(40)


def host_until_killed(store: str, start: int, acks: int) -> None:
    """Hand over the list of each step, saying after each which one was taken in. Never returns."""
    try:
        with plimsoll.open("host", store=store, max_tokens=1_500) as session:
            for step in range(start, len(LISTS)):
                session.sync(LISTS[step])
                os.write(acks, ACK.pack(step))
        time.sleep(60)
    finally:
        os._exit(3)


def start_and_kill(store: str, start: int, rng: random.Random) -> int:
    """Start a host at a step, kill it a random while after it was taken in, and return the last step it said was."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        host_until_killed(store, start, writing)
    os.close(writing)
    first = os.read(reading, ACK.size)
    time.sleep(rng.random() ** 2 * 0.06)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    rest = b"".join(iter(lambda: os.read(reading, 65_536), b""))
    os.close(reading)
    assert os.WIFSIGNALED(status), "the host stopped by itself"
    return max(step for (step,) in ACK.iter_unpack(first + rest))


def texts(messages: list[Wire]) -> Counter[str]:
    """How often each message but the system's is there."""
    return Counter(repr(message) for message in messages if message["role"] != "system")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["{place}", "sqlite:///{place}/all.db"], ids=["jsonl", "sqlite"])
def test_hosts_killed_while_they_sync(kind: str, tmp_path: Path) -> None:
    """After each kill the history is the list taken in last or the one after it, and the log everything taken in so far, once."""
    store = kind.format(place=tmp_path)
    rng = random.Random(11)
    step = 0
    known: Counter[str] = Counter()
    while step < len(LISTS) - 8:
        taken = start_and_kill(store, step, rng)
        with plimsoll.open("host", store=store, max_tokens=1_500) as session:
            history = session.history()
            step = next(number for number in (taken, taken + 1) if LISTS[min(number, len(LISTS) - 1)] == history)
            view = session.sync(LISTS[step])
            assert session.sync(LISTS[step]) == view
            assert session.history() == LISTS[step]
            everything = texts(session.history(all=True))
            assert set(everything.values()) == {1}
            assert known.keys() | texts(LISTS[step]).keys() <= everything.keys()
            assert plimsoll.validate(view) == []
        known, step = everything, step + 1
