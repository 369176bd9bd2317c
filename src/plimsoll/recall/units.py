"""Dividing a text into units, the statements that a search returns, and what kind of statement each one is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from plimsoll.light.regex import regex
from plimsoll.recall.words import stem

UNIT_CHARS = 170
"""A unit of prose has about this many characters."""

ROW_CHARS_MAX = 800
"""A JSON object or array of at most this many characters is one unit, with all its keys."""

_BREAKS = (("\n", 1), (". ", 2), ("。", 1), (" ", 1))
"""Where units of prose end, the best first, and how much of the mark is still in the unit."""

_JSON_BREAKS = ((",\n", 2), (', "', 2), (',"', 1), *_BREAKS)
"""The same within JSON: before a key, so that a key stays with its value."""

QUESTION, NUMBER, TIME, OPENING = 1, 2, 4, 8
"""Kinds of statements: it ends in a question, it has a number, it says when, it begins a JSON object that goes on."""

_ASKED = regex(r"[?？][\s\"')\]】」”]*(?:\[[^\]]{0,300}\]\s*)?$")
_ASKING = ("吗", "呢", "么")
_NUMBER_TERMS = frozenset(
    map(stem, "one two three four five six seven eight nine ten dozen once twice hundred thousand million".split())
) | frozenset("一二两三四五六七八九十百千万")
_TIME_TERMS = frozenset(
    map(
        stem,
        (
            "today tonight yesterday tomorrow ago recently week weekend month year monday tuesday wednesday thursday friday "
            "saturday sunday january february march april june july august september october november december"
        ).split(),
    )
) | frozenset("昨天 今天 明天 前天 后天 上周 下周 本周 上月 下月 本月 去年 今年 明年 年 月 日".split())
_DIGIT = regex(r"[0-9]")


def kinds_of(text: str, terms: set[str]) -> int:
    """The kinds of a statement that has these terms, added up."""
    return (
        (QUESTION if _asks(text) else 0)
        | (NUMBER if _DIGIT.search(text) or not _NUMBER_TERMS.isdisjoint(terms) else 0)
        | (TIME if not _TIME_TERMS.isdisjoint(terms) else 0)
        | (
            OPENING
            if text[:_BORDER_CHARS_MIN].lstrip("[ \r\n\t").startswith("{") and text.count("{") > text.count("}")
            else 0
        )
    )


def _asks(text: str) -> bool:
    if "?" in text or "？" in text:
        return _ASKED.search(text, max(0, len(text) - 400)) is not None
    return not text.isascii() and text.rstrip("。.!！~ \n").endswith(_ASKING)


def unit_ends(text: str) -> Iterator[int]:
    """The ends of the units of a text: whole rows of JSON, else near 170 characters after a line, a sentence or a word. Linear.

    An object that is too long for a row is divided before its keys, and shares no unit with its neighbours.
    """
    if not _JSON_START.match(text):
        yield from _prose_ends(text, 0, len(text), _BREAKS)
        return
    start = 0
    rows, borders = _rows(text)
    at = 0
    for first, end in (*_joined(text, rows), (len(text), len(text))):
        while at < len(borders) and borders[at] <= first:
            if borders[at] - start >= _BORDER_CHARS_MIN:
                yield from _prose_ends(text, start, borders[at], _JSON_BREAKS)
                start = borders[at]
            at += 1
        if first - start > UNIT_CHARS // 2 or first == len(text):
            key = _KEY.search(text, max(start, first - _KEY_CHARS), first)
            yield from _prose_ends(text, start, key.start() if key else first, _JSON_BREAKS)
        if end > first:
            yield end
        start = end


def _prose_ends(text: str, start: int, stop: int, breaks: Sequence[tuple[str, int]]) -> Iterator[int]:
    while stop - start > UNIT_CHARS * 7 // 5:
        low, high = start + UNIT_CHARS * 3 // 5, start + UNIT_CHARS * 13 // 10
        found = ((text.rfind(mark, low, high), kept) for mark, kept in breaks)
        start = next((at + kept for at, kept in found if at >= 0), start + UNIT_CHARS)
        yield start
    if start < stop:
        yield stop


_BORDER_CHARS_MIN = 16
"""An object that begins or ends nearer to another is not apart from it."""

_KEY_CHARS = 80
_KEY = regex(r"\"[^\"]{1,60}\"\s{0,8}:\s{0,8}\Z")
_JSON_START = regex(r"\s{0,64}(?:\{|\[\s{0,64}(?:[\[{\"']|-?[0-9.eE+-]{1,30}\s{0,64},|(?:true|false|null)\b))")
"""An object or an array, and no label such as `[Ann]`, `[2026-05-17]` or `[1]`."""
_AFTER = regex(r"[,\s]{0,200}")
JSON_MARK = regex(r'"(?:[^"\\]|\\.?)*(?:"|\Z)|[\[{\]}]', re.DOTALL)
"""A string, or a bracket. A string that has no end goes to the end of the text: it is read once."""


def _rows(text: str) -> tuple[list[tuple[int, int]], list[int]]:
    """The largest JSON objects and arrays that are short enough for a unit, in order; and where longer objects begin and end."""
    begun: list[int] = []
    rows: list[tuple[int, int]] = []
    borders: list[int] = []
    for mark in JSON_MARK.finditer(text):
        sign = mark[0]
        if sign in {"{", "["}:
            begun.append(mark.start())
        elif sign in {"}", "]"} and begun:
            first, end = begun.pop(), mark.end()
            if end - first <= ROW_CHARS_MAX:
                while rows and rows[-1][0] > first:
                    rows.pop()
                rows.append((first, end))
            elif sign == "}":
                after = _AFTER.match(text, end)
                borders += (first, after.end() if after else end)
    return rows, sorted(borders)


def _joined(text: str, rows: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The rows, each with the comma behind it; those that are shorter than a unit together with the next."""
    held: tuple[int, int] | None = None
    for first, end in rows:
        if held is None:
            held = first, end
        elif end - held[0] <= UNIT_CHARS and not text[held[1] : first].strip(" ,\r\n\t"):
            held = held[0], end
        else:
            yield held
            held = first, end
    if held is not None:
        yield held
