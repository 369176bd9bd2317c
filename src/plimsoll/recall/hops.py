"""The second hop: what the first hits name is searched for too, so that one name leads on to another.

Taken are names in the best hits, and words that several of the first hits share: those keep company with the words of the question,
and may stand for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from plimsoll.recall.cues import SPOKEN_MIN
from plimsoll.recall.index import Index
from plimsoll.recall.ranking import RARE_MAX, Candidate
from plimsoll.recall.words import STOP
from plimsoll.regex import regex

NAMING_HITS = 3
"""Best units whose names are searched for."""

SHARING_HITS, SHARED_MIN = 8, 3
"""Best units that are compared, and how many of them a word has to be in."""

TERMS_MAX = 8
"""Words that are searched for in the second hop."""

WEIGHT = 0.2
"""What a unit gains by each of them."""

_NAME = regex(
    r"(?<=[a-z,;:] )[A-Z]\w{2,40}|\b\w*(?:[a-z][A-Z0-9_]|[0-9_][a-zA-Z])\w{0,40}|[《「“\"][^》」”\"\n]{2,40}[》」”\"]"
)
"""A capital within a sentence, a compound of code, a quoted title."""


def further_terms(index: Index, asked: frozenset[str], best: Sequence[Candidate]) -> dict[str, float]:
    """The terms that the first hits lead on to, with what each adds to a score."""
    shared: Counter[str] = Counter()
    for hit in best[:SHARING_HITS]:
        shared.update(index.terms.of(hit.text))
    named = set(_names(index, best[:NAMING_HITS]))
    rated = []
    for term, count in shared.items():
        among = sum(segment.units.count(term) for segment in index.segments)
        if not 2 <= among <= RARE_MAX or term in asked or term in STOP or index.spoken[term] >= SPOKEN_MIN:
            continue
        if (term in named or count >= SHARED_MIN) and (len(term) > 2 or not term.isascii()):
            rated.append((count / among, term))
    rated.sort(reverse=True)
    return {term: WEIGHT for _, term in rated[:TERMS_MAX]}


def _names(index: Index, hits: Sequence[Candidate]) -> Iterator[str]:
    for hit in hits:
        for name in _NAME.findall(hit.text):
            yield from index.terms.of(name)
