"""Shrink JSON results: fewer rows and shorter strings, with the same keys, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal

from plimsoll.protocols import TokenCounter
from plimsoll.truncation.json_text import EscapedCounter, Path, cut_value, render_json, unused_key
from plimsoll.truncation.marker import GAP_START

NOTE_KEY = "_shrunk"


def shrink_value(  # noqa: PLR0913 - one call with its options
    value: Any,
    *,
    note: dict[str, Any],
    tokens_max: int,
    counter: TokenCounter,
    items_max: int,
    inner: Callable[[str, int, TokenCounter], str],
    outliers: Sequence[Path] = (),
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
        outliers: Paths in `value` of what differs from its peers, the most different first.
        language: Of the marks of gaps.

    """
    given, whole_note = outliers, note
    frame = {"items": value, "total_count": len(value)} if isinstance(value, list) else dict(value)
    above = ((frame, "items"),) if isinstance(value, list) else ()
    outliers = [(*above, *path) if above else ((frame, path[0][1]), *path[1:]) for path in outliers]
    lists = {key: rows for key, rows in frame.items() if isinstance(rows, list)}
    key, kept = max(lists, key=lambda name: len(lists[name]), default=""), list[int]()
    if key in lists and len(lists[key]) > items_max:
        kept, outliers = _cut_rows(frame, key, items_max, outliers)
        note = {**note, "shown": f"{len(kept)} of {len(lists[key]):,} in {key!r}: {_ranges(kept)}"}
    head = render_json({unused_key(NOTE_KEY, frame): note})
    room = tokens_max - counter.upper(head) - 1
    body = _with_inner(frame, room, counter, inner)
    if body is not frame:
        outliers = [((body, path[0][1]), *path[1:]) for path in outliers]
    text = cut_value(body, tokens_max=room, counter=counter, language=language, outliers=outliers) if room > 0 else None
    if text is None or text == "{}":
        return None if text is None else head
    fewer = _rows_left(text, key) if kept else 0
    if fewer < len(kept):  # the note would name rows that had no room, and gaps would count from fewer rows
        return shrink_value(
            value,
            note=whole_note,
            tokens_max=tokens_max,
            counter=counter,
            items_max=fewer or (1 if len(kept) > 1 else len(lists[key])),  # without room for one, the gap counts all
            inner=inner,
            outliers=given,
            language=language,
        )
    return f"{head[:-1]},{text[1:]}"


def _cut_rows(
    frame: dict[str, Any], key: str, items_max: int, outliers: Sequence[Path]
) -> tuple[list[int], list[Path]]:
    """Keep some rows of a list of the frame, which is changed. Returns which, and the paths as they lead to them now."""
    rows = frame[key]
    kept = _rows_kept(len(rows), [path[1][1] for path in outliers if _is_in(path, rows)], items_max)
    frame[key] = shown = [rows[index] for index in kept]
    places = {index: place for place, index in enumerate(kept)}
    return kept, [
        (path[0], (shown, places[path[1][1]]), *path[2:]) if _is_in(path, rows) else path
        for path in outliers
        if not _is_in(path, rows) or path[1][1] in places
    ]


def _rows_left(text: str, key: str) -> int:
    """How many rows of the list are in the text that was cut."""
    rows = json.loads(text).get(key)
    return (
        sum(not (isinstance(row, str) and row.startswith(GAP_START)) for row in rows) if isinstance(rows, list) else 0
    )


def _is_in(path: Path, rows: list[Any]) -> bool:
    """Whether a path leads to an item of `rows`, a list that is a top-level value."""
    return len(path) > 1 and path[1][0] is rows


def _rows_kept(size: int, outliers: Sequence[int], items_max: int) -> list[int]:
    """Both ends, and rows that differ from the others in up to half of the places."""
    odd = list(dict.fromkeys(outliers))[: max(1, items_max // 2)]
    tail = min(items_max // 4, items_max - 1)
    ends = [*range(items_max - tail), *range(size - 1, size - 1 - tail, -1)]
    ends.sort(key=lambda index: min(2 * index, 4 * (size - 1 - index)))
    return sorted(list(dict.fromkeys([*odd, *ends]))[:items_max])


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
