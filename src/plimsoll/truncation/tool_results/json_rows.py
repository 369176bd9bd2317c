"""Shrink JSON results: fewer rows and shorter strings, with the same keys, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from plimsoll.regex import regex
from plimsoll.truncation.json_text import EscapedCounter, cut_value, render_json, unused_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from plimsoll.protocols import TokenCounter

NOTE_KEY = "_shrunk"
_TROUBLE = regex(r'"(?:error|exception|failed|failure|fatal|critical)"|\b(?:Error|Exception|FAILED|ERROR)\b')
_ROW_CHARS = 2_000
_ROWS_SEARCHED_MAX = 20_000


def shrink_value(  # noqa: PLR0913 - one call with its options
    value: Any,
    *,
    note: dict[str, Any],
    tokens_max: int,
    counter: TokenCounter,
    items_max: int,
    inner: Callable[[str, int, TokenCounter], str],
    language: Literal["en", "zh"] = "en",
) -> str | None:
    """The JSON text of a list or object within `tokens_max`, a note first, or None if its keys alone do not fit.

    A list becomes `{"_shrunk": note, "items": [...], "total_count": n}`. An object keeps all its keys.

    Args:
        value: The list or object. It is not mutated.
        note: What is known of the whole result.
        tokens_max: The limit, note included.
        counter: Counts the tokens.
        items_max: Rows that stay of the longest list.
        inner: Shrinks the one text that makes up most of an object, given the text, its room in tokens and a counter.
        language: Of the marks of gaps.

    """
    frame = {"items": value, "total_count": len(value)} if isinstance(value, list) else dict(value)
    lists = {key: rows for key, rows in frame.items() if isinstance(rows, list)}
    key = max(lists, key=lambda name: len(lists[name]), default="")
    if key in lists and len(lists[key]) > items_max:
        rows = lists[key]
        kept = _rows_kept(rows, items_max)
        frame[key] = [rows[index] for index in kept]
        note = {**note, "shown": f"{len(kept)} of {len(rows):,} in {key!r}: {_ranges(kept)}"}
    head = render_json({unused_key(NOTE_KEY, frame): note})
    room = tokens_max - counter.upper(head) - 1
    body = _with_inner(frame, room, counter, inner)
    text = cut_value(body, tokens_max=room, counter=counter, language=language) if room > 0 else None
    if text is None or text == "{}":
        return None if text is None else head
    return f"{head[:-1]},{text[1:]}"


def _rows_kept(rows: list[Any], items_max: int) -> list[int]:
    """Both ends, and rows that report an error in up to a third of the places."""
    inside = range(items_max // 2, len(rows) - items_max // 4)
    trouble = [index for index in inside[:_ROWS_SEARCHED_MAX] if _TROUBLE.search(_row_sample(rows[index]))]
    trouble = trouble[: items_max // 3]
    tail = min(items_max // 4, items_max - 1)
    head = items_max - tail - len(trouble)
    return sorted({*range(head), *trouble, *range(len(rows) - tail, len(rows))})[:items_max]


def _row_sample(row: Any) -> str:
    """Enough of a row to find an error in it, without rendering a deep or huge one. Empty error fields are left out."""
    if isinstance(row, dict):
        fields = (f'"{key}" {item}'[:200] for key, item in list(row.items())[:20] if isinstance(item, str) and item)
        return " ".join(fields)[:_ROW_CHARS]
    return row[:_ROW_CHARS] if isinstance(row, str) else ""


def _ranges(indexes: list[int]) -> str:
    """Indexes as text: 0-12, 40, 88-94."""
    runs: list[list[int]] = []
    for index in indexes:
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ", ".join(f"{first}-{last}" if first < last else str(first) for first, last in runs)


def _with_inner(
    frame: dict[str, Any], room: int, counter: TokenCounter, inner: Callable[[str, int, TokenCounter], str]
) -> dict[str, Any]:
    """The object with its longest text shrunk by `inner`, if that text alone is longer than all the room."""
    texts = {key: len(value) for key, value in frame.items() if isinstance(value, str)}
    key = max(texts, key=lambda name: texts[name], default=None)
    if key is None or room <= 0 or texts[key] < 2 * room:
        return frame
    others = cut_value({**frame, key: ""}, tokens_max=room // 2, counter=counter)
    if others is None:
        return frame
    left = room - counter.upper(others) - 2
    return {**frame, key: inner(frame[key], left, EscapedCounter(counter=counter))} if left > 0 else frame
