"""Shell commands and their outcomes."""

from __future__ import annotations

import re

from plimsoll.light.regex import regex
from plimsoll.summary.ledger.fact import CAPS, Fact
from plimsoll.summary.ledger.sentences import has_digit, line

_WEIGHTY = regex(
    r"\b(?:test|tests|pytest|jest|vitest|tox|build|compile|lint|check|fmt|make|commit|push|merge|rebase|tag|checkout|pr|deploy"
    r"|install|publish|migrate|release|docker|kubectl|terraform|curl|run)\b"
)
_EXIT = regex(r"(?:exit(?:ed)?(?: with)?(?: status| code)?|returncode)[:= ]{1,3}(-?\d{1,4})")
_TOTAL = regex(
    r"\d+ (?:passed|failed|passing|failing|errors?|warnings?|tests?|issues?|files? changed)\b|^ok\s+\S+\s+|^FAIL\b"
    r"|^(?:PASS|OK|Ran \d+|Tests?:|test result:|BUILD|Finished|Successfully|Done|Compiled)\b",
    re.MULTILINE,
)
_COUNTS = regex(r"[0-9] [a-z]{2,20}(?: [a-z]{2,20})?, [0-9]+ [a-z]{2}|\w: [0-9]+, \w+(?: \w+)?: [0-9]")
"""Two numbers with what they count."""

_COMMIT = regex(r"\[[\w./-]{1,100}(?: \([\w -]{1,20}\))? [0-9a-f]{7,40}\]")
_POINTS = regex(r"(?<!-)->|https?://")
"""An arrow or an address, which says what came of a command that prints neither a commit nor a total."""

_SILENT = 0.6
"""What a command is worth of which nothing can be said but that it ran."""

_COMMIT_CHARS = 600
"""A commit is named at the start of the output, or among its last lines."""

_FAILED_COUNT = regex(r"[1-9][0-9]{0,6} (?:failed|failing|errors?)\b")
_FAILURES = (
    "\nFAIL", "--- FAIL", "FAILED", "\nfatal:", "\nerror:", "\nerror[", "\nERROR: ", "\nError: ", "Traceback (most",
    "command not found", "No such file", "panic:", "npm ERR!", "\nnpm error ",
)  # fmt: skip
"""Texts that only failures print; a leading line break means the start of a line."""


def from_result(command: str, result: str, position: int, *, is_error: bool) -> Fact:
    """Return a command fact with its outcome line. `result` is the head and tail of the tool's output."""
    state = "failed" if failed(result, is_error=is_error) else "ok"
    ended = outcome(result)
    weight = (2.5 if is_weighty(command) else 1.2 if has_digit(ended) else 0.7) * (
        1.0 if ended or state == "failed" else _SILENT
    )
    shown = line(command, CAPS["command"].text_chars_max)
    return Fact("command", shown, shown, position, "tool", weight, note=ended, state=state)


def is_weighty(command: str) -> bool:
    """Return whether a command does work: unlike a search, it may fail."""
    return _WEIGHTY.search(command[:400]) is not None


def failed(result: str, *, is_error: bool) -> bool:
    """Return whether a command failed: by the tool's flag, a non-zero exit status, or a line that only failures print."""
    if is_error:
        return True
    edges = result if len(result) <= 2_000 else f"{result[:500]}\n{result[-1_500:]}"
    if ("xit" in edges or "returncode" in edges) and any(code != "0" for code in _EXIT.findall(edges.lower())[:8]):
        return True
    edges = "\n" + edges
    if any(map(edges.__contains__, _FAILURES)):
        return True
    return (" fail" in edges or " error" in edges) and _FAILED_COUNT.search(edges) is not None


def outcome(result: str) -> str:
    """Return the outcome: the line of a commit, else the last with a total, an arrow or an address, the only line, or ""."""
    lines = [raw for raw in result.rstrip().rsplit("\n", 6) if raw.strip()]
    head = result[:_COMMIT_CHARS].split("\n") if "[" in result[:_COMMIT_CHARS] else []
    for raw in reversed([*head, *lines[-6:]]):
        if raw[:1] == "[" and _COMMIT.match(raw):
            return line(raw, 120)
    shown = [(raw, raw.strip()[:120]) for raw in reversed(lines[-6:])]
    ended = next((raw for raw, text in shown if _TOTAL.search(text) or (", " in text and _COUNTS.search(text))), "")
    if ended := ended or next((raw for raw, text in shown if _POINTS.search(text)), ""):
        return line(ended.strip("= "), 120)
    return line(lines[0].strip("= "), 120) if len(lines) == 1 else ""


def family(command: str) -> str:
    """Return a key shared by runs of the same command on the same targets: each step's words without options and redirections."""
    parts = re.split(r"&&|\|\||;|\|", command[:400])
    work = [
        [word for word in words if not word.startswith("-") and ">" not in word and "=" not in word][:_TARGETS_MAX]
        for part in parts
        if (words := part.split()) and words[0] not in _ASIDE
    ]
    return _STEP.join(map(" ".join, work[:_STEPS_MAX]))[:_FAMILY_CHARS]


def covers(run: str, earlier: str) -> bool:
    """Return whether a run repeats each step of an earlier one, by their families: on the same targets, or on all for files."""
    steps = run.split(_STEP)
    return all(any(_repeats(step, before) for step in steps) for before in earlier.split(_STEP))


def _repeats(run: str, earlier: str) -> bool:
    rest = earlier.removeprefix(f"{run} ")
    return run == earlier or (rest != earlier and not _NAMES_FILES.isdisjoint(rest.split(" ", 1)[0]))


_TARGETS_MAX, _STEPS_MAX, _FAMILY_CHARS = 6, 4, 160
_STEP = " && "
_ASIDE = frozenset("cd export tail head grep echo printf cat ls sleep true".split())
"""Programs that prepare a command or show its output."""

_NAMES_FILES = frozenset("./:")
