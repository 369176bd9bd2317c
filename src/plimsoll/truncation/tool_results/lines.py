"""Keep the lines of lowest rank that fit, in their order, with a line in place of each gap."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from plimsoll.light.brief import pluralize
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.truncation.boundaries import word_after, word_before
from plimsoll.truncation.marker import GAP_START
from plimsoll.truncation.tool_results.errors import error_start

LINE_CHARS_MAX = 400
LINE_CHARS_MIN = 140
_LINES_SHOWN_MIN = 6
_NO_COUNTS: Mapping[int, int] = MappingProxyType({})


class Look(NamedTuple):
    """What a shape says of the lines of a result."""

    ranks: list[int]
    """The rank of each line: the lowest stay first."""
    facts: str
    """What the notice says about the whole result."""
    counts: Mapping[int, int] = _NO_COUNTS
    """The number of lines like this one, for lines that stand for others."""
    lines: Sequence[str] | None = None
    """The lines that are ranked, where they are not those of the result but were made from it."""
    places: Sequence[str] = ()
    """The start of each line that names where it is from, "" for none. Below another line from there it is left out."""


def rank_ends(ranked: list[int], rank: int, head: int, tail: int) -> None:
    """Give the first `head` and the last `tail` lines this rank, unless theirs is lower."""
    size = len(ranked)
    for index in (*range(min(head, size)), *range(max(0, size - tail), size)):
        ranked[index] = min(ranked[index], rank)


def line_chars(room_chars: int) -> int:
    """How many characters of a line are shown, so that a few lines fit into little room."""
    return max(LINE_CHARS_MIN, min(LINE_CHARS_MAX, room_chars // _LINES_SHOWN_MIN))


_SEARCHED_CHARS = 4_000

_GAP_CHARS = 12
"""What a gap costs on average, spread over the kept lines."""

_SHORT_GAP_LINES, _SHORT_GAP_CHARS = 3, 16
_GAP = regex(r"\[… (?:已略去 )?([0-9,]{1,15}) (?:lines? cut|行) …\]\Z")


def by_rank(ranks: Sequence[int]) -> list[list[int]]:
    """The indexes of the lines of each rank, lowest rank first."""
    indexes: defaultdict[int, list[int]] = defaultdict(list)
    for index, rank in enumerate(ranks):
        indexes[rank].append(index)
    return [indexes[rank] for rank in sorted(indexes)]


def keep_lines(
    lines: Sequence[str], ranked: Sequence[Sequence[int]], room_chars: int, chars_max: int = LINE_CHARS_MAX
) -> list[int]:
    """Indexes of the lines that fit into `room_chars`: lowest rank first, within a rank from both ends inwards."""
    kept: list[int] = []
    for indexes in ranked:
        for index in _inwards(indexes):
            room_chars -= min(len(lines[index]), chars_max) + 1 + _GAP_CHARS
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


def earlier_gaps(lines: Sequence[str]) -> dict[int, int]:
    """The index of each line that an earlier cut left in place of a gap, and the number of lines it stands for."""
    marked = (index for index, line in enumerate(lines) if line.startswith(GAP_START))
    return {index: size for index in marked if (size := gap_size(lines[index]))}


def render_kept(  # noqa: PLR0913, PLR0917 - what to render and how
    lines: Sequence[str],
    kept: Sequence[int],
    gaps: Mapping[int, int],
    language: str,
    counts: Mapping[int, int] = _NO_COUNTS,
    chars_max: int = LINE_CHARS_MAX,
    places: Sequence[str] = (),
) -> str:
    """The kept lines, with a line in place of each gap and the count of lines like it after a line with one.

    `gaps` of earlier cuts are added to the gap they are in. A line below another one of its place is shown without it.
    """
    out: list[str] = []
    place = ""
    gap_indexes = sorted(gaps)
    missing = 0
    expected = 0
    for index in (*kept, len(lines)):
        skipped = gap_indexes[bisect_left(gap_indexes, expected) : bisect_left(gap_indexes, index)]
        missing += index - expected + sum(gaps[gap] - 1 for gap in skipped)
        expected = index + 1
        if index in gaps:  # a kept line that is itself a gap joins the next one
            missing += gaps[index]
            continue
        if missing and not skipped and missing <= _SHORT_GAP_LINES and _is_short(lines[index - missing : index]):
            out += lines[index - missing : index]
        elif missing:
            out.append(gap_line(missing, language))
        missing = 0
        if index < len(lines):
            known, place = place, places[index] if places else ""
            shown = lines[index].removeprefix(place) if place == known else lines[index]
            out.append(clip_line(shown, chars_max) + (f" (1 of {counts[index]:,} alike)" if index in counts else ""))
    return "\n".join(out)


def _is_short(lines: Sequence[str]) -> bool:
    """Whether lines cost no more than the mark in their place."""
    return sum(map(len, lines)) + len(lines) <= _SHORT_GAP_CHARS and not any(
        line.startswith(GAP_START) for line in lines
    )


def gap_line(count: int, language: str) -> str:
    """The line in place of `count` lines."""
    return f"[… 已略去 {count:,} 行 …]" if language == "zh" else f"[… {pluralize(count, 'line')} cut …]"


def gap_size(line: str) -> int:
    """How many lines a gap line of an earlier cut stands for; 0 for any other line."""
    found = _GAP.match(line)
    return int(found[1].replace(",", "") or 0) if found else 0


def clip_line(line: str, chars_max: int = LINE_CHARS_MAX) -> str:
    """The line, or the two ends of one that is longer than `chars_max`, or its start and the error in its middle."""
    if len(line) <= chars_max:
        return line
    head, tail = chars_max // 2 - 2, len(line) - (chars_max // 2 - 2)
    at = error_start(line[:_SEARCHED_CHARS])
    if at is None or at < head * 2 // 3 or at >= tail:
        return f"{line[: word_before(line, head)]} … {line[word_after(line, tail) :]}"
    start = line[: word_before(line, chars_max // 4)]
    found = line[word_after(line, max(len(start), at - 8)) : word_before(line, at + chars_max * 3 // 4 - 20)]
    return f"{start} … {found} …"
