"""Counting without a vocabulary: a token count from pairs of neighbouring characters.

Every character costs what a token boundary before it is worth, given the character before it: 'e' after 'h' almost
nothing, a digit after a letter almost a whole token. Characters outside ASCII also cost what they are worth by
themselves. The costs are data, fitted on some five hundred languages, kinds of code and of data (bench/fit_estimator.py).

Every cost is at least 0 and none looks ahead, so more text is never fewer tokens. The cost of a pair is below one token,
so counts of two parts add up to the count of the whole within 2. After a line feed nothing is remembered, so between
lines the costs add up exactly. The work is a few passes over the text, in C.

The costs are averages. Over varied text their errors cancel out; in a text that repeats itself the same error comes again with
every repetition. `upper` allows for that: see `_spread_units`.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections import Counter
from functools import cache
from math import ceil, sqrt

from plimsoll.dataclass import dataclass
from plimsoll.limits import COUNT_SLICE_CHARS

UNITS = 250
"""Units in a token. Costs of pairs are counted in them."""

CHARACTER_UNITS = 5
"""Units in one step of a character's own cost."""

UPPER_SLICE_CHARS = 1 << 16
"""Characters of text whose repetitions are looked at together. Bounds the memory that takes."""

BLOCK_CHARS = 4

BLOCK_SPREAD_TOKENS = 3.0
"""What the cost of a block of four characters may be off by, in tokens: four at most, less the least that pairs of characters
cost. In scripts whose characters take several bytes it is half a token for each byte."""

BYTE_SPREAD_TOKENS = 0.5
RUN_SPREAD_TOKENS = 0.5
"""For each character of a run of one ASCII character: nearly all of them have a token for two."""

_RUN_SPREAD_TOKENS = {
    " ": 1 / 16,
    "\n": 1 / 12,
    "\t": 1 / 12,
    **dict.fromkeys("\r\0", 1.0),
    **dict.fromkeys("-=*#_./~+%!:;X", 1 / 12),
    **dict.fromkeys("─…—", 1 / 7),
    **dict.fromkeys("═━\u3000", 0.5),
}
"""The same for characters of which both vocabularies have long runs as one token, and for those that have none."""

