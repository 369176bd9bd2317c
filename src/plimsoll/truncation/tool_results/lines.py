"""Keep the lines that matter most, in their order, in a given room; say where and how many lines were left out."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING

from plimsoll.brief import pluralize
from plimsoll.regex import regex
from plimsoll.truncation.breaks import boundary_after, boundary_before

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LINE_CHARS_MAX = 400
"""A longer line keeps its two ends."""

_GAP_CHARS = 12
"""What a gap costs on average, spread over the lines that cause it."""

_GAP = regex(r"\[… (?:已略去 )?([0-9,]{1,15}) (?:lines? cut|行) …\]\Z")


def by_rank(ranks: Sequence[int]) -> list[list[int]]:
    """The indexes of the lines of each rank, lowest rank first."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for index, rank in enumerate(ranks):
        found[rank].append(index)
    return [found[rank] for rank in sorted(found)]


def keep_lines(lines: Sequence[str], ranked: Sequence[Sequence[int]], room_chars: int) -> list[int]:
    """Indexes of the lines to keep: lowest rank first, within a rank from both ends inwards, while there is room."""
    kept: list[int] = []
    for indexes in ranked:
        for index in _inwards(indexes):
            room_chars -= min(len(lines[index]), LINE_CHARS_MAX) + 1 + _GAP_CHARS
            if room_chars < 0:
                return sorted(kept)
            kept.append(index)
    return sorted(kept)


def _inwards(indexes: Sequence[int]) -> Iterator[int]:
    """Two from the front, one from the back, until they meet."""
    first, last = 0, len(indexes) - 1
    turn = 0
    while first <= last:
        turn += 1
        if turn % 3:
            yield indexes[first]
            first += 1
        else:
            yield indexes[last]
            last -= 1


def gaps_in(lines: Sequence[str]) -> dict[int, int]:
    """Where earlier cuts left gaps, and how many lines each stands for."""
    marked = (index for index, line in enumerate(lines) if line.startswith("[… "))
    return {index: size for index in marked if (size := gap_size(lines[index]))}


def render_kept(lines: Sequence[str], kept: Sequence[int], gaps: Mapping[int, int], language: str) -> str:
    """The kept lines, with a line in place of each gap. A gap left by an earlier cut adds to the one it falls into."""
    out: list[str] = []
    places = sorted(gaps)
    missing = 0
    expected = 0
    for index in (*kept, len(lines)):
        within = places[bisect_left(places, expected) : bisect_left(places, index)]
        missing += index - expected + sum(gaps[place] - 1 for place in within)
        expected = index + 1
        own = gaps.get(index, 0)
        if own:
            missing += own
            continue
        if missing:
            out.append(gap_line(missing, language))
            missing = 0
        if index < len(lines):
            out.append(clipped(lines[index]))
    return "\n".join(out)


def gap_line(count: int, language: str) -> str:
    """The line in place of `count` lines."""
    return f"[… 已略去 {count:,} 行 …]" if language == "zh" else f"[… {pluralize(count, 'line')} cut …]"


def gap_size(line: str) -> int:
    """How many lines a line stands for when it is a gap left by an earlier cut, else 0."""
    found = _GAP.match(line)
    return int(found[1].replace(",", "") or 0) if found else 0


def clipped(line: str) -> str:
    """A line of bounded length: the two ends of a longer one."""
    if len(line) <= LINE_CHARS_MAX:
        return line
    half = LINE_CHARS_MAX // 2 - 2
    return f"{line[: boundary_before(line, half)]} … {line[boundary_after(line, len(line) - half) :]}"
