"""Lines that do not lie in the order of their numbers: moved, doubled, or put in from another log. For verifying and repairing.

Numbers are under the checksum, so they say where a record belongs. Nothing else reads a log so: it takes a pass over the file, and
some bytes of memory a record.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from plimsoll.protocols import Damage, Record
from plimsoll.store.folder import Folder
from plimsoll.store.jsonl_lines import JsonlLines
from plimsoll.store.log import Tail, no_less
from plimsoll.store.log_file import LogFile
from plimsoll.store.os_calls import store_errors
from plimsoll.store.record import Span, spans


class _Place(NamedTuple):
    """Where a record lies, with what cannot be read before it."""

    seq: int
    offset: int
    size_bytes: int
    bad: tuple[Span, ...]


class SortedLines(JsonlLines):
    """The records of a log file by their numbers, as far as it goes now. Of several with one number the first counts."""

    def __init__(self, folder: Folder, file: LogFile, *, session: str) -> None:
        super().__init__(folder, file, None, session=session, durable=False)
        with store_errors(file.path):
            end = super().tail()
            self._lying, self._rest = _places(file.spans(0, end.end))
            self._places = sorted(self._lying, key=lambda place: (place.seq, place.offset))
            self._tail = end
            if self._places:
                last = self._record(self._places[-1])
                self._tail = no_less(replace(end, at_ms=last.at_ms), records=last.seq + 1, messages=last.messages)

    def tail(self) -> Tail:
        """See Lines. Where the log ended when it was opened."""
        return self._tail

    def misplaced(self) -> list[Damage]:
        """The records that lie behind one with a higher number. Those that are there twice are found when they are read."""
        found: list[Damage] = []
        highest = -1
        for place in self._lying:
            if place.seq < highest:
                reason = "it does not lie where its number belongs"
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

    def forward(self, seq: int, tail: Tail) -> Iterator[Span]:  # noqa: ARG002 - it does not grow
        """See Lines. What cannot be read comes before the record that lies behind it."""
        with store_errors(self._file.path):
            for place in self._places[bisect_left(self._places, seq, key=lambda place: place.seq) :]:
                yield from place.bad
                yield self._span(place)
            yield from self._rest

    def backward(self, tail: Tail) -> Iterator[Span]:  # noqa: ARG002 - as above
        """See Lines."""
        with store_errors(self._file.path):
            yield from reversed(self._rest)
            for place in reversed(self._places):
                yield self._span(place)
                yield from reversed(place.bad)

    def first(self, holds: Callable[[Record], bool], tail: Tail) -> Record | None:  # noqa: ARG002 - as above
        """See Lines."""
        with store_errors(self._file.path):
            at = bisect_left(self._places, True, key=lambda place: holds(self._record(place)))  # noqa: FBT003 - False sorts first
            return self._record(self._places[at]) if at < len(self._places) else None

    def _record(self, place: _Place) -> Record:
        record = self._span(place).record
        assert record is not None
        return record

    def _span(self, place: _Place) -> Span:
        return spans(self._file.read_at(place.offset, place.size_bytes), place.offset)[0]


def _places(found: Iterator[Span]) -> tuple[list[_Place], list[Span]]:
    """The records in the order in which they lie, and what cannot be read after the last of them."""
    places: list[_Place] = []
    bad: list[Span] = []
    for span in found:
        if span.record is None:
            bad.append(span._replace(line=b""))
        else:
            places.append(_Place(span.record.seq, span.offset, span.size_bytes, tuple(bad)))
            bad = []
    return places, bad
