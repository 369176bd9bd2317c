"""Token counts without a vocabulary, estimated from pairs of adjacent characters.

Each character costs the expected number of token boundaries before it, given the previous character: almost 0 for 'e' after 'h',
almost 1 for a digit after a letter. Characters outside ASCII have a cost of their own in addition. The costs were fitted on some
five hundred languages, programming languages and data formats (bench/fit_estimator.py).

All costs are non-negative and depend on the past only, so longer text never counts less. A pair costs less than one token, so the
counts of two parts differ from that of the whole by at most 2. A line feed resets the state, so counts of lines add up exactly.
The work is a few passes over the text, in C.

The costs are averages. Errors cancel out over varied text, but accumulate in repetitive text. `upper` allows for that: see
`_spread_units`.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections import Counter
from functools import cache
from math import ceil, sqrt

from plimsoll.light.dataclass import dataclass
from plimsoll.light.packages import package_file
from plimsoll.light.regex import regex
from plimsoll.limits import COUNT_SLICE_CHARS

UNITS = 250
"""Units per token: costs of pairs are integers in this unit."""

CHARACTER_UNITS = 5
"""Units per step of a character's own cost."""

UPPER_SLICE_CHARS = 1 << 16
"""Characters whose repetitions are examined together. Bounds memory."""

BLOCK_CHARS = 4

BLOCK_SPREAD_TOKENS = 3.0
"""Largest error in the cost of a block of four characters, in tokens: four, less the least that pairs of characters cost. For
multi-byte scripts it is BYTE_SPREAD_TOKENS per byte."""

BYTE_SPREAD_TOKENS = 0.5
RUN_SPREAD_TOKENS = 0.5
"""The same for each character of a run of one ASCII character: almost all have a token for two."""

_RUN_SPREAD_TOKENS = {
    " ": 1 / 16,
    "\n": 1 / 12,
    "\t": 1 / 12,
    **dict.fromkeys("\r\0", 1.0),
    **dict.fromkeys("-=*#_./~+%!:;X", 1 / 12),
    **dict.fromkeys("─…—", 1 / 7),
    **dict.fromkeys("═━\u3000", 0.5),
}
"""The same for characters with longer run tokens in both vocabularies, and for those with none."""

_MARKED = regex(r"[\u00c0-\u024f\u1e00-\u1eff]{3,}")
"""Latin letters with marks."""

_START = b"\n"
_END = b"\xff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The costs of one vocabulary.

    The class of a character is its code in ASCII, else `low` of its code in Latin-1, else `high` of its code unit's upper byte.
    """

    low: bytes
    high: bytes
    pairs: list[int]
    """65,536 costs, indexed by the previous class plus 256 times the current one."""
    characters: list[int]
    """65,536 costs by UTF-16 code unit; 0 in ASCII."""
    margin: float
    """Factor on the estimate that less than 1 in 100 of the fitted texts exceed."""


@cache
def weights(vocabulary: str) -> Weights:
    """The packaged costs of `o200k_base` or `cl100k_base`, cached."""
    data = zlib.decompress(package_file("plimsoll.tokens", f"{vocabulary}.weights"))
    low, high, pairs, characters = data[:256], data[256:512], data[512:66_048], data[66_048:131_584]
    margin = int.from_bytes(data[131_584:], "little") / 1000
    return Weights(low=low, high=high, pairs=list(pairs), characters=list(characters), margin=margin)


class EstimatingCounter:
    """A TokenCounter without dependencies. The average error is about 4 %; `upper` holds for 99 of 100 texts.

    For text that repeats a few characters, `count` is too low and `upper` about twice too high. Text of no language, such as random
    letters of one script, symbols of rare blocks or corners of boxes, may have up to three times the tokens of `upper`.
    """

    __slots__ = ("_weights", "name")

    def __init__(self, vocabulary: str = "o200k_base", *, fitted: Weights | None = None) -> None:
        """`vocabulary` to estimate: `o200k_base` or `cl100k_base`. `fitted` replaces its weights."""
        self.name = f"{vocabulary}, estimated"
        self._weights = fitted or weights(vocabulary)

    @property
    def exact(self) -> bool:
        """False."""
        return False

    def count(self, text: str) -> int:
        """The estimate, rounded; at least 1 for non-empty text."""
        return max(1, (self.units(text) + UNITS // 2) // UNITS) if text else 0

    def upper(self, text: str) -> int:
        """The estimate times its margin, or plus the possible error of repetitions if that is more; rounded up."""
        if not text:
            return 0
        total, before, margin = 0.0, _START, self._weights.margin
        for start in range(0, len(text), UPPER_SLICE_CHARS):
            part = text[start : start + UPPER_SLICE_CHARS]
            units, before = self._slice(part, before)
            total += max(units * margin, units + _spread_units(part) + _marked_units(part))
        return max(1, ceil(total / UNITS))

    def units(self, text: str) -> int:
        """The estimate in units. Linear; long texts are processed in slices with the same sum."""
        total = 0
        before = _START
        for start in range(0, len(text), COUNT_SLICE_CHARS):
            units, before = self._slice(text[start : start + COUNT_SLICE_CHARS], before)
            total += units
        return total

    def _slice(self, text: str, before: bytes) -> tuple[int, bytes]:
        """The units of a slice after a character of class `before`, and the class of its last character."""
        if text.isascii():
            classes = text.encode()
            return self._pairs(before + classes), classes[-1:]
        units = text.encode("utf-16-le", "surrogatepass")
        classes = self._classes(units)
        own = sum(map(self._weights.characters.__getitem__, _shorts(units)))
        return self._pairs(before + classes) + own * CHARACTER_UNITS, classes[-1:]

    def _classes(self, units: bytes) -> bytes:
        """The class of each code unit, vectorised as two translations combined by integer arithmetic."""
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
    """How much the estimate of a repetitive text may be too low, in units.

    Errors of different blocks are independent and add up as squares; the error of a repeated block is the same each time and adds
    up linearly. Longer text never has less.
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


def _marked_units(text: str) -> int:
    """The cost of letters with marks in a row, in units. No language writes three, so pairs of them were not fitted."""
    return 0 if text.isascii() else UNITS * sum(map(len, _MARKED.findall(text)))


def _block_spread(block: str) -> float:
    """The largest error in the cost of one block, in tokens."""
    if block.isascii():
        return BLOCK_SPREAD_TOKENS
    return max(BLOCK_SPREAD_TOKENS, BYTE_SPREAD_TOKENS * len(block.encode("utf-8", "surrogatepass")))


def _run_spread(char: str) -> float:
    """The same for each character in a run of one character."""
    usual = RUN_SPREAD_TOKENS if char.isascii() else BYTE_SPREAD_TOKENS * len(char.encode("utf-8", "surrogatepass"))
    return _RUN_SPREAD_TOKENS.get(char, usual)


_ZERO_ONLY = b"\xff" + bytes(255)


def _shorts(pairs: bytes) -> array[int]:
    """The bytes as little-endian 16-bit integers."""
    shorts = array("H", pairs)
    if sys.byteorder == "big":
        shorts.byteswap()
    return shorts
