"""The two drivers of the engine's generators: one for sync callers, one for async ones. No decision is made here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Generic, Protocol, TypeAlias, TypeVar

from plimsoll.compaction.task import SummaryFailed, SummaryReply, SummaryRequest
from plimsoll.errors import ErrorCatcher, SettingError
from plimsoll.light.dataclass import dataclass

Result = TypeVar("Result")
Summarizer: TypeAlias = Callable[[SummaryRequest], str]
"""Asks a model with `request.prompt` and returns its answer."""
AsyncSummarizer: TypeAlias = Callable[[SummaryRequest], "str | Awaitable[str]"]
"""A sync or async summariser. A sync caller treats one that returns a coroutine as failed."""


def checked(summarizer: object) -> AsyncSummarizer | None:
    """The callable of a summariser: the object itself, or its `summarize` method. Raises SettingError if neither is callable."""
    asked = getattr(summarizer, "summarize", summarizer)
    if asked is None or callable(asked):
        return asked
    raise SettingError(
        "summarizer", "must be a callable that takes a SummaryRequest, or have such a method named summarize"
    )


NO_SUMMARIZER = SummaryFailed(reason="no summariser is configured")


@dataclass(frozen=True, slots=True)
class _Done(Generic[Result]):
    """The return value of a generator."""

    result: Result


Steps: TypeAlias = Generator[SummaryRequest, SummaryReply, Result]
Lock: TypeAlias = Callable[[], AbstractContextManager[object]]
"""Returns a context manager that holds the lock on the state while one step runs."""


class Away(Protocol):
    """Runs blocking work for an async driver outside the event loop."""

    async def work(self, function: Callable[[], Result], /) -> Result:
        """Run one step of the engine."""
        ...

    async def call(self, function: Callable[[], Result], /) -> Result:
        """Run a summariser that is not a coroutine function."""
        ...


def drive(steps: Steps[Result], summarizer: AsyncSummarizer | None, lock: Lock | None = None) -> Result:
    """Run the generator to the end, answering each request with `summarizer`. An exception it raises becomes a SummaryFailed.

    `lock` is held during each step, but not while the summariser runs.
    """
    reply: SummaryReply | None = None
    while True:
        found = _step(steps, reply, lock)
        if isinstance(found, _Done):
            return found.result
        reply = _asked(summarizer, found)


async def adrive(
    steps: Steps[Result], summarizer: AsyncSummarizer | None, away: Away, lock: Lock | None = None
) -> Result:
    """Async form of `drive`. Steps run outside the event loop.

    A coroutine function is awaited in the event loop; any other summariser is called outside it.
    """
    reply: SummaryReply | None = None
    while True:
        found = await away.work(partial(_step, steps, reply, lock))
        if isinstance(found, _Done):
            return found.result
        reply = await _aasked(summarizer, found, away)


def _step(steps: Steps[Result], reply: SummaryReply | None, lock: Lock | None) -> SummaryRequest | _Done[Result]:
    """Run to the next request or to the end. A `reply` of None starts the generator."""
    with nullcontext() if lock is None else lock():
        try:
            return next(steps) if reply is None else steps.send(reply)
        except StopIteration as done:
            return _Done(done.value)


def _asked(summarizer: AsyncSummarizer | None, request: SummaryRequest) -> SummaryReply:
    if summarizer is None:
        return NO_SUMMARIZER
    with ErrorCatcher() as asked:
        return _checked(summarizer(request))
    return _failed(asked.error)


async def _aasked(summarizer: AsyncSummarizer | None, request: SummaryRequest, away: Away) -> SummaryReply:
    if summarizer is None:
        return NO_SUMMARIZER
    with ErrorCatcher() as asked:
        from inspect import iscoroutinefunction  # noqa: PLC0415 - takes 6 ms, and a call without a summariser needs none of it

        if iscoroutinefunction(summarizer) or iscoroutinefunction(getattr(summarizer, "__call__", None)):  # noqa: B004
            answer = summarizer(request)
        else:
            answer = await away.call(partial(summarizer, request))
        return _checked(await answer if isinstance(answer, Awaitable) else answer)
    return _failed(asked.error)


def _checked(answer: object) -> SummaryReply:
    if isinstance(answer, Coroutine):
        answer.close()
    return answer if isinstance(answer, str) else SummaryFailed(reason=f"it returned {type(answer).__name__}, not text")


def _failed(error: Exception | None) -> SummaryFailed:
    return SummaryFailed(reason=f"{type(error).__name__}: {error}"[:200])
