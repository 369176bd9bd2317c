"""The ledger in a session's log: each compaction records what it changed, and now and then the whole.

Reading it back follows the changes to the last whole one. A whole one is written when the changes since would be longer, so
neither the log nor the reading grows faster than the facts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from plimsoll.errors import SessionDamaged
from plimsoll.message import Message
from plimsoll.records.json_diff import changed, changes
from plimsoll.summary.ledger import Ledger, extend

_CHARS_ENDLESS = 1 << 62
"""How long changes are that lead back to nothing: a whole ledger is shorter."""


def ledger_data(before: Ledger, after: Ledger, since: int | None, changes_chars: int) -> dict[str, Any]:
    """What a compaction's record says of the ledger. `since` is the record that `before` was in, None at the beginning.

    `changes_chars` is how long the changes since the last whole ledger are already.
    """
    whole = after.to_dict()
    size = _chars(whole)
    if since is None:
        return {"whole": whole}
    found = changes(before.to_dict(), whole)
    grown = changes_chars + _chars(found)
    if grown >= size:
        return {"whole": whole}
    return {"since": since, "changes": found, "chars": grown}


def read_again(said: Iterable[tuple[int, Message]], ledger: Ledger | None = None) -> Ledger:
    """The ledger, by default an empty one, with the facts of messages by their positions; some may be missing."""
    runs: list[tuple[int, list[Message]]] = []
    for position, message in said:
        if not runs or runs[-1][0] + len(runs[-1][1]) != position:
            runs.append((position, []))
        runs[-1][1].append(message)
    ledger = ledger or Ledger.empty()
    for start, messages in runs:
        ledger = extend(ledger, messages, start)
    return ledger


class Ledgers:
    """The ledgers of one session, by the record of the compaction they are in. `read` gives the `ledger` field of a record.

    The one asked for last is at hand, so that the next is read from its own changes alone. Where a record that changes go back
    to cannot be read, `anew` gathers the facts from the history again, and the next ledger is written whole.
    """

    def __init__(
        self, read: Callable[[int], Mapping[str, Any]], anew: Callable[[int], Ledger] = lambda _: Ledger.empty()
    ) -> None:
        self._read = read
        self._anew = anew
        self._seq: int | None = None
        self._value: Any = None
        self._held = Ledger.empty(), 0

    def at(self, seq: int | None) -> tuple[Ledger, int]:
        """The ledger as of a compaction's record, None for the beginning; and how long its changes are."""
        if seq is None:
            return Ledger.empty(), 0
        if seq != self._seq:
            try:
                pending, value = self._back_from(seq)
            except SessionDamaged:
                return self._anew(seq), _CHARS_ENDLESS
            for change in reversed(pending):
                value = changed(value, change["changes"])
            self._held = Ledger.from_dict(value), pending[0]["chars"] if pending else 0
            self._seq, self._value = seq, value
        return self._held

    def _back_from(self, seq: int) -> tuple[list[Mapping[str, Any]], Any]:
        """The changes since a whole ledger, newest first, and that ledger: one written down, or the one at hand."""
        pending: list[Mapping[str, Any]] = []
        while seq != self._seq:
            data = self._read(seq)
            if "whole" in data:
                return pending, data["whole"]
            pending.append(data)
            seq = data["since"]
        return pending, self._value


def _chars(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))
