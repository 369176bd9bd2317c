"""How much of a text fits into a number of tokens. Counts only about as much text as fits, however long the text is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from plimsoll.limits import COUNTED_TEXT_CHARS_MAX

if TYPE_CHECKING:
    from plimsoll.protocols import TokenCounter

_SAMPLES = 16
_SAMPLE_CHARS = 4_096
_ROUNDS_MAX = 12
_PRECISION = 64
"""The search ends within this fraction of the tokens; for fewer tokens than this, only at the exact character."""
_EDGE_TOKENS = 8
"""A prefix can count a little more than the whole text, where a token spans its end."""


def tokens_if_fits(text: str, tokens_max: int, counter: TokenCounter) -> int | None:
    """The upper bound of the tokens of `text`, or None if it exceeds `tokens_max`.

    A text that is far too long is recognised by a prefix, because more text never has fewer tokens.
    """
    probe = max(16 * tokens_max, _SAMPLE_CHARS)
    while probe < len(text):
        if counter.upper(text[:probe]) > tokens_max + _EDGE_TOKENS:
            return None
        probe *= 4
    tokens = counter.upper(text)
    return tokens if tokens <= tokens_max else None


def chars_within(text: str, tokens_max: int, counter: TokenCounter, *, from_end: bool = False) -> int:
    """How many characters from the start (or the end) fit into `tokens_max`, at most 1/64 of the tokens below it."""
    if tokens_max <= 0 or not text:
        return 0

    def tokens_of(chars: int) -> int:
        return counter.upper(text[len(text) - chars :] if from_end else text[:chars])

    low, low_tokens = 0, 0
    high = min(len(text), 3 * tokens_max + 8)
    while (high_tokens := tokens_of(high)) <= tokens_max:
        if high == len(text):
            return high
        low, low_tokens = high, high_tokens
        growth = min(4.0, max(1.25, 1.1 * tokens_max / max(1, high_tokens)))
        high = min(len(text), int(high * growth) + 1)
    for round_ in range(_ROUNDS_MAX):
        missing = tokens_max - low_tokens
        if high - low <= 1 or (missing <= tokens_max // _PRECISION and tokens_max >= _PRECISION):
            break
        # interpolate, but bisect every third round: text of uneven density defeats interpolation
        share = missing / (high_tokens - low_tokens) if missing and round_ % 3 < 2 else 0.5
        middle = min(high - 1, max(low + 1, low + int((high - low) * share)))
        tokens = tokens_of(middle)
        if tokens <= tokens_max:
            low, low_tokens = middle, tokens
        else:
            high, high_tokens = middle, tokens
    return low


def tokens_about(text: str, counter: TokenCounter) -> tuple[int, bool]:
    """The number of tokens of a text to show to people, and whether it was counted (True) or estimated from samples."""
    if len(text) <= COUNTED_TEXT_CHARS_MAX:
        return counter.count(text), True
    stride = (len(text) - _SAMPLE_CHARS) // (_SAMPLES - 1)
    sample = sum(counter.count(text[at : at + _SAMPLE_CHARS]) for at in range(0, stride * _SAMPLES, stride))
    return sample * len(text) // (_SAMPLES * _SAMPLE_CHARS), False


def fair_cap(sizes: Sequence[int], room: int) -> int:
    """The largest cap for which the sizes, each limited to the cap, add up to at most `room`; 0 if there is none."""
    left = room
    ordered = sorted(sizes)
    for done, size in enumerate(ordered):
        if size * (len(ordered) - done) > left:
            return max(0, left // (len(ordered) - done))
        left -= size
    return max(ordered, default=0)
