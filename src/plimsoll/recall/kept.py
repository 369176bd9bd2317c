r"""A search index as bytes, to be kept beside its log. It has no text of messages: that is read from the log and checked.

    b"plimsoll index 1\n", CRC-32 of the rest, size of the header, header (JSON), arrays

What cannot be read is no index, and another is built from the log.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from plimsoll.recall.index import Index
from plimsoll.recall.segment import Entry, Segment

MAGIC = b"plimsoll index 1\n"

_LAYOUT = f"{sys.byteorder} {array('I').itemsize}"
_SIZES = 4
_ARRAYS = ("entry_of", "end_of", "size_of", "half_of", "size_of_half", "first_of_half")


def dumped(index: Index, about: Mapping[str, Any]) -> bytes:
    """An index, with what its owner knows of it, which is JSON."""
    arrays: list[bytes] = []
    segments = [_segment_header(segment, arrays) for segment in index.segments]
    header = {"layout": _LAYOUT, "about": about, "index": index.state(), "segments": segments}
    head = json.dumps(header, separators=(",", ":")).encode("ascii")
    rest = b"".join([len(head).to_bytes(_SIZES, "big"), head, *arrays])
    return MAGIC + zlib.crc32(rest).to_bytes(_SIZES, "big") + rest


def about_of(data: bytes) -> tuple[Any, Callable[[Index, Callable[[Entry], str]], None]] | None:
    """What the owner said of a kept index, and a function that puts it into an empty one; None for bytes that are no index.

    The function takes what reads the text of an entry. It raises ValueError if the arrays do not fit together.
    """
    rest = memoryview(data)[len(MAGIC) + _SIZES :]
    checksum = data[len(MAGIC) : len(MAGIC) + _SIZES]
    if not data.startswith(MAGIC) or zlib.crc32(rest).to_bytes(_SIZES, "big") != checksum:
        return None
    size = int.from_bytes(rest[:_SIZES], "big")
    try:
        header = json.loads(bytes(rest[_SIZES : _SIZES + size]))
        if header["layout"] != _LAYOUT:
            return None
        return header["about"], lambda index, read: _restore(index, header, rest[_SIZES + size :], read)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _segment_header(segment: Segment, arrays: list[bytes]) -> dict[str, Any]:
    """What is not an array in a segment. The arrays are appended, each in its turn."""
    arrays += [getattr(segment, name).tobytes() for name in _ARRAYS]
    arrays.append(bytes(segment.kinds))
    for postings in (segment.units, segment.headings):
        arrays.append(array("I", map(len, postings.values())).tobytes())
        arrays.append(b"".join(one.tobytes() for one in postings.values()))
    return {
        "sizes": [len(getattr(segment, name)) for name in _ARRAYS],
        "counted": segment.counted(),
        "entries": [[*entry[:3], *entry[4:8], sorted(entry.speaker), entry.day] for entry in segment.entries],
        "terms": list(segment.units),
        "headings": list(segment.headings),
    }


def _restore(index: Index, header: Mapping[str, Any], arrays: memoryview, read: Callable[[Entry], str]) -> None:
    try:
        taken = _Taken(arrays)
        index.restore(header["index"], [_segment(fields, taken, read) for fields in header["segments"]])
    except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
        raise ValueError("the arrays of an index do not fit together") from error


class _Taken:
    """Takes arrays from the front of bytes."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    def numbers(self, count: int) -> memoryview:
        """The next so many numbers."""
        return self.octets(count * array("I").itemsize).cast("I")

    def octets(self, count: int) -> memoryview:
        """The next so many bytes. Raises ValueError if there are fewer."""
        found, self._data = self._data[:count], self._data[count:]
        if len(found) != count:
            raise ValueError("cut short")
        return found


def _segment(fields: Mapping[str, Any], taken: _Taken, read: Callable[[Entry], str]) -> Segment:
    segment = Segment(read)
    for name, size in zip(_ARRAYS, fields["sizes"], strict=True):
        setattr(segment, name, array("I", taken.numbers(size)))
    units = len(segment.end_of)
    segment.kinds = bytearray(taken.octets(units))
    segment.entries = [
        Entry._make([*given[:3], None, *given[3:7], frozenset(given[7]), given[8]]) for given in fields["entries"]
    ]
    segment.units = dict(_postings(fields["terms"], taken))
    segment.headings = dict(_postings(fields["headings"], taken))
    segment.recount(fields["counted"])
    sizes = [segment.entry_of, segment.size_of, segment.half_of]
    if (
        any(len(one) != units for one in sizes)
        or len(segment.size_of_half) != len(segment.first_of_half)
        or max(segment.entry_of, default=-1) >= len(segment.entries)
        or max(segment.half_of, default=-1) >= len(segment.size_of_half)
        or max(segment.first_of_half, default=0) > units
    ):
        raise ValueError("numbers out of range")
    return segment


def _postings(terms: list[str], taken: _Taken) -> Iterator[tuple[str, memoryview]]:
    """Each term with where it is. To check every number would take longer than a search, which raises IndexError instead."""
    counts = taken.numbers(len(terms))
    numbers = taken.numbers(sum(counts))
    start = 0
    for term, count in zip(terms, counts, strict=True):
        yield term, numbers[start : start + count]
        start += count
