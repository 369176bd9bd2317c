"""Tables: with separators (CSV), with borders as databases print them, in columns of words as `ps` does.

The header comes first, then rows with errors or values that differ from their column's, then both ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from plimsoll.light.brief import pluralize
from plimsoll.truncation.tables import ALIGNED, BORDERS, RULE, WORDS, between_borders, fields_of, separator_in, value_of
from plimsoll.truncation.tool_results.errors import find_errors
from plimsoll.truncation.tool_results.lines import Look, rank_ends
from plimsoll.truncation.tool_results.logs import ERRORS_FIRST, facts_of_errors
from plimsoll.truncation.tool_results.outliers import odd_values

_ODD_FIRST = 2
_ODD_NEXT = 10
_TOTALS_BELOW = 4
"""Lines below the rows of a table with borders: the border, how many rows there are, and blank ones."""
_ERRORS_NEXT = 12
_SECOND, _ERRORS, _REST = range(ERRORS_FIRST + 1, ERRORS_FIRST + 4)


def look_at_csv(lines: Sequence[str]) -> Look:
    """The header before all, then the worst errors and the rows that differ most, then the first and the last rows."""
    errors = find_errors(lines)
    ranked = [_REST] * len(lines)
    for place, error in enumerate(errors):
        rank = place if place < ERRORS_FIRST else _SECOND if place < _ERRORS_NEXT else _ERRORS
        ranked[error.first] = min(ranked[error.first], rank)
        ranked[error.last] = min(ranked[error.last], _ERRORS)
    top = next((at for at, line in enumerate(lines) if not RULE.match(line)), 0)
    separator = separator_in(lines[top])
    is_bordered = separator in BORDERS
    width = len(fields_of(lines[top], separator, lines[top]))
    indexes, cells = _cells(lines, top, separator, width)
    for place, index in enumerate(_odd_rows(indexes, cells, width)):
        ranked[index] = min(ranked[index], 1 if place < _ODD_FIRST else _SECOND)
    rank_ends(ranked, ERRORS_FIRST, 2, _TOTALS_BELOW if is_bordered else 1)
    ranked[top] = -1
    counts = {error.first: error.number for error in errors if error.number > 1}
    rows = len(indexes) if is_bordered else len(lines) - 1
    facts = [pluralize(rows, "row"), pluralize(width, "column"), *facts_of_errors(errors)]
    return Look(ranked, ", ".join(facts), counts)


def _odd_rows(indexes: Sequence[int], cells: Sequence[str], width: int) -> list[int]:
    """Indexes of rows with values that differ from the others of their columns, the most different first."""
    scores: dict[int, float] = {}
    for column in range(width):
        for at, score in odd_values(_values(cells[column::width])):
            scores[indexes[at]] = scores.get(indexes[at], 0.0) + score
    return sorted(scores, key=lambda index: (-scores[index], index))[:_ODD_NEXT]


def _cells(lines: Sequence[str], top: int, separator: str, width: int) -> tuple[list[int], list[str]]:
    """The indexes of the rows of the usual width below the header, and their cells one after the other."""
    if separator not in {ALIGNED, WORDS, *BORDERS} and not any('"' in line for line in lines):
        indexes = [index for index, line in enumerate(lines) if index > top and line.count(separator) == width - 1]
        return indexes, separator.join([lines[index] for index in indexes]).split(separator) if indexes else []
    if separator in BORDERS:
        inner = {index: between_borders(lines[index], separator, lines[top]) for index in range(top + 1, len(lines))}
        alike = [index for index, row in inner.items() if row.count(separator) == width - 1]
        indexes = [index for index in alike if not RULE.match(lines[index])]
        joined = separator.join([inner[index] for index in indexes])
        return indexes, [cell.strip() for cell in joined.split(separator)] if indexes else []
    rows = [fields_of(line, separator, lines[top]) for line in lines]
    indexes = [index for index, row in enumerate(rows) if index > top and len(row) == width]
    return indexes, [cell for index in indexes for cell in rows[index]]


def _values(cells: Sequence[str]) -> Sequence[Any]:
    """The cells of a column, as numbers where they are."""
    try:
        return list(map(float, cells))
    except ValueError:
        pass
    words = Counter(cells)
    values = {word: value_of(word) for word in words}
    return [values[cell] for cell in cells]
