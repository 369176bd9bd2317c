"""Source code: what it declares and imports, then its beginning and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.brief import pluralize
from plimsoll.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINE_CHARS = 300
_NUMBER = regex(r"\s{0,8}[0-9]{1,7}(?:\t|→|\|| {2}|: )")
_DECLARES = regex(
    r"\s{0,12}(?:(?:export|default|public|private|protected|static|async|abstract|final|pub|override|inline)\s{1,4}){0,4}"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module|namespace|object|record|macro)\b"
)
_STATES = regex(r"(?:import|from|package|use|using|#include|require|[A-Z][A-Z0-9_]{2,60}\s{0,4}[:=])")
_HEAD_LINES = 6


def ranks(lines: Sequence[str]) -> list[int]:
    """0 the first lines, 1 outer declarations, 2 inner ones, 3 imports and constants, 4 the rest."""
    return [0 if index < _HEAD_LINES else _rank(line[:_LINE_CHARS]) for index, line in enumerate(lines)]


def _rank(line: str) -> int:
    number = _NUMBER.match(line)
    bare = line[number.end() :] if number else line
    if _DECLARES.match(bare):
        return 1 if not bare[:1].isspace() else 2
    return 3 if _STATES.match(bare) else 4


def facts(lines: Sequence[str]) -> str:
    """How many lines there were."""
    return pluralize(len(lines), "line")
