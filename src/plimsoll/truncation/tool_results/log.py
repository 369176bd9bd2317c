"""Logs, test runs and command output: both ends, errors and totals with what stands around them, then what is new."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINE_CHARS = 400
_TROUBLE = regex(
    r"\b(?:error|errors|fail|fails|failed|failure|failures|fatal|panic|exception|traceback|denied|refused|abort(?:ed)?"
    r"|segfault|cannot|undefined|not found|no such|timed? ?out|killed|critical|assert(?:ion)?(?:error)?)\b"
    r"|\w(?:Error|Exception)\b|^E  +|✗|✘|--- FAIL",
    re.IGNORECASE,
)
_TOTAL = regex(
    r"\b(?:[0-9]+ (?:passed|failed|errors?|warnings?|skipped|tests?|files? changed)|total|summary|ran [0-9]+"
    r"|exit(?:ed)? (?:code|status|with)|coverage|finished in|done in|took [0-9])",
    re.IGNORECASE,
)
_WARNING = regex(r"\bwarn(?:ing|ings)?\b|deprecated", re.IGNORECASE)
_VARIABLE = regex(r"[0-9a-fA-F]{8,}|[0-9]+")
_ENDS = 4
_TEMPLATES_MAX = 50_000


def ranks(lines: Sequence[str]) -> list[int]:
    """0 both ends, 1 trouble and totals, 2 their neighbours, 3 warnings, 4 the first line of a kind, 5 the rest."""
    ranked = [5] * len(lines)
    seen: set[str] = set()
    for index, line in enumerate(lines):
        start = line[:_LINE_CHARS]
        rank = _rank(start)
        template = _VARIABLE.sub("#", start[:120])
        if template not in seen and len(seen) < _TEMPLATES_MAX:
            seen.add(template)
            rank = min(rank, 4)
        elif rank == 1:
            rank = 3  # the same trouble again: once is enough to know of it
        ranked[index] = min(ranked[index], rank)
        if rank == 1:
            for near in range(max(0, index - 1), min(len(lines), index + 3)):
                ranked[near] = min(ranked[near], 2 if near != index else 1)
    for index in (*range(min(_ENDS, len(lines))), *range(max(0, len(lines) - _ENDS), len(lines))):
        ranked[index] = 0
    return ranked


def _rank(line: str) -> int:
    if _TROUBLE.search(line) or _TOTAL.search(line):
        return 1
    return 3 if _WARNING.search(line) else 5
