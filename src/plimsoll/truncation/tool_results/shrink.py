"""Shrink one tool result to a number of tokens, by its shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from plimsoll.dataclass import dataclass
from plimsoll.errors import FormatError
from plimsoll.provenance import is_tagged, notice, tag_of, verified_notice
from plimsoll.regex import regex
from plimsoll.truncation import cut_text
from plimsoll.truncation.json_text import parse_json, sample_words
from plimsoll.truncation.marker import MarkerLanguage, check_reference, language_of
from plimsoll.truncation.measure import tokens_about, tokens_if_fits
from plimsoll.truncation.tool_results import code, diff, json_rows, listing, log, search, text
from plimsoll.truncation.tool_results.lines import by_rank, gaps_in, keep_lines, render_kept
from plimsoll.truncation.tool_results.shape import Kind, detect_lines
from plimsoll.validation import integer, one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from plimsoll.protocols import TokenCounter

_RANKS: Mapping[Kind, Callable[[Sequence[str]], list[int]]] = {
    "diff": diff.ranks,
    "search": search.ranks,
    "listing": listing.ranks,
    "log": log.ranks,
    "code": code.ranks,
    "text": text.ranks,
}
_FACTS: Mapping[Kind, Callable[[Sequence[str]], str]] = {
    "diff": diff.facts,
    "search": search.facts,
    "listing": listing.facts,
    "code": code.facts,
    "text": text.facts,
    "log": text.facts,
}
_HEADER = regex(
    r"(?:shrunk from|缩自) (?P<tokens>[0-9,]{1,15}) (?:tokens: |个词元：)(?P<facts>[^\];；\n]{0,200})"
    r"(?:(?:; read the whole by reference|；可读回全文：引用) (?P<reference>[^\s\]]{1,200}))?"
)
"""The words of the notice in front of a shrunk result."""

_IMITATION = regex(r"\[(?=(?:shrunk from|缩自) [0-9])")
_SAMPLE_CHARS = 20_000
_ROUNDS_MAX = 6
_LINES_MIN = 4
"""Fewer lines than this are cut as running text."""
_KEPT_MIN = 2
_NEAR = 0.9
"""A result that uses this share of its room is full enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkResult:
    """A tool result made smaller, or as it was (`kind` "whole").

    `tokens_before` counts the whole result, what earlier shrinking took included; it is an estimate above
    COUNTED_TEXT_CHARS_MAX characters. `tokens_after` is an upper bound.
    """

    text: str
    kind: Kind
    tokens_before: int
    tokens_after: int
    reference: str | None = None


