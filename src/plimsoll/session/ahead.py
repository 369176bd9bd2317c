"""The next compaction, planned with a model's summary before it is due, so that no turn waits for a model."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING, Final

from plimsoll.compaction.drive import AsyncSummarizer, adrive, drive
from plimsoll.compaction.result import CompactionOptions, Revision
from plimsoll.errors import ErrorCatcher
from plimsoll.session.compact import Carrying, PreparedPlan, planned
from plimsoll.session.concurrency import THREADS, CompactionTurn
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.remembering import flushed

if TYPE_CHECKING:
    from asyncio import Task

START_SHARE: Final = 0.8
"""Planning begins at this share of the line at which a compaction is due: the model has the last fifth of the way to answer."""


class Ahead:
    """Plans one compaction at a time, in a thread or as a task of an event loop. A plan is used while its view only grows."""

    def __init__(self, turn: CompactionTurn) -> None:
        self._turn = turn
        self._prepared: PreparedPlan | None = None
        self._tried: Revision | None = None
        """Where planning last began: each view is planned for once, whether or not the model answers."""
        self._thread: threading.Thread | None = None
        self._task: Task[None] | None = None

    def take(self, recorder: SessionRecorder) -> PreparedPlan | None:
        """The plan, once, if it is for the current view or an earlier part of it."""
        prepared, self._prepared = self._prepared, None
        if prepared is None or prepared.conditions != _conditions(recorder):
            return None
        return prepared if recorder.state.revision.follows(prepared.made_at) else None

    def start(self, recorder: SessionRecorder, summarizer: AsyncSummarizer | None) -> None:
        """Plan in a thread, if it is time to."""
        if summarizer is not None and self._is_wanted(recorder):
            self._thread = threading.Thread(target=self._run, args=(recorder, summarizer), daemon=True)
            self._thread.start()

    def start_task(self, recorder: SessionRecorder, summarizer: AsyncSummarizer | None) -> None:
        """Plan in the running event loop, if it is time to."""
        if summarizer is not None and self._is_wanted(recorder):
            from asyncio import create_task  # noqa: PLC0415 - not needed by sync callers

            self._task = create_task(self._arun(recorder, summarizer))

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for the thread that plans."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    async def cancel(self) -> None:
        """Stop the task that plans."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            with ErrorCatcher():
                from asyncio import wait  # noqa: PLC0415 - as above

                await wait([self._task])

    def _is_wanted(self, recorder: SessionRecorder) -> bool:
        if self._is_planning():
            return False
        with recorder.access():
            now, load = recorder.state.revision, recorder.check()
            is_known = self._tried is not None and now.follows(self._tried)
            if is_known or load.should_compact or load.current_tokens < START_SHARE * load.threshold:
                return False
            self._tried = now
            return True

    def _is_planning(self) -> bool:
        is_running = self._thread is not None and self._thread.is_alive()
        return is_running or (self._task is not None and not self._task.done())

    def _run(self, recorder: SessionRecorder, summarizer: AsyncSummarizer) -> None:
        with ErrorCatcher(), self._turn.marked():
            drive(self._preparing(recorder), summarizer, recorder.access)

    async def _arun(self, recorder: SessionRecorder, summarizer: AsyncSummarizer) -> None:
        with ErrorCatcher(), self._turn.marked():
            await adrive(self._preparing(recorder), summarizer, THREADS, recorder.access)

    def _preparing(self, recorder: SessionRecorder) -> Carrying[None]:
        made_at, waiting = recorder.state.revision, recorder.state.normalizer.to_dict()
        conditions = _conditions(recorder)
        outline = yield from planned(recorder, CompactionOptions(), asks_model=True)
        if outline.changed and outline.stage == "model":
            outline = yield from flushed(recorder, outline, asks_model=True)
            self._prepared = PreparedPlan(outline=outline, made_at=made_at, waiting=waiting, conditions=conditions)


def _conditions(recorder: SessionRecorder) -> Hashable:
    return frozenset(recorder.state.facts.pins), recorder.meter.policy, recorder.meter.budget
