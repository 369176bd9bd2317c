"""Summaries by Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from plimsoll.api.models.answer import ModelSettings, client_of, is_async, output_tokens, sendable, usable

if TYPE_CHECKING:
    from plimsoll.compaction.task import SummaryRequest


class AnthropicSummarizer:
    """Asks one model through a client of the `anthropic` package, sync or async."""

    def __init__(self, settings: ModelSettings, client: Any = None) -> None:
        self._settings = settings
        self._client = client_of("anthropic", "Anthropic", settings) if client is None else client
        self._is_async = is_async(self._client, "messages.create")

    def summarize(self, request: SummaryRequest) -> str | Awaitable[str]:
        """The model's answer to the request's prompt. Raises NoSummary and the SDK's errors."""
        options = self._options(request)
        if self._is_async:
            return self._awaited(options)
        if not self._settings.stream:
            return _text(self._client.messages.create(**options))
        with self._client.messages.stream(**options) as stream:
            return _text(stream.get_final_message())

    async def _awaited(self, options: dict[str, Any]) -> str:
        if not self._settings.stream:
            return _text(await self._client.messages.create(**options))
        async with self._client.messages.stream(**options) as stream:
            return _text(await stream.get_final_message())

    def _options(self, request: SummaryRequest) -> dict[str, Any]:
        prompt = sendable(request.prompt)
        system = [message["content"] for message in prompt if message["role"] == "system"]
        return {
            "model": self._settings.model,
            "max_tokens": output_tokens(request.tokens_max),
            "messages": [message for message in prompt if message["role"] != "system"],
            "timeout": self._settings.timeout_s,
            **({"system": "\n\n".join(system)} if system else {}),
        }


def _text(message: Any) -> str:
    text = "".join(block.text for block in message.content or () if block.type == "text")
    return usable(text, message.stop_reason)
