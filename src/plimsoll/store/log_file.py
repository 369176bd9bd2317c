"""The bytes of one `log.jsonl`: reading lines in both directions, finding records, appending, and locating the tail.

There is no index: records are numbered, so a binary search over the file finds them. An index could disagree with the file
after damage, copying or edits by other tools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

from plimsoll.errors import StoreUnusable
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.limits import RECORD_SIZE_BYTES_MAX
from plimsoll.protocols import Record
from plimsoll.store.landmarks import Landmarks
from plimsoll.store.log import Tail
from plimsoll.store.os_calls import OsCalls, store_error, write_all
from plimsoll.store.record import RECORD_SIZE_BYTES_MIN, START, Span, spans

_BLOCK_SIZE_BYTES_MIN: Final = 1 << 14
_BLOCK_SIZE_BYTES_MAX: Final = 1 << 20


class RawLine(NamedTuple):
    """The bytes between two newlines, or before the end of the file."""

    offset: int
    data: bytes
    """Without the newline. Empty if longer than any record."""
    size_bytes: int
    """With the newline."""
    ended: bool
    """True if a newline ends the line."""


class CutShort(StoreUnusable):
    """The log became shorter during the read because its writer undid an append. Reading again succeeds."""


class LogFile:
    """An open log file. Reading raises OSError; `append` raises StoreFull and StoreUnusable."""

    def __init__(self, calls: OsCalls, fd: int, path: str) -> None:
        self._calls = calls
        self._fd = fd
        self.path = path
        self._decoded: tuple[RawLine, list[Span]] | None = None
        """The line decoded last. A search reads the one it finds several times, and opening a session its newest compaction."""
        self._landmarks = Landmarks()

    @property
    def fd(self) -> int:
        """The file descriptor. Raises StoreUnusable once closed."""
        if self._fd < 0:
            raise StoreUnusable(self.path, reason="closed")
        return self._fd

    def size(self) -> int:
        """Size of the file in bytes."""
        return self._calls.stat(self.fd).st_size

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        """Read up to `size_bytes` bytes at `offset`."""
        portions = []
        while size_bytes > 0 and (portion := self._calls.read_at(self.fd, size_bytes, offset)):
            portions.append(portion)
            offset += len(portion)
            size_bytes -= len(portion)
        return portions[0] if len(portions) == 1 else b"".join(portions)

    def spans(self, start: int, end: int) -> Iterator[Span]:
        """Yield records and unreadable bytes of the lines beginning in `[start, end)`, in order. A line must begin at `start`."""
        for line in self._lines(start, end):
            yield from self.spans_of(line)

    def spans_back(self, end: int) -> Iterator[Span]:
        """Like `spans`, from the last line ending at `end` back to the first."""
        for line in self.lines_back(end):
            yield from reversed(self.spans_of(line))

    def spans_of(self, line: RawLine) -> list[Span]:
        """The spans of a line. Those of the last one are cached."""
        if self._decoded is None or self._decoded[0] != line:
            self._decoded = line, line_spans(line)
        return self._decoded[1]

    def locate(self, holds: Callable[[Record], bool], end: int) -> int:
        """The offset to read from to find the first record for which `holds`: just after the last readable one before it.

        `holds` must be true for every record after the first, and look at the numbers of a record only. Reads O(log n) blocks.
        """
        low = self._halve(holds, end)
        for span in self.spans(low, end):
            if span.record is not None:
                self._note(span, span.record)
                if holds(span.record):
                    break
                low = span.offset + span.size_bytes
        return self._line_start(low)

    def _halve(self, holds: Callable[[Record], bool], end: int) -> int:
        """An offset at or shortly before the result of `locate`: 0, or the end of a record for which `holds` is false."""
        low, high = self._landmarks.around(holds, end)
        if low and not self._ends_record(low, end):
            self._landmarks.forget()  # another process has cut the log
            low, high = 0, end
        while high - low > _BLOCK_SIZE_BYTES_MIN:
            middle = (low + high) // 2
            found = self._first_after(middle, high, end)
            if found is None or found.record is None or holds(found.record):
                high = middle
            else:
                low = found.offset + found.size_bytes
            if found is not None and found.record is not None:
                self._note(found, found.record)
        return self._line_start(low)

    def _note(self, span: Span, record: Record) -> None:
        self._landmarks.note(span.offset, span.offset + span.size_bytes, record)

    def _ends_record(self, offset: int, end: int) -> bool:
        """Whether a record may end at an offset: the log ends there, or another line begins."""
        after = self.read_at(offset, 1 + len(START))
        return offset >= end or after in {b"\n", b"\n" + START}

    def append(self, data: bytes, end: int, *, durable: bool) -> None:
        """Write bytes at `end`, which must be the end of the file. On failure the file is cut back to `end`."""
        self._decoded = None
        unfinished = written = False
        try:
            fd = self.fd
            here = self._calls.stat(fd)
            if here.st_size != end or here.st_nlink == 0:
                raise StoreUnusable(self.path, reason="something else changed or removed it")
            unfinished = True
            taken = self._calls.write(fd, data)
            if taken < len(data):
                write_all(self._calls, fd, data[taken:])
            written = True
            if durable:
                self._calls.sync_data(fd)
            unfinished = False
        except OSError as error:
            if written:  # after a failed sync the kernel may drop the pages and report success the next time
                raise StoreUnusable(self.path, reason=f"sync failed: {error.strerror}") from error
            raise store_error(error, self.path) from error
        finally:
            if unfinished:
                self._undo(end)

    def cut(self, end: int) -> None:
        """Truncate the file at `end`, durably."""
        self._landmarks.forget()
        self._calls.truncate(self.fd, end)
        self._calls.sync_data(self.fd)

    def close(self) -> None:
        """Close the file. Idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self._calls.close(fd)

    def _undo(self, end: int) -> None:
        """Undo a failed append. If that fails too, the next append finds a file of another size and refuses."""
        self._landmarks.forget()
        with suppress(OSError):
            self._calls.truncate(self.fd, end)

    def _first_after(self, offset: int, high: int, end: int) -> Span | None:
        """The first readable record of a line that begins after `offset` and before `high`."""
        for line in islice(self._lines(offset, end), 1, None):
            if line.offset >= high:
                return None
            for span in self.spans_of(line):
                if span.record is not None:
                    return span
        return None

    def _line_start(self, offset: int) -> int:
        """`offset`, past a newline that ends the record before it."""
        return offset + 1 if offset and self.read_at(offset, 1) == b"\n" else offset

    def _lines(self, start: int, end: int) -> Iterator[RawLine]:
        """Lines between two offsets, in order."""
        held: list[bytes] = []
        held_size = 0
        offset = at = start
        for block_size in _block_sizes():
            block = self.read_at(at, min(block_size, end - at))
            if not block:
                break
            at += len(block)
            *lines, rest = block.split(b"\n")
            for line in lines:
                size = held_size + len(line) + 1
                yield RawLine(offset, _joined(held, line, size), size, ended=True)
                offset += size
                held, held_size = [], 0
            held_size += len(rest)
            if held_size <= RECORD_SIZE_BYTES_MAX:
                held.append(rest)
        if held_size:
            yield RawLine(offset, _joined(held, b"", held_size), held_size, ended=False)

    def lines_back(self, end: int) -> Iterator[RawLine]:
        """Lines from the one that ends at `end` back to the first."""
        held: list[bytes] = []  # the line being put together, its last part first
        held_size = 0
        ended = False
        stop = at = end
        for block_size in _block_sizes():
            size = min(block_size, at)
            at -= size
            block = self.read_at(at, size)
            if len(block) < size:
                raise CutShort(self.path, reason="something cut it while it was read")
            *lines, rest = block.split(b"\n")
            held_size += len(rest)
            if held_size <= RECORD_SIZE_BYTES_MAX:
                held.append(rest)
            for line in reversed(lines):  # a newline is before what is held
                if held_size or ended:
                    size = held_size + ended
                    yield RawLine(stop - size, _joined(held[::-1], b"", size), size, ended)
                    stop -= size
                held, held_size, ended = [line], len(line), True
            if at == 0:
                break
        if stop:
            yield RawLine(0, _joined(held[::-1], b"", stop), stop, ended)


