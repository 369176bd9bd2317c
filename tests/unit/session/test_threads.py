"""One session, used from many threads at once, over each store: nothing is lost, nothing is mixed up, nothing raises."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import plimsoll
import proof
from plimsoll.errors import SettingError
from plimsoll.session.concurrency import SWITCH_INTERVAL_S, in_worker

Wire = dict[str, Any]
BUDGET = 3_000
STORES = ("jsonl", "sqlite", "memory")
PROSE = "Tides, harbours and load lines were spoken of, and each question was answered."


@pytest.fixture(params=STORES)
def store(request: Any, tmp_path: Path) -> str:
    """A place of each kind that is found again by its name."""
    return {
        "jsonl": str(tmp_path / "sessions"),
        "sqlite": f"sqlite:///{tmp_path / 'sessions.db'}",
        "memory": f"memory:{tmp_path}",
    }[request.param]


def at_once(*jobs: Callable[[], object], timeout_s: float = 120) -> list[BaseException]:
    """Run jobs in a thread each, all begun together; what they raised."""
    raised: list[BaseException] = []
    gate = threading.Barrier(len(jobs))

    def run(job: Callable[[], object]) -> None:
        gate.wait()
        try:
            job()
        except BaseException as error:  # noqa: BLE001 - whatever a thread raises is the finding
            raised.append(error)

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout_s)
        assert not thread.is_alive(), "a thread hangs"
    return raised


def beside(jobs: Sequence[Callable[[], object]], others: Sequence[Callable[[], object]]) -> list[BaseException]:
    """Run jobs at once, and others over and over until these are done; what any of them raised."""
    done = threading.Event()

    def all_jobs() -> list[BaseException]:
        try:
            return at_once(*jobs)
        finally:
            done.set()

    def repeat(other: Callable[[], object]) -> None:
        while not done.is_set():
            other()

    raised: list[BaseException] = []
    return [*at_once(lambda: raised.extend(all_jobs()), *(partial(repeat, other) for other in others)), *raised]


def uses(session: plimsoll.Session) -> list[Callable[[], object]]:
    """What other threads do with a session meanwhile, each with a check of its own."""

    def view() -> None:
        proof.fits(session.view(), BUDGET, "openai-chat")

    def compact() -> None:
        session.compact()
        with suppress(SettingError):  # another thread's compaction had nothing to do, so there is none to undo
            session.rollback()

    def look() -> None:
        for hit in session.recall("message"):
            assert hit.text in session.read(hit.reference)
        session.status(), session.check(), session.stats(), session.compactions()

    return [view, compact, look]


def said(who: int, number: int) -> Wire:
    """What a thread says, by its number."""
    return {"role": ("user", "assistant")[number % 2], "content": f"thread {who} message {number}: " + "tide " * 30}


@pytest.mark.slow
def test_everything_at_once(store: str) -> None:
    """Threads that append, view, compact, roll back, search and read leave a history with every message once, in the order in
    which each thread said them, and a view that is valid, within the budget, and the same after reopening.
    """
    ids: dict[int, list[str]] = {who: [] for who in range(3)}
    with plimsoll.open("a", store=store, max_tokens=BUDGET, durability="os") as session:

        def writer(who: int) -> None:
            for number in range(25):
                ids[who].append(session.append(said(who, number)))

        assert beside([lambda who=who: writer(who) for who in ids], uses(session)) == []
        history = session.history()
        for who, own in ids.items():
            mine = [message for message in history if str(message["content"]).startswith(f"thread {who} ")]
            assert mine == [said(who, number) for number in range(25)]
            assert [history[int(id[1:])] for id in own] == mine
        assert len(history) == 75
        view = json.dumps(session.view())
    with plimsoll.open("a", store=store, max_tokens=BUDGET) as again:
        assert json.dumps(again.view()) == view
        assert again.damage == ()


@pytest.mark.slow
def test_appending_while_a_model_writes(store: str) -> None:
    """While a model is asked in one thread, another appends and looks; a second compaction waits and does not ask again."""
    asked, answer = threading.Event(), threading.Event()
    times = []

    def model(_request: Any) -> str:
        times.append(1)
        asked.set()
        assert answer.wait(60)
        return PROSE

    with plimsoll.open("a", store=store, max_tokens=BUDGET, summarizer=model, durability="os") as session:
        session.extend([said(0, number) for number in range(80)])
        views: list[Any] = []

        def other() -> None:
            assert asked.wait(60)
            session.append({"role": "user", "content": "LATER"})
            assert session.history()[-1]["content"] == session.peek()[-1]["content"] == "LATER"
            session.status()
            threading.Timer(0.1, answer.set).start()
            views.append(session.view())

        assert at_once(lambda: views.append(session.view()), other) == []
        assert [view[-1]["content"] for view in views] == ["LATER", "LATER"]
        assert (len(times), len(session.compactions())) == (1, 1)


@pytest.mark.slow
def test_a_summariser_may_use_its_session(store: str) -> None:
    """A summariser that views the session that asks it, in its own thread or another, does not wait for itself."""
    with plimsoll.open("a", store=store, max_tokens=BUDGET, durability="os") as session:
        session.extend([said(0, number) for number in range(80)])

        def model(_request: Any) -> str:
            session.view()
            return PROSE

        async def later(_request: Any) -> str:
            await session.aview()
            return PROSE

        for summarizer in (model, later):
            session.summarizer = None
            session.extend([said(1, number) for number in range(80)])
            session.summarizer = summarizer
            proof.fits(asyncio.run(asyncio.wait_for(session.aview(), 60)), BUDGET, "openai-chat")
        session.extend([said(2, number) for number in range(80)])
        session.summarizer = model
        assert at_once(session.view) == []


@pytest.mark.slow
def test_threads_and_event_loops_together(store: str) -> None:
    """Event loops in threads of their own, one after the other in each, share a session with threads that do not await."""
    with plimsoll.open("a", store=store, max_tokens=BUDGET, durability="os") as session:

        async def turns(who: int, numbers: range) -> None:
            for number in numbers:
                await session.aappend(said(who, number))
                proof.fits(await session.aview(), BUDGET, "openai-chat")

        def loops(who: int) -> None:
            for start in (0, 5):
                asyncio.run(turns(who, range(start, start + 5)))

        def plain() -> None:
            for number in range(10):
                session.append(said(2, number))
                session.view()

        assert at_once(lambda: loops(0), lambda: loops(1), plain) == []
        assert len(session.history()) == 30


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [0.0, 0.001, 0.01, 0.05])
def test_cancelled(store: str, after_s: float) -> None:
    """A view, a compaction or an append that is cancelled at any time leaves a session that goes on, with nothing half done."""

    async def model(_request: Any) -> str:
        await asyncio.sleep(0.02)
        return PROSE

    async def run() -> None:
        async with plimsoll.aopen("a", store=store, max_tokens=BUDGET, summarizer=model, durability="os") as session:
            await session.aextend([said(0, number) for number in range(80)])
            for call in (session.aview, session.acompact, lambda: session.aappend(said(1, 0))):
                task = asyncio.create_task(call())
                await asyncio.sleep(after_s)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            view = await asyncio.wait_for(session.aview(), 60)
            proof.fits(view, BUDGET, "openai-chat")
            assert session.history()[:80] == [said(0, number) for number in range(80)]
            assert len(session.history()) in {80, 81}
            shown = json.dumps(view)
        async with plimsoll.aopen("a", store=store, max_tokens=BUDGET) as again:
            assert json.dumps(again.peek()) == shown

    asyncio.run(run())


@pytest.mark.slow
def test_cancelled_while_waiting_for_the_turn(store: str) -> None:
    """A view that is cancelled while another compaction has the turn does not take it; the next one gets it."""
    begun, answer = asyncio.Event(), asyncio.Event()

    async def model(_request: Any) -> str:
        begun.set()
        await answer.wait()
        return PROSE

    async def run() -> None:
        async with plimsoll.aopen("a", store=store, max_tokens=BUDGET, summarizer=model) as session:
            await session.aextend([said(0, number) for number in range(80)])
            first, second, third = (asyncio.create_task(session.aview()) for _ in range(3))
            await begun.wait()
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)
            answer.set()
            assert await asyncio.wait_for(third, 60) == await first
            assert len(session.compactions()) == 1
            assert second.cancelled()

    asyncio.run(run())


def test_closed_while_a_model_writes(store: str) -> None:
    """Closing a session does not wait for a model; the compaction that asked it ends with SessionClosed and records nothing."""
    with plimsoll.open("a", store=store, max_tokens=BUDGET) as session:
        session.extend([said(0, number) for number in range(80)])

        def model(_request: Any) -> str:
            session.close()
            return PROSE

        session.summarizer = model
        with pytest.raises(plimsoll.errors.SessionClosed):
            session.view()
    with plimsoll.open("a", store=store) as again:
        assert (len(again.history()), again.compactions()) == (80, [])


@pytest.mark.slow
def test_a_slow_summariser_does_not_block_the_loop(tmp_path: Path) -> None:
    """A summariser that is no coroutine function runs in a thread: the event loop goes on meanwhile."""
    ticks = []

    def model(_request: Any) -> str:
        time.sleep(0.3)
        return PROSE

    async def heart() -> None:
        while True:
            ticks.append(time.monotonic())
            await asyncio.sleep(0.01)

    async def run() -> None:
        async with plimsoll.aopen("a", store=str(tmp_path / "s"), max_tokens=BUDGET, summarizer=model) as session:
            await session.aextend([said(0, number) for number in range(80)])
            beating = asyncio.create_task(heart())
            await session.aview()
            beating.cancel()
            assert session.compactions()[0].stage == "model"

    asyncio.run(run())
    assert len(ticks) > 10


@pytest.mark.slow
def test_a_forked_process_has_a_worker_of_its_own(tmp_path: Path) -> None:
    """After a fork, awaiting callers of the child get a thread, though the parent's is not there any more."""
    program = """
import asyncio, os, plimsoll
messages = [{"role": "user", "content": "tide " * 50}] * 3
asyncio.run(plimsoll.afit(messages, max_tokens=100))
child = os.fork()
if not child:
    asyncio.run(asyncio.wait_for(plimsoll.afit(messages, max_tokens=100), 20))
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("7\n", "")


def test_the_worker_lets_the_event_loop_run_often_and_puts_the_interval_back() -> None:
    """While a step runs the switch interval is short; after it, and after one that fails, it is what it was; others may choose."""
    before_s = sys.getswitchinterval()
    seen: list[float] = []

    def failing() -> None:
        seen.append(sys.getswitchinterval())
        raise ValueError("planned")

    async def steps() -> None:
        await in_worker(lambda: seen.append(sys.getswitchinterval()))
        with pytest.raises(ValueError, match="planned"):
            await in_worker(failing)

    asyncio.run(steps())
    assert seen == pytest.approx([SWITCH_INTERVAL_S] * 2, rel=0.01)
    assert sys.getswitchinterval() == before_s
    try:
        asyncio.run(in_worker_once(lambda: sys.setswitchinterval(0.02)))
        assert sys.getswitchinterval() == pytest.approx(0.02)
    finally:
        sys.setswitchinterval(before_s)


async def in_worker_once(function: Callable[[], None]) -> None:
    """One step in the worker."""
    await in_worker(function)
