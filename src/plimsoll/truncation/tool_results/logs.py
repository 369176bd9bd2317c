"""Logs, test runs and command output: errors first, each once with its count, then one line of each template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from plimsoll.light.brief import pluralize
from plimsoll.light.regex import regex
from plimsoll.truncation.tool_results.errors import ErrorLines, find_errors, kinds_of
from plimsoll.truncation.tool_results.lines import Look, rank_ends
from plimsoll.truncation.tool_results.traces import frames_near

_TOTAL = regex(
    r"\b(?:[0-9]+ (?:passed|failed|errors?|warnings?|skipped|tests?|files? changed)|total|summary|ran [0-9]+"
    r"|exit(?:ed)? (?:code|status|with)|coverage|finished in|done in|took [0-9])",
    re.IGNORECASE,
)
_WARNING = regex(r"\bwarn(?:ing|ings)?\b|deprecated|警告", re.IGNORECASE)
_TIME = regex(
    r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}|[0-9]{2}[-/][0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"|[A-Z][a-z]{2} {1,2}[0-9]{1,2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?: [0-9]{4})?|[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:]{8}"
    r"|[0-9]{2}:[0-9]{2}:[0-9]{2}"
)
_TIME_WITHIN_CHARS = 80
_TIME_WITHIN_LINES = 20
_TOTAL_CHARS_MAX = 160
_WARNING_CHARS = 120
"""The level is near the start of a line."""

ERRORS_FIRST = 5
"""Errors that are shown before anything else."""
_ERRORS_NEXT = 12
_INNER_FRAMES = 4
_ENDS = 4
_RARE = 2
(_EDGE, _TOTALS, NEXT, _ERRORS, _LAST, _NEAR, _END, _WARNINGS, _RARE_LINES, _FIRSTS, _LASTS, _REST) = range(
    ERRORS_FIRST, ERRORS_FIRST + 12
)


def look_at_log(lines: Sequence[str]) -> Look:
    """Ranks, from the first on: the worst errors, both ends, totals, other errors, what is near them, warnings, templates."""
    errors = find_errors(lines)
    templates = _templates(kinds_of(lines))
    ranked = [_REST] * len(lines)
    for first, last, count in templates.values():
        line = lines[first]
        is_total = len(line) <= _TOTAL_CHARS_MAX and _TOTAL.search(line)
        rank = _TOTALS if is_total else _WARNINGS if _WARNING.search(line, 0, _WARNING_CHARS) else _FIRSTS
        ranked[first] = min(rank, _RARE_LINES) if count <= _RARE else rank
        ranked[last] = min(ranked[last], _LASTS)
    _rank_errors(ranked, errors, lines)
    rank_ends(ranked, _END, _ENDS, _ENDS)
    rank_ends(ranked, _EDGE, 1, 1)
    counts = {first: count for first, _, count in templates.values()} | {error.first: error.number for error in errors}
    return Look(ranked, _facts(lines, errors), {index: count for index, count in counts.items() if count > 1})


def _templates(keys: Sequence[object]) -> dict[object, list[int]]:
    """The first line, the last line and the number of lines of each template."""
    templates: dict[object, list[int]] = {}
    for index, key in enumerate(keys):
        seen = templates.get(key)
        if seen is None:
            templates[key] = [index, index, 1]
        else:
            seen[1] = index
            seen[2] += 1
    return templates


def _rank_errors(ranked: list[int], errors: Sequence[ErrorLines], lines: Sequence[str]) -> None:
    for place, error in enumerate(errors):
        rank = place if place < ERRORS_FIRST else NEXT if place < _ERRORS_NEXT else _ERRORS
        ranked[error.first] = min(ranked[error.first], rank)
        ranked[error.last] = min(ranked[error.last], _LAST)
        if place < _ERRORS_NEXT:
            for near in range(max(0, error.first - 2), min(len(ranked), error.first + 3)):
                ranked[near] = min(ranked[near], _NEAR)
        if place < ERRORS_FIRST:
            for number, index in enumerate(frames_near(lines, error.first)):
                ranked[index] = min(ranked[index], NEXT if number < _INNER_FRAMES else _NEAR)


def facts_of_errors(errors: Sequence[ErrorLines]) -> list[str]:
    """How many lines name errors, and of how many kinds; nothing if none does."""
    count = sum(error.number for error in errors)
    kinds = f" of {pluralize(len(errors), 'kind')}" if count > len(errors) else ""
    return [f"{pluralize(count, 'error line')}{kinds}"] if count else []


def _facts(lines: Sequence[str], errors: Sequence[ErrorLines]) -> str:
    facts = [pluralize(len(lines), "line"), *facts_of_errors(errors)]
    start = _time(lines[:_TIME_WITHIN_LINES])
    end = _time(reversed(lines[-_TIME_WITHIN_LINES:]))
    if start and end and start != end:
        facts.append(f"{start} to {end}")
    return ", ".join(facts)


def _time(lines: Iterable[str]) -> str | None:
    found = (_TIME.search(line[:_TIME_WITHIN_CHARS]) for line in lines)
    return next((time[0] for time in found if time), None)
