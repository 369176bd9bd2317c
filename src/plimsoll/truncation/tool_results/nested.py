"""Settings and markup whose lines are nested (YAML, TOML, INI, XML): the outline, and values that differ from their like."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from plimsoll.light.brief import pluralize
from plimsoll.light.regex import regex
from plimsoll.truncation.tool_results.lines import Look, rank_ends
from plimsoll.truncation.tool_results.outliers import odd_values

_LINE = regex(
    r"(?P<indent>\s{0,80})(?:"
    r"(?P<section>\[{1,2}[^\]\n]{1,200}\]{1,2})\s{0,8}\Z"
    r"|(?:- ){0,4}(?P<key>[\w.\"'/$@{}-]{1,120}) ?(?::(?=\s|\Z)|= ?)(?P<value>.{0,200})"
    r"|<(?P<tag>[/?!]?[\w:.-]{1,80})(?P<rest>.{0,200})"
    r"|(?P<item>- (?!(?:\S{1,200} ){8}))|(?P<none>#|---|\Z|\"[^\"]{0,200}\",?\Z|[\]}]))"
)
_SHARE_MIN = 0.75
_KEYED_MIN, _KEYED_SHARE_MIN, _INNER_SHARE_MIN = 3, 0.4, 0.15
_LINES_MIN = 12
_SPREAD_LINES, _SPREAD_SHARE_MIN = 80, 0.65
_DEPTH_MAX = 12
_INDENT = 2
_SECTION = "["
"""The key of all headings of sections, below which the other lines are."""
_ODD_MAX, _ODD_FIRST, _LIKE_MIN = 10, 3, 8
_BLANK_RANK = 40


def is_nested(lines: Sequence[str], text: str) -> bool:
    """Whether nearly all of the first lines of a text are settings or markup, some inside others, and most that follow.

    What has a header or lists of settings, and then sentences, is prose.
    """
    found = [one for one in map(_LINE.match, lines) if one is not None]
    keyed = sum(bool(one["section"] or one["key"] or one["tag"]) for one in found)
    inner = sum(bool(one["section"] or one["tag"] or one["indent"]) for one in found)
    others = sum(one["none"] is None for one in found)
    return (
        len(lines) >= _LINES_MIN
        and len(found) >= _SHARE_MIN * len(lines)
        and keyed >= max(_KEYED_MIN, _KEYED_SHARE_MIN * others)
        and inner >= _INNER_SHARE_MIN * len(lines)
        and _is_throughout(text.split("\n"))
    )


def _is_throughout(lines: Sequence[str]) -> bool:
    """Whether most of some lines from all over a text are settings or markup."""
    spread = [line for line in lines[:: max(1, len(lines) // _SPREAD_LINES)] if line.strip()]
    return sum(_LINE.match(line) is not None for line in spread) >= _SPREAD_SHARE_MIN * len(spread)


def look_at_nested(lines: Sequence[str]) -> Look:
    """Outer lines before inner ones, the first of each key before further ones; odd values of a key among the first."""
    ranked: list[int] = []
    places: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    values: dict[int, str] = {}
    read = {line: _read(line) for line in dict.fromkeys(lines)}
    below_section = 0
    for index, line in enumerate(lines):
        depth, key, value = read[line]
        if not key:
            ranked.append(_BLANK_RANK)
            continue
        below_section = 1 if key == _SECTION else below_section
        depth += below_section if key != _SECTION else 0
        like = places[depth, key]
        like.append(index)
        values[index] = value
        ranked.append(depth + 2 * len(like).bit_length())
    for number, index in enumerate(_odd(places, values)):
        ranked[index] = 0 if number < _ODD_FIRST else 1
    rank_ends(ranked, 1, 3, 1)
    outer = sum(depth == 0 for depth, _ in places)
    return Look(ranked, f"{pluralize(len(lines), 'line')}, {pluralize(outer, 'key')} at the top")


def _read(line: str) -> tuple[int, str, str]:
    """The depth of a line, its key and its value; no key for one that has none."""
    found = _LINE.match(line)
    if found is None:
        return 0, "", ""
    indent, section, key, value, tag, rest, *_ = found.groups()
    return (
        min(_DEPTH_MAX, len(indent) // _INDENT),
        (_SECTION if section else key or tag or ""),
        (value or rest or "").strip(),
    )


def _odd(places: dict[tuple[int, str], list[int]], values: dict[int, str]) -> list[int]:
    """The lines whose value differs from those of the same key, the most different first."""
    found: list[tuple[float, int]] = []
    for like in places.values():
        if len(like) >= _LIKE_MIN:
            found += [(-score, like[at]) for at, score in odd_values([values[index] for index in like])]
    return [index for _, index in sorted(found)[:_ODD_MAX]]
