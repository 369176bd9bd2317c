"""Where a text may be cut: at grapheme boundaries, preferably after a sentence, a line or a word."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from plimsoll.light.regex import regex
from plimsoll.limits import BREAK_SEARCH_CHARS_MAX, BROKEN_WORD_CHARS_MAX, GRAPHEME_CHARS_MAX

_SENTENCE_END = regex(
    r"""[。！？｡।॥؟۔]["'”’」』）》)\]]{0,4}"""  # these always end a sentence
    r"""|(?<![.!?])[.!?]{1,8}["'”’)\]]{0,4}(?=\s|\Z)"""  # these only before a space: not in 3.14, file.py, a.com/?q=1
)
_INITIAL_OR_NUMBER = regex(r"(?:^|[\s(])(?:[^\W\d_]|[0-9]{1,3}|e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|Prof|St|No)\.\Z")
_LINE_END = regex(r"\r\n|[\n\r\u2028\u2029]")
_SPACE = regex(r"[^\S\r\n]+")

_ZWJ = "\u200d"
_LOOK_BEHIND_CHARS = 8
"""Characters before a cut that are searched for the end of the sentence before it."""


def boundary_before(text: str, at: int) -> int:
    """The last index up to `at` that is not inside a grapheme or a line end."""
    at = min(max(0, at), len(text))
    return _first_boundary(text, range(at, max(-1, at - GRAPHEME_CHARS_MAX), -1), default=at)


def boundary_after(text: str, at: int) -> int:
    """The first index from `at` on that is not inside a grapheme or a line end."""
    at = min(max(0, at), len(text))
    return _first_boundary(text, range(at, min(len(text) + 1, at + GRAPHEME_CHARS_MAX)), default=at)


def word_before(text: str, at: int) -> int:
    """The last index up to `at` that is not inside a word, or inside a grapheme of a longer word than BROKEN_WORD_CHARS_MAX."""
    at = min(max(0, at), len(text))
    space = text.rfind(" ", max(at // 2, at - BROKEN_WORD_CHARS_MAX), at + 1) if at < len(text) else -1
    return space if space > 0 else boundary_before(text, at)


def word_after(text: str, at: int) -> int:
    """The first index from `at` on that begins a word, or a grapheme of a longer word than BROKEN_WORD_CHARS_MAX."""
    at = min(max(0, at), len(text))
    space = text.find(" ", max(0, at - 1), min((at + len(text)) // 2, at + BROKEN_WORD_CHARS_MAX)) if at else -1
    return space + 1 if space >= 0 else boundary_after(text, at)


def head_end(text: str, at: int) -> int:
    """Where to end a head of at most `at` characters: after a sentence, else a line, else a word, else a grapheme.

    Gives up at most half of the head and BREAK_SEARCH_CHARS_MAX characters.
    """
    if at >= len(text):
        return len(text)
    first = at - min(at // 2, BREAK_SEARCH_CHARS_MAX)
    window = text[first : at + 1]
    sentences = (end for end, _ in _sentence_breaks(window))
    lines = (match.end() for match in _LINE_END.finditer(window))
    words = (match.start() for match in _SPACE.finditer(window))
    for ends in (sentences, lines, words):
        fitting = [first + end for end in ends if 0 < end <= at - first]
        if fitting:
            return boundary_before(text, fitting[-1])
    return boundary_before(text, at)


def tail_start(text: str, at: int) -> int:
    """Where to start a tail that reaches back to `at` at most: at a line, else a sentence, else a word, else a grapheme."""
    if at <= 0:
        return 0
    last = at + min((len(text) - at) // 2, BREAK_SEARCH_CHARS_MAX)
    before = max(0, at - _LOOK_BEHIND_CHARS)
    window = text[before:last]
    lines = (match.end() for match in _LINE_END.finditer(window))
    sentences = (start for _, start in _sentence_breaks(window))
    words = (match.end() for match in _SPACE.finditer(window))
    for starts in (lines, sentences, words):
        fitting = next((before + start for start in starts if at <= before + start < last), None)
        if fitting is not None:
            return boundary_after(text, fitting)
    return boundary_after(text, at)


def _sentence_breaks(window: str) -> Iterator[tuple[int, int]]:
    """The end of each sentence, and the index after the spaces that follow it."""
    for match in _SENTENCE_END.finditer(window):
        if not _INITIAL_OR_NUMBER.search(window, 0, match.end()):
            spaces = _SPACE.match(window, match.end())
            yield match.end(), spaces.end() if spaces else match.end()


def _first_boundary(text: str, indexes: Iterable[int], *, default: int) -> int:
    return next((index for index in indexes if _is_boundary(text, index)), default)


def _is_boundary(text: str, at: int) -> bool:
    """Whether no grapheme spans `at`, by the rules of UAX 29 that matter in practice."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if after < "\u0300":  # no combining character is below: the common case is decided at once
        return not (before == "\r" and after == "\n") and before != _ZWJ
    if before == _ZWJ or _extends(after):
        return False
    if "\udc00" <= after <= "\udfff" and "\ud800" <= before <= "\udbff":
        return False
    return not (_is_regional_indicator(after) and _regional_indicators_before(text, at) % 2)


def _extends(char: str) -> bool:
    """Whether the character joins the one before it: marks, joiners, skin tones, tags, Hangul vowels and finals."""
    return (
        char == _ZWJ
        or unicodedata.category(char) in {"Mn", "Mc", "Me"}
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
        or "\u1160" <= char <= "\u11ff"
    )


def _is_regional_indicator(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _regional_indicators_before(text: str, at: int) -> int:
    """Number of regional indicators directly before `at`. Two of them make a flag."""
    first = at
    while first > 0 and at - first < GRAPHEME_CHARS_MAX and _is_regional_indicator(text[first - 1]):
        first -= 1
    return at - first
