"""How long an event loop stands still while many sessions work in it: 50 sessions, each compacting 100,000 tokens.

A task that sleeps for a millisecond over and over notes how late it wakes. Beside it every session is opened, filled, asked for its
view, which compacts, and closed, each a task of its own. The vocabulary is loaded first: that is done once in a process, and no
thread can run meanwhile.

A full garbage collection stops every thread for as long as the interpreter takes to visit all objects of the process, the caller's
included: beats that one fell into are told apart. Beside them stands what such a collection takes when the sessions are gone, of the
modules and the caller's messages alone, and how many objects one session adds.

Run it alone, by `python bench/async_stall.py [sessions]`. The machine's own pauses are in the figure: for comparison, the same heartbeat is
taken beside a thread that does nothing but count upwards.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import threading
import time
from statistics import median
from typing import Any, Self

import plimsoll
import workload

SESSIONS = 50
TOKENS = 100_000
MAX_TOKENS = 100_000
BOUND_MS = 20.0
BEAT_S = 0.001
FLOOR_S = 5.0
FLOOR_COLLECTIONS = 9


def _full_collections() -> int:
    return int(gc.get_stats()[2]["collections"])


class Collections:
    """Notes how long each full collection took while it is entered."""

    def __init__(self) -> None:
        self.took_ms: list[float] = []
        self._began = 0.0

    def __enter__(self) -> Self:
        gc.callbacks.append(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        gc.callbacks.remove(self._note)

    def _note(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] == 2 and phase == "start":
            self._began = time.perf_counter()
        elif info["generation"] == 2:
            self.took_ms.append((time.perf_counter() - self._began) * 1000)


class Heartbeat:
    """Notes by how much each short sleep of a task was late."""

    def __init__(self) -> None:
        self.late_ms: list[float] = []
        self.collecting_ms: list[float] = []
        """How late the beats were in which a full collection ran."""

    async def beat(self) -> None:
        """Until cancelled."""
        while True:
            began, collections = time.perf_counter(), _full_collections()
            await asyncio.sleep(BEAT_S)
            late_ms = (time.perf_counter() - began - BEAT_S) * 1000
            (self.late_ms if _full_collections() == collections else self.collecting_ms).append(late_ms)

    def worst_ms(self, share: float = 1.0) -> float:
        """What that share of the beats was not later than."""
        ordered = sorted(self.late_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


async def one(number: int, messages: list[dict[str, Any]], place: str) -> float:
    """One session's life; the seconds that its compaction took, waiting for others included."""
    async with plimsoll.aopen(f"s{number}", store=place, max_tokens=MAX_TOKENS, durability="os") as session:
        await session.aextend(messages)
        began = time.perf_counter()
        await session.aview()
        took_s = time.perf_counter() - began
        assert session.stats().compactions == 1
        return took_s


async def together(conversations: list[list[dict[str, Any]]], place: str) -> tuple[Heartbeat, float]:
    """All sessions at once, and the heartbeat of the loop that they were in."""
    heart = Heartbeat()
    beating = asyncio.create_task(heart.beat())
    began = time.perf_counter()
    await asyncio.gather(*(one(number, messages, place) for number, messages in enumerate(conversations)))
    took_s = time.perf_counter() - began
    beating.cancel()
    return heart, took_s


async def beside_counting(seconds: float) -> Heartbeat:
    """The heartbeat of a loop beside a thread that only counts: what the interpreter and the machine add by themselves."""
    done = threading.Event()

    def count() -> None:
        number = 0
        while not done.is_set():
            number += 1

    heart = Heartbeat()
    thread = threading.Thread(target=count)
    thread.start()
    beating = asyncio.create_task(heart.beat())
    await asyncio.sleep(seconds)
    beating.cancel()
    done.set()
    thread.join()
    return heart


def objects() -> int:
    """Number of the objects that a full collection visits."""
    gc.collect()
    return len(gc.get_objects())


def held_by_one(messages: list[dict[str, Any]], place: str) -> tuple[int, int]:
    """Number of the objects that one session adds once it has its messages, and after its view, which the caller lets go of."""
    before = objects()
    with plimsoll.open("alone", store=place, max_tokens=MAX_TOKENS, durability="os") as session:
        session.extend(messages)
        filled = objects() - before
        session.view()
        return filled, objects() - before


def conversations(count: int) -> list[list[dict[str, Any]]]:
    """Different conversations of so many tokens."""
    return [
        workload.conversation(TOKENS, lambda message: plimsoll.count_tokens([message]), seed=seed)
        for seed in range(count)
    ]


def main() -> int:
    """Print the longest stall beside its bound; 1 where it is passed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else SESSIONS
    made = conversations(count)
    with tempfile.TemporaryDirectory() as place:
        floor = asyncio.run(beside_counting(FLOOR_S))
        with Collections() as full:
            heart, took_s = asyncio.run(together(made, place))
        alone = objects()
        with Collections() as bare:
            for _ in range(FLOOR_COLLECTIONS):
                gc.collect()
        filled, viewed = held_by_one(made[0], place)
    print(f"{count} sessions of {TOKENS:,} tokens in {took_s:.1f} s; {len(heart.late_ms):,} heartbeats")
    print(f"late by: median {heart.worst_ms(0.5):.1f} ms, 99 % {heart.worst_ms(0.99):.1f} ms")
    print(f"beside a thread that only counts: 99 % {floor.worst_ms(0.99):.1f} ms, longest {floor.worst_ms():.1f} ms")
    print(f"full collections: {len(full.took_ms)} in {', '.join(f'{took_ms:.1f}' for took_ms in full.took_ms)} ms")
    print(
        f"late by {', '.join(f'{late_ms:.1f}' for late_ms in heart.collecting_ms)} ms: the beats with a full collection in them"
    )
    print(f"a full collection without sessions, of {alone:,} objects: {median(bare.took_ms):.1f} ms")
    print(f"a session of {len(made[0])} messages adds {filled} objects, and {viewed} after its view")
    print(f"longest other stall of the loop: {heart.worst_ms():.1f} ms (bound: {BOUND_MS:.0f} ms)")
    return heart.worst_ms() > BOUND_MS


if __name__ == "__main__":
    raise SystemExit(main())
