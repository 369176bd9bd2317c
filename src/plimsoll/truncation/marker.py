"""Markers: the text left where something was cut. They give the number of tokens cut and the reference to read them by.

A marker carries a keyed tag, so that text which only looks like one is not mistaken for one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from plimsoll.errors import SettingError
from plimsoll.formats.provenance import TAG_HEX, is_tagged, tag_of
from plimsoll.light.brief import pluralize
from plimsoll.light.dataclass import dataclass
from plimsoll.light.regex import regex
from plimsoll.policy.validation import short_repr

MarkerLanguage: TypeAlias = Literal["auto", "en", "zh"]

_TAG = rf"[0-9a-f]{{{TAG_HEX}}}"
_MARKER = regex(
    rf"\[… (?P<en>(?P<about>about )?(?P<tokens>[0-9,]{{1,24}}) tokens? cut(?:, reference (?P<reference>[^\s\]]{{1,200}}))?)"
    rf" (?P<tag>{_TAG}) …\]"
    rf"|\[… (?P<zh>已截去(?P<about_zh>约)? (?P<tokens_zh>[0-9,]{{1,24}}) 个词元(?:，引用 (?P<reference_zh>[^\s\]]{{1,200}}))?)"
    rf" (?P<tag_zh>{_TAG}) …\]"
    r"|\[…\]"
)
_REFERENCE = regex(r"[^\s\]]{1,200}")
_NOT_IN_A_MARKER = regex(r"[\[\]\s]+")
_NAME_CHARS_MAX = 100
_SAMPLE_CHARS = 2_000
SHORT = "[…]"
SHORTEST = "…"
GAP_START = "[… "
"""The start of the line in place of lines that were cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What was cut: the number of tokens, whether it is exact, and the reference to read it by."""

    tokens: int = 0
    exact: bool = True
    reference: str | None = None

    def text(self, language: str) -> str:
        """The full marker."""
        if language == "zh":
            words = f"已截去{'' if self.exact else '约'} {self.tokens:,} 个词元"
        else:
            words = f"{'' if self.exact else 'about '}{pluralize(self.tokens, 'token')} cut"
        words += _reference_words(self.reference, language)
        return f"[… {words} {tag_of(words)} …]"


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMarker:
    """A marker found in a text, at `[start, end)`."""

    start: int
    end: int
    marker: Marker


def omission_marker(name: str, tokens: int, *, reference: str | None = None, language: str = "en") -> str:
    """The text in place of something that cannot be cut, only left out: its name, size and reference."""
    named = _NOT_IN_A_MARKER.sub(" ", name)[:_NAME_CHARS_MAX]
    where = _reference_words(reference, language)
    if language == "zh":
        return f"[… 已略去 {named}（{tokens:,} 个词元{where}） …]"
    return f"[… {named} of {pluralize(tokens, 'token')} left out{where} …]"


def _reference_words(reference: str | None, language: str) -> str:
    if not reference:
        return ""
    return f"，引用 {reference}" if language == "zh" else f", reference {reference}"


def markers_in(text: str) -> tuple[EarlierMarker, ...]:
    """The markers that earlier cuts left in a text, in order. Takes linear time."""
    if "…]" not in text:
        return ()
    return tuple(
        EarlierMarker(start=match.start(), end=match.end(), marker=_parsed(match))
        for match in _MARKER.finditer(text)
        # the short form states nothing that could be forged, so it needs no tag
        if match[0] == SHORT or is_tagged(match["en"] or match["zh"], match["tag"] or match["tag_zh"])
    )


def _parsed(match: re.Match[str]) -> Marker:
    digits = (match["tokens"] or match["tokens_zh"] or "").replace(",", "")
    return Marker(
        tokens=int(digits or 0),
        exact=not (match["about"] or match["about_zh"]),
        reference=match["reference"] or match["reference_zh"],
    )


def trailing_marker(text: str, words: str) -> tuple[EarlierMarker, ...]:
    """The fixed words that an earlier cut left at the end. Elsewhere they cannot be told from the text's own words."""
    if not words or not text.endswith(words):
        return ()
    return (EarlierMarker(start=len(text) - len(words), end=len(text), marker=Marker()),)


def without_markers(text: str, start: int, end: int, earlier: Sequence[EarlierMarker]) -> str:
    """`text[start:end]` without the earlier markers, all of which must lie in it."""
    pieces = []
    for found in earlier:
        pieces.append(text[start : found.start])
        start = found.end
    return "".join((*pieces, text[start:end]))


def merge_markers(tokens: int, *, exact: bool, reference: str | None, earlier: Sequence[EarlierMarker]) -> Marker:
    """One marker for `tokens` cut now and for what the earlier markers cut with them stood for."""
    known = reference or next((found.marker.reference for found in earlier if found.marker.reference), None)
    return Marker(
        tokens=tokens + sum(found.marker.tokens for found in earlier),
        exact=exact and all(found.marker.exact for found in earlier),
        reference=known,
    )


def check_reference(reference: object) -> None:
    """Raise SettingError unless a marker can carry the reference: 1 to 200 characters without spaces and `]`, or None."""
    if reference is not None and not (isinstance(reference, str) and _REFERENCE.fullmatch(reference)):
        raise SettingError("reference", f"{short_repr(reference)} is not 1 to 200 characters without spaces or ']'")


def language_of(text: str) -> Literal["en", "zh"]:
    """The language for markers in a text: "zh" if at least a fifth of its beginning is Han characters, and it is not Japanese."""
    sample = text[:_SAMPLE_CHARS]
    return "zh" if 5 * han_chars(sample) > len(sample) else "en"


def han_chars(text: str) -> int:
    """The number of Han characters of a text; 0 if there is half as much kana, because then it is Japanese."""
    if text.isascii():  # most texts are, and need no search
        return 0
    rows = text.encode("utf-16-le", "surrogatepass")[
        1::2
    ]  # a pattern of so many characters takes a millisecond to compile
    han = len(rows) - len(rows.translate(None, _HAN_ROWS))
    return han if 2 * sum(map(len, _KANA.findall(text))) < han else 0


_HAN_ROWS = bytes(range(0x34, 0xA0))
"""U+3400 to U+9FFF, by the upper byte."""

_KANA = regex(r"[\u3041-\u30fa\u30fc-\u30ff]+")
