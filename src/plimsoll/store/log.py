"""One session's log, the same over every store: numbering, batches, gaps, damage, and who may write.

What differs between stores is where lines are kept: `Lines`. What is in a line is the codec's business (`record`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from threading import RLock
from typing import Protocol, Self

from plimsoll.dataclass import dataclass
from plimsoll.errors import FormatError, NewerFormat, SessionClosed, SessionDamaged, StoreUnusable
from plimsoll.protocols import Damage, Record, RecordCheck, RecordDraft
from plimsoll.store.findings import Bad, DamageFindings
from plimsoll.store.record import FORMAT, KINDS, Span, encode_batch

Clock = Callable[[], int]
"""Unix time in milliseconds."""


def no_flaw(_record: Record) -> str | None:
    """For who does not look at what records say."""
    return None


def wall_clock_ms() -> int:
    """The system's time. For people to read; nothing is ordered by it."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """Where a log ends."""

    seq: int = 0
    """The number the next record gets."""
    messages: int = 0
    """How many messages there are."""
    at_ms: int | None = None
    """The time of the last record that can be read."""
    end: int = 0
    """Byte after the last record, in a store that has bytes."""
    torn_bytes: int = 0
    """Bytes after `end`: an append that did not finish, or is going on."""


def no_less(tail: Tail, *, records: int, messages: int) -> Tail:
    """The tail of a log of which so much was acknowledged. What it lacks of that is missing, and numbers go on behind it."""
    if tail.seq >= records:
        return tail
    return replace(tail, seq=records, messages=max(tail.messages, messages))


def torn(tail: Tail, *, reason: str, kept_in: str | None = None) -> Damage:
    """The finding that bytes follow the end of a log."""
    return Damage(
        kind="torn",
        seq=tail.seq,
        records=0,
        offset=tail.end,
        size_bytes=tail.torn_bytes,
        reason=reason,
        kept_in=kept_in,
    )


def out_of_order(name: str, seq: int) -> SessionDamaged:
    """The error that lines do not lie in the order of their numbers."""
    return SessionDamaged(
        name, detail=f"record {seq} lies out of order; `plimsoll verify {name} --repair` makes a copy that is in order"
    )


class Lines(Protocol):
    """Where one session's lines are kept. Spans come in the order they lie in, whatever is in them."""

    def tail(self) -> Tail:
        """Where the log ends now."""
        ...

    def forward(self, seq: int, tail: Tail) -> Iterator[Span]:
        """From just after the last readable record numbered below `seq`, up to the tail."""
        ...

    def backward(self, tail: Tail) -> Iterator[Span]:
        """From the tail back."""
        ...

    def first(self, holds: Callable[[Record], bool], tail: Tail) -> Record | None:
        """The first readable record for which `holds`, which must hold for every record after it."""
        ...

    def write(self, lines: Sequence[bytes], tail: Tail) -> None:
        """Put lines at the tail, all or none, durably."""
        ...

    def acknowledge(self, tail: Tail) -> None:
        """Remember that the log has come so far, for a reader who finds it shorter. Never raises."""
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

    def close(self) -> None:
        """Let go."""
        ...


class Log:
    """A SessionLog over some lines."""

    def __init__(  # noqa: PLR0913 - made by stores only
        self,
        lines: Lines,
        *,
        name: str,
        where: str,
        writable: bool,
        clock: Clock = wall_clock_ms,
        damage: Iterable[Damage] = (),
    ) -> None:
        self.name = name
        self.where = where
        self.writable = writable
        self._lines = lines
        self._clock = clock
        self._mutex = RLock()
        self._pid = os.getpid()
        self._unusable: str | None = None
        self._closed = False
        self._check: RecordCheck = no_flaw
        self._found = DamageFindings(damage)
        self._tail = lines.tail()
        if writable:
            lines.acknowledge(self._tail)

    def set_check(self, check: RecordCheck) -> None:
        """See SessionLog."""
        self._check = check

    @property
    def length(self) -> int:
        """Records."""
        return self._end().seq

    @property
    def messages(self) -> int:
        """Messages."""
        return self._end().messages

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What was found so far."""
        if not self._tail.torn_bytes:
            return self._found.all()
        return self._found.all(torn(self._tail, reason="an append that did not finish, or is going on"))

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
            try:
                self._lines.write(lines, tail)
            except StoreUnusable as error:
                self._unusable = f"{error.reason}; open it again"
                raise
            end = tail.end + sum(map(len, lines))
            messages = records[-1].position + (records[-1].kind == "message")
            self._tail = Tail(seq=tail.seq + len(lines), messages=messages, end=end)
            self._lines.acknowledge(self._tail)
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
        first = self._lines.first(lambda record: record.messages > start, self._end())
        if first is None:
            return
        for record in self.read(first.seq):
            if stop is not None and record.position >= stop:
                return
            if record.kind == "message":
                yield record
                if record.position + 1 == stop:
                    return  # what follows may be a compaction's large record

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

    def close(self) -> None:
        """See SessionLog."""
        with self._mutex:
            self._closed = True
            self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _end(self) -> Tail:
        """Where the log ends: a writer knows, a reader looks."""
        with self._mutex:
            self._check_open()
            if not self.writable:
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
        """Spans with a record, in order and each number once; what lies between them is noted."""
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
        """Note a record whose number has been passed. One that is there twice is passed over.

        Raises SessionDamaged for one that is nowhere else: only a pass over the whole log can put it where it belongs.
        """
        if self._found.lacks(record.seq):
            raise out_of_order(self.name, record.seq)
        self._found.at(span)

    def _guarded(self, spans: Iterator[Span]) -> Iterator[Span]:
        for span in spans:
            yield span
            self._check_open()

    def _judged(self, spans: Iterator[Span]) -> Iterator[Span]:
        """The spans, those with a flaw as what cannot be read."""
        for span in spans:
            flaw = None if span.record is None else self._check(span.record)
            yield span if flaw is None else span._replace(record=None, reason=flaw)
            self._check_open()

    def _understood(self, record: Record) -> Record:
        if record.required and record.kind not in KINDS:
            raise NewerFormat(self.name, version=FORMAT + 1, supported=FORMAT)
        return record
