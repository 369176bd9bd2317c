"""Tables: with separators (CSV), with borders as databases print them, in columns of words as `ps` does.

The header comes first, then rows with errors or values that differ from their column's, then both ends.
"""

from __future__ import annotations

import csv
from collections import Counter
from typing import TYPE_CHECKING, Any

from plimsoll.light.brief import pluralize
from plimsoll.light.regex import regex
from plimsoll.truncation.tool_results.errors import find_errors
from plimsoll.truncation.tool_results.lines import GAP_START, Look, rank_ends
from plimsoll.truncation.tool_results.logs import ERRORS_FIRST, facts_of_errors
from plimsoll.truncation.tool_results.outliers import odd_values

if TYPE_CHECKING:
    from collections.abc import Sequence

_ALIGNED = "  "
"""Columns are apart by two spaces or more, as in what tools print for people."""
_BORDERS = ("|", "│", "┃")
_SEPARATORS = (",", "\t", ";", _ALIGNED)
_WORDS = " "
"""Columns are words; the last one may have several."""
_CAPITALS = regex(r"[A-Z%#][A-Z0-9%#/()_-]*\Z")
_DIGIT = frozenset("0123456789").intersection
_RULE = regex(r"[-+|=:\s\u2500-\u257f]{3,}\Z")
"""A line of a border, or below the header."""
_GAPS = regex(r" {2,}")
_COLUMNS_MIN = 3
_ROWS_MIN = 4
_SAME_WIDTH_SHARE = 0.8
_ODD_FIRST = 2
_ODD_NEXT = 10
_CELL_CHARS = 80
_TOTALS_BELOW = 4
"""Lines below the rows of a table with borders: the border, how many rows there are, and blank ones."""
_ERRORS_NEXT = 12
_SECOND, _ERRORS, _REST = range(ERRORS_FIRST + 1, ERRORS_FIRST + 4)


def separator_of(lines: Sequence[str]) -> str | None:
    """The separator of a table whose header and first rows are these lines, or None if they are no table."""
    rows = [line for line in lines if not (line.startswith(GAP_START) or _RULE.match(line))]
    if len(rows) < _ROWS_MIN:
        return None
    separator = _separator(rows[0])
    header = _fields(rows[0], separator, rows[0])
    if len(header) < _COLUMNS_MIN or len(set(header)) < len(header) or any(_is_no_name(name) for name in header):
        return None
    same = [fields for row in rows[1:] if len(fields := _fields(row, separator, rows[0])) == len(header)]
    is_table = len(same) >= _SAME_WIDTH_SHARE * (len(rows) - 1) and (separator != _WORDS or _has_numbers(same))
    return separator if is_table else None


