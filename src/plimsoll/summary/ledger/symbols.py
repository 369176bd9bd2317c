"""Names in code (functions, types, constants) with their files, ranked by the agent's mentions."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from math import sqrt
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.ledger.fact import fact_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from plimsoll.summary.ledger.calls import Call
    from plimsoll.summary.ledger.fact import Fact

_DEFINED = regex(
    r"(?:f(?:unc(?:tion)?|n)|def|c(?:lass|onst)|t(?:ype|rait)|interface|struct|enum|var|let)\s{1,2}"
    r"(?:\([^()\n]{1,60}\)\s{0,2})?([A-Za-z_]\w{3,60})"
)
"""A keyword and the name after it. Starting with letters instead of a word boundary halves the search time."""

_MATCH_LOCATION = regex(r"(?:^|\n)([\w@./+-]{1,240}\.\w{1,8})[:-][0-9]{1,7}[:-]")
"""The file and line number of a search match."""

_QUOTED = regex(r"`(?:\w{1,40}\.)?([A-Za-z_]\w{3,60})(?:\([^`\n]{0,60}\))?`")
_WORD, _WORD_IN_ASCII = regex(r"[A-Za-z_]\w{5,60}"), regex(r"[A-Za-z_]\w{5,60}", re.ASCII)
_CODE_NAME = regex(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|[A-Z]{2}[a-z]")
"""Camel case or inner underscores, which distinguish names in code from words."""

_SAID, _ASKED = 2.0, 1.2
"""Weights of names: what the agent itself names in an answer is most often needed again, more than what it searches or edits."""

_CHARS_MAX = 16_000  # bounds the time of the patterns
_MEANT_MAX = 12
_EXCERPT_CHARS_MAX, _USED_MAX = 8_000, 16
"""Somebody who reads as little as this of a file wants to know how the code there works, and looks at what it calls next: so
many of its names are kept, those that are called before others."""

_EACH_MAX = 40
_SEARCH_KEYS = ("pattern", "query", "regex", "symbol", "name")
_WRITTEN_KEYS = ("new_string", "new_str", "newText", "content", "patch", "input")


def from_result(call: Call, content: str, position: int) -> Iterator[Fact]:
    """Yield the names defined in a read file or in search results, and all names in an excerpt that was read."""
    text, file = content[:_CHARS_MAX], _name(call.paths[0]) if call.paths and call.action == "read" else ""
    found: dict[str, int] = {}
    for match in _definitions(text):
        found.setdefault(match[1], match.start())
    defined = _in_code(list(found)[-_EACH_MAX:])
    weight = _share(defined)
    for name in defined:
        yield _fact(name, file or _file_at(text, found[name]), position, weight)
    if file and len(content) <= _EXCERPT_CHARS_MAX:
        used = [name for name in _in_code(dict.fromkeys(_words(text))) if name not in found]
        weight = _share(used)
        called = list(islice((name for name in used if f"{name}(" in text), _USED_MAX))
        for name in [*called, *(name for name in used if name not in called)][:_USED_MAX]:
            yield _fact(name, file, position, weight)


def _share(names: Sequence[str]) -> float:
    """Return the weight of each of the names of one result: the more there are, the less each of them is meant."""
    return round(0.5 * sqrt(min(1.0, _MEANT_MAX / max(1, len(names)))), 2)  # a log holds each weight


def _definitions(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of _DEFINED whose keyword is a complete word."""
    at = 0
    while match := _DEFINED.search(text, at):
        begin = match.start()
        if begin and (text[begin - 1].isalnum() or text[begin - 1] == "_"):
            at = begin + 1
            continue
        yield match
        at = match.end()


def from_call(call: Call, position: int) -> Iterator[Fact]:
    """Yield the names a call searches for, and the names an edit defines."""
    for key in _SEARCH_KEYS if call.action == "search" else ():
        if isinstance(asked := call.arguments.get(key), str):
            for name in dict.fromkeys(_names(asked)):
                yield _fact(name, "", position, _ASKED)
    for key in _WRITTEN_KEYS if call.action == "edit" else ():
        if isinstance(written := call.arguments.get(key), str):
            file = _name(call.paths[0]) if call.paths else ""
            for name in _in_code(dict.fromkeys(match[1] for match in _definitions(written[:_CHARS_MAX]))):
                yield _fact(name, file, position, _ASKED)


def from_text(text: str, position: int) -> Iterator[Fact]:
    """Yield the names in inline code of an answer."""
    for name in _in_code(list(dict.fromkeys(_QUOTED.findall(text[:_CHARS_MAX])))[:_EACH_MAX]):
        yield _fact(name, "", position, _SAID)


def from_report(text: str, position: int) -> Iterator[Fact]:
    """Yield the names in a sub-agent's report, most frequent first."""
    for name, count in Counter(_names(text)).most_common(_EACH_MAX):
        yield _fact(name, "", position, round(_ASKED + min(count, 4) * 0.1, 1))


def _names(text: str) -> list[str]:
    return _in_code(_words(text[:_CHARS_MAX]))


def _words(text: str) -> list[str]:
    found: list[str] = (_WORD_IN_ASCII if text.isascii() else _WORD).findall(text)
    return found


def _in_code(words: Iterable[str]) -> list[str]:
    """Return the words that are names in code. Most words are lower-case letters, which needs no pattern to see."""
    return [word for word in words if ("_" in word or not word.islower()) and _CODE_NAME.search(word)]


def _fact(name: str, file: str, position: int, weight: float) -> Fact:
    return fact_of(("symbol", name, name, position, "tool", weight, 1, position, file, ""))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _file_at(text: str, at: int) -> str:
    """Return the file of the search match at a definition, if known."""
    begin = text.rfind("\n", 0, at)
    found = _MATCH_LOCATION.match(text, max(0, begin))
    return _name(found[1]) if found is not None else ""
