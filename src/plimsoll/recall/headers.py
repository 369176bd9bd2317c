"""The line that names the columns of a row, for a hit within a table that begins above it."""

from __future__ import annotations

from typing import Final

from plimsoll.light.regex import regex
from plimsoll.truncation.tables import BORDERS, RULE, header_of

HEADER_CHARS_MAX: Final = 240
"""A longer header is no short line beside its row."""

_ABOVE_RULE = regex(r"(?m)^([^\n|\u2502\u2503]*+[|\u2502\u2503][^\n]*+)\n[-+|=: \t\u2500-\u257f]{3,}+$")
"""A line of cells, and the rule below it."""
_NO_CELLS = regex(r"(?m)^(?![-+|=: \t\u2500-\u257f]{3,}+$)[^\n|\u2502\u2503]+$")
"""A line that is neither cells nor a rule."""


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
        at, header = header_of(text[block:], row)
        found = header.strip() if at < first - block else ""
    return found if len(found) <= HEADER_CHARS_MAX else ""


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
