"""The async methods of a session, and what they share with the sync ones: the compaction turn and the compactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import Self, TypeVar, get_args

from plimsoll.compaction.drive import AsyncSummarizer, adrive, drive
from plimsoll.compaction.result import CompactionOptions, Plan, View
from plimsoll.message import MessageLike
from plimsoll.policy.policy import PolicyChoice
from plimsoll.policy.validation import integer, one_of
from plimsoll.records.values import Compaction, Trigger
from plimsoll.session.ahead import Ahead
from plimsoll.session.compact import Carrying, carried_out, compacted, options_for, viewed
from plimsoll.session.concurrency import THREADS, CompactionTurn, in_worker
from plimsoll.session.recorder import SessionRecorder

Result = TypeVar("Result")


class AwaitedSession(ABC):
    """The async half of a session. Work runs in a thread, so the event loop is never blocked.

    Cancellation leaves the session consistent: an append or compaction that has begun completes, others do not start.
    """

    def __init__(self, recorder: SessionRecorder, summarizer: AsyncSummarizer | None) -> None:
        self._recorder = recorder
        self._summarizer = summarizer
        self._turn = CompactionTurn()
        self._ahead: Ahead | None = None

    @abstractmethod
    def append(self, message: MessageLike) -> str:
        """See Session."""

    @abstractmethod
    def extend(self, messages: Sequence[MessageLike], *, times_ms: Sequence[int | None] | None = None) -> list[str]:
        """See Session."""

    @abstractmethod
    def close(self) -> None:
        """See Session."""

    async def aappend(self, message: MessageLike) -> str:
        """Async `append`."""
        return await in_worker(partial(self.append, message))

    async def aextend(
        self, messages: Sequence[MessageLike], *, times_ms: Sequence[int | None] | None = None
    ) -> list[str]:
        """Async `extend`."""
        return await in_worker(partial(self.extend, messages, times_ms=times_ms))

    async def aview(self, query: str | None = None) -> View:
        """Async `view`; the summarizer may be a coroutine function.

        The session can be used while it runs; messages appended meanwhile are in the view. Compactions wait for each other.
        """
        view = await self._acarried(viewed(self._recorder, query, asks_model=self._asks_model, ahead=self._ahead))
        self._prepare_task()
        return view

    async def acompact(  # noqa: PLR0913 - as compact
        self,
        plan: Plan | None = None,
        *,
        trigger: Trigger = "manual",
        focus: str | None = None,
        policy: PolicyChoice | None = None,
        rebase: bool = False,
        actual_pre_tokens: int | None = None,
        target_tokens: int | None = None,
    ) -> Compaction:
        """Async `compact`. Messages appended meanwhile follow the compacted view."""
        options = options_for(self._recorder, focus, policy, target_tokens)
        return await self._acarried(self._compacting(plan, trigger, options, rebase=rebase, actual=actual_pre_tokens))

    async def aclose(self) -> None:
        """Async `close`."""
        if self._ahead is not None:
            await self._ahead.cancel()
        await in_worker(self.close)

    async def __aenter__(self) -> Self:
        """The session itself; leaving the block closes it."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _carried(self, steps: Carrying[Result]) -> Result:
        """Run the steps when it is their turn."""
        with self._turn.held():
            return drive(steps, self._summarizer, self._recorder.access)

    async def _acarried(self, steps: Carrying[Result]) -> Result:
        """Async `_carried`."""
        async with self._turn.aheld():
            return await adrive(steps, self._summarizer, THREADS, self._recorder.access)

    @property
    def _asks_model(self) -> bool:
        """False inside this session's own summarizer: a compaction made there uses rules instead of asking it again.

        To be read before the turn is taken, for a caller that has it may be that summarizer.
        """
        return self._summarizer is not None and not self._turn.is_ours()

    def _prepare(self) -> None:
        """Plan the next compaction in a thread, if it is near."""
        if self._ahead is not None:
            self._ahead.start(self._recorder, self._summarizer)

    def _prepare_task(self) -> None:
        """Plan it in the event loop."""
        if self._ahead is not None:
            self._ahead.start_task(self._recorder, self._summarizer)

    def _compacting(
        self, plan: Plan | None, trigger: Trigger, options: CompactionOptions, *, rebase: bool, actual: int | None
    ) -> Carrying[Compaction]:
        one_of("trigger", trigger, get_args(Trigger))
        known = None if actual is None else integer("actual_pre_tokens", actual, least=1)
        if plan is None:
            return compacted(self._recorder, options, trigger, asks_model=self._asks_model, actual=known)
        asks = self._asks_model
        return carried_out(self._recorder, plan, trigger, rebase=rebase, asks_model=asks, actual=known)
