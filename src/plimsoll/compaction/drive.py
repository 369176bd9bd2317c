"""The two drivers of the engine's generators: one for sync callers, one for async ones. No decision is made here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import TypeAlias, TypeVar

from plimsoll.compaction.task import SummaryFailed, SummaryReply, SummaryRequest
from plimsoll.errors import SettingError

Result = TypeVar("Result")
Summarizer: TypeAlias = Callable[[SummaryRequest], str]
AsyncSummarizer: TypeAlias = Callable[[SummaryRequest], "str | Awaitable[str]"]
"""A summariser of either kind. Asked by a caller that does not await, one that gives a coroutine counts as failing."""


def checked(summarizer: object) -> AsyncSummarizer | None:
    """A summariser as it is called: itself, or its `summarize`. Raises SettingError for what cannot be asked."""
    asked = getattr(summarizer, "summarize", summarizer)
    if asked is None or callable(asked):
        return asked
    raise SettingError("summarizer", "must be callable with a SummaryRequest, or have a summarize method that is")


NOBODY = SummaryFailed(reason="no summariser is configured")


def drive(steps: Generator[SummaryRequest, SummaryReply, Result], summarizer: AsyncSummarizer | None) -> Result:
    """Run to the end, asking `summarizer` for whatever is asked. What it raises becomes a failure, never an exception."""
    try:
        request = next(steps)
        while True:
            request = steps.send(_asked(summarizer, request))
    except StopIteration as done:
        result: Result = done.value
        return result


async def adrive(steps: Generator[SummaryRequest, SummaryReply, Result], summarizer: AsyncSummarizer | None) -> Result:
    """The same for a summariser that may be a coroutine function."""
    try:
        request = next(steps)
        while True:
            request = steps.send(await _aasked(summarizer, request))
    except StopIteration as done:
        result: Result = done.value
        return result


def _asked(summarizer: AsyncSummarizer | None, request: SummaryRequest) -> SummaryReply:
    if summarizer is None:
        return NOBODY
    try:
        return _checked(summarizer(request))
    except Exception as error:  # noqa: BLE001 - other people's code: whatever it raises must not cost the user the view
        return _failed(error)


async def _aasked(summarizer: AsyncSummarizer | None, request: SummaryRequest) -> SummaryReply:
    if summarizer is None:
        return NOBODY
    try:
        answer = summarizer(request)
        return _checked(await answer if isinstance(answer, Awaitable) else answer)
    except Exception as error:  # noqa: BLE001 - as above
        return _failed(error)


def _checked(answer: object) -> SummaryReply:
    if isinstance(answer, Coroutine):
        answer.close()
    return answer if isinstance(answer, str) else SummaryFailed(reason=f"it gave {type(answer).__name__}, not text")


def _failed(error: Exception) -> SummaryFailed:
    return SummaryFailed(reason=f"{type(error).__name__}: {error}"[:200])
