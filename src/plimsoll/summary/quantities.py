"""The numbers of a text, written in digits, with a scale or in words, and which other numbers follow from them."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from itertools import accumulate, islice, product
from typing import TYPE_CHECKING, Final

from plimsoll.light.regex import regex

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_SCALES: Final = {
    "k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9, "千": 1e3, "万": 1e4, "亿": 1e8,
}  # fmt: skip
_UNITS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
    " nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORTH: Final = {
    **{word: float(at) for at, word in enumerate(_UNITS)},
    **{word: 10.0 * at for at, word in enumerate(_TENS, 2)},
    **{char: float(at) for at, char in enumerate("零一二三四五六七八九")},
    "〇": 0.0,
    "两": 2.0,
}
_MULTIPLES: Final = {"hundred": 1e2, "十": 10.0, "百": 1e2, **_SCALES}
_WORD = "|".join(sorted({*_UNITS, *_TENS, "hundred", "thousand", "million", "billion"}, key=len, reverse=True))
_NUMBER = regex(
    r"(?P<digits>\d[\d,]*(?:\.\d+)?)(?:\s?(?P<scale>k|mn?|bn|thousand|million|billion|[千万亿])(?![a-z]))?"
    rf"|\b(?P<words>(?:{_WORD})(?:(?:\s|-|(?<=red|and|ion)\sand\s)(?:{_WORD}))*)\b|(?P<chinese>[〇零一二两三四五六七八九十百千万亿]{{2,}})"
)
_SPOKEN = regex(rf"{_WORD}|[〇零一二两三四五六七八九十百千万亿]")

_FACTORS: Final = (1e2, 1e3, 1e6, 1024.0, 1024.0**2)
"""By which two units of a quantity differ: cents, thousandths, and the sizes of data."""

_TIMES: Final = (7.0, 12.0, 24.0, 52.0, 60.0, 365.0, 3600.0)
"""By which a rate is multiplied: days, months, hours, weeks, minutes and seconds."""

_TELLING_DIGITS_MIN: Final = 3
_SMALL: Final = 1_000

_NUMBER_CHARS_MAX: Final = 18
"""A longer one counts nothing."""

_BESIDE_MAX: Final = 30
_RUN_MAX: Final = 8
"""Numbers beside each other of which a sum is taken."""

_SUMMED_MAX: Final = 5_000
"""In a text with more numbers than this, nearly every number is some sum."""


class Quantities:
    """The numbers of a text in lower case, in order."""

    def __init__(self, folded: str) -> None:
        self.values = list(_values(folded))

    @cached_property
    def _sorted(self) -> list[float]:
        return sorted(self.values)

    @cached_property
    def _telling(self) -> list[float]:
        """Those with so many digits that they are told from others in another unit."""
        return [
            value for value in self._sorted if len(f"{value:.12g}".replace(".", "").strip("0")) >= _TELLING_DIGITS_MIN
        ]

    @cached_property
    def _sums(self) -> frozenset[float]:
        """Of numbers beside each other, as sizes in a list."""
        if len(self.values) > _SUMMED_MAX:
            return frozenset()
        runs = (self.values[at : at + _RUN_MAX] for at in range(len(self.values)))
        return frozenset(total for run in runs for total in accumulate(run))

    def support(self, number: str, beside: Collection[float] = ()) -> bool:
        """Whether a number in digits is one of these, rounded or in another unit, or follows from some.

        `beside` are the other numbers of its statement, which may show how it was computed.
        """
        if len(number) > _NUMBER_CHARS_MAX:
            return False
        value = float(number.replace(",", ""))
        zeros = len(number) - len(number.rstrip("0,"))
        nearly = 0.5 * 10 ** max(0, zeros - number[-zeros:].count(",")) if zeros else 0.5
        factors = (*_FACTORS, *(1 / factor for factor in _FACTORS))
        if _has(self._sorted, value, nearly) or value in self._sums:
            return True
        if any(_has(self._telling, value * factor, nearly * factor) for factor in factors):
            return True
        known = [
            other
            for other in islice(beside, _BESIDE_MAX)
            if other != value and (other < _SMALL or _has(self._sorted, other, 0.0))
        ]
        pairs = product(known, (*known, *_TIMES))
        made = {sum(known), *(made for one, other in pairs for made in (one * other, one - other, one + other))}
        return any(abs(other - value) <= nearly for other in made)


def _has(values: Sequence[float], value: float, tolerance: float) -> bool:
    at = bisect_left(values, value - tolerance)
    return at < len(values) and values[at] <= value + tolerance


def _values(folded: str) -> Iterator[float]:
    for found in _NUMBER.finditer(folded):
        if found["digits"]:
            yield float(found["digits"].replace(",", "")) * _SCALES.get(found["scale"] or "", 1.0)
        else:
            yield _spoken(found[0])


def _spoken(words: str) -> float:
    """The value of a number in English or Chinese words."""
    total = part = digit = before = 0.0
    for word in _SPOKEN.findall(words):
        factor = _MULTIPLES.get(word)
        if factor is None:
            digit, before = _followed(digit, before, _WORTH[word]), _WORTH[word]
            continue
        if factor >= 1e3 and word != "千":
            total, part = total + (part + digit or 1.0) * factor, 0.0
        else:
            part += (digit or 1.0) * factor
        digit = before = 0.0
    return total + part + digit


def _followed(said: float, before: float, worth: float) -> float:
    """What a word makes of those in front of it: `eighty four` is one pair, `nineteen eighty` two, `二零` two digits."""
    if before >= 20 and 0 < worth < 10:
        return said + worth
    return said * (100 if worth >= 10 else 10) + worth
