"""Shorten one tool result or text outside a conversation: `shrink` and `cut`."""

from __future__ import annotations

from typing import Any

from plimsoll.api.offloads import KeepsBlobs, offload_of
from plimsoll.errors import ErrorCatcher
from plimsoll.formats.wire import parse_json
from plimsoll.light.dataclass import dataclass
from plimsoll.policy.validation import integer, text_or_none
from plimsoll.protocols import Offload
from plimsoll.store.open import StoreSpec
from plimsoll.tokens.counter import CounterChoice, counter_for
from plimsoll.tokens.registry import DEFAULT_MODEL
from plimsoll.truncation import Cut, Keep, cut_json, cut_text
from plimsoll.truncation.marker import MarkerLanguage, check_reference
from plimsoll.truncation.measure import tokens_about, tokens_if_fits
from plimsoll.truncation.tool_results import render_result, shrink_result

PREVIEW_TOKENS_MIN = 32
CHARS_PER_TOKEN = 4
"""Converts the size of a preview from characters to tokens, as a policy does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """A tool result as text within its limit. `reference` reads the full text from the store; None if it was not stored.

    `tokens_before` is an estimate for a text of more than a million characters. `characters` is its length.
    `problem` is the reason if the store failed.
    """

    text: str
    reference: str | None
    tokens_before: int
    tokens_after: int
    characters: int = 0
    problem: str | None = None


def shrink(  # noqa: PLR0913 - one call with its options
    tool_name: str,
    result: Any,
    *,
    max_tokens: int = 1000,
    store: Offload | KeepsBlobs | StoreSpec = None,
    model: str | None = DEFAULT_MODEL,
    counter: CounterChoice = None,
    list_items_max: int = 20,
    preview_chars: int | None = None,
    query: str | None = None,
) -> Shrunk:
    """Shorten a tool result to at most `max_tokens` tokens, by its structure; one that fits is unchanged.

    Args:
        tool_name: the tool that returned it.
        result: any value: text as it is, None as "null", others as JSON.
        max_tokens: the most tokens of the result.
        store: stores the full text of a result that does not fit, and the shortened text names its reference: a store as in
            `plimsoll.open` (read by `Offloads`), an open session (read by its `read` and its tools), or an object with
            `put(text, label=...)`. If it fails, the result is only cut, and `problem` gives the reason.
        model: the model whose tokens to count.
        counter: as in `fit`.
        list_items_max: rows kept of the longest list of a JSON result.
        preview_chars: about how many characters of a stored result are kept, if less than `max_tokens`.
        query: what the result is read for, such as the user's request: lines and rows with its rare words stay first.

    Raises: CounterError, SettingError.

    """
    integer("max_tokens", max_tokens)
    integer("list_items_max", list_items_max, least=1)
    integer("preview_chars", 0 if preview_chars is None else preview_chars)
    text_or_none("query", query)
    port = None if store is None else offload_of(store)
    text, counting = render_result(result), counter_for(model, choice=counter)
    whole = tokens_if_fits(text, max_tokens, counting)
    if whole is not None:
        return Shrunk(text=text, reference=None, tokens_before=whole, tokens_after=whole, characters=len(text))
    reference, problem = (None, None) if port is None else _stored(text, tool_name, port)
    room = max_tokens if reference is None else _room(max_tokens, preview_chars)
    shrunk = shrink_result(
        tool_name, text, tokens_max=room, counter=counting, reference=reference, items_max=list_items_max, query=query
    )
    return Shrunk(
        text=shrunk.text,
        reference=reference,
        tokens_before=max(tokens_about(text, counting)[0], shrunk.tokens_after),
        tokens_after=shrunk.tokens_after,
        characters=len(text),
        problem=problem,
    )


def _room(max_tokens: int, preview_chars: int | None) -> int:
    """The most tokens of a result that is stored as a whole."""
    if preview_chars is None:
        return max_tokens
    return min(max_tokens, max(PREVIEW_TOKENS_MIN, preview_chars // CHARS_PER_TOKEN))


def _stored(text: str, label: object, port: Offload) -> tuple[str | None, str | None]:
    """The reference of the stored text, or the reason why it was not stored."""
    with ErrorCatcher() as guarded:
        reference = port.put(text, label=str(label))
        check_reference(reference or "")
        return reference, None
    return None, f"{type(guarded.error).__name__}: {guarded.error}"[:300]


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
    """Cut a text to at most `max_tokens` tokens, marker included; a text that fits is unchanged.

    Cuts at a sentence, line or word boundary if one is near, and never inside a grapheme. A JSON object or list stays JSON: its
    strings and lists lose their middles, unless `marker` is given. The text is empty if not even a marker fits.

    Args:
        text: the text to cut.
        max_tokens: the most tokens of the result.
        keep: the part to keep: "head", "tail" or "both".
        marker: the text that replaces the cut part, "" for none; None: a note of how many tokens were cut.
        language: of that marker; "auto": the text's own.
        model: the model whose tokens to count.
        counter: as in `fit`.

    Raises: FormatError, SettingError.

    """
    counting = counter_for(model, choice=counter)
    text_or_none("marker", marker)
    if marker is None and isinstance(text, str) and isinstance(parse_json(text), (dict, list)):
        shorter = cut_json(text, tokens_max=max_tokens, counter=counting, language=language)
        if shorter.tokens <= max_tokens:
            return shorter
    return cut_text(text, tokens_max=max_tokens, counter=counting, keep=keep, marker=marker, language=language)