def _has_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column has numbers in nearly all rows, as no words of prose have."""
    return any(
        sum(map(bool, map(_DIGIT, column))) >= _SAME_WIDTH_SHARE * len(rows) for column in zip(*rows, strict=True)
    )


def look_at_csv(lines: Sequence[str]) -> Look:
    """The header before all, then the worst errors and the rows that differ most, then the first and the last rows."""
    errors = find_errors(lines)
    ranked = [_REST] * len(lines)
    for place, error in enumerate(errors):
        rank = place if place < ERRORS_FIRST else _SECOND if place < _ERRORS_NEXT else _ERRORS
        ranked[error.first] = min(ranked[error.first], rank)
        ranked[error.last] = min(ranked[error.last], _ERRORS)
    top = next((at for at, line in enumerate(lines) if not _RULE.match(line)), 0)
    separator = _separator(lines[top])
    is_bordered = separator in _BORDERS
    width = len(_fields(lines[top], separator, lines[top]))
    indexes, cells = _cells(lines, top, separator, width)
    for place, index in enumerate(_odd_rows(indexes, cells, width)):
        ranked[index] = min(ranked[index], 1 if place < _ODD_FIRST else _SECOND)
    rank_ends(ranked, ERRORS_FIRST, 2, _TOTALS_BELOW if is_bordered else 1)
    ranked[top] = -1
    counts = {error.first: error.number for error in errors if error.number > 1}
    rows = len(indexes) if is_bordered else len(lines) - 1
    facts = [pluralize(rows, "row"), pluralize(width, "column"), *facts_of_errors(errors)]
    return Look(ranked, ", ".join(facts), counts)


def _separator(header: str) -> str:
    border = next((border for border in _BORDERS if header.count(border) >= _COLUMNS_MIN - 1), None)
    if border:
        return border
    found = max(_SEPARATORS, key=lambda separator: len(_fields(header, separator, header)))
    words = header.split()
    count = len(_fields(header, found, header))
    is_of_words = len(words) >= max(_COLUMNS_MIN, count + 1) and all(map(_CAPITALS.match, words))
    return _WORDS if is_of_words and (found == _ALIGNED or count < _COLUMNS_MIN) else found


def _fields(line: str, separator: str, header: str) -> list[str]:
    """The fields of one line; of columns of words as many as the header has. A row over several lines is not put together."""
    if separator == _ALIGNED:
        return _GAPS.split(line.strip())
    if separator == _WORDS:
        return line.split(None, len(header.split()) - 1)
    if separator in _BORDERS and (line.lstrip()[:1] in _BORDERS or '"' not in line):
        return [field.strip() for field in _between_borders(line, separator, header).split(separator)]
    if '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return line.split(separator)


def _between_borders(line: str, border: str, header: str) -> str:
    """A line without the one border at each side, where the header has it. Without, what is beside a border is an empty cell."""
    line, header = line.strip(), header.strip()
    line = line.removeprefix(border) if header.startswith(border) else line
    return line.removesuffix(border) if header.endswith(border) else line


def _is_no_name(field: str) -> bool:
    """Whether a field cannot be the name of a column."""
    return not field.strip() or len(field) > _CELL_CHARS or isinstance(_value(field), float)


def _odd_rows(indexes: Sequence[int], cells: Sequence[str], width: int) -> list[int]:
    """Indexes of rows with values that differ from the others of their columns, the most different first."""
    scores: dict[int, float] = {}
    for column in range(width):
        for at, score in odd_values(_values(cells[column::width])):
            scores[indexes[at]] = scores.get(indexes[at], 0.0) + score
    return sorted(scores, key=lambda index: (-scores[index], index))[:_ODD_NEXT]


def _cells(lines: Sequence[str], top: int, separator: str, width: int) -> tuple[list[int], list[str]]:
    """The indexes of the rows of the usual width below the header, and their cells one after the other."""
    if separator not in {_ALIGNED, _WORDS, *_BORDERS} and not any('"' in line for line in lines):
        indexes = [index for index, line in enumerate(lines) if index > top and line.count(separator) == width - 1]
        return indexes, separator.join([lines[index] for index in indexes]).split(separator) if indexes else []
    if separator in _BORDERS:
        inner = {index: _between_borders(lines[index], separator, lines[top]) for index in range(top + 1, len(lines))}
        alike = [index for index, row in inner.items() if row.count(separator) == width - 1]
        indexes = [index for index in alike if not _RULE.match(lines[index])]
        joined = separator.join([inner[index] for index in indexes])
        return indexes, [cell.strip() for cell in joined.split(separator)] if indexes else []
    rows = [_fields(line, separator, lines[top]) for line in lines]
    indexes = [index for index, row in enumerate(rows) if index > top and len(row) == width]
    return indexes, [cell for index in indexes for cell in rows[index]]


def _values(cells: Sequence[str]) -> Sequence[Any]:
    """The cells of a column, as numbers where they are."""
    try:
        return list(map(float, cells))
    except ValueError:
        pass
    words = Counter(cells)
    values = {word: _value(word) for word in words}
    return [values[cell] for cell in cells]


def _value(field: str) -> Any:
    if field[:1].isalpha():
        return field
    try:
        return float(field)
    except ValueError:
        return field
