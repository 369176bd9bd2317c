"""What lets a session be used from several threads and event loops: whose turn it is to compact, and where work runs.

The library's work is CPU-bound Python, so several threads would not do more of it at a time: they would only take the interpreter
from the event loop more often. One worker thread is shared by all sessions of the process.
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

from plimsoll.errors import SettingError, on_failure
from plimsoll.validation import short_repr

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Result = TypeVar("Result")

SWITCH_INTERVAL_S = 0.0005
"""How long the worker keeps the interpreter from a thread that waits for it."""

_PAUSE_S_MIN = 0.005
_PAUSE_S_MAX = 0.1

_compacting: ContextVar[frozenset[int]] = ContextVar("plimsoll_compacting", default=frozenset())
"""The turns that the caller holds already: a summariser may use the session that asks it."""


class CompactionTurn:
    """One compaction of a session at a time, among threads and event loops, in the order in which they ask.

    Only for not asking a model twice for the same thing: what keeps the session's state sound is its lock.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._taken = False
        self._waiting: deque[Future[None]] = deque()

    def is_ours(self) -> bool:
        """Whether the caller holds the turn already, as a summariser does for the compaction that asks it."""
        return id(self) in _compacting.get()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait for the turn, blocking this thread, and hold it."""
        if self.is_ours():
            yield
            return
        waiting = self._asked()
        if waiting is not None:
            with on_failure(partial(self._withdraw, waiting)):
                waiting.result()
        with self._marked():
            yield

    @asynccontextmanager
    async def aheld(self) -> AsyncIterator[None]:
        """The same for callers that await: the event loop is not blocked."""
        if self.is_ours():
            yield
            return
        waiting = self._asked()
        if waiting is not None:
            from asyncio import wrap_future  # noqa: PLC0415 - callers that do not await need not load it

            with on_failure(partial(self._withdraw, waiting)):
                await wrap_future(waiting)
        with self._marked():
            yield

    @contextmanager
    def _marked(self) -> Iterator[None]:
        token = _compacting.set(_compacting.get() | {id(self)})
        try:
            yield
        finally:
            _compacting.reset(token)
            self._pass_on()

    def _asked(self) -> Future[None] | None:
        """None when the turn is ours at once, else what is done when it is."""
        with self._mutex:
            if not self._taken:
                self._taken = True
                return None
            from concurrent.futures import Future  # noqa: PLC0415 - only where somebody has to wait

            waiting: Future[None] = Future()
            self._waiting.append(waiting)
            return waiting

    def _withdraw(self, waiting: Future[None]) -> None:
        if not waiting.cancel():  # it was our turn already
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
    global _executor  # noqa: PLW0603 - one for the process
    with _starting:
        if _executor is None:
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - callers that do not await need not load it

            _executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="plimsoll")
        return _executor


def _yielding(function: Callable[[], Result]) -> Result:
    """Run a step so that the event loop need not wait long for the interpreter.

    A thread that wants to run waits a switch interval for the one that does, and one turn of an event loop wants to run several
    times: when its wait ends, and for each read of what woke it. At Python's 5 ms such turns took 40 to 60 ms beside this thread,
    at half a millisecond up to 15 ms, with no loss of speed. The interval is the whole process's; it is put back after each step.
    """
    before_s = sys.getswitchinterval()
    if before_s <= SWITCH_INTERVAL_S:
        return function()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    set_s = sys.getswitchinterval()
    try:
        return function()
    finally:
        if sys.getswitchinterval() == set_s:  # else somebody has chosen another meanwhile
            sys.setswitchinterval(before_s)


def _forget_worker() -> None:
    """A forked child has no threads but the one that forked."""
    global _executor, _starting
    _executor, _starting = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_worker)


class Threads:
    """Runs steps away from the event loop. See compaction.drive.Away."""

    @staticmethod
    async def work(function: Callable[[], Result]) -> Result:
        """Run CPU-bound or synced work in the worker thread.

        When the caller is cancelled, work that has not begun is not done, and work that has begun ends by itself.
        """
        from asyncio import wrap_future  # noqa: PLC0415 - callers that do not await need not load it

        return await wrap_future(_worker().submit(copy_context().run, _yielding, function))

    @staticmethod
    async def call(function: Callable[[], Result]) -> Result:
        """Run other people's code, which may wait long, in a thread of the event loop's own executor."""
        from asyncio import to_thread  # noqa: PLC0415 - as above

        return await to_thread(function)


THREADS = Threads()


def in_worker(function: Callable[[], Result]) -> Awaitable[Result]:
    """Run work in the worker thread and await it."""
    return THREADS.work(function)


def pauses_s(wait_s: object) -> Iterator[float]:
    """How long to sleep before each further try, until `wait_s` seconds have passed. Raises SettingError."""
    if isinstance(wait_s, bool) or not isinstance(wait_s, (int, float)) or not wait_s >= 0:
        raise SettingError("wait_s", f"a number of seconds, 0 or more, is needed, not {short_repr(wait_s)}")
    return _pauses_s(float(wait_s))


def _pauses_s(wait_s: float) -> Iterator[float]:
    deadline_s = time.monotonic() + wait_s
    pause_s = _PAUSE_S_MIN
    while (left_s := deadline_s - time.monotonic()) > 0:
        yield min(pause_s, left_s)
        pause_s = min(2 * pause_s, _PAUSE_S_MAX)
