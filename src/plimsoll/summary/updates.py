"""Statements of a user that tell a value anew: of the same matter, another number, or what holds now."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.ledger.sentences import has_digit
from plimsoll.summary.vocabulary import is_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_SHARED_MIN = 2
"""Words that two statements of one matter share at least; they are half of what the shorter says."""

_RARE = 2.0
"""What a word is worth that tells of what a statement is: one in seven statements or fewer has it."""

_SPREAD_MAX = 4
"""So many of the last statements with a word are compared."""

_NUMBER = regex(r"[0-9][0-9.,:]*")
_NOW = regex(
    r"\b(?:now|new|moved|changed|switched|instead|no longer|any ?more|increased|decreased|raised|grown|went (?:up|down))\b",
    re.IGNORECASE,
)
_NEWER, _OLDER = 1.6, 0.7
"""What the value that holds is worth, and one that a later statement replaces."""


def worth(told: Sequence[tuple[str, Mapping[str, float]]]) -> list[float]:
    """Return what statements, in order, are worth by whether they replace others or are replaced. Linear.

    Each is its text and its words that carry information, with what each is worth. Both of a pair may be shown, the newer first.
    """
    said: dict[str, list[int]] = defaultdict(list)
    found, totals = [1.0] * len(told), list[float]()
    for place, (text, words) in enumerate(told):
        matter = [(word, weight) for word, weight in words.items() if weight > _RARE and not is_number(word)]
        totals.append(sum(weight for _, weight in matter))
        if len(matter) >= _SHARED_MIN and (has_digit(text) or _NOW.search(text) is not None):
            for earlier in _of_same_matter([(said[word][-_SPREAD_MAX:], weight) for word, weight in matter], totals):
                if _is_anew(text, told[earlier][0]):
                    found[earlier], found[place] = _OLDER, _NEWER
        for word, _ in matter:
            said[word].append(place)
    return found


def _of_same_matter(matter: Iterable[tuple[Sequence[int], float]], totals: Sequence[float]) -> Iterator[int]:
    """The earlier statements that share several words, and half of what either says. `totals` is what each says."""
    shared: dict[int, list[float]] = defaultdict(list)
    for places, weight in matter:
        for place in places:
            shared[place].append(weight)
    for place, weights in shared.items():
        if len(weights) >= _SHARED_MIN and 2 * sum(weights) >= min(totals[place], totals[-1]):
            yield place


def _is_anew(text: str, earlier: str) -> bool:
    """Return whether a statement has other numbers than an earlier one, or says that something holds now."""
    numbers, before = set(_NUMBER.findall(text)), set(_NUMBER.findall(earlier))
    return bool(numbers and before and not numbers & before) or _NOW.search(text) is not None
