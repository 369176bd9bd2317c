"""Tables for people keep their columns, however wide a cell and narrow the screen."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from plimsoll.report.drawing import draw
from plimsoll.report.terminal import block, highlight, line, table

COLUMNS = ("largest", "role", ">tokens", "~begins")


def drawn(cell: str, width: int) -> list[str]:
    """The lines of a table of two rows."""
    out = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        patch.setenv("NO_COLOR", "1")
        draw(out, [table(COLUMNS, [("m3", "assistant", 12_345, cell), ("m120", "tool", 5, "short")])])
    return out.getvalue().splitlines()


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        """It is."""
        return True


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


def test_a_file_gets_plain_text() -> None:
    """Every row is one line, however long, and columns are as wide as their widest cell."""
    out = io.StringIO()
    rows = [("m3", "assistant", 12_345, "源码 " * 60), ("m120", "tool", 5, "short")]
    draw(out, [line("heading", "bold"), [table(COLUMNS, rows), highlight(block("one\ntwo"), "two")]])
    heading, header, rule, first, second, *words = out.getvalue().split("\n")
    assert heading == "heading"
    assert header.startswith("largest   role        tokens   begins ")
    assert set(rule) == {"─"}
    assert first.startswith("m3        assistant   12,345   源码 源码")
    assert second.startswith("m120      tool             5   short ")
    assert words == ["one", "two", ""]


def test_a_file_is_written_without_rich() -> None:
    """A command whose output goes to a file starts without it."""
    code = "import io, sys; from plimsoll.report.drawing import draw, Words; draw(io.StringIO(), [Words('x')]); print('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_terminal_gets_colours_and_the_words_that_were_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A style is written once for a line, and around each of those words."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    draw(out, [line("one line", "bold"), highlight(block("the Word that"), "word")])
    assert out.getvalue() == "\x1b[1mone line\x1b[0m\nthe \x1b[1;33mWord\x1b[0m that\n"
