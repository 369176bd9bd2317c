"""Lines kept by number, as a database or a list keeps them: what reading them has in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, Protocol

from plimsoll.protocols import Damage, Record
from plimsoll.store.log import Tail
from plimsoll.store.record import Span, Unreadable, decode

GAP_RECORDS_MAX: Final = 4_096
"""Records that may be missing in a row. A row further away does not stand under its own number."""


class Row(NamedTuple):
    """A line without its newline, under the number it is kept by."""

    seq: int
    line: object
    """bytes, unless somebody else wrote the row; None where it cannot be read."""


class Rows(Protocol):
    """Where one session's rows are."""

    def rows(self, seq: int, stop: int) -> Iterator[Row]:
        """Those numbered in `[seq, stop)`, in order."""
        ...

    def rows_back(self, stop: int | None) -> Iterator[Row]:
        """Those numbered below `stop`, or all, from the last to the first."""
        ...


class RowReader:
    """The reading half of Lines, over rows."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def tail(self) -> Tail:
        """Where the log ends. Rows after the last readable one may each have been a message."""
        lost = end = 0
        for row in self._rows.rows_back(None):
            end = end or row.seq + 1
            record = span_of(row).record
            if record is not None:
                far = end > record.seq + 1 + lost + GAP_RECORDS_MAX  # a number that is damaged itself
                seq = record.seq + 1 + lost if far else end
                return Tail(seq=seq, messages=record.messages + lost, at_ms=record.at_ms)
            lost += 1
        return Tail(seq=lost if end > GAP_RECORDS_MAX else end, messages=lost)

    def header(self) -> Record | None:
        """The session record, if it can be read."""
        return next((span_of(row).record for row in self._rows.rows(0, 1)), None)

    def raw_back(self) -> Iterator[bytes]:
        """The lines that can be read, from the last to the first, as they are."""
        return (row.line for row in self._rows.rows_back(None) if isinstance(row.line, bytes))

    def forward(self, seq: int, tail: Tail) -> Iterator[Span]:
        """See Lines."""
        return (span_of(row) for row in self._rows.rows(seq, tail.seq))

    def backward(self, tail: Tail) -> Iterator[Span]:
        """See Lines."""
        return (span_of(row) for row in self._rows.rows_back(tail.seq))

    def first(self, holds: Callable[[Record], bool], tail: Tail) -> Record | None:
        """See Lines. Halves the numbers."""
        low, high = 0, tail.seq
        while low < high:
            middle = (low + high) // 2
            record = self._readable(middle, high)
            if record is None or holds(record):
                high = middle
            else:
                low = record.seq + 1
        return self._readable(low, tail.seq)

    def _readable(self, seq: int, stop: int) -> Record | None:
        records = (span_of(row).record for row in self._rows.rows(seq, stop))
        return next((record for record in records if record is not None), None)


def span_of(row: Row) -> Span:
    """What a row holds. Rows have no place in bytes; their offset is their number."""
    if not isinstance(row.line, bytes):
        reason = "its page in the database cannot be read" if row.line is None else "not bytes"
        return Span(row.seq, b"", 1, None, reason)
    record = decode(row.line)
    if isinstance(record, Unreadable):
        return Span(row.seq, row.line, max(len(row.line), 1), None, record.reason)
    if record.seq != row.seq:
        return Span(row.seq, row.line, len(row.line), None, f"record {record.seq} is stored under another number")
    return Span(row.seq, row.line, len(row.line), record, "")


def lost_header() -> Damage:
    """The finding that a session had no record left, and got a new session record."""
    return Damage(kind="missing", seq=0, records=1, reason="the log was empty; a session record was written again")
