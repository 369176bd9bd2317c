"""What providers say when a request is longer than the model's window, and the numbers in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from plimsoll.light.dataclass import dataclass
from plimsoll.light.regex import regex
from plimsoll.limits import SETTING_TOKENS_MAX

_CODES: Final = frozenset(
    "context_length_exceeded exceed_context_size_error context_window_exceeded model_max_prompt_tokens_exceeded".split()
)
_WORDS = regex(
    r"prompt is too long|maximum context length|maximum prompt length|context[ _](?:length|window|size|limit)|input is too long"
    r"|too large for model with|exceeds the maximum number of tokens|reduce the length of the (?:messages|prompt|input)"
    r"|max_new_tokens.? must be <= ?\d|exceeds? the model'?s? (?:max|context)",
    re.IGNORECASE,
)
_NUMBER = r"([0-9][0-9,_]{0,14})"
_WINDOWS = (
    regex(rf"> ?{_NUMBER}"),
    regex(
        rf"(?:maximum (?:context|prompt) length(?: is| of)?|context (?:size|length|window|limit) ?(?:is|of|:)?) ?\(?{_NUMBER}",
        re.IGNORECASE,
    ),
    regex(rf"{_NUMBER} maximum context length", re.IGNORECASE),
    regex(rf"maximum number of tokens allowed \({_NUMBER}\)", re.IGNORECASE),
    regex(rf"max_new_tokens.? must be <= ?{_NUMBER}"),
)
_COUNTS = (
    regex(rf"{_NUMBER} (?:\+ [0-9,_]+ )?> ?[0-9]"),
    regex(
        rf"(?:too long: ?|resulted in |requested(?: about)? |token count \(|contains |request has ){_NUMBER}",
        re.IGNORECASE,
    ),
)
TEXT_CHARS_MAX: Final = 4_000
"""Characters of an error message that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflow:
    """What a provider said of a request that was too long. None: it did not say."""

    window_tokens: int | None = None
    counted_tokens: int | None = None


def overflow_in(error: object) -> Overflow | None:
    """What an error says of the context length; None if it is another error.

    `error` is the body of a response, or the error object in it or in a stream.
    """
    codes, texts = set[str](), list[str]()
    for found in _errors(error):
        codes |= {str(found.get(field)) for field in ("code", "type")}
        texts += [
            found[field][:TEXT_CHARS_MAX]
            for field in ("message", "detail", "error")
            if isinstance(found.get(field), str)
        ]
    text = "\n".join(texts)[:TEXT_CHARS_MAX]
    if not (codes & _CODES or _WORDS.search(text)):
        return None
    return Overflow(window_tokens=_first(_WINDOWS, text), counted_tokens=_first(_COUNTS, text))


def _errors(error: object) -> Iterator[Mapping[str, Any]]:
    for found in error[:4] if isinstance(error, list) else [error]:
        if isinstance(found, Mapping):
            yield found
            inner = found.get("error")
            if isinstance(inner, Mapping):
                yield inner


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    for pattern in patterns:
        match = pattern.search(text)
        if match is not None:
            value = int(re.sub("[,_]", "", match[1]))
            return value if 0 < value <= SETTING_TOKENS_MAX else None
    return None
