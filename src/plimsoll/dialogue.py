"""A stretch of a session's history as values: each message with its id and its time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from plimsoll.chronicle import Chronicle
from plimsoll.formats.wire import copied
from plimsoll.ports import Record
from plimsoll.settings import whole

_STEP = 64
"""Messages that are read at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of the history, whole. `id` is what `pin` and `fork` take, `at_ms` Unix time in milliseconds."""

    id: str
    at_ms: int
    message: dict[str, Any]


def newest(
    chronicle: Chronicle, *, last: int | None, since_ms: int | None, max_tokens: int | None, before: str | None
) -> list[Said]:
    """The newest messages that all the bounds allow, in order. Reads these and few more. Raises SettingError."""
    room = None if max_tokens is None else whole("max_tokens", max_tokens)
    left = None if last is None else whole("last", last)
    stop = chronicle.log.messages if before is None else chronicle.position(before)
    found: list[Said] = []
    for record in _back(chronicle, stop):
        if (left is not None and len(found) >= left) or (since_ms is not None and record.at_ms < since_ms):
            break
        if room is not None:
            room -= chronicle.gauge.weigh(chronicle.gauge.format.decode(record.data["m"], record.position))
            if room < 0:
                break
        found.append(Said(id=f"m{record.position}", at_ms=record.at_ms, message=copied(record.data["m"])))
    return found[::-1]


def _back(chronicle: Chronicle, stop: int) -> Iterator[Record]:
    """Message records before a position, newest first."""
    while stop > 0:
        start = max(0, stop - _STEP)
        yield from reversed(list(chronicle.log.read_messages(start, stop)))
        stop = start
