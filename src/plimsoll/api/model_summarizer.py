"""`model_summarizer`: summaries by a model, by its name, through the official SDK of its provider."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from plimsoll.errors import ErrorCatcher, MissingExtra, PlimsollError, SettingError
from plimsoll.light.dataclass import dataclass
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
    return (OpenAISummarizer if provider == "openai" else AnthropicSummarizer)(settings, client)


# --- OpenAI's Chat Completions, or any endpoint that speaks it ---------------------------------------------------------


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
        return _stream_text(list(found)) if self._settings.stream else _completion_text(found)

    async def _awaited(self, options: dict[str, Any]) -> str:
        found = await self._client.chat.completions.create(**options)
        return _stream_text([chunk async for chunk in found]) if self._settings.stream else _completion_text(found)

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


def _completion_text(completion: Any) -> str:
    """The text of an answer. Compatible endpoints also report errors with status 200, without choices or a message."""
    if not getattr(completion, "choices", None):
        raise NoSummary(f"it has no choices{reported(completion)}")
    choice = completion.choices[0]
    refusal = getattr(choice.message, "refusal", None)
    if refusal:
        raise NoSummary(f"it refuses: {refusal}")
    return usable(_said(getattr(choice.message, "content", None)), choice.finish_reason)


def _said(content: Any) -> str:
    """The text of a message, or of a piece of one. Compatible endpoints also send it in parts."""
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(text for text in texts if isinstance(text, str))
    return content or ""


def _stream_text(chunks: list[Any]) -> str:
    """The text of a stream. A chunk without choices reports usage."""
    choices = [choice for chunk in chunks for choice in (chunk.choices or ())[:1]]
    stopped = next((choice.finish_reason for choice in reversed(choices) if choice.finish_reason), "an early end")
    return usable("".join(_said(getattr(choice.delta, "content", None)) for choice in choices), stopped)


# --- Anthropic's Messages ---------------------------------------------------------------------------------------------


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
            return _message_text(self._client.messages.create(**options))
        with self._client.messages.stream(**options) as stream:
            return _message_text(stream.get_final_message())

    async def _awaited(self, options: dict[str, Any]) -> str:
        if not self._settings.stream:
            return _message_text(await self._client.messages.create(**options))
        async with self._client.messages.stream(**options) as stream:
            return _message_text(await stream.get_final_message())

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


def _message_text(message: Any) -> str:
    text = "".join(block.text for block in message.content or () if block.type == "text")
    return usable(text, message.stop_reason)


# --- what both share ----------------------------------------------------------------------------------------------------

_REPORTED_CHARS_MAX: Final = 200
_SPARE_TIMES: Final = 2
_SPARE_TOKENS: Final = 2_000
"""Room beyond the asked length: other vocabularies, and models that think before they write. What is too long is refused later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """See `model_summarizer`."""

    model: str
    base_url: str | None
    timeout_s: float
    stream: bool


class NoSummary(PlimsollError):
    """A model answered without a usable summary. The history is unchanged; rules write the summary instead."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the model gave no summary: {reason}")


def output_tokens(asked_tokens: int) -> int:
    """The limit of an answer in the provider's own tokens."""
    return asked_tokens * _SPARE_TIMES + _SPARE_TOKENS


def usable(text: str, stopped: str | None) -> str:
    """The text of an answer that ended by itself. Raises NoSummary for one that was cut, filtered or is empty."""
    if stopped not in {None, "stop", "end_turn", "stop_sequence"}:
        raise NoSummary(f"it stopped for {stopped!r}")
    if not text.strip():
        raise NoSummary("it is empty")
    return text


def reported(answer: Any) -> str:
    """The error that an answer with status 200 holds in place of a text, or ""."""
    error = (getattr(answer, "model_extra", None) or {}).get("error")
    return f": {str(error)[:_REPORTED_CHARS_MAX]}" if error else ""


def sendable(prompt: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """The prompt without lone surrogates, which no SDK can send."""
    return [
        {key: text.encode("utf-8", "replace").decode("utf-8") for key, text in message.items()} for message in prompt
    ]


def client_of(package: str, kind: str, settings: ModelSettings) -> Any:
    """A client of an SDK's class. Its own retries are off: the caller asks once more, and then rules write.

    Raises MissingExtra without the package, SettingError for what the SDK refuses, such as a missing key.
    """
    try:
        make = getattr(import_module(package), kind)
    except (ImportError, AttributeError) as error:  # or its release is too old to have the class
        raise MissingExtra(package, needed_for=f"a summarizer on {kind}'s API") from error
    given = {} if settings.base_url is None else {"base_url": settings.base_url}
    with ErrorCatcher() as made:
        return make(timeout=settings.timeout_s, max_retries=0, **given)
    raise SettingError("client", f"the SDK makes none: {made.error}") from made.error


def is_async(client: Any, method: str) -> bool:
    """Whether a method of a client, named with dots, returns a coroutine. Raises SettingError if there is none."""
    found = client
    for step in method.split("."):
        found = getattr(found, step, None)
    if not callable(found):
        raise SettingError("client", f"has no {method}: {short_repr(client)}")
    from inspect import iscoroutinefunction, unwrap  # noqa: PLC0415 - takes 6 ms

    return iscoroutinefunction(unwrap(found))
