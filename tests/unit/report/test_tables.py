"""Tables for people keep their columns, however wide a cell and narrow the screen."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from plimsoll.report.terminal import table

COLUMNS = ("largest", "role", ">tokens", "~begins")


def drawn(cell: str, width: int) -> list[str]:
    """The lines of a table of two rows."""
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(
        table(COLUMNS, [("m3", "assistant", 12_345, cell), ("m120", "tool", 5, "short")])
    )
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [50, 80, 120])
@pytest.mark.parametrize("cell", ["x" * 90, "some words " * 9, "源码中有九处" * 15], ids=["one word", "words", "wide"])
def test_the_cut_column_gives_way(cell: str, width: int) -> None:
    """Each row is one line, the other columns are whole, and what was cut ends in an ellipsis."""
    header, _, first, second = drawn(cell, width)

    assert header.split() == ["largest", "role", "tokens", "begins"]
    assert first.split()[:3] == ["m3", "assistant", "12,345"]
    assert first.rstrip().endswith("…")
    assert second.split() == ["m120", "tool", "5", "short"]


def test_what_fits_is_not_cut() -> None:
    """A cell that has room stays whole."""
    assert drawn("a few words", 80)[2].rstrip().endswith("a few words")
