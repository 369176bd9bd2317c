"""What words are made of in scripts other than Latin, and whether a text is English."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.light.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MARKS = (
    r"\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    r"\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711-\u07f3\u0898-\u0963\u0981-\u09e3\u09fe-\u0a01-\u0a75\u0a81-\u0ae3\u0afa-\u0b63\u0b82-\u0bd7"
    r"\u0c00-\u0c63\u0c81-\u0ce3\u0d00-\u0d63\u0d81-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ecd\u0f71-\u0f84\u0f86-\u0fbc"
    r"\u102b-\u103e\u1056-\u109d\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20f0\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f"
)
"""Vowel signs, accents and joiners, which are parts of words but not of `\\w`: for a class of characters."""

SPACELESS = "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Scripts that do not separate words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""

_SPACELESS_RUN = regex(f"[{SPACELESS}]+|[^{SPACELESS}]+")
_SPACELESS = regex(f"[{SPACELESS}]")
_LETTERS = regex(rf"[^\W\d_][\w{MARKS}]*")
_ENGLISH = frozenset(
    "the and you that it i with my your have not what for this are they we he she i'm it's but of is to".split()
)
_ENGLISH_SHARE_MIN, _WORDS_MIN, _TEXTS_MAX = 0.06, 40, 100
"""Share of the words of English text that these are at least, the least number of words, and of the newest texts, to tell by."""


def is_spaceless(word: str) -> bool:
    """Return whether a word has characters of a script that does not separate words, so that it may be a whole clause."""
    # The second check spares text in Latin letters the class, which takes milliseconds to compile.
    return not word.isascii() and max(word) >= SPACELESS[0] and _SPACELESS.search(word) is not None


def terms(words: Iterable[str]) -> list[str]:
    """Return words, and in place of those in a script without spaces their pairs of characters."""
    found: list[str] = []
    for word in words:
        for run in _SPACELESS_RUN.findall(word) if is_spaceless(word) else (word,):
            pairs = is_spaceless(run) and len(run) > 2
            found += [run[at : at + 2] for at in range(len(run) - 1)] if pairs else [run]
    return found


def is_english(texts: Sequence[str]) -> bool:
    """Return whether talk is English, or too short to tell and in Latin letters. Elsewhere `a` or `so` may be words that count."""
    words = _LETTERS.findall("\n".join(texts[-_TEXTS_MAX:]).lower())
    if 2 * sum(map(str.isascii, words)) < len(words):
        return False
    return len(words) < _WORDS_MIN or sum(map(_ENGLISH.__contains__, words)) >= _ENGLISH_SHARE_MIN * len(words)
