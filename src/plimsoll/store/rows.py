"""Reading lines that are stored by record number, in a database or a list."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Final

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.protocols import Record
from plimsoll.store.landmarks import Landmarks
from plimsoll.store.log import Tail
from plimsoll.store.record import Span, Unreadable, decode

GAP_RECORDS_MAX: Final = 4_096
"""Longest run of missing records that is believed. A row further away has a damaged number."""


class Row(NamedTuple):
    """A line without its newline, with the number it is stored under."""

    seq: int
    line: object
    """bytes, unless another program wrote the row; None if it cannot be read."""


class RowReader(ABC):
    """The reading half of `Lines`, over one session's rows."""

    def __init__(self) -> None:
        self._landmarks = Landmarks()

    @abstractmethod
    def rows(self, seq: int, stop: int) -> Iterator[Row]:
        """Rows numbered in `[seq, stop)`, in order."""

    @abstractmethod
    def rows_back(self, stop: int | None) -> Iterator[Row]:
        """Rows numbered below `stop`, or all rows, last to first."""

    def tail(self) -> Tail:
        """The end of the log. Unreadable rows after the last readable one each count as a possible message."""
        lost = end = 0
        for row in self.rows_back(None):
            end = end or row.seq + 1
            record = span_of(row).record
            if record is not None:
                far = end > record.seq + 1 + lost + GAP_RECORDS_MAX  # the number itself is damaged
                seq = record.seq + 1 + lost if far else end
                return Tail(seq=seq, messages=record.messages + lost, at_ms=record.at_ms)
            lost += 1
        return Tail(seq=lost if end > GAP_RECORDS_MAX else end, messages=lost)

    def header(self) -> Record | None:
        """The session record, or None if it cannot be read."""
        return next((span_of(row).record for row in self.rows(0, 1)), None)

    def raw_back(self) -> Iterator[bytes]:
        """Yield the raw readable lines, last to first."""
        return (row.line for row in self.rows_back(None) if isinstance(row.line, bytes))

    def forward(self, seq: int, tail: Tail) -> Iterator[Span]:
        """See Lines."""
        return (span_of(row) for row in self.rows(seq, tail.seq))

    def backward(self, tail: Tail) -> Iterator[Span]:
        """See Lines."""
        return (span_of(row) for row in self.rows_back(tail.seq))

    def first(self, holds: Callable[[Record], bool], tail: Tail) -> Record | None:
        """See Lines. A binary search over the numbers."""
        low, high = self._landmarks.around(holds, tail.seq)
        while low < high:
            middle = (low + high) // 2
            record = self._readable(middle, high)
            if record is None or holds(record):
                high = middle
            else:
                low = record.seq + 1
            if record is not None:
                self._landmarks.note(record.seq, record.seq + 1, record)
        return self._readable(low, tail.seq)

    def _readable(self, seq: int, stop: int) -> Record | None:
        records = (span_of(row).record for row in self.rows(seq, stop))
        return next((record for record in records if record is not None), None)


def span_of(row: Row) -> Span:
    """The span of a row. Its offset is the record number, since rows have no byte offsets."""
    if not isinstance(row.line, bytes):
        reason = "its page in the database cannot be read" if row.line is None else "not bytes"
        return Span(row.seq, b"", 1, None, reason)
    record = decode(row.line)
    if isinstance(record, Unreadable):
        return Span(row.seq, row.line, max(len(row.line), 1), None, record.reason)
    if record.seq != row.seq:
        return Span(row.seq, row.line, len(row.line), None, f"record {record.seq} is stored under another number")
    return Span(row.seq, row.line, len(row.line), record, "")
