"""Candidate lines of a summary, and their sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.light.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from plimsoll.summary.ledger import Kind


class Item(NamedTuple):
    """A candidate line with its value and its position."""

    kind: Kind
    text: str
    value: float
    """Items with lower values are dropped first. Comparable only within a section."""
    order: tuple[int, ...]
    """Sort key: message position, then index in the message; for a statement, its index and that within its sentence."""
    group: str = ""
    """Items of a section with equal groups share a heading line."""
    label: str = ""
    """A speaker, written once before a run of items."""
    subject: str = ""
    """What has to stand in front of the text where no other item says it."""


class Section(NamedTuple):
    """Candidate items of one section, best first, and the function that formats the chosen ones."""

    name: str
    share: float
    """Share of the budget, relative to the other sections."""
    items: list[Item]
    lay_out: Callable[[Sequence[Item]], str]
    worth_min: float = 0.0
    """Items of less value are chosen only where all sections leave room for them."""

    def wanted(self) -> list[Item]:
        """Return the candidates that are worth room of their own."""
        return [item for item in self.items if item.value >= self.worth_min] if self.worth_min else self.items
