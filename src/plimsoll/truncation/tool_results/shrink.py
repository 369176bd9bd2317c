"""Shrink one tool result to a number of tokens, by its shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from plimsoll.formats.provenance import is_tagged, notice, tag_of, verified_notice
from plimsoll.formats.wire import parse_json
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.light.regex import regex
from plimsoll.policy.validation import integer
from plimsoll.protocols import TokenCounter
from plimsoll.tokens.cache import upper_by_lines
from plimsoll.truncation import cut_text
from plimsoll.truncation.json_text import Path, sample_words
from plimsoll.truncation.marker import MarkerLanguage, check_reference, language_of
from plimsoll.truncation.measure import tokens_about, tokens_if_fits
from plimsoll.truncation.text import check_options
from plimsoll.truncation.tool_results import json_rows
from plimsoll.truncation.tool_results.errors import stems_in
from plimsoll.truncation.tool_results.lines import Look, by_rank, earlier_gaps, keep_lines, line_chars, render_kept
from plimsoll.truncation.tool_results.notebook import is_notebook, look_at_notebook
from plimsoll.truncation.tool_results.outliers import find_outliers, is_rows
from plimsoll.truncation.tool_results.shapes import Kind, look_at
from plimsoll.truncation.tool_results.terminal import as_shown
from plimsoll.truncation.tool_results.wanted import around_words, best_matches

_NOTICE_WORDS = {
    "en": ("shrunk from {:,} tokens: {}", "; read the whole by reference {}"),
    "zh": ("缩自 {:,} 个词元：{}", "；可读回全文：引用 {}"),
}
_NOTICE = regex(
    r"(?:shrunk from|缩自) (?P<tokens>[0-9,]{1,15}) (?:tokens: |个词元：)(?P<facts>[^\];；\n]{0,200})"
    r"(?:(?:; read the whole by reference|；可读回全文：引用) (?P<reference>[^\s\]]{1,200}))?"
)
_IMITATION = regex(r"\[(?=(?:shrunk from|缩自) [0-9])")
_SAMPLE_LINES, _SAMPLE_CHARS = 2_000, 20_000
_WANTED_RANK, _WANTED_FIRST = -2, 4
_ROUNDS_MAX = 6
_LINES_MIN = 4
"""A text with fewer lines is cut as running text."""
_KEPT_MIN = 2
_FULL_SHARE = 0.9
"""The search ends with a text that uses this share of the room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkResult:
    """A tool result after shrinking; `kind` is "whole" if it is unchanged.

    `tokens_before` is the size before any shrinking, earlier ones included; it is an estimate above
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
    query: str | None = None,
) -> ShrunkResult:
    """Shrink a tool result to at most `tokens_max` tokens by `counter.upper`. A result that fits is unchanged.

    JSON stays JSON and keeps its keys, but for notebooks, of which lines are made. Of lines, those stay that matter most
    in a result of that shape (both ends, errors and totals, file names, declarations), in order, with each gap marked; of
    hits in one file, only the first names it. A notice in front gives the size before shrinking and the reference.
    Takes linear time.

    Args:
        tool_name: A hint at the shape.
        content: The text of the result.
        tokens_max: The limit, notice included.
        counter: Counts the tokens.
        reference: Where the whole result can be read, for the notice.
        items_max: Rows that stay of the longest list of a JSON result.
        language: Of the notice and the marks of gaps.
        query: What is looked for: lines and rows that have its rare words stay first.

    Raises:
        SettingError: If an option is invalid.
        FormatError: If `content` is not a str.

    """
    check_options(content, tokens_max, language)
    integer("items_max", items_max, least=1)
    check_reference(reference)
    tokens = tokens_if_fits(content, tokens_max, counter)
    if tokens is not None:
        return ShrunkResult(text=content, kind="whole", tokens_before=tokens, tokens_after=tokens)
    value = parse_json(content) if content.lstrip()[:1] in {"{", "["} else None
    if language == "auto":
        language = language_of(content if value is None else sample_words(value))
    return _Shrinking(
        tool_name=tool_name if isinstance(tool_name, str) else "",
        tokens_max=tokens_max,
        counter=counter,
        reference=reference,
        items_max=items_max,
        language=language,
        query=query,
    ).result(content, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Original:
    """What is known of a result as it was before any shrinking."""

    tokens: int
    reference: str | None
    characters: int = 0
    facts: str = ""

    @property
    def note_text(self) -> str:
        """The content of a note in JSON as text, for its tag."""
        return f"{json_rows.NOTE_KEY} {self.tokens} {self.characters} {self.reference or ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shrinking:
    """One result to shrink, and its options."""

    tool_name: str
    tokens_max: int
    counter: TokenCounter
    reference: str | None
    items_max: int
    language: Literal["en", "zh"]
    query: str | None = None

    def result(self, content: str, value: Any) -> ShrunkResult:
        """The shrunk content. `value` is its JSON value, or None if it is not JSON."""
        if isinstance(value, (dict, list)) and not is_notebook(value):
            return self._json(content, value)
        original, body = self._without_notice(content)
        body = as_shown(body) if value is None else body
        kind, look = self._look_at(body, value)
        header = self._header(original, original.facts or look.facts)
        room = self.tokens_max - self.counter.upper(header)
        lines = shrink_lines(body, look, room, self.counter, self.language)
        shaped = header + lines if lines else None  # a header alone is worth less than the two ends
        return self._checked(shaped, kind, body or content, original)

    def _look_at(self, body: str, notebook: dict[str, Any] | None = None) -> tuple[Kind, Look]:
        """The shape of a text, and the ranks of its lines, with what is wanted before all."""
        kind, look = look_at(self.tool_name, body) if notebook is None else ("notebook", look_at_notebook(notebook))
        if not self.query:
            return kind, look
        lines = list(body.split("\n") if look.lines is None else look.lines)
        for place, match in enumerate(best_matches(lines, self.query)):
            is_first = match.is_named and place < _WANTED_FIRST
            look.ranks[match.at] = _WANTED_RANK if is_first else min(look.ranks[match.at], 0)
            lines[match.at] = around_words(lines[match.at], self.query) if is_first else lines[match.at]
        return kind, look._replace(lines=lines)

    def _json(self, content: str, value: dict[str, Any] | list[Any]) -> ShrunkResult:
        original, value = self._without_note(content, value)
        note: dict[str, Any] = {"tokens": original.tokens, "characters": original.characters}
        note |= {"reference": original.reference} if original.reference else {}
        note["tag"] = tag_of(original.note_text)
        outliers = [outlier.path for outlier in find_outliers(value, stems_in(content), self.query)]
        candidates: tuple[tuple[dict[str, Any] | list[Any], Sequence[Path]], ...] = (
            (value, outliers),
            ((whole := {"content": value}), [((whole, "content"), *path) for path in outliers]),
            ({"content": content}, ()),
        )
        if isinstance(value, dict) and is_rows(value) and len(value) > self.items_max:
            candidates = candidates[1:]  # the keys are names of rows, which need not all stay
        for candidate, paths in candidates:
            shaped = json_rows.shrink_value(
                candidate,
                note=note,
                tokens_max=self.tokens_max,
                counter=self.counter,
                items_max=self.items_max,
                inner=self._inner,
                outliers=paths,
                language=self.language,
            )
            if shaped is not None:
                break
        return self._checked(shaped, "json", content, original)

    def _inner(self, body: str, room: int, counter: TokenCounter) -> str:
        """A text inside JSON, shrunk by its own shape."""
        body = as_shown(body)
        _, look = self._look_at(body)
        return shrink_lines(body, look, room, counter, self.language)

    def _checked(self, shaped: str | None, kind: Kind, body: str, original: _Original) -> ShrunkResult:
        """The result with the `shaped` text, or with the two ends of the body if that is None or does not fit."""
        if shaped is None or upper_by_lines(self.counter, shaped) > self.tokens_max:
            cut = cut_text(
                body,
                tokens_max=self.tokens_max,
                counter=self.counter,
                keep="both",
                reference=original.reference,
                language=self.language,
            )
            shaped, kind = cut.text, "text"
        return ShrunkResult(
            text=shaped,
            kind=kind,
            tokens_before=original.tokens,
            tokens_after=upper_by_lines(self.counter, shaped),
            reference=original.reference,
        )

    def _header(self, original: _Original, facts: str) -> str:
        words, where = _NOTICE_WORDS[self.language]
        where = where.format(original.reference) if original.reference else ""
        return f"{notice(words.format(original.tokens, facts) + where)}\n"

    def _without_notice(self, content: str) -> tuple[_Original, str]:
        """What is known of the original, and the content without the notice of an earlier shrinking.

        An imitation of a notice loses its bracket, because it would be the first line below the real one.
        """
        words = verified_notice(content)
        found = _NOTICE.fullmatch(words) if words else None
        if not found:
            is_imitation = content.startswith("[") and _IMITATION.match(content)
            body = _IMITATION.sub("(", content, count=1) if is_imitation else content
            return _Original(tokens=tokens_about(content, self.counter)[0], reference=self.reference), body
        reference = self.reference or found["reference"]
        tokens = int(found["tokens"].replace(",", "") or 0)
        return _Original(tokens=tokens, reference=reference, facts=found["facts"]), content.partition("\n")[2]

    def _without_note(self, content: str, value: Any) -> tuple[_Original, Any]:
        """The same for JSON, where the note is the first key."""
        tokens = tokens_about(content, self.counter)[0]
        unshrunk = _Original(tokens=tokens, characters=len(content), reference=self.reference), value
        note = value.get(json_rows.NOTE_KEY) if isinstance(value, dict) else None
        if not isinstance(note, dict) or next(iter(value)) != json_rows.NOTE_KEY:
            return unshrunk
        stated, characters, named, tag = (note.get(name) for name in ("tokens", "characters", "reference", "tag"))
        if not (isinstance(stated, int) and isinstance(characters, int) and isinstance(tag, str)):
            return unshrunk
        if not isinstance(named, str | None):
            return unshrunk
        original = _Original(tokens=stated, characters=characters, reference=named)
        if not is_tagged(original.note_text, tag):
            return unshrunk
        rest = {key: inner for key, inner in value.items() if key != json_rows.NOTE_KEY}
        return replace(original, reference=self.reference or named), rest


def shrink_lines(body: str, look: Look, tokens_max: int, counter: TokenCounter, language: Literal["en", "zh"]) -> str:
    """The most useful lines of a text within `tokens_max`, or its two ends if there are too few lines."""
    best = ""
    lines = body.split("\n") if look.lines is None else look.lines
    if (len(lines) >= _LINES_MIN or look.lines is not None) and tokens_max > 0:
        best = _most_lines(lines, look, tokens_max, counter, language)
    return best or cut_text(body, tokens_max=max(0, tokens_max), counter=counter, keep="both", language=language).text


def _most_lines(lines: Sequence[str], look: Look, tokens_max: int, counter: TokenCounter, language: str) -> str:
    """The most lines that fit; "" if hardly any do.

    Searches for the room in characters, with the characters per token of the last try. More room keeps the same lines
    and more, so a try is identified by its number of lines.
    """
    sample = "\n".join(lines[:_SAMPLE_LINES])[:_SAMPLE_CHARS]
    room = tokens_max * len(sample) / max(1, counter.upper(sample))
    tried: dict[int, tuple[int, str]] = {}
    ranked, gaps, chars_max = by_rank(look.ranks), earlier_gaps(lines), line_chars(int(room))
    for _ in range(_ROUNDS_MAX):
        kept = keep_lines(lines, ranked, int(room), chars_max)
        if len(kept) < min(_KEPT_MIN, len(lines)):
            break
        if len(kept) not in tried:
            text = render_kept(lines, kept, gaps, language, look.counts, chars_max, look.places)
            tried[len(kept)] = upper_by_lines(counter, text), text
        tokens = tried[len(kept)][0]
        is_full = _FULL_SHARE * tokens_max <= tokens <= tokens_max
        if is_full or len(kept) == len(lines) or _is_optimal(tried, tokens_max):
            break
        room *= min(2.0, max(0.25, 0.97 * tokens_max / max(1, tokens)))
    return max((found for found in tried.values() if found[0] <= tokens_max), default=(0, ""))[1]


def _is_optimal(tried: Mapping[int, tuple[int, str]], tokens_max: int) -> bool:
    """Whether one line more than the most that fit was tried and does not fit."""
    fitting = max((count for count, (tokens, _) in tried.items() if tokens <= tokens_max), default=0)
    return tried.get(fitting + 1, (0, ""))[0] > tokens_max
