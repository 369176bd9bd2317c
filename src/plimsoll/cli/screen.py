"""What is shown to people: reports, findings and progress. Standard output for results, standard error for the rest."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import plimsoll

if TYPE_CHECKING:
    from plimsoll.report.drawing import Drawn

LONG_SIZE_BYTES = 1_000_000
LONG_MESSAGES = 2_000
"""From here on reading and counting take long enough to say so."""


def show(*things: Drawn) -> None:
    """Print on standard output."""
    from plimsoll.report.drawing import draw

    draw(sys.stdout, things)


def tell(*things: Drawn) -> None:
    """Print on standard error."""
    from plimsoll.report.drawing import draw

    draw(sys.stderr, things)


def say(text: str) -> None:
    """One line on standard output."""
    from plimsoll.report.neutral import one_line

    print(one_line(text, 1_000))


def note(text: str) -> None:
    """One line on standard error that is no refusal."""
    from plimsoll.report.neutral import one_line

    print(f"note: {one_line(text, 400)}", file=sys.stderr)


def note_findings(findings: Sequence[plimsoll.Finding]) -> None:
    """What was wrong with a file that was read all the same."""
    from plimsoll.cli.findings import described

    for text in described(findings):
        note(text)


@contextmanager
def working(label: str, what: int | plimsoll.Session | None = None) -> Iterator[None]:
    """Show on standard error what is being done and for how long, where that is a terminal.

    Args:
        label: what is done, such as "searching".
        what: a number of bytes, or a session, whose messages count; little work shows nothing. None: the amount is not known.

    """
    is_long, how_much = _amount(what)
    if not is_long or not sys.stderr.isatty():
        yield
        return
    from plimsoll.report.drawing import progress_on

    with progress_on(sys.stderr, f"{label} {how_much}".strip()):
        yield


def _amount(what: int | plimsoll.Session | None) -> tuple[bool, str]:
    """Whether it takes long, and how much it is in words."""
    from plimsoll.report.figures import pluralize, size

    if what is None:
        return True, ""
    if isinstance(what, int):
        return what >= LONG_SIZE_BYTES, size(what)
    return what.message_count >= LONG_MESSAGES, pluralize(what.message_count, "message")
