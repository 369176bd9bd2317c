"""The log of one session, the same for every store: record numbers, batches, missing records, damage and write access.

Stores differ in where they keep lines (`Lines`). The codec (`record`) defines what a line contains.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from threading import RLock
from typing import Final, Protocol

from plimsoll.errors import Closes, FormatError, NewerFormat, SessionClosed, SessionDamaged, StoreUnusable
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.protocols import Damage, Record, RecordCheck, RecordDraft
from plimsoll.store.findings import Bad, DamageFindings
from plimsoll.store.record import FORMAT, KINDS, Span, encode_batch

Clock = Callable[[], int]
"""Unix time in milliseconds."""


NEAR_MESSAGES: Final = 32
"""So many of the newest messages are found faster from the end of the log than by halving it."""


def accept_any(_record: Record) -> str | None:
    """The default record check: accepts every record."""
    return None


def wall_clock_ms() -> int:
    """The system time in milliseconds. Informative only: records are never ordered by it."""
    return time.time_ns() // 1_000_000


class Tail(NamedTuple):
    """The end of a log."""

    seq: int = 0
    """Number of the next record."""
    messages: int = 0
    """Number of messages."""
    at_ms: int | None = None
    """Time of the last readable record."""
    end: int = 0
    """Byte offset after the last record, in stores that have offsets."""
    torn_bytes: int = 0
    """Bytes after `end`: an append that was interrupted or is still running."""


def no_less(tail: Tail, *, records: int, messages: int) -> Tail:
    """The tail, at least as far as the acknowledged numbers. Acknowledged records that are absent count as missing."""
    if tail.seq >= records:
        return tail
    return tail._replace(seq=records, messages=max(tail.messages, messages))


def torn(tail: Tail, *, reason: str, kept_in: str | None = None) -> Damage:
    """The damage entry for bytes after the end of a log."""
    return Damage(
        kind="torn",
        seq=tail.seq,
        records=0,
        offset=tail.end,
        size_bytes=tail.torn_bytes,
        reason=reason,
        kept_in=kept_in,
    )


def lost_header() -> Damage:
    """The damage entry for a session without any record, which was given a new session record."""
    return Damage(kind="missing", seq=0, records=1, reason="the log was empty; a session record was written again")


def out_of_order(name: str, seq: int) -> SessionDamaged:
    """The error for lines that are not in the order of their record numbers."""
    return SessionDamaged(
        name, detail=f"record {seq} is out of order; `plimsoll verify {name} --repair` makes a copy that is in order"
    )


class Lines(Protocol):
    """Storage for the lines of one session. Yields spans in storage order, readable or not."""

    def tail(self) -> Tail:
        """The current end of the log."""
        ...

    def forward(self, seq: int, tail: Tail) -> Iterator[Span]:
        """Yield spans from just after the last readable record numbered below `seq`, up to the tail."""
        ...

    def backward(self, tail: Tail) -> Iterator[Span]:
        """Yield spans from the tail to the beginning."""
        ...

    def first(self, holds: Callable[[Record], bool], tail: Tail) -> Record | None:
        """The first readable record for which `holds` is true. `holds` must be monotonic: true for every later record."""
        ...

    def write(self, lines: Sequence[bytes], tail: Tail) -> None:
        """Write lines at the tail durably, all or none."""
        ...

    def acknowledge(self, tail: Tail) -> None:
        """Remember how long the log is, so that a later reader can tell if its end is lost. Never raises."""
        ...

    def put_blob(self, data: bytes) -> str:
        """See SessionLog."""
        ...

    def get_blob(self, reference: str) -> bytes:
        """See SessionLog."""
        ...

    def blobs(self) -> Iterator[str]:
        """See SessionLog."""
        ...

    def get_index(self) -> bytes | None:
        """See KeepsIndex."""
        ...

    def put_index(self, data: bytes) -> None:
        """See KeepsIndex."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


