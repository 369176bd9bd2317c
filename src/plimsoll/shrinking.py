"""Shrink one tool result, or cut one text, outside any conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plimsoll.cutting import Cut, Keep, cut_json, cut_text
from plimsoll.cutting.json_text import parse_json
from plimsoll.cutting.marker import MarkerLanguage
from plimsoll.errors import StoreError
from plimsoll.gauge import DEFAULT_MODEL
from plimsoll.ports import Offload
from plimsoll.tokens.counter import counter_for
from plimsoll.tokens.own import CounterChoice
from plimsoll.tool_results import render_result, shrink_result


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """A tool result as text within its size. `reference` reads the whole back from the store, None when it was not kept."""

    text: str
    reference: str | None
    tokens_before: int
    tokens_after: int


def shrink(  # noqa: PLR0913 - one call with its options
    tool_name: str,
    result: Any,
    *,
    max_tokens: int = 1000,
    store: Offload | None = None,
    model: str | None = DEFAULT_MODEL,
    counter: CounterChoice = None,
) -> Shrunk:
    """A tool result in at most `max_tokens` tokens, by its shape; unchanged when it fits.

    `result` is any value: text as it is, None as "null", others as JSON. With a `store` the whole is kept there and the text
    says under which reference; when the store fails, the result is only cut. Raises SettingError for an impossible size.
    """
    text, counting = render_result(result), counter_for(model, choice=counter)
    before = counting.upper(text)
    if before <= max_tokens:
        return Shrunk(text=text, reference=None, tokens_before=before, tokens_after=before)
    reference = _kept(text, tool_name, store)
    shrunk = shrink_result(tool_name, text, tokens_max=max_tokens, counter=counting, reference=reference)
    return Shrunk(text=shrunk.text, reference=reference, tokens_before=before, tokens_after=shrunk.tokens_after)


def _kept(text: str, label: str, store: Offload | None) -> str | None:
    if store is None:
        return None
    try:
        return store.put(text, label=label)
    except StoreError:
        return None


def cut(  # noqa: PLR0913 - one call with its options
    text: str,
    max_tokens: int,
    *,
    keep: Keep = "head",
    marker: str | None = None,
    language: MarkerLanguage = "auto",
    model: str | None = DEFAULT_MODEL,
    counter: CounterChoice = None,
) -> Cut:
    """A text in at most `max_tokens` tokens, the marker counted in; unchanged when it fits.

    `keep` says which end stays, or "both". The marker says how many tokens were cut, in the text's own `language`; `marker`
    replaces it by words of yours ("" for none). A cut ends at a sentence, a line or a word where one is near, and is never
    inside a visible character. A JSON object or list stays JSON: it loses the middles of its strings and lists, unless
    `marker` says how to cut. Where not even a marker fits, the text is empty. Raises FormatError, SettingError.
    """
    counting = counter_for(model, choice=counter)
    if marker is None and isinstance(text, str) and isinstance(parse_json(text), (dict, list)):
        shorter = cut_json(text, tokens_max=max_tokens, counter=counting, language=language)
        if shorter.tokens <= max_tokens:
            return shorter
    return cut_text(text, tokens_max=max_tokens, counter=counting, keep=keep, marker=marker, language=language)
