"""Tables with separators (CSV): the header, rows with errors or values that differ from their column's, then like a log."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from plimsoll.brief import pluralize
from plimsoll.truncation.tool_results.lines import GAP_START, Look
from plimsoll.truncation.tool_results.logs import NEXT, look_at_log
from plimsoll.truncation.tool_results.outliers import odd_values

if TYPE_CHECKING:
    from collections.abc import Sequence

_SEPARATORS = ",\t;|"
_COLUMNS_MIN = 3
_ROWS_MIN = 4
_SAME_WIDTH_SHARE = 0.8
_ODD_FIRST = 2
_ODD_NEXT = 10
_CELL_CHARS = 80


def separator_of(lines: Sequence[str]) -> str | None:
    """The separator of a table whose header and first rows are these lines, or None if they are no table."""
    rows = [line for line in lines if not line.startswith(GAP_START)]
    if len(rows) < _ROWS_MIN:
        return None
    separator = max(_SEPARATORS, key=rows[0].count)
    header = _fields(rows[0], separator)
    if len(header) < _COLUMNS_MIN or len(set(header)) < len(header) or any(_is_no_name(name) for name in header):
        return None
    same = sum(len(_fields(row, separator)) == len(header) for row in rows[1:])
    return separator if same >= _SAME_WIDTH_SHARE * (len(rows) - 1) else None


def look_at_csv(lines: Sequence[str]) -> Look:
    """The ranks of a log, with the header before all and the rows that differ most next to the worst errors."""
    look = look_at_log(lines)
    separator = max(_SEPARATORS, key=lines[0].count)
    rows = [_fields(line, separator) for line in lines]
    for place, index in enumerate(_odd_rows(rows)):
        look.ranks[index] = min(look.ranks[index], 1 if place < _ODD_FIRST else NEXT)
    look.ranks[0] = -1
    _, _, more = look.facts.partition(", ")
    facts = f"{pluralize(len(lines) - 1, 'row')}, {pluralize(len(rows[0]), 'column')}"
    return Look(look.ranks, f"{facts}, {more}" if more else facts)


def _fields(line: str, separator: str) -> list[str]:
    """The fields of one line. A row that goes over several lines is not put together."""
    if '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return line.split(separator)


def _is_no_name(field: str) -> bool:
    """Whether a field cannot be the name of a column."""
    return not field.strip() or len(field) > _CELL_CHARS or isinstance(_value(field), float)


def _odd_rows(rows: Sequence[Sequence[str]]) -> list[int]:
    """Indexes of rows with values that differ from the others of their columns, the most different first."""
    width = len(rows[0])
    whole = [index for index, row in enumerate(rows) if index and len(row) == width]
    scores: dict[int, float] = {}
    for column in range(width):
        for at, score in odd_values([_value(rows[index][column]) for index in whole]):
            scores[whole[at]] = scores.get(whole[at], 0.0) + score
    return sorted(scores, key=lambda index: (-scores[index], index))[:_ODD_NEXT]


def _value(field: str) -> Any:
    if field[:1].isalpha():
        return field
    try:
        return float(field)
    except ValueError:
        return field
