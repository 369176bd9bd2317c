"""The two drivers of the engine's generators: one for sync callers, one for async ones. No decision is made here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from inspect import iscoroutinefunction
from typing import Generic, Protocol, TypeAlias, TypeVar

from plimsoll.compaction.task import SummaryFailed, SummaryReply, SummaryRequest
from plimsoll.dataclass import dataclass
from plimsoll.errors import Foreign, SettingError

Result = TypeVar("Result")
Summarizer: TypeAlias = Callable[[SummaryRequest], str]
"""A function that asks a model with `request.prompt` and gives its answer back."""
AsyncSummarizer: TypeAlias = Callable[[SummaryRequest], "str | Awaitable[str]"]
"""A summariser of either kind. Asked by a caller that does not await, one that gives a coroutine counts as failing."""


def checked(summarizer: object) -> AsyncSummarizer | None:
    """A summariser as it is called: itself, or its `summarize`. Raises SettingError for what cannot be asked."""
    asked = getattr(summarizer, "summarize", summarizer)
    if asked is None or callable(asked):
        return asked
    raise SettingError("summarizer", "must be callable with a SummaryRequest, or have a summarize method that is")


NOBODY = SummaryFailed(reason="no summariser is configured")


@dataclass(frozen=True, slots=True)
class _Done(Generic[Result]):
    """What a generator returned."""

    result: Result


Steps: TypeAlias = Generator[SummaryRequest, SummaryReply, Result]
Lock: TypeAlias = Callable[[], AbstractContextManager[object]]
"""Makes a context in which a step has the state it works on to itself."""


class Away(Protocol):
    """Where an async driver has work done that must not block the event loop."""

    async def work(self, function: Callable[[], Result], /) -> Result:
        """Run one step of the engine."""
        ...

    async def call(self, function: Callable[[], Result], /) -> Result:
        """Run a summariser that is no coroutine function."""
        ...


def drive(steps: Steps[Result], summarizer: AsyncSummarizer | None, lock: Lock | None = None) -> Result:
    """Run to the end, asking `summarizer` for whatever is asked. What it raises becomes a failure, never an exception.

    `lock` is held during each step, and not while the summariser is asked.
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
    """The same for callers that await. Steps run away from the event loop.

    A summariser that is a coroutine function is awaited in the event loop; any other is called away from it.
    """
    reply: SummaryReply | None = None
    while True:
        found = await away.work(partial(_step, steps, reply, lock))
        if isinstance(found, _Done):
            return found.result
        reply = await _aasked(summarizer, found, away)


def _step(steps: Steps[Result], reply: SummaryReply | None, lock: Lock | None) -> SummaryRequest | _Done[Result]:
    """Run to the next request, or to the end. A reply of None begins."""
    with nullcontext() if lock is None else lock():
        try:
            return next(steps) if reply is None else steps.send(reply)
        except StopIteration as done:
            return _Done(done.value)


def _asked(summarizer: AsyncSummarizer | None, request: SummaryRequest) -> SummaryReply:
    if summarizer is None:
        return NOBODY
    with Foreign() as asked:
        return _checked(summarizer(request))
    return _failed(asked.error)


async def _aasked(summarizer: AsyncSummarizer | None, request: SummaryRequest, away: Away) -> SummaryReply:
    if summarizer is None:
        return NOBODY
    with Foreign() as asked:
        if iscoroutinefunction(summarizer) or iscoroutinefunction(getattr(summarizer, "__call__", None)):  # noqa: B004
            answer = summarizer(request)
        else:
            answer = await away.call(partial(summarizer, request))
        return _checked(await answer if isinstance(answer, Awaitable) else answer)
    return _failed(asked.error)


def _checked(answer: object) -> SummaryReply:
    if isinstance(answer, Coroutine):
        answer.close()
    return answer if isinstance(answer, str) else SummaryFailed(reason=f"it gave {type(answer).__name__}, not text")


def _failed(error: Exception | None) -> SummaryFailed:
    return SummaryFailed(reason=f"{type(error).__name__}: {error}"[:200])
