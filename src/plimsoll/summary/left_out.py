"""How many facts a summary leaves out, by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.summary import repeated
from plimsoll.summary.folders import one_each
from plimsoll.summary.labels import number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plimsoll.summary.labels import Labels
    from plimsoll.summary.ledger import Kind, Ledger

KINDS_TOKENS_MIN = 300
"""Below this budget, omitted facts are one number; below half of it, message numbers are not shown either."""

_LEFT_OUT_TOKENS_MIN = 100
"""Below this budget, only the messages are counted: a fact says more than how many are left out."""

_COUNTED_OF_RUN: tuple[Kind, ...] = (
    "request", "constraint", "decision", "file", "command", "error", "identifier", "symbol", "work",
)  # fmt: skip
_COUNTED_OF_TALK: tuple[Kind, ...] = ("chat", "identifier", "file", "command", "work")


def kinds_left(ledger: Ledger, kept: Mapping[Kind, int]) -> dict[Kind, int]:
    """Return the number of facts by kind that a summary omits, including those evicted from the ledger."""
    counted = _COUNTED_OF_TALK if ledger.is_dialogue else _COUNTED_OF_RUN
    known = {kind: len(ledger.of(kind)) for kind in counted}
    known |= {"file": len(one_each(ledger.of("file"))), "identifier": len(repeated.values(ledger))}
    left = {kind: known[kind] + ledger.evicted.get(kind, 0) - kept.get(kind, 0) for kind in counted}
    return {kind: number for kind, number in left.items() if number > 0}


def told(left: Mapping[Kind, int], tokens_max: int, words: Labels) -> list[str]:
    """Return the statement of what is omitted, for a summary of `tokens_max`: by kind or as one number; none if it is small."""
    if not left or tokens_max < _LEFT_OUT_TOKENS_MIN:
        return []
    if tokens_max < KINDS_TOKENS_MIN:
        return [words.left_out.format(list=number_of("fact", sum(left.values()), words))]
    listed = words.separator.join(number_of(kind, number, words) for kind, number in left.items())
    return [words.left_out.format(list=listed)]
