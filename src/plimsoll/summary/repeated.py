"""Facts that another section of the summary says as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.summary.ledger.calls import brief_of

if TYPE_CHECKING:
    from plimsoll.summary.ledger import Fact, Ledger

_START_CHARS = 80
"""Facts whose first characters are equal are the same line, cut to different lengths."""

_LABEL_WEIGHT = 0.4
"""What a command is still worth if its only outcome are values that stand under its name."""


def values(ledger: Ledger) -> tuple[Fact, ...]:
    """Return the values, without the lines that are errors."""
    errors = {fact.text[:_START_CHARS] for fact in ledger.of("error")}
    return tuple(fact for fact in ledger.of("identifier") if fact.text[:_START_CHARS] not in errors)


def commands(ledger: Ledger) -> list[Fact]:
    """Return the commands; those that are the label of values and have no other outcome with less weight."""
    labels = {fact.note.partition("\t")[0] for fact in ledger.of("identifier")}
    return [_less(fact) if _is_label(fact, labels) else fact for fact in ledger.of("command")]


def _is_label(command: Fact, labels: set[str]) -> bool:
    return not command.note and command.state != "failed" and brief_of(command.text) in labels


def _less(command: Fact) -> Fact:
    return command._replace(weight=command.weight * _LABEL_WEIGHT)
