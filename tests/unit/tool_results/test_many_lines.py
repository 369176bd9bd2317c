"""Results with very many lines: each line is read a bounded number of times, not once per search step."""

from __future__ import annotations

import time
from typing import Any

import pytest

import plimsoll
from plimsoll.truncation.tool_results import lines, listings

COUNT = 300_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["\n" * COUNT, "abc\n" + "\n" * COUNT + "end", "a\n" * (COUNT // 2), "\n\n " * (COUNT // 3)]
)
def test_many_newlines_are_cheap(text: str) -> None:
    """Shrinking takes at most two seconds of CPU on a slow machine."""
    start = time.process_time()
    shrunk = plimsoll.shrink("bash", text, max_tokens=300)

    assert time.process_time() - start < 2
    assert plimsoll.count_tokens(shrunk.text) <= 300


def test_lines_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeated line is analysed once, and only lines that begin like a gap are parsed as one."""
    read: list[str] = []
    place, gap = listings._tree_position, lines.gap_size

    def counted_place(line: str) -> Any:
        read.append(line)
        return place(line)

    def counted_gap(line: str) -> int:
        read.append(line)
        return gap(line)

    monkeypatch.setattr(listings, "_tree_position", counted_place)
    monkeypatch.setattr(lines, "gap_size", counted_gap)
    plimsoll.shrink("bash", "src/a/b.py\nsrc/a/c.py\n[… 3 lines cut …]\n" * 5_000, max_tokens=300)

    assert len(read) <= 3 + 5_000
