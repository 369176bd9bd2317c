"""What the providers' summarizers share: settings, the limit of an answer, and answers that are no summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Final

from plimsoll.errors import ErrorCatcher, MissingExtra, PlimsollError, SettingError
from plimsoll.light.dataclass import dataclass
from plimsoll.policy.validation import short_repr

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
