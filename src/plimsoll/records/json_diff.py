"""A compact diff between two JSON values, itself a JSON value.

`{"=": value}` replaces. `{"{}": {key: diff}, "-": [keys]}` changes an object and removes the keys in `-`. `{"[]": [...]}` rebuilds
a list from runs `[start, stop]` of the old one, new rows `{"+": row}`, and changed rows `{"at": index, "~": diff}`.
`{"~": [...]}` rebuilds a string from slices `[start, stop]` of the old one, in code points, and new text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from plimsoll.formats.wire import has_halves

LEVELS_MAX: Final = 6
"""Depth to which objects and lists are compared. Deeper values are replaced, which also limits the depth of a diff."""

BLOCK_CHARS: Final = 24
"""Shortest common text that is searched for."""

INDEXED_CHARS_MAX: Final = 1 << 20
"""Characters indexed at each end of the old text."""

_ABSENT: Final = object()


def changes(before: Any, after: Any, *, levels: int = LEVELS_MAX) -> dict[str, Any]:
    """The diff from `before` to `after`. Takes linear time."""
    if levels and isinstance(before, dict) and isinstance(after, dict):
        changed = {
            key: changes(before.get(key), value, levels=levels - 1)
            for key, value in after.items()
            if before.get(key, _ABSENT) != value
        }
        return {"{}": changed, "-": [key for key in before if key not in after]}
    if levels and isinstance(before, list) and isinstance(after, list) and before:
        return {"[]": _rows(before, after, levels - 1)}
    if isinstance(before, str) and isinstance(after, str) and not (has_halves(before) or has_halves(after)):
        stretches = _stretches(before, after)
        if any(isinstance(stretch, list) for stretch in stretches):
            return {"~": stretches}
    return {"=": after}


def changed(before: Any, change: Mapping[str, Any]) -> Any:
    """Apply a diff made by `changes`. The result shares parts with both arguments."""
    if "=" in change:
        return change["="]
    if "~" in change:
        return "".join(part if isinstance(part, str) else before[part[0] : part[1]] for part in change["~"])
    if "[]" in change:
        return [row for step in change["[]"] for row in _step(before, step)]
    kept = {key: value for key, value in before.items() if key not in change["-"]}
    return {**kept, **{key: changed(kept.get(key), inner) for key, inner in change["{}"].items()}}


def _step(before: Sequence[Any], step: Any) -> Sequence[Any]:
    if isinstance(step, list):
        return before[step[0] : step[1]]
    return [step["+"]] if "+" in step else [changed(before[step["at"]], step["~"])]


def _rows(before: Sequence[Any], after: Sequence[Any], levels: int) -> list[Any]:
    """A list as runs of the old one, changed rows and new rows."""
    places = {repr(row): index for index, row in enumerate(before)}  # as telling as its JSON, in a third of the time
    alike = len(before) == len(after)
    rows: list[Any] = []
    for position, row in enumerate(after):
        index = places.get(repr(row))
        if index is None and alike and isinstance(row, (dict, str)):
            rows.append({"at": position, "~": changes(before[position], row, levels=levels)})
        elif index is None:
            rows.append({"+": row})
        elif rows and isinstance(rows[-1], list) and rows[-1][1] == index:
            rows[-1][1] = index + 1
        else:
            rows.append([index, index + 1])
    return rows


def _stretches(before: str, after: str) -> list[Any]:
    """A string as slices of the old one and new text. Each block of the old text is found where it first occurs."""
    places = _places(before)
    found: list[Any] = []
    start = index = 0
    while index <= len(after) - BLOCK_CHARS:
        place = places.get(after[index : index + BLOCK_CHARS])
        if place is None:
            index += 1
            continue
        while index > start and place > 0 and after[index - 1] == before[place - 1]:
            index, place = index - 1, place - 1
        size = _common(before, place, after, index)
        found += [after[start:index], [place, place + size]] if index > start else [[place, place + size]]
        start = index = index + size
    return [*found, after[start:]] if start < len(after) else found


def _places(text: str) -> dict[str, int]:
    size = len(text)
    ends = [(0, min(size, INDEXED_CHARS_MAX)), (max(INDEXED_CHARS_MAX, size - INDEXED_CHARS_MAX), size)]
    places: dict[str, int] = {}
    for start, stop in ends:
        for index in range(start, stop - BLOCK_CHARS + 1, BLOCK_CHARS):
            places.setdefault(text[index : index + BLOCK_CHARS], index)
    return places


def _common(before: str, place: int, after: str, index: int) -> int:
    """Length of the common text, or slightly less. Doubles the step while texts agree, then halves it."""
    longest = min(len(before) - place, len(after) - index)
    size, step, is_growing = 0, BLOCK_CHARS, True
    while step := min(step, longest - size):
        is_same = before[place + size : place + size + step] == after[index + size : index + size + step]
        size += step if is_same else 0
        is_growing = is_growing and is_same
        step = step * 2 if is_growing else step // 2
    return size