class Log(Closes):
    """A SessionLog over `Lines`."""

    def __init__(  # noqa: PLR0913 - called by stores only
        self,
        lines: Lines,
        *,
        name: str,
        where: str,
        writable: bool,
        clock: Clock = wall_clock_ms,
        damage: Iterable[Damage] = (),
        outlives_process: bool = True,
    ) -> None:
        self.name = name
        self.where = where
        self.writable = writable
        self.outlives_process = outlives_process
        self._lines = lines
        self._clock = clock
        self._mutex = RLock()
        self._pid = os.getpid()
        self._unusable: str | None = None
        self._closed = False
        self.appended_bytes = 0
        """Bytes of records appended since it was opened."""
        self._check: RecordCheck = accept_any
        self._found = DamageFindings(damage)
        self._tail = lines.tail()
        if writable:
            lines.acknowledge(self._tail)

    def set_check(self, check: RecordCheck) -> None:
        """See SessionLog."""
        self._check = check

    @property
    def length(self) -> int:
        """Number of records."""
        return self._end().seq

    @property
    def messages(self) -> int:
        """Number of messages."""
        return self._end().messages

    @property
    def damage(self) -> tuple[Damage, ...]:
        """Damage found so far."""
        if not self._tail.torn_bytes:
            return self._found.all()
        return self._found.all(torn(self._tail, reason="an append that was interrupted or is still running"))

    def append(self, drafts: Sequence[RecordDraft]) -> list[Record]:
        """See SessionLog."""
        with self._mutex:
            self._check_open()
            if not self.writable:
                raise StoreUnusable(self.where, reason="opened for reading")
            tail = self._tail
            if not drafts:
                return []
            lines, records = encode_batch(drafts, seq=tail.seq, position=tail.messages, now_ms=self._clock())
            size = sum(map(len, lines))
            after = Tail(tail.seq + len(lines), records[-1].messages, None, tail.end + size)
            try:
                self._lines.write(lines, tail)
            except StoreUnusable as error:
                self._unusable = f"{error.reason}; open it again"
                raise
            self._tail = after  # at once: an interrupt may come with any system call
            self.appended_bytes += size
            self._lines.acknowledge(after)
            return records

    def read(self, from_seq: int = 0) -> Iterator[Record]:
        """See SessionLog."""
        return (self._understood(record) for record in self._records(max(from_seq, 0)))

    def read_back(self) -> Iterator[Record]:
        """See SessionLog."""
        tail = self._end()
        expected = tail.seq
        bad = Bad()
        for span in self._judged(self._lines.backward(tail)):
            if span.record is None:
                bad.add_before(span)
            elif span.record.seq >= expected:
                self._misplaced(span, span.record)
            else:
                after = span.record.seq + 1
                self._found.between(bad, after, expected - after)
                expected = span.record.seq
                bad = Bad()
                yield self._understood(span.record)
        self._found.between(bad, 0, expected)

    def read_messages(self, start: int = 0, stop: int | None = None) -> Iterator[Record]:
        """See SessionLog."""
        start = max(start, 0)
        if self._end().messages - start <= NEAR_MESSAGES:
            yield from self._newest_messages(start, stop)
            return
        first = self._lines.first(lambda record: record.messages > start, self._end())
        if first is None:
            return
        for record in self.read(first.seq):
            if stop is not None and record.position >= stop:
                return
            if record.kind == "message":
                yield record
                if record.position + 1 == stop:
                    return  # the next record may be a compaction, which is large

    def _newest_messages(self, start: int, stop: int | None) -> list[Record]:
        """The messages from `start` on, found from the end of the log."""
        newest = takewhile(lambda record: record.messages > start, self.read_back())
        found = [record for record in newest if record.kind == "message" and (stop is None or record.position < stop)]
        return found[::-1]

    def lines(self, from_seq: int = 0) -> Iterator[bytes]:
        """See SessionLog."""
        return (span.line for span in self._spans(max(from_seq, 0), self._guarded))

    def put_blob(self, data: bytes) -> str:
        """See SessionLog."""
        with self._mutex:
            self._check_open()
            if not self.writable:
                raise StoreUnusable(self.where, reason="opened for reading")
            if not isinstance(data, bytes):
                raise FormatError("a blob is bytes")
            return self._lines.put_blob(data)

    def get_blob(self, reference: str) -> bytes:
        """See SessionLog."""
        with self._mutex:
            self._check_open()
            return self._lines.get_blob(reference)

    def blobs(self) -> Iterator[str]:
        """See SessionLog."""
        self._check_open()
        return self._lines.blobs()

    def get_index(self) -> bytes | None:
        """See KeepsIndex."""
        with self._mutex:
            self._check_open()
            return self._lines.get_index()

    @property
    def keeps_index(self) -> bool:
        """See KeepsIndex."""
        return self.writable or not self.outlives_process

    def put_index(self, data: bytes) -> None:
        """See KeepsIndex. Does nothing in a log on disk that is open for reading."""
        with self._mutex:
            self._check_open()
            if self.keeps_index:
                self._lines.put_index(data)

    def close(self) -> None:
        """See SessionLog."""
        with self._mutex:
            self._closed = True
            self._lines.close()

    def _end(self) -> Tail:
        """The end of the log. Only a reader has to look for it again: the log has one writer."""
        self._check_open()
        if not self.writable:
            with self._mutex:
                self._tail = self._lines.tail()
        return self._tail

    def _check_open(self) -> None:
        if self._closed:
            raise SessionClosed(self.name, path=self.where)
        if self._unusable is not None:
            raise StoreUnusable(self.where, reason=self._unusable)
        if os.getpid() != self._pid:
            raise StoreUnusable(self.where, reason="opened by the process this one was forked from; open it again")

    def _records(self, from_seq: int) -> Iterator[Record]:
        return (span.record for span in self._spans(from_seq, self._judged) if span.record is not None)

    def _spans(self, from_seq: int, guarded: Callable[[Iterator[Span]], Iterator[Span]]) -> Iterator[Span]:
        """Yield spans that hold a record, each number once and in order; record the damage between them."""
        tail = self._end()
        expected = min(from_seq, tail.seq)
        bad = Bad()
        for span in guarded(self._lines.forward(expected, tail)):
            if span.record is None:
                bad.add_after(span)
            elif span.record.seq < expected:
                self._misplaced(span, span.record)
            else:
                self._found.between(bad, expected, span.record.seq - expected)
                expected = span.record.seq + 1
                bad = Bad()
                yield span
        self._found.between(bad, expected, max(tail.seq - expected, 0))

    def _misplaced(self, span: Span, record: Record) -> None:
        """Record a span whose number was passed already. A duplicate is skipped.

        Raises SessionDamaged for a record that was reported missing: only a pass over the whole log could yield it in order.
        """
        if self._found.lacks(record.seq):
            raise out_of_order(self.name, record.seq)
        self._found.at(span)

    def _guarded(self, spans: Iterator[Span]) -> Iterator[Span]:
        for span in spans:
            yield span
            self._check_open()

    def _judged(self, spans: Iterator[Span]) -> Iterator[Span]:
        """Turn records that the record check rejects into unreadable spans."""
        for span in spans:
            problem = None if span.record is None else self._check(span.record)
            yield span if problem is None else span._replace(record=None, reason=problem)
            self._check_open()

    def _understood(self, record: Record) -> Record:
        if record.required and record.kind not in KINDS:
            raise NewerFormat(self.name, version=FORMAT + 1, supported=FORMAT)
        return record
