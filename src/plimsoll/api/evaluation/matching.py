"""Whether a text holds an answer, whatever its line breaks, quotes and escapes."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from plimsoll.light.regex import regex

if TYPE_CHECKING:
    from plimsoll.api.evaluation.values import Probe

_COLOUR = regex(r"\x1b\[[0-9;]*m")
_SPACE = regex(r"\s+")
_WORD = regex(r"[A-Za-z0-9_]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ESCAPES: Final = (
    ("\\n", "\n"),
    ("\\t", "\t"),
    ('\\"', '"'),
    ("\\/", "/"),
    ("\\\\", "\\"),
    ("’", "'"),
    ("“", '"'),
    ("”", '"'),
)
_STOP: Final = frozenset(
    "the a an and or of to in on for is are was were be been it its this that with as at by from i you we he she they my your "
    "our me do did does has have had not but so if then than what which who when where how".split()
)

WORDS_SHARE: Final = 0.8
"""A statement is held if this share of its words, rounded up, stands close together: a shorter wording still answers."""

_NEAR: Final = 2.5
"""Close together: within this multiple of the statement's own length in words."""

TERMS_MIN: Final = 3
"""With fewer words, only the exact text counts."""


def words(text: str) -> list[str]:
    """The words that carry meaning, in order; each Chinese or Japanese character is one."""
    return [word for word in (found.lower() for found in _WORD.findall(text)) if word not in _STOP]


def normal(text: str) -> str:
    """Lower case, single spaces, no escapes of JSON and terminals."""
    for escaped, plain in _ESCAPES:
        text = text.replace(escaped, plain)
    return _SPACE.sub(" ", _COLOUR.sub("", text)).strip().lower()


class Haystack:
    """Texts in which answers are looked for; a statement must be within one of them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._normal = [normal(text) for text in texts]
        self._words: list[list[str]] | None = None

    def holds(self, probe: Probe) -> bool:
        """Whether one of the texts holds the answer."""
        if probe.match == "words":
            return self._has(probe.answer) or self._covers(probe)
        return self._has(probe.answer) or (probe.match == "path" and self._has("/".join(probe.answer.split("/")[-2:])))

    def _has(self, answer: str) -> bool:
        needle = normal(answer)
        return bool(needle) and any(is_in(needle, text) for text in self._normal)

    def _covers(self, probe: Probe) -> bool:
        needed = frozenset(probe.terms)
        if len(needed) < TERMS_MIN:
            return False
        if self._words is None:
            self._words = [words(text) for text in self._normal]
        reach = max(12, int(len(words(probe.answer)) * _NEAR))
        least = math.ceil(len(needed) * WORDS_SHARE)
        found = ([(place, word) for place, word in enumerate(text) if word in needed] for text in self._words)
        return any(is_near(places, reach, least) for places in found)


def is_in(needle: str, text: str, tries_max: int = sys.maxsize) -> bool:
    """Whether it occurs at the borders of words; both are in lower case. Only its first `tries_max` places are looked at."""
    at = text.find(needle)
    while at >= 0 and tries_max > 0:
        end = at + len(needle)
        if not _joined(text[at - 1 : at], needle[0]) and not _joined(needle[-1], text[end : end + 1]):
            return True
        at, tries_max = text.find(needle, at + 1), tries_max - 1
    return False


def _joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one ASCII word."""
    return bool(left and right) and all(one.isascii() and (one.isalnum() or one == "_") for one in (left, right))


def is_near(places: Sequence[tuple[int, str]], reach: int, least: int) -> bool:
    """Whether `least` different words stand within `reach` words of a text; `places` are theirs, in order."""
    inside: Counter[str] = Counter()
    first = 0
    for place, word in places:
        inside[word] += 1
        while place - places[first][0] >= reach:
            left = places[first][1]
            inside[left] -= 1
            if not inside[left]:
                del inside[left]
            first += 1
        if len(inside) >= least:
            return True
    return False