def shrink_result(  # noqa: PLR0913 - one call with its options
    tool_name: str,
    content: str,
    *,
    tokens_max: int,
    counter: TokenCounter,
    reference: str | None = None,
    items_max: int = 20,
    language: MarkerLanguage = "auto",
) -> ShrunkResult:
    """A tool result in at most `tokens_max` tokens by `counter.upper`; the same text when it fits.

    JSON stays JSON, with its keys and at most `items_max` rows of its longest list. Of lines, those stay that matter
    most in a result of that shape (both ends, errors and totals, file names, declarations), in order, with each gap
    marked. The first thing it says is what it was shrunk from and the `reference` that reads the whole back. Linear.

    Raises SettingError for impossible options and FormatError when `content` is not a str.
    """
    if not isinstance(content, str):
        raise FormatError(f"a text is needed, not {type(content).__name__}")
    integer("tokens_max", tokens_max)
    integer("items_max", items_max, least=1)
    one_of("language", language, ("auto", "en", "zh"))
    check_reference(reference)
    fitting = tokens_if_fits(content, tokens_max, counter)
    if fitting is not None:
        return ShrunkResult(text=content, kind="whole", tokens_before=fitting, tokens_after=fitting)
    value = parse_json(content) if content.lstrip()[:1] in {"{", "["} else None
    sample = content if value is None else sample_words(value)
    return _Job(
        tool_name=tool_name if isinstance(tool_name, str) else "",
        tokens_max=tokens_max,
        counter=counter,
        reference=reference,
        items_max=items_max,
        language=language_of(sample) if language == "auto" else language,
    ).shrunk(content, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """A result before any shrinking: its tokens, its reference, what was said of it, and what there is of it now."""

    tokens: int
    reference: str | None
    body: str
    facts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """How one result is to be shrunk."""

    tool_name: str
    tokens_max: int
    counter: TokenCounter
    reference: str | None
    items_max: int
    language: Literal["en", "zh"]

    def shrunk(self, content: str, value: Any) -> ShrunkResult:
        """`value` is what the content says where it is JSON, else None."""
        if isinstance(value, (dict, list)):
            return self._json(content, value)
        origin = self._origin(content)
        kind = detect_lines(self.tool_name, origin.body)
        facts = origin.facts or _FACTS[kind](origin.body.split("\n"))
        header = self._header(origin.tokens, facts, origin.reference)
        room = self.tokens_max - self.counter.upper(header)
        lines = shrink_lines(origin.body, kind, room, self.counter, self.language)
        shaped = header + lines if lines else None  # a header over nothing says less than the two ends
        return self._checked(shaped, kind, origin.body or content, origin.tokens, origin.reference)

    def _json(self, content: str, value: dict[str, Any] | list[Any]) -> ShrunkResult:
        before, characters, reference, value = self._earlier_note(content, value)
        note: dict[str, Any] = {"tokens": before, "characters": characters}
        note |= {"reference": reference} if reference else {}
        note["tag"] = tag_of(_said(before, characters, reference))
        for candidate in (value, {"content": content}):
            shaped = json_rows.shrink_value(
                candidate,
                note=note,
                tokens_max=self.tokens_max,
                counter=self.counter,
                items_max=self.items_max,
                inner=self._inner,
                language=self.language,
            )
            if shaped is not None:
                break
        return self._checked(shaped, "json", content, before, reference)

    def _inner(self, body: str, room: int, counter: TokenCounter) -> str:
        """A text inside JSON, by its own shape."""
        return shrink_lines(body, detect_lines(self.tool_name, body), room, counter, self.language)

    def _checked(self, shaped: str | None, kind: Kind, body: str, before: int, reference: str | None) -> ShrunkResult:
        """What the shape made, or, where it does not fit, the two ends of the text with the reference between them."""
        if shaped is None or self.counter.upper(shaped) > self.tokens_max:
            cut = cut_text(
                body,
                tokens_max=self.tokens_max,
                counter=self.counter,
                keep="both",
                reference=reference,
                language=self.language,
            )
            shaped, kind = cut.text, "text"
        return ShrunkResult(
            text=shaped,
            kind=kind,
            tokens_before=before,
            tokens_after=self.counter.upper(shaped),
            reference=reference,
        )

    def _header(self, before: int, facts: str, reference: str | None) -> str:
        if self.language == "zh":
            where = f"；可读回全文：引用 {reference}" if reference else ""
            return f"{notice(f'缩自 {before:,} 个词元：{facts}{where}')}\n"
        where = f"; read the whole by reference {reference}" if reference else ""
        return f"{notice(f'shrunk from {before:,} tokens: {facts}{where}')}\n"

    def _origin(self, content: str) -> _Origin:
        """What the result was before any shrinking, with the header that an earlier one left taken off.

        What a tool printed in the form of our header loses its bracket: it would stand right under ours.
        """
        found = _HEADER.fullmatch(verified_notice(content) or "")
        if not found:
            body = _IMITATION.sub("(", content, count=1) if _IMITATION.match(content) else content
            return _Origin(tokens=tokens_about(content, self.counter)[0], reference=self.reference, body=body)
        reference = self.reference or found["reference"]
        tokens = int(found["tokens"].replace(",", "") or 0)
        return _Origin(tokens=tokens, reference=reference, body=content.partition("\n")[2], facts=found["facts"])

    def _earlier_note(self, content: str, value: Any) -> tuple[int, int, str | None, Any]:
        """The same for JSON, whose note is its first key: tokens and characters of the whole, its reference, and the rest."""
        before = tokens_about(content, self.counter)[0]
        unknown = before, len(content), self.reference, value
        note = value.get(json_rows.NOTE_KEY) if isinstance(value, dict) else None
        if not isinstance(note, dict) or next(iter(value)) != json_rows.NOTE_KEY:
            return unknown
        stated, characters, named, tag = (note.get(name) for name in ("tokens", "characters", "reference", "tag"))
        if not (isinstance(stated, int) and isinstance(characters, int) and isinstance(tag, str)):
            return unknown
        if not isinstance(named, str | None) or not is_tagged(_said(stated, characters, named), tag):
            return unknown
        rest = {key: inner for key, inner in value.items() if key != json_rows.NOTE_KEY}
        return stated, characters, self.reference or named, rest


def _said(tokens: int, characters: int, reference: str | None) -> str:
    """What a note in JSON says, for its tag."""
    return f"{json_rows.NOTE_KEY} {tokens} {characters} {reference or ''}"


def shrink_lines(body: str, kind: Kind, tokens_max: int, counter: TokenCounter, language: Literal["en", "zh"]) -> str:
    """The lines of a text that matter most in its kind, within `tokens_max`; its two ends where lines are too few."""
    lines = body.split("\n")
    best = ""
    if len(lines) >= _LINES_MIN and tokens_max > 0:
        best = _fullest(lines, _RANKS[kind](lines), body, tokens_max, counter, language)
    return best or cut_text(body, tokens_max=max(0, tokens_max), counter=counter, keep="both", language=language).text


def _fullest(  # noqa: PLR0913, PLR0917 - a search with its state
    lines: Sequence[str], ranks: Sequence[int], body: str, tokens_max: int, counter: TokenCounter, language: str
) -> str:
    """The most lines that fit, found by aiming with the characters per token of the last try. "" when hardly any do.

    More room keeps the same lines and more, so their number tells one try from another.
    """
    sample = body[:_SAMPLE_CHARS]
    room = tokens_max * len(sample) / max(1, counter.upper(sample))
    tried: dict[int, tuple[int, str]] = {}
    ranked, gaps = by_rank(ranks), gaps_in(lines)
    for _ in range(_ROUNDS_MAX):
        kept = keep_lines(lines, ranked, int(room))
        if len(kept) < _KEPT_MIN:
            break
        if len(kept) not in tried:
            text = render_kept(lines, kept, gaps, language)
            tried[len(kept)] = counter.upper(text), text
        tokens = tried[len(kept)][0]
        if _NEAR * tokens_max <= tokens <= tokens_max or len(kept) == len(lines) or _closed_in(tried, tokens_max):
            break
        room *= min(2.0, max(0.25, 0.97 * tokens_max / max(1, tokens)))
    return max((found for found in tried.values() if found[0] <= tokens_max), default=(0, ""))[1]


def _closed_in(tried: Mapping[int, tuple[int, str]], tokens_max: int) -> bool:
    """Whether one line more than fits was tried and is too much."""
    fitting = max((count for count, (tokens, _) in tried.items() if tokens <= tokens_max), default=0)
    return tried.get(fitting + 1, (0, ""))[0] > tokens_max
