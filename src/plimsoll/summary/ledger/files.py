"""Files modified, read or seen, from call arguments, shell commands and tool results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.ledger.fact import Fact
from plimsoll.summary.ledger.sentences import clean
from plimsoll.summary.ledger.shell import in_command

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from plimsoll.summary.ledger.calls import Call

_WEIGHTS = {"modified": 4.0, "read": 2.5, "reported": 1.5, "seen": 0.8}
_PATH_LINE = regex(
    r"(?:\.{0,2}/|[\w@.+-]+/)[\w@.+/-]*\.[A-Za-z]\w{0,9}(?=[:\s-]|\Z)|[\w@+-][\w@.+-]*\.[A-Za-z]\w{0,5}\Z"
)
_PATH = regex(r"(?<![\w/.~:-])(?:\.{0,2}/|[\w@.+-]{1,80}/)[\w@.+/-]{0,200}\.[A-Za-z]\w{0,9}\b")
_DIFF = "diff --git a/"
_SIDES = regex(r"^(?:diff --git |--- |\+\+\+ )[ab]/([^\n]{1,400}?)(?: b/[^\n]{1,400})?$", re.MULTILINE)
"""The names of a file before and after, which a diff has below `a/` and `b/`."""
_REPORT_CHARS_MAX = 16_000
_SEEN_MAX = 60
_NAMED_MAX = 12
"""More paths in one result share the weight of this many."""


def from_call(call: Call, position: int) -> Iterator[Fact]:
    """Yield the files of a call with what was done to them."""
    if call.action == "edit":
        yield from _facts(call.paths, "modified", position)
    elif call.action == "read":
        yield from _facts(call.paths, "read", position)
    elif call.command:
        for path, state in in_command(call.command):
            yield _fact(path, state, position)


def in_listing(text: str, position: int) -> Iterator[Fact]:
    """Yield the paths at the start of lines in a search result or listing."""
    seen: dict[str, None] = {}
    path = ""
    for raw in text.split("\n", 100)[:100]:
        # Matches in one file are consecutive; only the first needs the pattern.
        if path and raw.startswith(path):
            continue
        found = _PATH_LINE.match(raw.strip()[:300])
        if found is not None:
            path = found[0].rstrip(":-")
            seen.setdefault(path, None)
    weight = round(_WEIGHTS["seen"] * _spread(seen), 2)
    for path in list(seen)[:_SEEN_MAX]:
        yield _fact(path, "seen", position, weight)


def in_report(text: str, position: int) -> Iterator[Fact]:
    """Yield the paths anywhere in a sub-agent's report or a repository status."""
    read = text[:_REPORT_CHARS_MAX].replace("\\n", "\n")  # in JSON, the `n` of a line break is no part of a path
    read = _SIDES.sub(r"\1", read) if _DIFF in read else read
    found = list(dict.fromkeys(path for path in _PATH.findall(read) if not path.startswith("//")))[:_SEEN_MAX]
    weight = round(_WEIGHTS["reported"] * _spread(found), 2)
    for path in found:
        yield _fact(path, "seen", position, weight)


def _spread(paths: Collection[str]) -> float:
    """Return the factor of each of so many paths: the more a result names, the less each of them is meant."""
    return min(1.0, _NAMED_MAX / max(1, len(paths)))


def _facts(paths: tuple[str, ...], state: str, position: int) -> Iterator[Fact]:
    for path in paths:
        if not path.endswith("/"):
            yield _fact(path, state, position)


def _fact(path: str, state: str, position: int, weight: float | None = None) -> Fact:
    path = clean(path).strip()
    weight = _WEIGHTS[state] if weight is None else weight
    return Fact("file", path, path, position, "tool", weight, last=position, state=state)
