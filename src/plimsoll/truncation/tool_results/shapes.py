"""The shapes of tool results that are lines of text: how each is recognised, which of its lines stay first, and its facts.

A shape is a function that takes the lines and gives each a rank: lines of the lowest rank stay first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from plimsoll.light.brief import pluralize
from plimsoll.light.regex import regex
from plimsoll.truncation.tables import separator_of
from plimsoll.truncation.tool_results.csv_rows import look_at_csv
from plimsoll.truncation.tool_results.encoded import in_pieces, is_base64, look_at_base64
from plimsoll.truncation.tool_results.errors import SEVERE, find_errors
from plimsoll.truncation.tool_results.history import fold_commits, is_history
from plimsoll.truncation.tool_results.html_text import is_page, text_of_page
from plimsoll.truncation.tool_results.lines import Look, rank_ends
from plimsoll.truncation.tool_results.listings import LISTED, look_at_listing
from plimsoll.truncation.tool_results.logs import look_at_log
from plimsoll.truncation.tool_results.nested import is_nested, look_at_nested
from plimsoll.truncation.tool_results.traces import frames_near, outer_lines

Kind: TypeAlias = Literal[
    "whole",
    "json",
    "diff",
    "search",
    "listing",
    "log",
    "csv",
    "code",
    "html",
    "history",
    "base64",
    "nested",
    "notebook",
    "text",
]
"""The shape of a result; "whole" for one that fits and is left alone."""

Lines: TypeAlias = Sequence[str]


def _line_count(lines: Lines) -> str:
    return pluralize(len(lines), "line")


_ERRORS_FIRST, _ERRORS_MAX = 3, 12
_NEAR_LINES, _NEAR_FRAMES, _NEAR_OUTER = 2, 4, 2


def _mention(line: str) -> int:
    """0 for a line that reports an error, 1 for one that may, such as a statement that raises one, 2 for one that mentions one."""
    line = line[:_REPORT_CHARS]
    return 0 if _REPORTED_WITHIN.search(line) else 1 if _REPORTED.match(line) else 2


def _with_errors(ranked: list[int], lines: Lines, errors_max: int = _ERRORS_MAX) -> list[int]:
    """The ranks, with the worst errors before all other lines, and further ones among the first.

    Those that report an error come before those that mention one. Mere words of failure count where they are few.
    """
    errors = find_errors(lines)
    least = 1 if len(errors) <= _ERRORS_FIRST else SEVERE
    worst = [error for error in errors if error.severity >= least]
    worst.sort(key=lambda error: _mention(lines[error.first]))
    for number, error in enumerate(worst[:errors_max]):
        ranked[error.first] = -1 if number < _ERRORS_FIRST else min(0, ranked[error.first])
        if number < _ERRORS_FIRST:
            _rank_context(ranked, lines, error.first)
            for index in (error.last, *outer_lines(lines, error.last)[:_NEAR_OUTER]):
                ranked[index] = min(1, ranked[index])
    return ranked


def _rank_context(ranked: list[int], lines: Lines, at: int) -> None:
    """What belongs to an error comes with it: the inner frames of its trace, what it is inside of, and the lines after it."""
    frames = frames_near(lines, at)
    for index in (*frames[:_NEAR_FRAMES], *outer_lines(lines, at)[:_NEAR_OUTER]):
        ranked[index] = min(0, ranked[index])
    for index in (*frames[_NEAR_FRAMES:], *range(at + 1, min(len(ranked), at + 1 + _NEAR_LINES))):
        ranked[index] = min(1, ranked[index])


_REPORT_CHARS, _MENTIONED = 300, 2
_REPORTED_WITHIN = regex(r"\b(?:ERROR|FATAL|PANIC|CRITICAL)(?: ?[:!] ?\S|\])|\A\s{0,20}error(?:\[\w{1,20}\])?: \S")
_REPORTED = regex(
    r"(?:(?:[\w~^-]{1,40}:)?[^\s:]{0,200}[:-][0-9]{1,7}[:-])?[\s+\-*>#|]{0,20}"
    r"(?:[\w-]{1,20}(?:\([^)]{0,40}\))?: ?)?(?:raise \w|throw |panic|"
    r"(?:\w{0,60}Error|\w{0,60}Exception|ERROR|FATAL|CRITICAL|FAILED|FAIL|Error|[Ff]atal|error)\b(?:\[\w{1,20}\])?: ?\S)"
)
"""A line whose first words are an error, after the place of a search hit and a label."""

# --- source code ------------------------------------------------------------------------------------------------------

_CODE_LINE_CHARS = 300
_CODE_HEAD_LINES = 6
_LINE_NUMBER = regex(r"\s{0,8}[0-9]{1,7}(?:\t|→|\|| {2}|: )")
_DECLARATION = regex(
    r"\s{0,12}(?:(?:export|default|public|private|protected|static|async|abstract|final|pub|override|inline)\s{1,4}){0,4}"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module|namespace|object|record|macro)\b"
)
_IMPORT_OR_CONSTANT = regex(r"(?:import|from|package|use|using|#include|require|[A-Z][A-Z0-9_]{2,60}\s{0,4}[:=])")


def _code_ranks(lines: Lines) -> list[int]:
    """0 the first lines, 1 outer declarations, 2 inner ones, 3 imports and constants, 4 the rest."""
    ranked = [_code_rank(line[:_CODE_LINE_CHARS]) for line in lines]
    rank_ends(ranked, 0, _CODE_HEAD_LINES, 0)
    return ranked


def _code_rank(line: str) -> int:
    number = _LINE_NUMBER.match(line)
    code = line[number.end() :] if number else line
    if _DECLARATION.match(code):
        return 1 if not code[:1].isspace() else 2
    return 3 if _IMPORT_OR_CONSTANT.match(code) else 4


# --- diffs ------------------------------------------------------------------------------------------------------------

_DIFF_FILE = ("diff --git ", "--- ", "+++ ", "rename ", "new file", "deleted file", "Binary files")
_CHANGES_PER_RANK = 8
_CHANGE_RANKS_MAX = 40
_COMMIT = regex(r"commit [0-9a-f]{7,64}\b")


def _diff_ranks(lines: Lines) -> list[int]:
    """-1 commits, 0 files, 1 hunks, 2 and on changed lines (eight of each hunk per rank), last the context."""
    ranked, changes, is_message = [], 0, False
    for line in lines:
        if (line.startswith("commit ") and _COMMIT.match(line)) or (
            is_message and line.startswith("    ") and line.strip()
        ):
            is_message = line.startswith("commit")
            ranked.append(-1)
        elif line.startswith(_DIFF_FILE):
            ranked.append(0 if line.startswith(_DIFF_FILE[0]) else 1)
        elif line.startswith("@@"):
            changes = 0
            ranked.append(1)
        elif line.startswith(("+", "-")):
            changes += 1
            ranked.append(min(_CHANGE_RANKS_MAX, 2 + changes // _CHANGES_PER_RANK))
        else:
            ranked.append(_CHANGE_RANKS_MAX + 1)
    return ranked


def _diff_facts(lines: Lines) -> str:
    files = sum(line.startswith("diff --git ") for line in lines) or sum(line.startswith("+++ ") for line in lines)
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    commits = sum(line.startswith("commit ") and _COMMIT.match(line) is not None for line in lines)
    of = f"{pluralize(commits, 'commit')}, " if commits else ""
    return f"{of}{pluralize(files, 'file')}, +{added:,} -{removed:,} {'line' if added + removed == 1 else 'lines'}"


# --- search hits ------------------------------------------------------------------------------------------------------

_ERRORS_OF_SEARCH = 4
_HIT = regex(r"(?=[^\s:]{0,40}:?[^\s:]{0,200}[/.])((?:[\w~^-]{1,40}:)?[^\s:,;=][^\s:]{0,200}?)([:-])[0-9]{1,7}\2")
"""`path:12:` of a hit or `path-12-` of a line of context, with a revision such as `HEAD:` before it or none."""


def _look_at_search(lines: Lines) -> Look:
    """N for the nth hit in a file, so that each file is shown before a second hit; other lines follow the hit before."""
    seen: Counter[str] = Counter()
    ranked, current, hits = [], 0, 0
    places = [hit[1] if (hit := _HIT.match(line)) else "" for line in lines]
    if names := _names_in_full(lines, places):
        lines = [f"{names.get(place, place)}{line[len(place) :]}" for line, place in zip(lines, places, strict=True)]
        places = [names.get(place, place) for place in places]
    for line, place in zip(lines, places, strict=True):
        if place:
            hits += 1
            seen[place] += 1
            current = seen[place]
            ranked.append(current)
        else:
            ranked.append(current + 1 if line.strip() else current + 2)
    facts = f"{pluralize(hits, 'hit')} in {pluralize(len(seen), 'file')}" if hits else _line_count(lines)
    return Look(_with_errors(ranked, lines, _ERRORS_OF_SEARCH), facts, lines=lines if names else None, places=places)


def _names_in_full(lines: Lines, places: Sequence[str]) -> dict[str, str]:
    """The whole paths of files named without the folder searched in: Claude Code leaves it out of hits, but not of context."""
    found = {(place, line[len(place)]) for line, place in zip(lines, places, strict=True) if place}
    whole = {name for name, _ in found if name[:1] == "/" and (name, ":") not in found}
    short, cuts = {name for name, _ in found} - whole, ((name, name.split("/")) for name in whole)
    ends = [(name, end) for name, cut in cuts for at in range(1, len(cut)) if (end := "/".join(cut[at:])) in short]
    first, last = min(whole, default=""), max(whole, default="")
    folders = Counter(name.removesuffix(end) for name, end in ends)
    above = [folder for folder in folders if first.startswith(folder) and last.startswith(folder)]
    searched = max(above, key=lambda folder: (folders[folder], -len(folder)), default=None)
    return {end: name for name, end in ends if name == f"{searched}{end}"}


# --- prose and everything else ----------------------------------------------------------------------------------------

_HEADING = regex(r"#{1,6} |<h[1-6]")
_UNDERLINE = regex(r"(?:={3,}|-{3,})\s{0,8}\Z")
_TEXT_ENDS = 6
_UPPER = ("# ", "## ", "<h1", "<h2")
_TITLE_CHARS = 120


def _text_ranks(lines: Lines) -> list[int]:
    """Upper headings and both ends, lower headings, first lines of paragraphs, the rest, blank lines."""
    ranked: list[int] = []
    before = ""
    for line in lines:
        blank = not line or line.isspace()
        if _UNDERLINE.match(line) and before and not before.isspace() and len(before) <= _TITLE_CHARS:
            ranked[-1] = 0
            ranked.append(4)
        elif line[:1] in {"#", "<"} and _HEADING.match(line):
            ranked.append(0 if line.startswith(_UPPER) else 1)
        else:
            ranked.append(4 if blank else 2 if not before or before.isspace() else 3)
        before = line
    rank_ends(ranked, 1, _TEXT_ENDS, _TEXT_ENDS)
    rank_ends(ranked, 0, 1, 1)
    return ranked


def _look_at_page(lines: Lines) -> Look:
    text = text_of_page("\n".join(lines)).split("\n")
    return Look(_with_errors(_text_ranks(text), text), f"HTML page, {_line_count(text)} of text", lines=text)


def _look_at_history(lines: Lines) -> Look:
    """A line for each commit, then their messages."""
    folded = fold_commits(lines)
    is_head = [not line.startswith(" ") for line in folded]
    ranked = [1 if head else 2 for head in is_head]
    for error in find_errors(folded):  # words of failure are common in messages; a report of one is not
        if _mention(folded[error.first]) < _MENTIONED:
            ranked[error.first] = 0
    return Look(ranked, pluralize(sum(is_head), "commit"), lines=folded)


def _look_at_nested(lines: Lines) -> Look:
    look = look_at_nested(lines)
    return look._replace(ranks=_with_errors(look.ranks, lines, _ERRORS_FIRST))


# --- the shapes, and how they are recognised --------------------------------------------------------------------------

SHAPES: Mapping[Kind, Callable[[Lines], Look]] = {
    "diff": lambda lines: Look(_with_errors(_diff_ranks(lines), lines), _diff_facts(lines)),
    "search": _look_at_search,
    "listing": look_at_listing,
    "log": look_at_log,
    "csv": look_at_csv,
    "html": _look_at_page,
    "base64": look_at_base64,
    "history": _look_at_history,
    "nested": _look_at_nested,
    "code": lambda lines: Look(_code_ranks(lines), _line_count(lines)),
    "text": lambda lines: Look(_with_errors(_text_ranks(lines), lines), _line_count(lines)),
}

_SAMPLE_LINES = 80
_SAMPLE_CHARS = 40_000
_SAMPLE_LINE_CHARS = 400

_DIFF = regex(r"diff --git |@@ -[0-9]+(?:,[0-9]+)? \+[0-9]")
_LOGGED = regex(
    r"\S{0,30}[0-9]{1,4}[-/:][0-9]{2}[-/:][0-9]{2}"
    r"|\S{0,20} ?[0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"|[A-Z][a-z]{2} +[0-9]{1,2} [0-9]{2}:[0-9]{2}"
    r"|.{0,60}\b(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|FAIL|FAILED|PASS|PASSED|Traceback|panic|ok|Exception)\b"
)
_CODE = regex(
    r"\s{0,16}(?:def |class |func |fn |import |from \S{1,80} import|#include|package |public |private |protected "
    r"|return\b|const |let |var |if \(|for \(|while \(|type |interface |export |async |@\w|\}|\{|//|/\*|#!)"
    r"|\s{4,16}[\w.]{1,60}(?:\[[^\]]{0,40}\])? ?[-+*/|&]?= "
)
_SHARES_MIN: tuple[tuple[Kind, re.Pattern[str], float], ...] = (
    ("search", _HIT, 0.6),
    ("code", _LINE_NUMBER, 0.6),
    ("log", _LOGGED, 0.3),
    ("listing", LISTED, 0.7),
    ("code", _CODE, 0.2),
)
"""A result has the first shape whose pattern matches at least this share of its lines; half of it if its tool suggests it."""

_SUGGESTED_BY_TOOL: Mapping[Kind, re.Pattern[str]] = {
    "search": regex(r"grep|search|\brg\b|ripgrep", re.IGNORECASE),
    "listing": regex(r"\bls\b|list_?(?:dir|files)|listdir|glob|tree", re.IGNORECASE),
}


_BROKEN: frozenset[Kind] = frozenset({"text", "log", "code", "listing"})
_NEWLINE = "\n"


def look_at(tool_name: str, text: str) -> tuple[Kind, Look]:
    """The shape of a text, and what it says of its lines."""
    kind = detect_lines(tool_name, text)
    pieces = in_pieces(text) if kind in _BROKEN else None
    if pieces:
        facts = f"{pluralize(text.count(_NEWLINE) + 1, 'line')} of {len(text):,} characters, shown in {len(pieces):,} pieces"
        return "text", Look(_with_errors(_text_ranks(pieces), pieces), facts, lines=pieces)
    return kind, SHAPES[kind](text.split("\n"))


def detect_lines(tool_name: str, text: str) -> Kind:
    """The shape of a result that is lines of text, by its first lines and the tool's name."""
    if is_page(text) or is_base64(text):
        return "html" if is_page(text) else "base64"
    lines = [line[:_SAMPLE_LINE_CHARS] for line in text[:_SAMPLE_CHARS].splitlines()[:_SAMPLE_LINES] if line.strip()]
    if any(_DIFF.match(line) for line in lines):
        return "diff"
    if is_history(lines):
        return "history"
    if separator_of(lines[:-1]):
        return "csv"
    name = tool_name[:_SAMPLE_LINE_CHARS]
    suggested = {kind for kind, pattern in _SUGGESTED_BY_TOOL.items() if pattern.search(name)}
    for kind, pattern, share_min in _SHARES_MIN:
        matching = sum(pattern.match(line) is not None for line in lines)
        if lines and matching / len(lines) >= (share_min / 2 if kind in suggested else share_min):
            return kind
    return "nested" if is_nested(lines, text) else "text"
