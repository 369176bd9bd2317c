"""Errors in tool results, with the command that caused them and whether it succeeded later."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.ledger.commands import covers
from plimsoll.summary.ledger.fact import CAPS, Fact
from plimsoll.summary.ledger.sentences import line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plimsoll.summary.ledger.draft import LedgerDraft

_ERROR_HINTS = (
    "rror",
    "FAIL",
    "ailed",
    "fatal",
    "panic",
    "xception",
    "undefined",
    "not found",
    "o such file",
    "enied",
    "错误",
    "失败",
)
"""Every error contains one of these substrings, which are fast to search."""

_ERROR = regex(
    r"\b\w{0,40}(?:Error|Exception)\b|\berror\b|\bERROR\b|\bFAIL(?:ED)?\b|\bfailed\b|\bfatal\b|\bpanic\b|undefined[: ]"
    r"|not found|No such file|[Pp]ermission denied|错误|失败"
)
_HARMLESS = regex(
    r"\b0 (?:errors?|failed|failures)\b|no errors?\b|error_|_error|errors?\.\w{1,4}\b|^\s*(?://|#|\*)|[{(;]\s*$"
    r"|\b(?:raise|throw(?: new)?) [A-Z]\w*\("
    r"|^\s*(?!\w*(?:Error|Exception)\b)[\w.]{1,60}\([^\n]*\)\s*$"
)
_PLACED = regex(r"\s{0,8}[\w./\\-]{1,200}[:(][0-9]{1,7}[:,)0-9]{0,16}:? (?:fatal )?error\b")
"""An error of a compiler, whose message may end as a line of code does."""

_AROUND = regex(
    r"^\W*[0-9]+ (?:errors?(?!: \S)|fail|warnings?)|could not compile|due to [0-9]+ previous error"
    r"|^npm (?:ERR!|error) (?!.*\w(?:Error|Exception)\b)"
    r"|Traceback \(most recent call last\)|^\w*make(?:\[[0-9]+\])?: \*\*\*|^error Command failed"
    r"|^\W*(?:command|process) (?:failed|exited)(?!: \S)",
    re.IGNORECASE,
)
"""How many errors there were, or in which program: what a line says that stands around an error."""

_LINES_MAX = 4  # the rest of a traceback or log repeats the cause


def may_report(text: str) -> bool:
    """Return whether a text may contain an error, by substring search only."""
    return any(map(text.__contains__, _ERROR_HINTS))


def from_result(text: str, position: int, family: str, *, is_error: bool) -> Iterator[Fact]:
    """Yield the first and the last error lines of a tool result; of a failed result without any, its first line."""
    found = [raw for raw in _marked(text) if 4 < len(raw) <= 2_000 and is_error_line(raw)]
    found = [raw for raw in found if not any(other.startswith(raw) and other != raw for other in found)]  # a bare label
    found = [raw for raw in found if _AROUND.search(raw) is None] or found[-1:]
    if is_error and not found:
        found = [raw for raw in text.split("\n", 20) if raw.strip()][:1]
    chosen = found if len(found) <= _LINES_MAX else [found[0], *found[1 - _LINES_MAX :]]
    for order, raw in enumerate(chosen):
        shown = line(raw.strip("= "), CAPS["error"].text_chars_max)
        yield Fact("error", shown, shown, position, "tool", 2.0 + 0.1 * order, note=family, state="open")


def is_error_line(raw: str) -> bool:
    """Return whether a line of output says that something went wrong."""
    if not may_report(raw) or _ERROR.search(raw) is None:
        return False
    return _HARMLESS.search(raw) is None or _PLACED.match(raw) is not None


def _marked(text: str) -> list[str]:
    """Return the first and last lines with each hint, in order, without scanning the others."""
    spans: set[tuple[int, int]] = set()
    for mark in _ERROR_HINTS:
        at = text.find(mark)
        if at < 0:
            continue
        spans.add(_span(text, at))
        at = len(text)
        for _ in range(_LINES_MAX):
            at = text.rfind(mark, 0, at)
            if at < 0:
                break
            span = _span(text, at)
            spans.add(span)
            at = span[0]
    return [text[start:end] for start, end in sorted(spans)]


def _span(text: str, at: int) -> tuple[int, int]:
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, end if end >= 0 else len(text)


def settle(draft: LedgerDraft, family: str) -> None:
    """Mark the open errors of a command as fixed, after it succeeded."""
    if not family:
        return
    for fact in list(draft.facts["error"].values()):
        if fact.state == "open" and covers(family, fact.note):
            draft.replace(fact._replace(state="fixed", weight=fact.weight * 0.6))
