"""Running text and everything else: headings, both ends, then the first line of each paragraph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.brief import pluralize
from plimsoll.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADING = regex(r"#{1,6} |[=\-*]{3,}\s*\Z|<h[1-6]")
_ENDS = 6


def ranks(lines: Sequence[str]) -> list[int]:
    """0 headings and the very ends, 1 more of both ends, 2 first lines of paragraphs, 3 the rest, 4 blank lines."""
    ranked, blank_before = [], True
    for line in lines:
        blank = not line.strip()
        ranked.append(4 if blank else 0 if _HEADING.match(line[:200]) else 2 if blank_before else 3)
        blank_before = blank
    for rank, count in ((1, _ENDS), (0, 1)):
        for index in (*range(min(count, len(lines))), *range(max(0, len(lines) - count), len(lines))):
            ranked[index] = min(ranked[index], rank)
    return ranked


def facts(lines: Sequence[str]) -> str:
    """How many lines there were."""
    return pluralize(len(lines), "line")
