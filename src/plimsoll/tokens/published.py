"""Counting formulas that are in use elsewhere, bit by bit, for comparison and for those who must agree with them.

None of them is used for a decision here. All count identifiers, JSON, code and base64 two to four times too low, so a
request that they call small enough is refused (WE-01). Each says below what else is known to be wrong with it.
"""

from __future__ import annotations

from functools import reduce
from math import ceil
from operator import add
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def two_thirds_of_han_quarter_of_rest_down(text: str) -> int:
    """Two tokens for three Han (U+4E00 to U+9FA5), one for four other code points, rounded down, at least 1 (S0-10).

    Rounding down each of many short texts loses up to a token a time (WE-05). Kana, Hangul, fullwidth punctuation and rarer
    Han count as letters.
    """
    if not text:
        return 0
    han = _between(text, 0x4E00, 0x9FA5)
    return max(1, int(han / 1.5 + (len(text) - han) / 4))


def two_thirds_of_han_quarter_of_rest_up(text: str) -> int:
    """The same with UTF-16 units for characters, rounded up (S1-23). Characters beyond U+FFFF count as two letters."""
    han = _between(text, 0x4E00, 0x9FA5)
    return ceil(han / 1.5 + (_utf16_units(text) - han) / 4)


def quarter_of_bytes(text: str) -> int:
    """UTF-8 bytes divided by four, rounded down, at least 1 (S0-36). Disagrees with the counter it stands in for."""
    return max(1, len(text.encode("utf-8", "surrogatepass")) // 4) if text else 0


def weight_per_character(text: str) -> int:
    """Over code points 1.5 for Han, 1 for CJK punctuation, 0.25 for space, tab, line feed, else 0.3; up (S2-06).

    Meant never to be low, and is for all that agents carry most. 0.3 is 3.3 characters a token, not 4 as its source says;
    kana, Hangul, fullwidth `，！？`, emoji and Cyrillic are all 0.3, and adding floats one by one can be off by one (WE-04).
    """
    return ceil(reduce(add, map(_weight, text), 0.0))


def blend_of_characters_per_token(text: str) -> int:
    """UTF-16 length over a mean of 1.8 and 4 characters a token by the share of Han (U+4E00 to U+9FFF), rounded up (S3-03).

    Averages characters per token where tokens should be added (WE-02): 50 Han and 200 letters are 71, not 78 as its own
    table says. Longer text can be fewer tokens (WE-03): 1,000 Han are 556, with 100 letters after them 550.
    """
    if not text:
        return 0
    length = _utf16_units(text)
    share = _between(text, 0x4E00, 0x9FFF) / length
    return ceil(length / (share * 1.8 + (1 - share) * 4))


class PublishedCounter:
    """A TokenCounter that follows a published formula, and therefore has no better upper count to offer."""

    __slots__ = ("_formula", "name")

    def __init__(self, formula: Callable[[str], int]) -> None:
        self.name = formula.__name__
        self._formula = formula

    @property
    def exact(self) -> bool:
        """False."""
        return False

    def count(self, text: str) -> int:
        """What the formula gives."""
        return self._formula(text)

    def upper(self, text: str) -> int:
        """The same: no promise is made for it."""
        return self._formula(text)


PUBLISHED: dict[str, PublishedCounter] = {
    formula.__name__: PublishedCounter(formula)
    for formula in (
        two_thirds_of_han_quarter_of_rest_down,
        two_thirds_of_han_quarter_of_rest_up,
        quarter_of_bytes,
        weight_per_character,
        blend_of_characters_per_token,
    )
}
"""By name."""


def _between(text: str, first: int, last: int) -> int:
    return 0 if text.isascii() else sum(first <= ord(character) <= last for character in text)


def _utf16_units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _weight(character: str) -> float:
    code = ord(character)
    if 0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF:
        return 1.5
    if 0x3000 <= code <= 0x303F:
        return 1.0
    return 0.25 if character in " \n\t" else 0.3
