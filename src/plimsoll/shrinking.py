"""Shrink one tool result, outside any conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plimsoll.errors import StoreError
from plimsoll.gauge import DEFAULT_MODEL
from plimsoll.ports import Offload
from plimsoll.tokens.counter import counter_for
from plimsoll.tool_results import render_result, shrink_result


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """A tool result as text within its size. `reference` reads the whole back from the store, None when it was not kept."""

    text: str
    reference: str | None
    tokens_before: int
    tokens_after: int


def shrink(
    tool_name: str,
    result: Any,
    *,
    max_tokens: int = 1000,
    store: Offload | None = None,
    model: str | None = DEFAULT_MODEL,
) -> Shrunk:
    """A tool result in at most `max_tokens` tokens, by its shape; unchanged when it fits.

    `result` is any value: text as it is, None as "null", others as JSON. With a `store` the whole is kept there and the text
    says under which reference; when the store fails, the result is only cut. Raises SettingError for an impossible size.
    """
    text, counter = render_result(result), counter_for(model)
    before = counter.upper(text)
    if before <= max_tokens:
        return Shrunk(text=text, reference=None, tokens_before=before, tokens_after=before)
    reference = _kept(text, tool_name, store)
    shrunk = shrink_result(tool_name, text, tokens_max=max_tokens, counter=counter, reference=reference)
    return Shrunk(text=shrunk.text, reference=reference, tokens_before=before, tokens_after=shrunk.tokens_after)


def _kept(text: str, label: str, store: Offload | None) -> str | None:
    if store is None:
        return None
    try:
        return store.put(text, label=label)
    except StoreError:
        return None
