"""Where a text may be cut: never inside a visible character, and rather at the end of a sentence, a line or a word."""

from __future__ import annotations

import re
import unicodedata

from plimsoll.limits import BREAK_SEARCH_CHARS_MAX, GRAPHEME_CHARS_MAX
from plimsoll.regex import regex

_SENTENCE_END = regex(
    r"""[。！？｡।॥؟۔]["'”’』」）》)\]]{0,4}"""  # these end a sentence wherever they stand
    r"""|(?<![.!?])[.!?]{1,8}["'”’)\]]{0,4}(?=\s|\Z)"""  # these only before a space: not in 3.14, file.py, a.com/?q=1
)
_INITIAL_OR_NUMBER = regex(r"(?:^|[\s(])(?:[^\W\d_]|[0-9]{1,3}|e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|Prof|St|No)\.\Z")
_LINE_END = regex(r"\r\n|[\n\r\u2028\u2029]")
_SPACE = regex(r"[^\S\r\n]+")

_ZWJ = "\u200d"


def boundary_before(text: str, at: int) -> int:
    """The nearest place at or before `at` that is not inside a visible character (a grapheme) or a line end."""
    at = min(max(0, at), len(text))
    for place in range(at, max(-1, at - GRAPHEME_CHARS_MAX), -1):
        if _is_boundary(text, place):
            return place
    return at


def boundary_after(text: str, at: int) -> int:
    """The nearest place at or after `at` that is not inside a visible character or a line end."""
    at = min(max(0, at), len(text))
    for place in range(at, min(len(text) + 1, at + GRAPHEME_CHARS_MAX)):
        if _is_boundary(text, place):
            return place
    return at


def head_end(text: str, at: int) -> int:
    """Where to end a beginning that may reach to `at`: after a sentence, else a line, else a word, else as it is.

    It gives up at most half of it and BREAK_SEARCH_CHARS_MAX characters.
    """
    if at >= len(text):
        return len(text)
    first = at - min(at // 2, BREAK_SEARCH_CHARS_MAX)
    window = text[first : at + 1]
    ends = [m.end() for m in _SENTENCE_END.finditer(window) if not _INITIAL_OR_NUMBER.search(window, 0, m.end())]
    for found in (ends, _ends(_LINE_END, window), _starts(_SPACE, window)):
        fitting = [first + end for end in found if 0 < end <= at - first]
        if fitting:
            return boundary_before(text, fitting[-1])
    return boundary_before(text, at)


def tail_start(text: str, at: int) -> int:
    """Where to start an ending that may reach back to `at`: at a sentence, else a line, else a word, else as it is."""
    if at <= 0:
        return 0
    last = at + min((len(text) - at) // 2, BREAK_SEARCH_CHARS_MAX)
    before = max(0, at - 8)
    window = text[before:last]
    for found in (_ends(_LINE_END, window), _after_sentences(window), _ends(_SPACE, window)):
        fitting = [before + start for start in found if at <= before + start < last]
        if fitting:
            return boundary_after(text, fitting[0])
    return boundary_after(text, at)


def _after_sentences(window: str) -> list[int]:
    """Places after a sentence and the spaces that follow it."""
    places = []
    for match in _SENTENCE_END.finditer(window):
        if not _INITIAL_OR_NUMBER.search(window, 0, match.end()):
            spaces = _SPACE.match(window, match.end())
            places.append(spaces.end() if spaces else match.end())
    return places


def _ends(pattern: re.Pattern[str], window: str) -> list[int]:
    return [match.end() for match in pattern.finditer(window)]


def _starts(pattern: re.Pattern[str], window: str) -> list[int]:
    return [match.start() for match in pattern.finditer(window)]


def _is_boundary(text: str, at: int) -> bool:
    """Whether a cut at `at` leaves every visible character whole, by the rules of UAX 29 that matter in practice."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return not (before == "\r" and after == "\n") and before != _ZWJ
    if before == _ZWJ or _extends(after):
        return False
    if "\udc00" <= after <= "\udfff" and "\ud800" <= before <= "\udbff":
        return False
    return not (_is_flag_letter(after) and _flag_letters_before(text, at) % 2)


def _extends(char: str) -> bool:
    """Whether the character joins the one before it: marks, joiners, skin tones, tags, Hangul vowels and finals."""
    return (
        char == _ZWJ
        or unicodedata.category(char) in {"Mn", "Mc", "Me"}
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
        or "\u1160" <= char <= "\u11ff"
    )


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_letters_before(text: str, at: int) -> int:
    """Flags are pairs of letters: how many stand directly before `at`."""
    first = at
    while first > 0 and at - first < GRAPHEME_CHARS_MAX and _is_flag_letter(text[first - 1]):
        first -= 1
    return at - first
