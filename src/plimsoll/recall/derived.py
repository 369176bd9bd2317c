"""Words that a question has and the text has otherwise: derived from one root (decision, decided), or two words written as one."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import pairwise

from plimsoll.recall.words import stem

DERIVED_WEIGHT = 0.4
"""Weight of a word that is derived from the root of one of a question."""

_ROOT_CHARS_MIN, _CHANGED_ROOT_CHARS_MIN = 4, 3
"""The shortest root; and the shortest before an ending that changes the root."""

_ENDINGS = (
    "",
    *(
        "ion ation ition iv ativ or er ator ment anc enc ant ent al ful ness ist ism ic ical ian iti abl ibl ous ship i iz at "
        "less"
    ).split(),
)
"""Endings of stems that make a word of another kind."""

_CHANGES = [
    change.split("-")
    for change in (
        "sion-d sion-t ption-b ption-v ption-p cation-i cation-ic umption-um ution-v our-or ys-yz ysi-yz gth-g asi-at uction-uc"
    ).split()
]
"""Endings that change the last letters of the root: `decision` and `decid`."""


def derived_terms(asked: Container[str], terms: Iterable[str], words: Sequence[str]) -> set[str]:
    """The terms that may be of one root with those of a question, and its neighbouring words as one: `ice cream`, `icecream`."""
    found = {other for term in terms if term.isascii() and term.isalpha() for other in _of_one_root(term)}
    found.update(stem((one + other).lower()) for one, other in pairwise(words) if len(one) > 1)
    return {term for term in found if term not in asked}


def _of_one_root(term: str) -> Iterator[str]:
    for ending in _ENDINGS:
        root = term.removesuffix(ending)
        if (root != term or not ending) and len(root) >= _ROOT_CHARS_MIN:
            yield from (root + other for other in _ENDINGS)
    for one, other in _CHANGES:
        for ending, instead in ((one, other), (other, one)):
            root = term.removesuffix(ending)
            if root != term and len(root) >= _CHANGED_ROOT_CHARS_MIN:
                yield root + instead
