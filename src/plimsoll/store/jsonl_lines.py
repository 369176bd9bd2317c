"""The lines of one session folder: its log file, its blobs, and the repairs made on opening it for writing."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from plimsoll.errors import StoreUnusable
from plimsoll.protocols import Damage, Record
from plimsoll.store.blobs import BlobFolder, read_file
from plimsoll.store.folder import TEMPORARY, Folder
from plimsoll.store.header import header_line
from plimsoll.store.lock import CommittedLength, Lock, acknowledged
from plimsoll.store.log import Tail, lost_header, no_less, out_of_order, torn
from plimsoll.store.log_file import CutShort, LogFile, read_tail
from plimsoll.store.os_calls import store_errors
from plimsoll.store.record import Span

INDEX_NAME: Final = "index"
"""The search index of the session, made again from the log where it is missing or damaged."""

_TAIL_TRIES: Final = 100


class JsonlLines:
    """The lines of one session folder."""

    def __init__(self, folder: Folder, file: LogFile, lock: Lock | None, *, session: str, durable: bool) -> None:
        self._folder = folder
        self._file = file
        self._lock = lock
        self._durable = durable
        self._blobs = BlobFolder(folder, name=session, durable=durable)
        self._known = (-1, Tail())
        self._committed = acknowledged(folder)

    def tail(self) -> Tail:
        """See Lines. Acknowledged records that are absent count as missing."""
        tail, committed = self._end(), self._committed
        return tail if committed is None else no_less(tail, records=committed.records, messages=committed.messages)

    def acknowledge(self, tail: Tail) -> None:
        """See Lines."""
        if self._lock is not None:
            self._lock.acknowledge(CommittedLength(session=0, records=tail.seq, messages=tail.messages))

    def _end(self) -> Tail:
        """The end of the file, searched for again only when the size has changed."""
        with store_errors(self._file.path):
            for _ in range(_TAIL_TRIES):
                size = self._file.size()
                if size == self._known[0]:
                    return self._known[1]
                with suppress(CutShort):
                    tail = read_tail(self._file, acknowledged=self._committed.records if self._committed else 0)
                    self._known = (-1 if tail.torn_bytes else size, tail)
                    return tail
        raise StoreUnusable(self._file.path, reason="it keeps changing while it is read")

    def header(self) -> Record | None:
        """The session record, or None if it cannot be read."""
        with store_errors(self._file.path):
            records = (span.record for span in self._file.spans(0, self._end().end))
            first = next((record for record in records if record is not None), None)
            return first if first is not None and first.seq == 0 else None

    def raw_back(self) -> Iterator[bytes]:
        """Yield the raw lines, last to first."""
        with store_errors(self._file.path):
            yield from (line.data for line in self._file.lines_back(self._end().end))

    def forward(self, seq: int, tail: Tail) -> Iterator[Span]:
        """See Lines."""
        with store_errors(self._file.path):
            start = self._file.locate(lambda record: record.seq >= seq, tail.end) if seq else 0
            yield from self._file.spans(start, tail.end)

    def backward(self, tail: Tail) -> Iterator[Span]:
        """See Lines."""
        with store_errors(self._file.path):
            yield from self._file.spans_back(tail.end)

    def first(self, holds: Callable[[Record], bool], tail: Tail) -> Record | None:
        """See Lines."""
        with store_errors(self._file.path):
            start = self._file.locate(holds, tail.end)
            found = (span.record for span in self._file.spans(start, tail.end))
            return next((record for record in found if record is not None and holds(record)), None)

    def write(self, lines: Sequence[bytes], tail: Tail) -> None:
        """See Lines."""
        self._file.append(b"".join(lines), tail.end, durable=self._durable)

    def put_blob(self, data: bytes) -> str:
        """See SessionLog."""
        with store_errors(f"{self._folder.path}/blobs"):
            return self._blobs.put(data)

    def get_blob(self, reference: str) -> bytes:
        """See SessionLog."""
        with store_errors(f"{self._folder.path}/blobs"):
            return self._blobs.get(reference)

    def blobs(self) -> Iterator[str]:
        """See SessionLog."""
        with store_errors(f"{self._folder.path}/blobs"):
            yield from self._blobs.digests()

    def get_index(self) -> bytes | None:
        """See KeepsIndex."""
        with store_errors(f"{self._folder.path}/{INDEX_NAME}"), suppress(FileNotFoundError):
            return read_file(self._folder, INDEX_NAME)
        return None

    def put_index(self, data: bytes) -> None:
        """See KeepsIndex."""
        with store_errors(f"{self._folder.path}/{INDEX_NAME}"):
            self._folder.write_file(INDEX_NAME, data, durable=False)

    def mend(self, session: str, now_ms: int) -> list[Damage]:
        """Prepare the log for appending: move a torn end aside, end the last line with a newline, give an empty log a header."""
        damage = []
        with store_errors(self._file.path):
            for name in self._folder.names():
                if name.startswith(TEMPORARY):
                    self._folder.remove(name)
            while (tail := self._end()).torn_bytes:
                kept_in = self._put_aside(tail)
                self._file.cut(tail.end)
                damage.append(torn(tail, reason="an append that was interrupted", kept_in=kept_in))
        if tail.end and self._file.read_at(tail.end - 1, 1) != b"\n":
            self._file.append(b"\n", tail.end, durable=self._durable)
        if self._committed is None:
            self._check_end(session)
        if tail.seq == 0:
            damage.append(lost_header())
            end = self._end().end
            self._file.append(header_line(session, {}, now_ms), end, durable=self._durable)
        return damage

    def _check_end(self, session: str) -> None:
        """Scan the whole log once if no acknowledged length is known, so that no record number is given out twice."""
        with store_errors(self._file.path):
            tail = self._end()
            records = (span.record for span in self._file.spans(0, tail.end))
            highest = max((record.seq for record in records if record is not None), default=-1)
        if highest >= tail.seq:
            raise out_of_order(session, highest)

    def _put_aside(self, tail: Tail) -> str:
        """Copy the bytes after the end into a `torn-` file, replacing the copy of an earlier interrupted attempt."""
        data = self._file.read_at(tail.end, tail.torn_bytes)
        name = f"torn-{tail.end}-{zlib.crc32(data):08x}"
        self._folder.write_file(name, data, durable=True)
        return name

    def close(self) -> None:
        """See Lines."""
        self._file.close()
        if self._lock is not None:
            self._lock.release()
        self._folder.close()