def read_tail(file: LogFile, *, acknowledged: int = 0) -> Tail:
    """The end of a log: after the last record of the last complete append. Reads back no further than that record.

    A last line without a newline, and the records of an incomplete append, are torn; if they are among the first `acknowledged`
    records, the rest of the append is lost instead. Unreadable lines that end with a newline are damage, not torn: they stay, and
    each may have been a message.
    """
    end = size = file.size()
    lost = 0
    left = 0  # records that must follow the next one found, if its append is torn
    for line in file.lines_back(size):
        found = [span for span in file.spans_of(line) if span.record is not None]
        if not found:
            lost += line.ended and line.size_bytes >= RECORD_SIZE_BYTES_MIN
            end = end if line.ended else line.offset
        for span in reversed(found):
            record = span.record
            assert record is not None
            if record.batch_left > left and not lost and record.seq >= acknowledged:
                left = record.batch_left
                end = span.offset
                continue
            if not line.ended and end == size:
                end = span.offset + span.size_bytes
            return Tail(
                seq=record.seq + 1 + lost,
                messages=record.messages + lost,
                at_ms=record.at_ms,
                end=end,
                torn_bytes=size - end,
            )
    return Tail(seq=lost, messages=lost, end=end, torn_bytes=size - end)


def line_spans(line: RawLine) -> list[Span]:
    """The records in a line and what is none, by their offset in the log."""
    if not line.data and line.size_bytes > 1:
        return [Span(line.offset, b"", line.size_bytes, None, "longer than any record")]
    found = spans(line.data, line.offset)
    if found[-1].record is None:
        found[-1] = found[-1]._replace(size_bytes=found[-1].size_bytes + line.ended)
    return found


def _block_sizes() -> Iterator[int]:
    size = _BLOCK_SIZE_BYTES_MIN
    while True:
        yield size
        size = min(size * 2, _BLOCK_SIZE_BYTES_MAX)


def _joined(held: list[bytes], last: bytes, size_bytes: int) -> bytes:
    if size_bytes > RECORD_SIZE_BYTES_MAX:
        return b""
    return b"".join((*held, last)) if held else last
