"""Cut a text to a number of tokens, marker included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from plimsoll.errors import FormatError
from plimsoll.light.dataclass import dataclass
from plimsoll.policy.validation import integer, one_of
from plimsoll.truncation.boundaries import head_end, tail_start
from plimsoll.truncation.marker import (
    SHORT,
    SHORTEST,
    EarlierMarker,
    Marker,
    MarkerLanguage,
    check_reference,
    language_of,
    markers_in,
    merge_markers,
    trailing_marker,
    without_markers,
)
from plimsoll.truncation.measure import chars_within, tokens_about, tokens_if_fits

if TYPE_CHECKING:
    from plimsoll.protocols import TokenCounter

Keep: TypeAlias = Literal["head", "tail", "both"]

_ROUNDS_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A text after cutting. If `removed_chars` is 0, it is the original text.

    `tokens` is an upper bound. `removed_tokens` includes what markers of earlier cuts stood for; it is an estimate if
    more than COUNTED_TEXT_CHARS_MAX characters were removed.
    """

    text: str
    tokens: int
    removed_chars: int = 0
    removed_tokens: int = 0


def cut_text(  # noqa: PLR0913 - one primitive with its options
    text: str,
    *,
    tokens_max: int,
    counter: TokenCounter,
    keep: Keep = "head",
    marker: str | None = None,
    reference: str | None = None,
    language: MarkerLanguage = "auto",
) -> Cut:
    """Cut a text to at most `tokens_max` tokens by `counter.upper`, marker included. A text that fits is unchanged.

    Graphemes are never split, and a cut prefers the end of a sentence, a line or a word. Markers of earlier cuts are
    merged into the new one, so there is never more than one. If not even a marker fits, the text is empty. Takes time
    linear in the length of the text; the counter is called on about `tokens_max` tokens and on what is removed.

    Args:
        text: The text.
        tokens_max: The limit, marker included.
        counter: Counts the tokens.
        keep: The end that stays; for "both", the marker is between them.
        marker: Fixed words for the marker. By default it gives the number of tokens cut, and `reference`.
        reference: Where the whole text can be read.
        language: Of the default marker.

    Raises:
        SettingError: If an option is invalid.
        FormatError: If `text` is not a str.

    """
    check_options(text, tokens_max, language)
    one_of("keep", keep, ("head", "tail", "both"))
    check_reference(reference)
    tokens = tokens_if_fits(text, tokens_max, counter)
    if tokens is not None:
        return Cut(text=text, tokens=tokens)
    return _TextCut(
        text=text,
        tokens_max=tokens_max,
        counter=counter,
        keep=keep,
        fixed_words=marker,
        reference=reference,
        language=language_of(text) if language == "auto" else language,
        earlier=markers_in(text) if marker is None else trailing_marker(text, marker),
    ).cut()


