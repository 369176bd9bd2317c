"""What a tool result looks like, told from its first lines, with the tool's name as a hint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from plimsoll.regex import regex
from plimsoll.truncation.tool_results.search import HIT

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind: TypeAlias = Literal["whole", "json", "diff", "search", "listing", "log", "code", "text"]
"""`whole` is a result that was small enough and was left alone."""

_SAMPLE_LINES = 80
_SAMPLE_CHARS = 40_000
_LINE_CHARS = 400

_DIFF = regex(r"diff --git |@@ -[0-9]+(?:,[0-9]+)? \+[0-9]")
_LISTED = regex(
    r"[-dlbcps][-rwxsStT]{9}|[0-7]{6} (?:blob|tree|commit) |[0-9.]{1,8}[KMGT]?\t\S+\Z|\s{0,40}[│├└]|total [0-9]+\Z"
    r"|\.{0,2}/?[\w.@+-]+(?:/[\w.@+ -]+)*/?\Z"
)
_LOGGED = regex(
    r"\S{0,30}[0-9]{1,4}[-/:][0-9]{2}[-/:][0-9]{2}"
    r"|\S{0,20} ?[0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"|[A-Z][a-z]{2} +[0-9]{1,2} [0-9]{2}:[0-9]{2}"
    r"|.{0,60}\b(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|FAIL|FAILED|PASS|PASSED|Traceback|panic|ok|Exception)\b"
)
_NUMBERED = regex(r"\s{0,8}[0-9]{1,7}(?:\t|→|\|| {2}|: )")
_CODE = regex(
    r"\s{0,16}(?:def |class |func |fn |import |from \S{1,80} import|#include|package |public |private |protected "
    r"|return\b|const |let |var |if \(|for \(|while \(|type |interface |export |async |@\w|\}|\{|//|/\*|#!)"
    r"|\s{4,16}[\w.]{1,60}(?:\[[^\]]{0,40}\])? ?[-+*/|&]?= "
)
_SHARES: tuple[tuple[Kind, re.Pattern[str], float], ...] = (
    ("search", HIT, 0.6),
    ("code", _NUMBERED, 0.6),
    ("log", _LOGGED, 0.3),
    ("listing", _LISTED, 0.7),
    ("code", _CODE, 0.2),
)
"""A result is of the first kind whose lines make up at least this share of it."""

_NAMES: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (regex(r"grep|search|\brg\b|ripgrep", re.IGNORECASE), "search"),
    (regex(r"\bls\b|list_?(?:dir|files)|listdir|glob|tree", re.IGNORECASE), "listing"),
    (regex(r"diff", re.IGNORECASE), "diff"),
)


def detect_lines(tool_name: str, text: str) -> Kind:
    """The kind of a result that is lines of text. Looks at the beginning only."""
    lines = [line[:_LINE_CHARS] for line in text[:_SAMPLE_CHARS].splitlines()[:_SAMPLE_LINES] if line.strip()]
    if any(_DIFF.match(line) for line in lines):
        return "diff"
    hinted = {kind for pattern, kind in _NAMES if pattern.search(tool_name[:_LINE_CHARS])}
    for kind, pattern, enough in _SHARES:
        if _share(pattern, lines) >= (enough / 2 if kind in hinted else enough):
            return kind
    return "text"


def _share(pattern: re.Pattern[str], lines: Sequence[str]) -> float:
    return sum(pattern.match(line) is not None for line in lines) / len(lines) if lines else 0.0
