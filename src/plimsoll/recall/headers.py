"""The line that names the columns of a row, for a hit within a table that begins above it."""

from __future__ import annotations

from typing import Final

from plimsoll.light.regex import regex
from plimsoll.truncation.tables import BORDERS, RULE, fields_of, header_of, separator_in, value_of

HEADER_CHARS_MAX: Final = 240
"""A longer header is no short line beside its row."""

_ABOVE_RULE = regex(r"(?m)^([^\n|\u2502\u2503]*+[|\u2502\u2503][^\n]*+)\n[-+|=: \t\u2500-\u257f]{3,}+$")
"""A line of cells, and the rule below it."""
_NO_CELLS = regex(r"(?m)^(?![-+|=: \t\u2500-\u257f]{3,}+$)[^\n|\u2502\u2503]+$")
"""A line that is neither cells nor a rule."""

_NO_NUMBERS = regex(r"(?m)^[^0-9\n]++$")


def header_above(text: str, start: int, end: int) -> str:
    """Return the header of the table that the first row in `text[start:end]` is of, or "" if there is none above it.

    Markdown, what databases print, CSV, and columns that are apart by tabs or spaces.
    """
    first, row = _row(text, start, end)
    blank = text.rfind("\n\n", 0, first)
    block = blank + 2 if blank >= 0 else 0
    if not row or block >= first:
        return ""
    border = next((border for border in BORDERS if border in row), None)
    if border:
        found = _above_rule(text, block, first, row.count(border), border)
    else:
        block = _last_table(text, block, first)
        at, header = header_of(text[block:], row)
        found = header.strip() if at < first - block else ""
    return found if len(found) <= HEADER_CHARS_MAX else ""


def _last_table(text: str, block: int, first: int) -> int:
    """Where the last of the tables in a block begins that a row is in: one may stand directly below another.

    The first line has a name for each column and no number; the line above it has, and so has the one below it, in other columns
    or in several.
    """
    begins = block
    for found in _NO_NUMBERS.finditer(text, block, first):
        if found.start() > block:
            separator = separator_in(found[0])
            names = fields_of(found[0], separator, found[0])
            if len(set(names)) < len(names) or "" in names:
                continue
            above = text[text.rfind("\n", 0, found.start() - 1) + 1 : found.start() - 1]
            stop = text.find("\n", found.end() + 1)
            below = text[found.end() + 1 : stop if stop >= 0 else len(text)]
            before, after = (_numbers(line, separator, found[0]) for line in (above, below))
            begins = found.start() if before and after and (before != after or len(after) > 1) else begins
    return begins


def _numbers(line: str, separator: str, header: str) -> list[int]:
    """The columns of a line that hold numbers, counted from its end."""
    fields = fields_of(line, separator, header)
    return [at - len(fields) for at, field in enumerate(fields) if isinstance(value_of(field), float)]


def _row(text: str, start: int, end: int) -> tuple[int, str]:
    """Return where the first line begins that is neither blank nor a rule, and all of it."""
    at = text.rfind("\n", 0, start) + 1
    while at < end:
        stop = text.find("\n", at)
        line = text[at : stop if stop >= 0 else len(text)]
        if line.strip() and not RULE.match(line):
            return at, line
        at += len(line) + 1
    return 0, ""


def _above_rule(text: str, block: int, first: int, borders: int, border: str) -> str:
    """The first line above a rule. A line without a border ends a table."""
    header, end = "", block
    for found in _ABOVE_RULE.finditer(text, block, first):
        line = found[1]
        if line.count(border) == borders and not RULE.match(line):
            if not header or _NO_CELLS.search(text, end, found.start()):
                header = line.strip()
            end = found.end()
    return header
