"""Summaries by OpenAI's Chat Completions, or any endpoint that speaks it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from plimsoll.api.models.answer import (
    ModelSettings,
    NoSummary,
    client_of,
    is_async,
    output_tokens,
    reported,
    sendable,
    usable,
)

if TYPE_CHECKING:
    from plimsoll.compaction.task import SummaryRequest


class OpenAISummarizer:
    """Asks one model through a client of the `openai` package, sync or async."""

    def __init__(self, settings: ModelSettings, client: Any = None) -> None:
        self._settings = settings
        self._client = client_of("openai", "OpenAI", settings) if client is None else client
        self._is_async = is_async(self._client, "chat.completions.create")

    def summarize(self, request: SummaryRequest) -> str | Awaitable[str]:
        """The model's answer to the request's prompt. Raises NoSummary and the SDK's errors."""
        options = self._options(request)
        if self._is_async:
            return self._awaited(options)
        found = self._client.chat.completions.create(**options)
        return _joined(list(found)) if self._settings.stream else _text(found)

    async def _awaited(self, options: dict[str, Any]) -> str:
        found = await self._client.chat.completions.create(**options)
        return _joined([chunk async for chunk in found]) if self._settings.stream else _text(found)

    def _options(self, request: SummaryRequest) -> dict[str, Any]:
        # Endpoints that are merely compatible know the older name of the limit only.
        is_openai = str(getattr(self._client, "base_url", "")).startswith("https://api.openai.com")
        limit = "max_completion_tokens" if is_openai else "max_tokens"
        return {
            "model": self._settings.model,
            "messages": sendable(request.prompt),
            "stream": self._settings.stream,
            "timeout": self._settings.timeout_s,
            limit: output_tokens(request.tokens_max),
        }


def _text(completion: Any) -> str:
    """The text of an answer. Compatible endpoints also report errors with status 200, without choices or a message."""
    if not getattr(completion, "choices", None):
        raise NoSummary(f"it has no choices{reported(completion)}")
    choice = completion.choices[0]
    refusal = getattr(choice.message, "refusal", None)
    if refusal:
        raise NoSummary(f"it refuses: {refusal}")
    return usable(getattr(choice.message, "content", None) or "", choice.finish_reason)


def _joined(chunks: list[Any]) -> str:
    """The text of a stream. A chunk without choices reports usage."""
    choices = [choice for chunk in chunks for choice in (chunk.choices or ())[:1]]
    stopped = next((choice.finish_reason for choice in reversed(choices) if choice.finish_reason), "an early end")
    return usable("".join(getattr(choice.delta, "content", None) or "" for choice in choices), stopped)
