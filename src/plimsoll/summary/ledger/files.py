"""Which files were modified, read or seen: from a call's arguments and from shell commands, never from guesses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.summary.ledger.fact import Fact
from plimsoll.summary.ledger.sentences import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plimsoll.summary.ledger.calls import Call

_WEIGHTS = {"modified": 4.0, "read": 1.5, "seen": 0.8}
_WORD = re.compile(r"""'[^'\n]{0,300}'|"[^"\n]{0,300}"|[^\s;|&<>()'"]+|>>?|[;|&<()\n]""")
_FILE = re.compile(r"(?:~|\.{0,2}|[A-Za-z]:)?[\w@+=.,~\\/-]*[\w-]\.[A-Za-z][\w]{0,9}\Z")
_READERS = frozenset({"cat", "head", "tail", "less", "nl", "bat", "wc", "source", "sed", "awk", "jq", "diff"})
_WRITERS = frozenset({"tee", "touch", "mv", "cp", "rm", "truncate", "patch"})
_EDITORS = frozenset({"sed", "perl"})
_IN_PLACE = frozenset({"-i", "-i.bak", "-pi", "--in-place"})
_SKIPPED = frozenset({"/dev/null", "/dev/stderr", "/dev/stdout"})
_PATH_LINE = re.compile(
    r"(?:\.{0,2}/|[\w@.+-]+/)[\w@.+/-]*\.[A-Za-z]\w{0,9}(?=[:\s-]|\Z)|[\w@+-][\w@.+-]*\.[A-Za-z]\w{0,5}\Z"
)
_SEEN_MAX = 60


def from_call(call: Call, position: int) -> Iterator[Fact]:
    """Files that a call names, with what was done to them."""
    if call.action == "edit":
        yield from _facts(call.paths, "modified", position)
    elif call.action == "read":
        yield from _facts(call.paths, "read", position)
    elif call.command:
        for path, state in in_command(call.command):
            yield _fact(path, state, position)


def in_command(command: str) -> Iterator[tuple[str, str]]:
    """`(path, "modified" | "read")` for each file a shell command writes (`>`, `tee`, `mv`, `sed -i`...) or prints."""
    program, edits, redirected = "", False, False
    for word in _WORD.findall(command[:4_000]):
        if word in ";|&(\n":
            program, edits = "", False
        elif word in (">", ">>"):
            redirected = True
        elif redirected or program:
            edits = edits or word in _IN_PLACE
            path = word.strip("'\"")
            state = "modified" if redirected else _effect(program, edits=edits)
            redirected = False
            # Quotes allow spaces in a name; without them a space would have ended the word.
            if state and is_file(path.replace(" ", "_")):
                yield path, state
        else:
            program = word.rsplit("/", 1)[-1]


def _effect(program: str, *, edits: bool) -> str:
    """What a program does to the files it is given; empty when it says nothing about them."""
    if program in _WRITERS or (program in _EDITORS and edits):
        return "modified"
    return "read" if program in _READERS else ""


def is_file(word: str) -> bool:
    """Whether a word of a command looks like a file's path: no globs or variables, and a name with an extension or a slash."""
    if not 2 < len(word) <= 300 or word in _SKIPPED or word[0] in "-$&" or "://" in word:
        return False
    return _FILE.match(word) is not None or (word[0] in "/~" and word.count("/") > 1 and not set(word) & set("*?$,{} "))


def in_listing(text: str, position: int) -> Iterator[Fact]:
    """Files that a search or a listing showed: a path at the head of each line."""
    seen: dict[str, None] = {}
    path = ""
    for raw in text.split("\n", 100)[:100]:
        # The matches of one file follow each other: only the first of them needs the pattern.
        if path and raw.startswith(path):
            continue
        found = _PATH_LINE.match(raw.strip()[:300])
        if found is not None:
            path = found[0].rstrip(":-")
            seen.setdefault(path, None)
    weight = _WEIGHTS["seen"] if len(seen) <= 12 else _WEIGHTS["seen"] * 12 / len(seen)
    for path in list(seen)[:_SEEN_MAX]:
        yield _fact(path, "seen", position, weight)


def _facts(paths: tuple[str, ...], state: str, position: int) -> Iterator[Fact]:
    for path in paths:
        if not path.endswith("/"):
            yield _fact(path, state, position)


def _fact(path: str, state: str, position: int, weight: float | None = None) -> Fact:
    path = clean(path).strip()
    return Fact("file", path, path, position, "tool", _WEIGHTS[state] if weight is None else weight, state=state)
