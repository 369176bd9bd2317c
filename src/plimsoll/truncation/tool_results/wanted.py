"""What a caller looks for in a tool result: the texts that have the rare words of a query."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from plimsoll.regex import regex
from plimsoll.truncation.tool_results.errors import containing

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORD = regex(r"[^\W_]{1,60}(?:[./:@_-][^\W_]{1,60}){0,8}|[\u3400-\u9fff]{2,30}")
_CHARS_MIN = 3
_WORDS_MAX = 24
_MATCHES_MAX = 8
_COMMON_SHARE = 8
"""A word that is in more than one of so many texts tells nothing."""
_STOP_WORDS = frozenset(
    "the and for with from that this what which when where who why how was were are did does has have had not any all show find"
    " list give tell about into out can could should would please there their its file line lines output result results".split()
)


def words_of(query: str) -> list[str]:
    """The words of a query that may tell texts apart, in lower case."""
    found = dict.fromkeys(word.lower() for word in _WORD.findall(query[:4_000]))
    return [word for word in found if len(word) >= (_CHARS_MIN if word.isascii() else 2) and word not in _STOP_WORDS][
        :_WORDS_MAX
    ]


def best_matches(texts: Sequence[str], query: str | None) -> list[int]:
    """The indexes of the texts that match a query best, the best first; those with a word that few texts have."""
    scores: dict[int, float] = {}
    for word in words_of(query) if query else ():
        found = containing(texts, (word,))
        if len(found) <= max(2, len(texts) // _COMMON_SHARE):
            for index in found:
                scores[index] = scores.get(index, 0.0) + log2(1 + len(texts) / len(found))
    return sorted(scores, key=lambda index: (-scores[index], index))[:_MATCHES_MAX]
