"""What people see: reports, findings and signs of life. Standard output for results, standard error for the rest."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import RenderableType

    from plimsoll.transcripts import Finding

LONG_SIZE_BYTES = 1_000_000
LONG_MESSAGES = 2_000
"""From here on reading and counting take long enough to say so."""


def show(*things: RenderableType) -> None:
    """Print on standard output."""
    _print(sys.stdout, things)


def tell(*things: RenderableType) -> None:
    """Print on standard error."""
    _print(sys.stderr, things)


def _print(stream: TextIO, things: Sequence[RenderableType]) -> None:
    """Text keeps its own lines: the terminal wraps it, a file has it as it is."""
    from rich.text import Text

    from plimsoll.report.terminal import console_on

    console = console_on(stream)
    for thing in things:
        console.print(thing, soft_wrap=isinstance(thing, Text))


def say(text: str) -> None:
    """One line on standard output."""
    from plimsoll.report.neutral import one_line

    print(one_line(text, 1_000))


def note(text: str) -> None:
    """One line on standard error that is no refusal."""
    from plimsoll.report.neutral import one_line

    print(f"note: {one_line(text, 400)}", file=sys.stderr)


def note_findings(findings: Sequence[Finding]) -> None:
    """What was wrong with a file that was read all the same."""
    from plimsoll.cli.findings import described

    for text in described(findings):
        note(text)


@contextmanager
def working(label: str, *, size_bytes: int = 0, messages: int = 0, is_long: bool = False) -> Iterator[None]:
    """A sign of life on standard error while long work goes on, where it is a terminal."""
    is_long = is_long or size_bytes >= LONG_SIZE_BYTES or messages >= LONG_MESSAGES
    if not is_long or not sys.stderr.isatty():
        yield
        return
    from plimsoll.report.figures import counted, size
    from plimsoll.report.terminal import console_on, line

    how_much = size(size_bytes) if size_bytes else counted(messages, "message") if messages else "…"
    with console_on(sys.stderr).status(line(f"{label} {how_much}")):
        yield
