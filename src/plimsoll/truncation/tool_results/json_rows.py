"""JSON results: fewer rows, shorter strings, the same keys; and JSON still."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from plimsoll.regex import regex
from plimsoll.truncation.json_text import EscapedCounter, cut_value, render_json

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
    """The JSON text of a list or object within `tokens_max`, a note in front; None when not even its keys fit.

    A list becomes `{"_shrunk": note, "items": [...], "total_count": n}`. An object keeps all its keys; its longest list
    is shortened to `items_max` and, where one text is most of it, `inner` shrinks that text by its own shape.
    """
    frame = {"items": value, "total_count": len(value)} if isinstance(value, list) else dict(value)
    key, rows = _longest_list(frame)
    if rows is not None and len(rows) > items_max:
        kept = _rows_kept(rows, items_max)
        frame[key] = [rows[index] for index in kept]
        note = {**note, "shown": f"{len(kept)} of {len(rows):,} in {key!r}: {_ranges(kept)}"}
    head = _note_text(note, frame)
    room = tokens_max - counter.upper(head) - 1
    body = _with_inner(frame, room, counter, inner)
    text = cut_value(body, tokens_max=room, counter=counter, language=language) if room > 0 else None
    return None if text is None else _spliced(head, text)


def _note_text(note: dict[str, Any], frame: dict[str, Any]) -> str:
    name = NOTE_KEY
    while name in frame:
        name = f"_{name}"
    return render_json({name: note})


def _spliced(head: str, body: str) -> str:
    """Two objects as one, the note's key first."""
    return head if body == "{}" else f"{head[:-1]},{body[1:]}"


def _longest_list(frame: dict[str, Any]) -> tuple[str, list[Any] | None]:
    lists = [(key, value) for key, value in frame.items() if isinstance(value, list)]
    return max(lists, key=lambda pair: len(pair[1]), default=("", None))


def _rows_kept(rows: list[Any], items_max: int) -> list[int]:
    """Both ends, and rows that speak of trouble in up to a third of the places."""
    inside = range(items_max // 2, len(rows) - items_max // 4)
    trouble = [index for index in inside[:_ROWS_SEARCHED_MAX] if _TROUBLE.search(_glance(rows[index]))]
    trouble = trouble[: items_max // 3]
    tail = min(items_max // 4, items_max - 1)
    head = items_max - tail - len(trouble)
    return sorted({*range(head), *trouble, *range(len(rows) - tail, len(rows))})[:items_max]


def _glance(row: Any) -> str:
    """Enough of a row to see trouble in it, without rendering a deep or huge one."""
    if isinstance(row, dict):
        return " ".join(f'"{key}" {item}'[:200] for key, item in list(row.items())[:20] if _tells(item))[:_ROW_CHARS]
    return row[:_ROW_CHARS] if isinstance(row, str) else ""


def _tells(item: Any) -> bool:
    """An error field that is empty or false tells of no error."""
    return isinstance(item, str) and bool(item)


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
    """The object with its one great text shrunk by its own shape, in the room that the other fields leave."""
    texts = {key: len(value) for key, value in frame.items() if isinstance(value, str)}
    key = max(texts, key=lambda name: texts[name], default=None)
    if key is None or room <= 0 or texts[key] < 2 * room:
        return frame
    others = cut_value({**frame, key: ""}, tokens_max=room // 2, counter=counter)
    if others is None:
        return frame
    left = room - counter.upper(others) - 2
    return {**frame, key: inner(frame[key], left, EscapedCounter(counter=counter))} if left > 0 else frame
