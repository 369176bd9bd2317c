"""How many facts a summary leaves out, by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.summary import repeated
from plimsoll.summary.folders import one_each

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plimsoll.summary.ledger import Kind, Ledger

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
