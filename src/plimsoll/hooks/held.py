"""What a text, such as a tool's own summary, already holds: whether it has a value, and whether it says what a sentence says."""

from __future__ import annotations

from collections import Counter
from math import ceil

from plimsoll.regex import regex
from plimsoll.summary.ledger.sentences import pairs

_WORD = regex(r"[A-Za-z0-9_]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_VALUE = regex(r"[A-Za-z0-9_@#~$./:\\+-]*[A-Za-z0-9_/]")
_COMMON = frozenset(
    "the a an and or of to in on for is are was were be been it its this that with as at by from i you we he she they my your our "
    "me do did does has have had not but so if then than what which who when where how can could should would will just".split()
)
_VALUE_CHARS_MIN = 4
_SAID_SHARE = 0.8
"""A sentence is held if so many of its words are near each other: a summary says things in its own order."""

_PLACES_MAX = 500
"""Places of one word that are looked at, so that a text that repeats itself takes no longer than another."""

_WINDOW_WORDS_MIN, _WINDOW_FACTOR = 12, 2.5
_SIDE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")


class HeldText:
    """A text to compare facts with. Made once, asked many times."""

    def __init__(self, text: str) -> None:
        self._flat = " ".join(text.lower().replace("\\n", " ").replace('\\"', '"').split())
        self._places: dict[str, list[int]] = {}
        for place, word in enumerate(_words(text)):
            places = self._places.setdefault(word, [])
            if len(places) < _PLACES_MAX:
                places.append(place)

    def has(self, value: str) -> bool:
        """Whether the text has this value, not as a part of a longer word."""
        value = " ".join(value.lower().split())
        if not value:
            return True
        at, tries = self._flat.find(value), 0
        while at >= 0 and tries < _PLACES_MAX:
            tries += 1
            end = at + len(value)
            before, after = self._flat[at - 1 : at], self._flat[end : end + 1]
            if not (before in _SIDE and value[0] in _SIDE and before) and not (
                after in _SIDE and value[-1] in _SIDE and after
            ):
                return True
            at = self._flat.find(value, at + 1)
        return False

    def has_path(self, path: str) -> bool:
        """Whether the text names a file, by its path or the end of it: summaries are written from the project's folder."""
        parts = path.replace("\\", "/").rstrip("/").split("/")
        return self.has("/".join(parts[-2:]))

    def lacks(self, text: str) -> list[str]:
        """The values in a text, such as ids, paths, names and numbers, that this one does not have."""
        return [value for value in values_in(text) if not self.has(value)]

    def says(self, sentence: str) -> bool:
        """Whether most words of a sentence stand near each other in the text."""
        words = _words(sentence)
        needed = set(words)
        if not needed or self.has(sentence.strip(" .…")):
            return True
        if len(needed) < 3:
            return False
        return self._covers(
            needed, ceil(len(needed) * _SAID_SHARE), max(_WINDOW_WORDS_MIN, int(len(words) * _WINDOW_FACTOR))
        )

    def _covers(self, needed: set[str], enough: int, span: int) -> bool:
        hits = sorted((place, word) for word in needed for place in self._places.get(word, ()))
        inside: Counter[str] = Counter()
        first = 0
        for place, word in hits:
            inside[word] += 1
            while place - hits[first][0] >= span:
                gone = hits[first][1]
                inside[gone] -= 1
                if not inside[gone]:
                    del inside[gone]
                first += 1
            if len(inside) >= enough:
                return True
        return False


def values_in(text: str) -> list[str]:
    """The words of a text that are values rather than language: with a digit, a sign inside, or capitals inside."""
    found: dict[str, None] = {}
    for word in _VALUE.findall(text):
        bare = word.strip("./:-@~\\")
        if len(bare) >= _VALUE_CHARS_MIN and is_value(bare):
            found[bare] = None
    return list(found)


def is_value(word: str) -> bool:
    """Whether a word is a value rather than language."""
    if any(map(str.isdigit, word)):
        return True
    inner = word[1:-1]
    return any(sign in inner for sign in "_/.:-@\\") or (not word.isupper() and any(map(str.isupper, word[1:])))


def _words(text: str) -> list[str]:
    """The words of a text in lower case, without the commonest; of Chinese and its kin pairs of characters."""
    found: list[str] = []
    for word in _WORD.findall(text):
        if word.isascii():
            if (low := word.lower()) not in _COMMON:
                found.append(low)
        else:
            found.extend(pairs(word))
    return found
