"""Cut a text to a number of tokens, marker included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from plimsoll.dataclass import dataclass
from plimsoll.errors import FormatError
from plimsoll.truncation.breaks import head_end, tail_start
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
from plimsoll.validation import integer, one_of

if TYPE_CHECKING:
    from plimsoll.protocols import TokenCounter

Keep: TypeAlias = Literal["head", "tail", "both"]

_ROUNDS_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A text after cutting, and what left it. Nothing left it when `removed_chars` is 0: then it is the text it was.

    `tokens` is an upper bound. `removed_tokens` includes what markers of earlier cuts stood for; it is an estimate
    where more than COUNTED_TEXT_CHARS_MAX characters were removed.
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
    """The text in at most `tokens_max` tokens by `counter.upper`, the marker counted in; unchanged when it fits.

    What stays is the head, the tail, or both ends with the marker between them. The marker says how many tokens were
    cut and carries `reference`; markers of earlier cuts are merged into it, so there is never more than one. `marker`
    replaces its words by fixed ones. Where not even a marker fits, the text is empty. Graphemes stay whole, and a cut
    prefers the end of a sentence, a line or a word. Time is linear in the length of the text, the tokenizer's only in
    `tokens_max` and in what it takes to say how much was cut.

    Raises SettingError for impossible options and FormatError when `text` is not a str.
    """
    if not isinstance(text, str):
        raise FormatError(f"a text is needed, not {type(text).__name__}")
    integer("tokens_max", tokens_max)
    one_of("keep", keep, ("head", "tail", "both"))
    one_of("language", language, ("auto", "en", "zh"))
    check_reference(reference)
    fitting = tokens_if_fits(text, tokens_max, counter)
    if fitting is not None:
        return Cut(text=text, tokens=fitting)
    spoken = language_of(text) if language == "auto" else language
    return _Job(
        text=text,
        tokens_max=tokens_max,
        counter=counter,
        keep=keep,
        words=marker,
        reference=reference,
        language=spoken,
        earlier=markers_in(text) if marker is None else trailing_marker(text, marker),
    ).cut()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One text to cut, and how."""

    text: str
    tokens_max: int
    counter: TokenCounter
    keep: Keep
    words: str | None
    reference: str | None
    language: str
    earlier: tuple[EarlierMarker, ...]

    def cut(self) -> Cut:
        """Try the marker in full, then the short one; the first that leaves enough room for text wins."""
        widest = merge_markers(len(self.text), exact=False, reference=self.reference, earlier=self.earlier)
        for short in (False,) if self.words is not None else (False, True):
            words = self._words(widest, short=short)
            cost = self.counter.upper(words if self.words is not None else f" {words} ")
            room = self.tokens_max - cost
            if short and widest.reference:
                break  # better the reference alone than some words without it
            if room > 0 and (short or room >= cost or widest.reference or self.words is not None):
                result = self._cut_to(room, short=short)
                if result is not None:
                    return result
        return self._bare_marker()

    def _cut_to(self, room: int, *, short: bool) -> Cut | None:
        """The ends in `room` tokens, with the marker; less where the whole counts more than its parts."""
        for _ in range(_ROUNDS_MAX):
            result = self._assembled(*self._ends(room), short=short)
            if result.tokens <= self.tokens_max:
                return result
            room -= max(result.tokens - self.tokens_max, room // 8, 1)
            if room <= 0:
                break
        return None

    def _ends(self, room: int) -> tuple[int, int]:
        """Where the head ends and the tail starts so that both take `room` tokens, no earlier marker in either."""
        start, end = 0, len(self.text)
        keep = self._possible()
        if keep != "tail":
            start = self._head_end(room if keep == "head" else room - room // 2)
        if keep != "head":
            spent = self.counter.upper(self.text[:start]) if start else 0
            end = max(start, self._tail_start(room - spent))
        if start == end:  # the parts count less than the whole; something has to leave all the same
            start = head_end(self.text, start - 1)
        return start, end

    def _possible(self) -> Keep:
        """Which ends to keep: where an earlier marker stands at one end, only the other has text."""
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

    def _assembled(self, start: int, end: int, *, short: bool) -> Cut:
        removed = without_markers(self.text, start, end, self.earlier)
        tokens, exact = tokens_about(removed, self.counter)
        marker = merge_markers(tokens, exact=exact, reference=self.reference, earlier=self.earlier)
        text = self._joint(self._words(marker, short=short), self.text[:start], self.text[end:])
        return Cut(
            text=text,
            tokens=self.counter.upper(text),
            removed_chars=len(removed),
            removed_tokens=marker.tokens,
        )

    def _words(self, marker: Marker, *, short: bool) -> str:
        if self.words is not None:
            return self.words
        return SHORT if short else marker.text(self.language)

    def _joint(self, words: str, head: str, tail: str) -> str:
        """Head, marker and tail. In text of several lines the marker has its own; fixed words stand as they are."""
        if self.words is not None:
            return f"{head}{words}{tail}"
        before = "" if not head or head[-1].isspace() else ("\n" if "\n" in head else " ")
        after = "" if not tail or tail[0].isspace() else ("\n" if "\n" in tail else " ")
        return f"{head}{before}{words}{after}{tail}"

    def _bare_marker(self) -> Cut:
        """No room for text: the longest marker that fits, or nothing."""
        removed = without_markers(self.text, 0, len(self.text), self.earlier)
        tokens, exact = tokens_about(removed, self.counter)
        marker = merge_markers(tokens, exact=exact, reference=self.reference, earlier=self.earlier)
        forms = (marker.text(self.language), SHORT, SHORTEST) if self.words is None else (self.words,)
        fitting = (form for form in forms if self.counter.upper(form) <= self.tokens_max)
        text = next(fitting, "")
        return Cut(
            text=text,
            tokens=self.counter.upper(text),
            removed_chars=len(removed),
            removed_tokens=marker.tokens,
        )


def truncate_to_tokens(text: str, max_tokens: int, suffix: str = "...", *, counter: TokenCounter) -> str:
    """The head of a text in at most `max_tokens` tokens, `suffix` counted in; the same text when it fits.

    Empty where not even the suffix fits. Raises as cut_text does.
    """
    if not isinstance(suffix, str):
        raise FormatError(f"a suffix is text, not {type(suffix).__name__}")
    return cut_text(text, tokens_max=max_tokens, counter=counter, marker=suffix).text
