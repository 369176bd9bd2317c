"""Markers: the words left where text was cut. They say how much left and under which reference it can be read.

What says so carries a keyed tag: words in a text that only look like a marker are the text's own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from plimsoll.brief import pluralize
from plimsoll.dataclass import dataclass
from plimsoll.errors import SettingError
from plimsoll.provenance import TAG_HEX, is_tagged, tag_of
from plimsoll.regex import regex
from plimsoll.validation import short_repr

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_WHAT_CHARS_MAX = 100
_SAMPLE_CHARS = 2_000
SHORT = "[…]"
SHORTEST = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """What was cut: its tokens, whether they were counted or estimated, and the reference that reads it back."""

    tokens: int = 0
    exact: bool = True
    reference: str | None = None

    def text(self, language: str) -> str:
        """The marker in full."""
        match language:
            case "zh":
                where = f"，引用 {self.reference}" if self.reference else ""
                return _tagged(f"已截去{'' if self.exact else '约'} {self.tokens:,} 个词元{where}")
            case _:
                where = f", reference {self.reference}" if self.reference else ""
                return _tagged(f"{'' if self.exact else 'about '}{pluralize(self.tokens, 'token')} cut{where}")


def _tagged(words: str) -> str:
    return f"[… {words} {tag_of(words)} …]"


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMarker:
    """An earlier marker in a text: where it stands and what it says."""

    start: int
    end: int
    marker: Marker


def omission_marker(what: str, tokens: int, *, reference: str | None = None, language: str = "en") -> str:
    """The words in the place of something that cannot be cut: what it was, how much, and where it can be read."""
    named = _NOT_IN_A_MARKER.sub(" ", what)[:_WHAT_CHARS_MAX]
    if language == "zh":
        where = f"，引用 {reference}" if reference else ""
        return f"[… 已略去 {named}（{tokens:,} 个词元{where}） …]"
    where = f", reference {reference}" if reference else ""
    return f"[… {named} of {pluralize(tokens, 'token')} left out{where} …]"


def markers_in(text: str) -> tuple[EarlierMarker, ...]:
    """The markers that earlier cuts left in a text, in order. Linear."""
    if "…]" not in text:
        return ()
    found = (match for match in _MARKER.finditer(text) if _is_ours(match))
    return tuple(EarlierMarker(start=match.start(), end=match.end(), marker=_read(match)) for match in found)


def _is_ours(match: re.Match[str]) -> bool:
    """The short one says nothing, so anybody may have written it."""
    return match[0] == SHORT or is_tagged(match["en"] or match["zh"], match["tag"] or match["tag_zh"])


def trailing_marker(text: str, words: str) -> tuple[EarlierMarker, ...]:
    """Fixed words that an earlier cut left at the end. Elsewhere they cannot be told from the text's own."""
    if not words or not text.endswith(words):
        return ()
    return (EarlierMarker(start=len(text) - len(words), end=len(text), marker=Marker()),)


def without_markers(text: str, start: int, end: int, earlier: Sequence[EarlierMarker]) -> str:
    """The text in `[start, end)` less the earlier markers, all of which lie in it."""
    pieces = []
    for found in earlier:
        pieces.append(text[start : found.start])
        start = found.end
    return "".join((*pieces, text[start:end]))


def _read(match: re.Match[str]) -> Marker:
    digits = (match["tokens"] or match["tokens_zh"] or "").replace(",", "")
    return Marker(
        tokens=int(digits or 0),
        exact=not (match["about"] or match["about_zh"]),
        reference=match["reference"] or match["reference_zh"],
    )


def merge_markers(tokens: int, *, exact: bool, reference: str | None, earlier: Sequence[EarlierMarker]) -> Marker:
    """One marker for what is cut now and what the markers that disappear with it stood for."""
    known = reference or next((found.marker.reference for found in earlier if found.marker.reference), None)
    return Marker(
        tokens=tokens + sum(found.marker.tokens for found in earlier),
        exact=exact and all(found.marker.exact for found in earlier),
        reference=known,
    )


def check_reference(reference: object) -> None:
    """A reference a marker can carry: text without spaces or `]`, at most 200 characters. Raises SettingError for others."""
    if reference is not None and not (isinstance(reference, str) and _REFERENCE.fullmatch(reference)):
        raise SettingError("reference", f"{short_repr(reference)} is not 1 to 200 characters without spaces or ']'")


def language_of(text: str) -> Literal["en", "zh"]:
    """The language to put fixed strings in: `zh` where at least a fifth of the beginning is Han."""
    sample = text[:_SAMPLE_CHARS]
    han = sum("\u3400" <= char <= "\u9fff" for char in sample)
    return "zh" if 5 * han > len(sample) else "en"