_START = b"\n"
_END = b"\xff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The costs for one vocabulary.

    A character's class is itself in ASCII, else `low` of its code in Latin-1, else `high` of its unit's upper byte.
    """

    low: bytes
    high: bytes
    pairs: list[int]
    """65,536 costs: by the class before plus 256 times the class itself."""
    characters: list[int]
    """65,536 costs by UTF-16 code unit; 0 in ASCII."""
    margin: float
    """Over this many times the estimate there were fewer than 1 in 100 of the texts it was fitted on."""


@cache
def weights(vocabulary: str) -> Weights:
    """The packaged costs for `o200k_base` or `cl100k_base`, read once."""
    from importlib.resources import files  # noqa: PLC0415 - slow to import, and only needed here

    data = zlib.decompress(files("plimsoll.tokens").joinpath(f"{vocabulary}.weights").read_bytes())
    low, high, pairs, characters = data[:256], data[256:512], data[512:66_048], data[66_048:131_584]
    margin = int.from_bytes(data[131_584:], "little") / 1000
    return Weights(low=low, high=high, pairs=list(pairs), characters=list(characters), margin=margin)


class EstimatingCounter:
    """A TokenCounter that needs nothing installed. Off by about 4 % on average; `upper` holds for 99 texts in 100.

    Text that repeats a few characters over and over is counted too low by `count`, and about twice too high by `upper`.
    """

    __slots__ = ("_weights", "name")

    def __init__(self, vocabulary: str = "o200k_base", *, fitted: Weights | None = None) -> None:
        """`vocabulary` is whose counts are estimated: `o200k_base` or `cl100k_base`. `fitted` replaces its weights."""
        self.name = f"{vocabulary}, estimated"
        self._weights = fitted or weights(vocabulary)

    @property
    def exact(self) -> bool:
        """False."""
        return False

    def count(self, text: str) -> int:
        """The estimate, rounded; at least 1 for any text but the empty one."""
        return max(1, (self.units(text) + UNITS // 2) // UNITS) if text else 0

    def upper(self, text: str) -> int:
        """The estimate with its margin, or with what repetitions may be off by where that is more; rounded up."""
        if not text:
            return 0
        total, before, margin = 0.0, _START, self._weights.margin
        for start in range(0, len(text), UPPER_SLICE_CHARS):
            part = text[start : start + UPPER_SLICE_CHARS]
            units, before = self._slice(part, before)
            total += max(units * margin, units + _spread_units(part))
        return max(1, ceil(total / UNITS))

    def units(self, text: str) -> int:
        """The estimate in 250ths of a token. Linear; long texts are taken in slices, to the same sum."""
        total = 0
        before = _START
        for start in range(0, len(text), COUNT_SLICE_CHARS):
            units, before = self._slice(text[start : start + COUNT_SLICE_CHARS], before)
            total += units
        return total

    def _slice(self, text: str, before: bytes) -> tuple[int, bytes]:
        """The units of a slice that follows a character of class `before`, and the class of its last character."""
        if text.isascii():
            classes = text.encode()
            return self._pairs(before + classes), classes[-1:]
        units = text.encode("utf-16-le", "surrogatepass")
        classes = self._classes(units)
        own = sum(map(self._weights.characters.__getitem__, _shorts(units)))
        return self._pairs(before + classes) + own * CHARACTER_UNITS, classes[-1:]

    def _classes(self, units: bytes) -> bytes:
        """The class of each code unit, all at once: two translations joined by arithmetic on them as whole numbers."""
        low, high = units[::2], units[1::2]
        latin = int.from_bytes(low.translate(self._weights.low), "little")
        is_latin = int.from_bytes(high.translate(_ZERO_ONLY), "little")
        other = int.from_bytes(high.translate(self._weights.high), "little")
        return (latin & is_latin | other).to_bytes(len(low), "little")

    def _pairs(self, classes: bytes) -> int:
        cost = self._weights.pairs.__getitem__
        even = classes if len(classes) % 2 == 0 else classes + _END
        odd = classes[1:] if len(classes) % 2 else classes[1:] + _END
        return sum(map(cost, _shorts(even))) + sum(map(cost, _shorts(odd)))


def _spread_units(text: str) -> float:
    """What the estimate of a text may be too low by because the text repeats itself.

    The error of each block of characters is independent of the others', so they add up as squares; but it is the same each time
    the block comes again. More text never makes it less.
    """
    counts = Counter(text[at : at + BLOCK_CHARS] for at in range(0, len(text), BLOCK_CHARS))
    runs: Counter[str] = Counter()
    squares = 0.0
    for block, count in counts.items():
        if block[0] == block[-1] and block == block[0] * len(block):
            runs[block[0]] += count * len(block)
        elif count > 1:
            squares += (count * _block_spread(block)) ** 2
    squares += sum((size * _run_spread(char)) ** 2 for char, size in runs.items() if size > BLOCK_CHARS)
    return UNITS * sqrt(squares)


def _block_spread(block: str) -> float:
    """What the cost of one block may be off by, in tokens."""
    if block.isascii():
        return BLOCK_SPREAD_TOKENS
    return max(BLOCK_SPREAD_TOKENS, BYTE_SPREAD_TOKENS * len(block.encode("utf-8", "surrogatepass")))


def _run_spread(char: str) -> float:
    """The same for each character of runs of one character."""
    usual = RUN_SPREAD_TOKENS if char.isascii() else BYTE_SPREAD_TOKENS * len(char.encode("utf-8", "surrogatepass"))
    return _RUN_SPREAD_TOKENS.get(char, usual)


_ZERO_ONLY = b"\xff" + bytes(255)


def _shorts(pairs: bytes) -> array[int]:
    """The bytes two by two, the first as the low byte."""
    shorts = array("H", pairs)
    if sys.byteorder == "big":
        shorts.byteswap()
    return shorts
