"""Use of a session from threads and event loops: the order of compactions, and the thread that work runs in.

The work is CPU-bound Python, so more threads would not speed it up and would take the interpreter from the event loop more
often. All sessions of the process share one worker thread.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from plimsoll.errors import on_failure
from plimsoll.policy.validation import seconds

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Result = TypeVar("Result")

SWITCH_INTERVAL_S = 0.0005
"""Longest time for which the worker keeps the interpreter from a waiting thread."""

_PAUSE_S_MIN = 0.005
_PAUSE_S_MAX = 0.1

_compacting: ContextVar[frozenset[int]] = ContextVar("plimsoll_compacting", default=frozenset())
"""The turns held by the current context, since a summarizer may use the session that called it."""


class CompactionTurn:
    """Serializes the compactions of a session among threads and event loops, first come, first served.

    Only avoids asking a model twice for the same summary: the session's lock protects its state.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._taken = False
        self._waiting: deque[Future[None]] = deque()

    def is_ours(self) -> bool:
        """True if the current context holds the turn, as a summarizer called by a compaction does."""
        return id(self) in _compacting.get()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Acquire the turn, blocking this thread."""
        if self.is_ours():
            yield
            return
        waiting = self._asked()
        if waiting is not None:
            with on_failure(partial(self._withdraw, waiting)):
                waiting.result()
        try:
            with self.marked():
                yield
        finally:
            self._pass_on()

    @asynccontextmanager
    async def aheld(self) -> AsyncIterator[None]:
        """Acquire the turn without blocking the event loop."""
        if self.is_ours():
            yield
            return
        waiting = self._asked()
        if waiting is not None:
            from asyncio import wrap_future  # noqa: PLC0415 - not needed by sync callers

            with on_failure(partial(self._withdraw, waiting)):
                await wrap_future(waiting)
        try:
            with self.marked():
                yield
        finally:
            self._pass_on()

    @contextmanager
    def marked(self) -> Iterator[None]:
        """Work in this context counts as a compaction's, without the turn: a summarizer that uses the session asks no model."""
        token = _compacting.set(_compacting.get() | {id(self)})
        try:
            yield
        finally:
            _compacting.reset(token)

    def _asked(self) -> Future[None] | None:
        """None if the turn was acquired at once, else a future that completes when it is."""
        with self._mutex:
            if not self._taken:
                self._taken = True
                return None
            from concurrent.futures import Future  # noqa: PLC0415 - only needed if the turn is taken

            waiting: Future[None] = Future()
            self._waiting.append(waiting)
            return waiting

    def _withdraw(self, waiting: Future[None]) -> None:
        if not waiting.cancel():  # the turn was passed to this waiter already
            self._pass_on()

    def _pass_on(self) -> None:
        with self._mutex:
            while self._waiting:
                waiting = self._waiting.popleft()
                if waiting.set_running_or_notify_cancel():
                    waiting.set_result(None)
                    return
            self._taken = False


_executor: ThreadPoolExecutor | None = None
_starting = threading.Lock()


def _worker() -> ThreadPoolExecutor:
    global _executor  # noqa: PLW0603 - one per process
    with _starting:
        if _executor is None:
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - not needed by sync callers

            _executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="plimsoll")
        return _executor


def _yielding(function: Callable[[], Result]) -> Result:
    """Run a step with a shorter switch interval, so that the event loop gets the interpreter sooner.

    One iteration of an event loop may wait for the interpreter several times: after its wait, and for each read. At Python's
    default of 5 ms iterations took 40 to 60 ms beside this thread, at 0.5 ms up to 15 ms, without loss of speed. The interval
    applies to the whole process and is restored after each step.
    """
    before_s = sys.getswitchinterval()
    if before_s <= SWITCH_INTERVAL_S:
        return function()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    set_s = sys.getswitchinterval()
    try:
        return function()
    finally:
        if sys.getswitchinterval() == set_s:  # otherwise another thread has changed it meanwhile
            sys.setswitchinterval(before_s)


def _forget_worker() -> None:
    """After a fork only the forking thread exists in the child, so the executor is unusable."""
    global _executor, _starting
    _executor, _starting = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_worker)


class Threads:
    """Runs steps outside the event loop. See compaction.drive.Away."""

    @staticmethod
    async def work(function: Callable[[], Result]) -> Result:
        """Run CPU-bound or file work in the worker thread.

        On cancellation work that has not begun is skipped; work that has begun completes.
        """
        from asyncio import wrap_future  # noqa: PLC0415 - not needed by sync callers

        return await wrap_future(_worker().submit(copy_context().run, _yielding, function))

    @staticmethod
    async def call(function: Callable[[], Result]) -> Result:
        """Run callbacks of the caller, which may block, in the default executor of the event loop."""
        from asyncio import to_thread  # noqa: PLC0415 - as above

        return await to_thread(function)


THREADS = Threads()


def in_worker(function: Callable[[], Result]) -> Awaitable[Result]:
    """Run work in the worker thread and await it."""
    return THREADS.work(function)


def pauses_s(wait_s: object) -> Iterator[float]:
    """Yield the pauses between tries until `wait_s` seconds have passed. Raises SettingError."""
    return _pauses_s(float(min(seconds("wait_s", wait_s), sys.maxsize)))


def _pauses_s(wait_s: float) -> Iterator[float]:
    deadline_s = time.monotonic() + wait_s
    pause_s = _PAUSE_S_MIN
    while (left_s := deadline_s - time.monotonic()) > 0:
        yield min(pause_s, left_s)
        pause_s = min(2 * pause_s, _PAUSE_S_MAX)
