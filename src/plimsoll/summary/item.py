"""One line that may go into a summary, and the sections lines are gathered in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from plimsoll.summary.ledger import Kind


class Item(NamedTuple):
    """A candidate line: what it says, what it is worth, and where it stands among its neighbours."""

    kind: Kind
    text: str
    value: float
    """Higher stays longer. Comparable within a section only."""
    order: tuple[int, ...]
    """Where it stands: message position, then place in the message; of a statement its place among all, then in its sentence."""
    group: str = ""
    """Items of one group share a heading line inside their section."""
    label: str = ""
    """Said once in front of a run of items: a speaker."""


class Section(NamedTuple):
    """Candidate items of one sort, best first, and how the chosen ones are laid out."""

    name: str
    share: float
    """Its part of the budget, relative to the other sections'."""
    items: list[Item]
    lay_out: Callable[[Sequence[Item]], str]