def check_options(text: object, tokens_max: object, language: object) -> None:
    """Check what all cuts take. Raises FormatError if `text` is not a str, SettingError for an invalid option."""
    if not isinstance(text, str):
        raise FormatError(f"a text is needed, not {type(text).__name__}")
    integer("tokens_max", tokens_max)
    one_of("language", language, ("auto", "en", "zh"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _TextCut:
    """One text to cut, and its options."""

    text: str
    tokens_max: int
    counter: TokenCounter
    keep: Keep
    fixed_words: str | None
    reference: str | None
    language: str
    earlier: tuple[EarlierMarker, ...]

    def cut(self) -> Cut:
        """Cut with the full marker or, if that leaves too little room for text, with the short one."""
        widest = merge_markers(len(self.text), exact=False, reference=self.reference, earlier=self.earlier)
        for short in (False,) if self.fixed_words is not None else (False, True):
            if short and widest.reference:
                break  # the reference alone is worth more than a little text without it
            words = self._words(widest, short=short)
            cost = self.counter.upper(words if self.fixed_words is not None else f" {words} ")
            room = self.tokens_max - cost
            if room > 0 and (short or room >= cost or widest.reference or self.fixed_words is not None):
                result = self._cut_to(room, short=short)
                if result is not None:
                    return result
        return self._only_marker()

    def _cut_to(self, room: int, *, short: bool) -> Cut | None:
        """The kept text in about `room` tokens with its marker, or None if they do not fit together.

        Retries with less room, because the joined text can count more than its parts.
        """
        for _ in range(_ROUNDS_MAX):
            start, end = self._removed_range(room)
            removed_chars, marker = self._marker_for(start, end)
            result = self._result(self._joined(start, end, self._words(marker, short=short)), removed_chars, marker)
            if result.tokens <= self.tokens_max:
                return result
            room -= max(result.tokens - self.tokens_max, room // 8, 1)
            if room <= 0:
                break
        return None

    def _only_marker(self) -> Cut:
        """No text, and the longest marker that fits, if any."""
        removed_chars, marker = self._marker_for(0, len(self.text))
        forms = (marker.text(self.language), SHORT, SHORTEST) if self.fixed_words is None else (self.fixed_words,)
        words = next((form for form in forms if self.counter.upper(form) <= self.tokens_max), "")
        return self._result(words, removed_chars, marker)

    def _removed_range(self, room: int) -> tuple[int, int]:
        """The range to remove so that head and tail fit into `room` tokens. It covers all earlier markers."""
        start, end = 0, len(self.text)
        keep = self._ends_with_text()
        if keep != "tail":
            start = self._head_end(room if keep == "head" else room - room // 2)
        if keep != "head":
            spent = self.counter.upper(self.text[:start]) if start else 0
            end = max(start, self._tail_start(room - spent))
        if start == end:  # head and tail fit separately and not together: something has to be removed
            start = head_end(self.text, start - 1)
        return start, end

    def _ends_with_text(self) -> Keep:
        """The ends to keep. If an earlier marker is at one end, only the other end has text."""
        if self.earlier and not self.text[: self.earlier[0].start].strip():
            return "tail"
        if self.earlier and not self.text[self.earlier[-1].end :].strip():
            return "head"
        return self.keep

    def _head_end(self, tokens: int) -> int:
        limit = self.earlier[0].start if self.earlier else len(self.text)
        reach = chars_within(self.text[:limit], tokens, self.counter)
        return limit if self.earlier and reach == limit else head_end(self.text, reach)

    def _tail_start(self, tokens: int) -> int:
        limit = self.earlier[-1].end if self.earlier else 0
        ending = self.text[limit:]
        reach = chars_within(ending, tokens, self.counter, from_end=True)
        return limit if self.earlier and reach == len(ending) else tail_start(self.text, len(self.text) - reach)

    def _marker_for(self, start: int, end: int) -> tuple[int, Marker]:
        """The number of characters removed with `[start, end)`, and the marker for them."""
        removed = without_markers(self.text, start, end, self.earlier)
        tokens, exact = tokens_about(removed, self.counter)
        return len(removed), merge_markers(tokens, exact=exact, reference=self.reference, earlier=self.earlier)

    def _words(self, marker: Marker, *, short: bool) -> str:
        if self.fixed_words is not None:
            return self.fixed_words
        return SHORT if short else marker.text(self.language)

    def _joined(self, start: int, end: int, words: str) -> str:
        """Head, marker and tail. In multi-line text the marker is on a line of its own; fixed words are not set apart."""
        head, tail = self.text[:start], self.text[end:]
        if self.fixed_words is not None:
            return f"{head}{words}{tail}"
        before = "" if not head or head[-1].isspace() else ("\n" if "\n" in head else " ")
        after = "" if not tail or tail[0].isspace() else ("\n" if "\n" in tail else " ")
        return f"{head}{before}{words}{after}{tail}"

    def _result(self, text: str, removed_chars: int, marker: Marker) -> Cut:
        return Cut(
            text=text, tokens=self.counter.upper(text), removed_chars=removed_chars, removed_tokens=marker.tokens
        )
