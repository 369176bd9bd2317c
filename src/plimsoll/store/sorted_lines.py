"""Records that are not in the order of their numbers: moved, duplicated, or inserted from another log.

Used by verify and repair only, which read forward, since it needs a pass over the file and some bytes of memory per record. The
checksum covers the numbers, so they tell where a record belongs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.protocols import Damage, Record
from plimsoll.store.folder import Folder
from plimsoll.store.jsonl_lines import JsonlLines
from plimsoll.store.log import Tail, no_less
from plimsoll.store.log_file import LogFile
from plimsoll.store.os_calls import store_errors
from plimsoll.store.record import Span, spans


class _Place(NamedTuple):
    """The location of a record, with the unreadable spans before it."""

    seq: int
    offset: int
    size_bytes: int
    bad: tuple[Span, ...]


class SortedLines(JsonlLines):
    """The records of a log file sorted by number. Of several with the same number the first counts. A snapshot."""

    def __init__(self, folder: Folder, file: LogFile, *, session: str) -> None:
        super().__init__(folder, file, None, session=session, durable=False)
        with store_errors(file.path):
            end = super().tail()
            self._lying, self._rest = _places(file.spans(0, end.end))
            self._places = sorted(self._lying, key=lambda place: (place.seq, place.offset))
            self._tail = end
            if self._places:
                last = self._record(self._places[-1])
                self._tail = no_less(end._replace(at_ms=last.at_ms), records=last.seq + 1, messages=last.messages)

    def tail(self) -> Tail:
        """See Lines. The end of the log at the time of opening."""
        return self._tail

    def misplaced(self) -> list[Damage]:
        """Records located after one with a higher number. Duplicates are found when the records are read."""
        found: list[Damage] = []
        highest = -1
        for place in self._lying:
            if place.seq < highest:
                reason = "not in the order of its number"
                found.append(
                    Damage(
                        kind="misplaced",
                        seq=place.seq,
                        records=0,
                        offset=place.offset,
                        size_bytes=place.size_bytes,
                        reason=reason,
                    )
                )
            highest = max(highest, place.seq)
        return found

    def forward(self, seq: int, tail: Tail) -> Iterator[Span]:  # noqa: ARG002 - the snapshot does not grow
        """See Lines. Unreadable spans come before the record that follows them in the file."""
        with store_errors(self._file.path):
            for place in self._places[bisect_left(self._places, seq, key=lambda place: place.seq) :]:
                yield from place.bad
                yield self._span(place)
            yield from self._rest

    def _record(self, place: _Place) -> Record:
        record = self._span(place).record
        assert record is not None
        return record

    def _span(self, place: _Place) -> Span:
        return spans(self._file.read_at(place.offset, place.size_bytes), place.offset)[0]


def _places(found: Iterator[Span]) -> tuple[list[_Place], list[Span]]:
    """The records in file order, and the unreadable spans after the last one."""
    places: list[_Place] = []
    bad: list[Span] = []
    for span in found:
        if span.record is None:
            bad.append(span._replace(line=b""))
        else:
            places.append(_Place(span.record.seq, span.offset, span.size_bytes, tuple(bad)))
            bad = []
    return places, bad
