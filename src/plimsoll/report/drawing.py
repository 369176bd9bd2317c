"""Lines and tables, and how they are drawn: in colours by rich on a terminal, as plain text by a few lines here elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from errno import EPIPE
from os import environ, strerror
from typing import TYPE_CHECKING, Literal, TextIO, TypeAlias
from unicodedata import combining, east_asian_width

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.report.safe_text import one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_GAP = "   "


class Words(NamedTuple):
    """Text of one style. `strong` are words in it that stand out."""

    text: str = ""
    style: str = ""
    strong: tuple[str, ...] = ()


class Table(NamedTuple):
    """Rows under their columns; a column whose name begins with ">" is of numbers, aligned to the right; one with "~" is cut."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Words]]


Drawn: TypeAlias = "Words | Table | Sequence[Drawn]"


def draw(stream: TextIO, things: Iterable[Drawn]) -> None:
    """Draw things on a stream, below each other."""
    if not stream.isatty() and not environ.get("FORCE_COLOR"):
        stream.writelines(f"{line}\n" for thing in _flat(things) for line in _lines(thing))
        return
    console = console_on(stream)
    for thing in _flat(things):
        console.print(_rich(thing), soft_wrap=isinstance(thing, Words))


def _flat(things: Iterable[Drawn]) -> Iterator[Words | Table]:
    for thing in things:
        if isinstance(thing, Words | Table):
            yield thing
        else:
            yield from _flat(thing)


def _lines(thing: Words | Table) -> list[str]:
    """Plain text. Every row of a table is one line, for the programs that read it."""
    if isinstance(thing, Words):
        return [thing.text]
    cells = [[name.lstrip(">~") for name in thing.columns], *([cell.text for cell in row] for row in thing.rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    rows = [_GAP.join(_aligned(*cell) for cell in zip(row, widths, thing.columns, strict=True)) for row in cells]
    return [rows[0], "─" * (sum(widths) + len(_GAP) * (len(widths) - 1)), *rows[1:]]


def _aligned(text: str, width: int, column: str) -> str:
    space = " " * (width - _width(text))
    return space + text if column.startswith(">") else text + space


def _width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def console_on(stream: TextIO) -> Console:
    """A console of rich's on that stream, without colours where NO_COLOR is set."""
    from rich.console import Console  # noqa: PLC0415 - slow to import, and no use where there is no terminal

    class Screen(Console):
        """A console that does not end the program when the reader of its output has gone."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(EPIPE, strerror(EPIPE))

    colours: Literal["auto"] | None = None if environ.get("NO_COLOR") else "auto"
    return Screen(file=stream, highlight=False, markup=False, emoji=False, color_system=colours)


@contextmanager
def progress_on(stream: TextIO, text: str) -> Iterator[None]:
    """One line with the time that has passed, while the block runs; it is removed afterwards. For terminals."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - only for long work

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console_on(stream), transient=True) as progress:
        progress.add_task(one_line(text, 200), total=None)
        yield


def _rich(thing: Words | Table) -> RenderableType:
    from rich import box, table, text  # noqa: PLC0415 - as above

    if isinstance(thing, Words):
        found = text.Text(thing.text, style=thing.style)
        if thing.strong:
            found.highlight_words(thing.strong, style="bold yellow", case_sensitive=False)
        return found
    drawn = table.Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in thing.columns:
        right = column.startswith(">")
        drawn.add_column(column.lstrip(">~"), justify="right" if right else "left", overflow="fold", no_wrap=right)
    for row in thing.rows:
        cells = zip(thing.columns, row, strict=True)
        drawn.add_row(*(_cell(words, cut=column.startswith("~")) for column, words in cells))
    return drawn


def _cell(words: Words, *, cut: bool) -> RenderableType:
    """A cell that is cut gives way to the width of the others: the column may shrink, and its text then loses its end."""
    from rich.text import Text  # noqa: PLC0415 - as above

    return Text(words.text, words.style, no_wrap=cut or None, overflow="ellipsis" if cut else None)
