"""What a caller looks for in a tool result: the texts that have the rare words of a query."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.truncation.boundaries import word_after, word_before
from plimsoll.truncation.tool_results.errors import containing

_WITHOUT_SPACES = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_RUN = regex(f"[{_WITHOUT_SPACES}]{{1,80}}|[^{_WITHOUT_SPACES}]{{1,4000}}")
_WORD = regex(r"[^\W_]{1,60}(?:[./:@_-][^\W_]{1,60}){0,8}")
_QUERY_CHARS = 4_000
_CHARS_MIN = 3
_WORDS_MAX = 24
_MATCHES_MAX = 8
_LINE_CHARS, _BEFORE_CHARS = 140, 50
_COMMON_SHARE = 8
"""A word that is in more than one of so many texts tells nothing."""
_STOP_WORDS = frozenset(
    "the and for with from that this what which when where who why how was were are did does has have had not any all show find"
    " here list give tell about into out can could should would please there their its file line lines output result results went"
    " happened know known need make made get got see look said say you your our they them she her his him been being will".split()
)


class WantedText(NamedTuple):
    """The place of a text with words of a query; `is_named` if one of them is a name, a number or an identifier."""

    at: int
    is_named: bool


def words_of(query: str) -> dict[str, bool]:
    """The words of a query that may tell texts apart, in lower case, and whether each is a name; pairs of letters in Chinese."""
    words: dict[str, bool] = {}
    for run in _RUN.findall(query[:_QUERY_CHARS]):
        if _RUN_OF_LETTERS.match(run):
            words |= dict.fromkeys((run[at : at + 2] for at in range(len(run) - 1)), False)
            continue
        for word in _WORD.findall(run):
            if len(word) >= _CHARS_MIN and word.lower() not in _STOP_WORDS:
                words[word.lower()] = not (word.isalpha() and word.islower())
    return dict(list(words.items())[:_WORDS_MAX])


_RUN_OF_LETTERS = regex(f"[{_WITHOUT_SPACES}]")


def best_matches(texts: Sequence[str], query: str | None) -> list[WantedText]:
    """The texts that match a query best, the best first; those with a word that few texts have."""
    scores: dict[int, float] = {}
    named: set[int] = set()
    for word, is_name in words_of(query).items() if query else ():
        found = containing(texts, (word,))
        if len(found) <= max(2, len(texts) // _COMMON_SHARE):
            named.update(found if is_name else ())
            for index in found:
                scores[index] = scores.get(index, 0.0) + log2(1 + len(texts) / len(found))
    best = sorted(scores, key=lambda index: (index not in named, -scores[index], index))[:_MATCHES_MAX]
    return [WantedText(index, index in named) for index in best]


def around_words(line: str, query: str) -> str:
    """The line, or of a long one what is around the first name of the query in it."""
    lower = line.lower()
    places = [lower.find(word) for word, is_name in words_of(query).items() if is_name]
    at = min((place for place in places if place >= 0), default=-1)
    if len(line) <= _LINE_CHARS or at < 0 or len(lower) != len(line):
        return line
    start = max(0, at - _BEFORE_CHARS)
    first, last = word_after(line, start), word_before(line, start + _LINE_CHARS - 4)
    return f"{'… ' if first else ''}{line[first:last]}{' …' if last < len(line) else ''}"
