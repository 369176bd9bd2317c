"""`model_summarizer`: a summarizer, by the name of its model."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final, Protocol

from plimsoll.api.models.answer import ModelSettings
from plimsoll.errors import SettingError
from plimsoll.policy.validation import boolean, number_or_none, short_repr, text_or_none

if TYPE_CHECKING:
    from plimsoll.compaction.task import SummaryRequest

TIMEOUT_S: Final = 60.0
"""A summary of 2,000 tokens takes a large model 20 to 40 s; after this time the rules write it."""


class ModelSummarizer(Protocol):
    """A summarizer that asks a model. Raises what its SDK raises; a session then asks once more, and after that rules write."""

    def summarize(self, request: SummaryRequest) -> str | Awaitable[str]:
        """The model's answer; an awaitable if the client is an async one."""


def model_summarizer(
    model: str, *, client: Any = None, base_url: str | None = None, timeout_s: float = TIMEOUT_S, stream: bool = False
) -> ModelSummarizer:
    """Return a summarizer for the `summarizer` option, on the official SDK of the model's provider.

    Args:
        model: "openai:NAME" or "anthropic:NAME", with the provider's name of the model.
        client: a client of the SDK, sync or async, with its key and transport; None: a new one, which takes its key from the
            environment. An async client is for the async methods of a session and `afit`.
        base_url: the address of an OpenAI-compatible or Anthropic-compatible endpoint; only without `client`.
        timeout_s: seconds for one answer.
        stream: receive the answer as a stream, for endpoints that refuse long answers otherwise.

    Raises: MissingExtra if the SDK is not installed (extras `openai` and `anthropic`), SettingError.

    """
    provider, colon, name = model.partition(":") if isinstance(model, str) else ("", "", "")
    if provider not in {"openai", "anthropic"} or not colon or not name.strip():
        raise SettingError("model", f"must be openai:NAME or anthropic:NAME, not {short_repr(model)}")
    if client is not None and base_url is not None:
        raise SettingError("base_url", "belongs to the client, which is given")
    seconds = number_or_none("timeout_s", timeout_s)
    if not seconds or seconds <= 0:
        raise SettingError("timeout_s", f"must be a number of seconds above 0, not {short_repr(timeout_s)}")
    settings = ModelSettings(
        model=name,
        base_url=text_or_none("base_url", base_url),
        timeout_s=seconds,
        stream=boolean("stream", stream),
    )
    if provider == "openai":
        from plimsoll.api.models.openai import OpenAISummarizer  # noqa: PLC0415 - each imports only its own SDK

        return OpenAISummarizer(settings, client)
    from plimsoll.api.models.anthropic import AnthropicSummarizer  # noqa: PLC0415 - as above

    return AnthropicSummarizer(settings, client)
