"""Work beside the event loop, in the order in which it was asked for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, TypeVar

from plimsoll.proxy.status import Metrics
from plimsoll.session.concurrency import in_worker

Result = TypeVar("Result")

WAITING_MAX: Final = 1_000
"""Records that may wait to be written. Beyond it requests go through without: the next one of the conversation has all again."""

PAUSE_S: Final = 0.02
"""How long records wait, so that replies that come at once are passed on before them. A step that is waited for does not wait."""


class Worker:
    """Runs steps in the one worker thread of the process."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._tasks: set[asyncio.Task[object]] = set()
        self._later: deque[Callable[[], None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, step: Callable[[], Result]) -> Result:
        """Run a step and wait for it. It is carried out also if the caller goes."""
        self._start_later()
        self._metrics.waiting += 1
        return await asyncio.shield(self._started(step))

    def later(self, step: Callable[[], None], *, is_awaited: bool = False) -> bool:
        """Run a step after those before it. Returns False if too many are waiting, unless something waits for this one."""
        if self._metrics.waiting >= WAITING_MAX and not is_awaited:
            self._metrics.add("unrecorded")
            return False
        self._metrics.waiting += 1
        self._later.append(step)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PAUSE_S, self._start_later)
        return True

    async def finish(self) -> None:
        """Wait for all steps."""
        self._start_later()
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start_later(self) -> None:
        """Start the steps that nobody waits for, in their order."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._later:
            self._started(self._later.popleft())

    def _started(self, step: Callable[[], Result]) -> asyncio.Task[Result]:
        async def work() -> Result:
            try:
                return await in_worker(step)
            finally:
                self._metrics.waiting -= 1

        task = asyncio.get_running_loop().create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
