"""Tables as tools print them: with separators (CSV), with borders as databases and Markdown have them, in columns of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plimsoll.light.regex import regex
from plimsoll.truncation.marker import GAP_START

ALIGNED = "  "
"""Columns are apart by two spaces or more, as in what tools print for people."""
BORDERS = ("|", "│", "┃")
_SEPARATORS = (",", "\t", ";", ALIGNED)
WORDS = " "
"""Columns are words; the last one may have several."""
_CAPITALS = regex(r"[A-Z%#][A-Z0-9%#/()_-]*\Z")
_WITHOUT_DIGITS, _ALIKE_MIN = dict.fromkeys(range(48, 58)), 2
_DIGIT = frozenset("0123456789").intersection
RULE = regex(r"[-+|=:\s\u2500-\u257f]{3,}\Z")
"""A line of a border, or below the header."""
_GAPS = regex(r" {2,}")
_COLUMNS_MIN = 3
_ROWS_MIN = 4
_SAME_WIDTH_SHARE = 0.8
_CELL_CHARS = 80
_HEAD_CHARS, _HEAD_LINES = 4_000, 8
"""So much of a text tells whether it begins with a table."""

_SKIPPED_MAX = 2
"""Lines in front of a table, such as the command that printed it."""


def header_of(text: str, row: str) -> tuple[int, str]:
    """Return where the header is that the text begins with, and all of it; `(-1, "")` if it has none, or none of this row.

    Up to two lines in front of the header are passed over.
    """
    lines = text[:_HEAD_CHARS].split("\n")[:_HEAD_LINES]
    at = 0
    for number, header in enumerate(lines[: _SKIPPED_MAX + 1]):
        separator = separator_of(lines[number:])
        if separator is not None and not RULE.match(header):
            is_row = len(fields_of(row, separator, header)) == len(fields_of(header, separator, header))
            return (at, header) if is_row and row != header else (-1, "")
        at += len(header) + 1
    return -1, ""


def separator_of(lines: Sequence[str]) -> str | None:
    """The separator of a table whose header and first rows are these lines, or None if they are no table."""
    rows = [line for line in lines if not (line.startswith(GAP_START) or RULE.match(line))]
    if len(rows) < _ROWS_MIN:
        return None
    separator = separator_in(rows[0])
    header = fields_of(rows[0], separator, rows[0])
    if len(header) < _COLUMNS_MIN or len(set(header)) < len(header) or any(_is_no_name(name) for name in header):
        return None
    same = [fields for row in rows[1:] if len(fields := fields_of(row, separator, rows[0])) == len(header)]
    is_table = len(same) >= _SAME_WIDTH_SHARE * (len(rows) - 1) and (separator != WORDS or _has_numbers(same))
    return separator if is_table and not _is_row(header, same) else None


def _is_row(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a header is a row itself: several of its fields are but for their numbers those of nearly all rows, as `#41` is."""
    least = _SAME_WIDTH_SHARE * len(rows)
    numbered = [at for at, name in enumerate(header) if _DIGIT(name)]
    alike = [at for at in numbered if [_bare(row[at]) for row in rows].count(_bare(header[at])) >= least]
    return len(alike) >= _ALIKE_MIN


def _bare(field: str) -> str:
    return field.strip().translate(_WITHOUT_DIGITS)


def _has_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column has numbers in nearly all rows, as no words of prose have."""
    return any(
        sum(map(bool, map(_DIGIT, column))) >= _SAME_WIDTH_SHARE * len(rows) for column in zip(*rows, strict=True)
    )


def separator_in(header: str) -> str:
    """The separator between the columns of a header."""
    border = next((border for border in BORDERS if header.count(border) >= _COLUMNS_MIN - 1), None)
    if border:
        return border
    found = max(_SEPARATORS, key=lambda separator: len(fields_of(header, separator, header)))
    words = header.split()
    count = len(fields_of(header, found, header))
    is_of_words = len(words) >= max(_COLUMNS_MIN, count + 1) and all(map(_CAPITALS.match, words))
    return WORDS if is_of_words and (found == ALIGNED or count < _COLUMNS_MIN) else found


def fields_of(line: str, separator: str, header: str) -> list[str]:
    """The fields of one line; of columns of words as many as the header has. A row over several lines is not put together."""
    if separator == ALIGNED:
        return _GAPS.split(line.strip())
    if separator == WORDS:
        return line.split(None, len(header.split()) - 1)
    if separator in BORDERS and (line.lstrip()[:1] in BORDERS or '"' not in line):
        return [field.strip() for field in between_borders(line, separator, header).split(separator)]
    if '"' not in line:
        return line.split(separator)
    import csv  # noqa: PLC0415 - only where a field is quoted

    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return line.split(separator)


def between_borders(line: str, border: str, header: str) -> str:
    """A line without the one border at each side, where the header has it. Without, what is beside a border is an empty cell."""
    line, header = line.strip(), header.strip()
    line = line.removeprefix(border) if header.startswith(border) else line
    return line.removesuffix(border) if header.endswith(border) else line


def _is_no_name(field: str) -> bool:
    """Whether a field cannot be the name of a column."""
    return not field.strip() or len(field) > _CELL_CHARS or isinstance(value_of(field), float)


def value_of(field: str) -> Any:
    """A cell as a number where it is one."""
    if field[:1].isalpha():
        return field
    try:
        return float(field)
    except ValueError:
        return field
