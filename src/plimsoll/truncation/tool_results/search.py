"""Search hits: every file is heard before any file is heard twice."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from plimsoll.brief import pluralize
from plimsoll.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

HIT = regex(r"(?=[^\s:]{0,40}:?[^\s:]{0,200}[/.])((?:[\w~^-]{1,40}:)?[^\s:,;=][^\s:]{0,200}?)([:-])[0-9]{1,7}\2")
"""`path:12:` of a hit or `path-12-` of a line beside one, a revision (`HEAD:`) perhaps before it."""


def ranks(lines: Sequence[str]) -> list[int]:
    """The nth hit of a file has rank n; lines that are no hit go with the hit before them, one rank later."""
    heard: Counter[str] = Counter()
    ranked, current = [], 0
    for line in lines:
        hit = HIT.match(line)
        if hit:
            heard[hit[1]] += 1
            current = heard[hit[1]]
            ranked.append(current)
        else:
            ranked.append(current + 1 if line.strip() else current + 2)
    return ranked


def facts(lines: Sequence[str]) -> str:
    """How many hits there were in how many files."""
    files = [hit[1] for line in lines if (hit := HIT.match(line))]
    if not files:
        return pluralize(len(lines), "line")
    return f"{pluralize(len(files), 'hit')} in {pluralize(len(set(files)), 'file')}"
