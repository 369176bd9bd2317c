"""Listings of files: the top of the tree before its depths, every directory before the many files of one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from plimsoll.brief import pluralize
from plimsoll.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

_INDENT = regex(r"[\s│├└─|`-]*")
_DEPTH_MAX = 12
_HEAD_LINES = 2


def ranks(lines: Sequence[str]) -> list[int]:
    """0 the first two lines and the last; else the depth in the tree, and the siblings already seen as a power of two."""
    siblings: Counter[str] = Counter()
    places = {line: _place(line) for line in set(lines)}
    ranked = []
    for line in lines:
        depth, parent = places[line]
        siblings[parent] += 1
        ranked.append(depth + siblings[parent].bit_length())
    return [0 if index < _HEAD_LINES or index == len(lines) - 1 else rank for index, rank in enumerate(ranked)]


def _place(line: str) -> tuple[int, str]:
    """How deep in the tree the entry of a line is, and the directory that it is in."""
    indent = _INDENT.match(line[:200])
    path = (line[-300:].split() or [""])[-1].rstrip("/")
    depth = min(_DEPTH_MAX, path.count("/") + (len(indent[0]) // 4 if indent else 0))
    return depth, path.rpartition("/")[0] or f"indent {depth}"


def facts(lines: Sequence[str]) -> str:
    """How many entries there were."""
    return pluralize(sum(1 for line in lines if line.strip()), "entry", "entries")
