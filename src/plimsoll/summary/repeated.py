"""Facts that another section of the summary says as well, and lines that every call prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.kept import kept
from plimsoll.summary.ledger.calls import brief_of
from plimsoll.summary.ledger.identifiers import is_output_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from plimsoll.summary.ledger import Fact, Ledger

_START_CHARS = 80
"""Facts whose first characters are equal are the same line, cut to different lengths."""

_LABEL_WEIGHT = 0.4
"""What a command is still worth if its only outcome are values that stand under its name."""

_STAMPED_MIN = 3
"""Where at least so many programs print a line with the same words before its value, the line is a stamp: `Chunk ID: 4bdf6f`."""

_UP_TO_DIGIT = regex(r"\S*[0-9]")


def values(ledger: Ledger) -> tuple[Fact, ...]:
    """Return the values, without the lines that are errors, and without the stamps of a program that runs the calls."""
    return _values(ledger.of("identifier"), ledger.of("error"))


@kept(2)
def _values(identifiers: Sequence[Fact], errors: Sequence[Fact]) -> tuple[Fact, ...]:
    """Cached, because a summary is rendered several times, and each rendering asks several times."""
    starts = {fact.text[:_START_CHARS] for fact in errors}
    found = [fact for fact in identifiers if fact.text[:_START_CHARS] not in starts]
    stamps = _stamps(found)
    return tuple(fact for fact in found if not stamps or _label(fact) not in stamps)


def _stamps(facts: Iterable[Fact]) -> frozenset[str]:
    """Return the labels of lines that calls of different programs print: what runs them does, not what they are for."""
    programs: dict[str, set[str]] = {}
    for fact in facts:
        if label := _label(fact):
            programs.setdefault(label, set()).add(fact.note.partition(" ")[0].partition("(")[0])
    return frozenset(label for label, found in programs.items() if len(found) >= _STAMPED_MIN)


def _label(fact: Fact) -> str:
    """Return the words of a line of output before its first word with a digit, if these are all but the last; else ""."""
    found = _UP_TO_DIGIT.search(fact.text) if is_output_line(fact) else None
    return fact.text[: found.start()] if found is not None and " " not in fact.text[found.start() :] else ""


def commands(ledger: Ledger) -> list[Fact]:
    """Return the commands; those that are the label of values and have no other outcome with less weight."""
    labels = {fact.note.partition("\t")[0] for fact in ledger.of("identifier")}
    labels |= {label.rpartition(" [")[0] for label in labels if label.endswith("]")}  # of a table, with its columns
    return [_less(fact) if _is_label(fact, labels) else fact for fact in ledger.of("command")]


def _is_label(command: Fact, labels: set[str]) -> bool:
    is_told = not command.note or command.note[0] in "{["  # the rows tell an object that was returned
    return is_told and command.state != "failed" and brief_of(command.text) in labels


def _less(command: Fact) -> Fact:
    return command._replace(weight=command.weight * _LABEL_WEIGHT, note="")
