"""Storage of the ledger in a session's log: each compaction records a diff, and sometimes the whole ledger.

Reading applies the diffs since the last whole ledger. A whole one is written once the diffs would be `DIFFS_WHOLE_MAX` times as
long, so neither the log nor the cost of reading grows faster than the facts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from plimsoll.errors import SessionDamaged
from plimsoll.message import Message
from plimsoll.records.json_diff import changed, changes
from plimsoll.summary.ledger import Ledger, extend

DIFFS_WHOLE_MAX: Final = 1.5
"""Longest diffs since a whole ledger, in lengths of that. At 1 the compactions of a log take 13 % more room, at 2 as much."""

_CHARS_ENDLESS = 1 << 62
"""Length of diffs whose base is lost: any whole ledger is shorter, so the next one is written whole."""


def ledger_data(before: Ledger, after: Ledger, since: int | None, changes_chars: int) -> dict[str, Any]:
    """The `ledger` field of a compaction record. `since` is the record that holds `before`; None at the beginning.

    `changes_chars` is the length of the diffs since the last whole ledger.
    """
    whole = after.to_dict()
    size = _chars(whole)
    if since is None:
        return {"whole": whole}
    found = changes(before.to_dict(), whole)
    grown = changes_chars + _chars(found)
    if grown >= DIFFS_WHOLE_MAX * size:
        return {"whole": whole}
    return {"since": since, "changes": found, "chars": grown}


def extend_by_position(messages_by_position: Iterable[tuple[int, Message]], ledger: Ledger | None = None) -> Ledger:
    """Extend a ledger, by default an empty one, with the facts of messages given by position. Positions may be missing."""
    runs: list[tuple[int, list[Message]]] = []
    for position, message in messages_by_position:
        if not runs or runs[-1][0] + len(runs[-1][1]) != position:
            runs.append((position, []))
        runs[-1][1].append(message)
    ledger = ledger or Ledger.empty()
    for start, messages in runs:
        ledger = extend(ledger, messages, start)
    return ledger


class Ledgers:
    """The ledgers of one session by compaction record. `read` returns the `ledger` field of a record.

    The last one requested is cached, so the next needs only its own diff; between compactions as JSON text, since it has thousands
    of objects that a garbage collection would visit. If a base record cannot be read, `anew` rebuilds the ledger from the history,
    and the next one is written whole.
    """

    def __init__(
        self, read: Callable[[int], Mapping[str, Any]], anew: Callable[[int], Ledger] = lambda _: Ledger.empty()
    ) -> None:
        self._read = read
        self._anew = anew
        self._seq: int | None = None
        self._text = ""
        self._chars = 0
        self._ledger: Ledger | None = None

    def at(self, seq: int | None) -> tuple[Ledger, int]:
        """The ledger after a compaction (None: at the beginning), and the length of its diffs since the last whole one."""
        if seq is None:
            return Ledger.empty(), 0
        if seq != self._seq:
            try:
                pending, value = self._back_from(seq)
            except SessionDamaged:
                return self._anew(seq), _CHARS_ENDLESS
            for change in reversed(pending):
                value = changed(value, change["changes"])
            self._chars = pending[0]["chars"] if pending else 0
            self._seq, self._text, self._ledger = seq, _json(value), Ledger.from_dict(value)
        self._ledger = self._ledger or Ledger.from_dict(json.loads(self._text))
        return self._ledger, self._chars

    def rest(self) -> None:
        """Hold the cached ledger as text alone."""
        self._ledger = None

    def _back_from(self, seq: int) -> tuple[list[Mapping[str, Any]], Any]:
        """The diffs since the last whole or cached ledger, newest first, and that ledger."""
        pending: list[Mapping[str, Any]] = []
        while seq != self._seq:
            data = self._read(seq)
            if "whole" in data:
                return pending, data["whole"]
            pending.append(data)
            seq = data["since"]
        return pending, json.loads(self._text)


_json: Final[Callable[[object], str]] = json.JSONEncoder(ensure_ascii=False).encode


def _chars(value: Any) -> int:
    return len(_json(value))
