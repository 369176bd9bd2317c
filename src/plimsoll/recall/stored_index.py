r"""A search index as bytes, stored beside its log. It has no text of messages: that is read from the log and checked.

    b"plimsoll index 4\n", CRC-32 of the rest, size of the header, header (JSON), arrays

What cannot be read is no index, and another is built from the log.
"""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from plimsoll.recall.index import Index
from plimsoll.recall.segment import NUMBER, NUMBER_SIZE_BYTES, Entry, Postings, Segment

MAGIC = b"plimsoll index 4\n"

_LAYOUT = f"{sys.byteorder} {NUMBER_SIZE_BYTES}"
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
    about = {
        "sizes": [len(getattr(segment, name)) for name in _ARRAYS],
        "counted": segment.counted(),
        "entries": _columns(segment.entries),
    }
    for name in ("units", "headings"):
        terms, counts, numbers = getattr(segment, name).dumped()
        said = "\n".join(terms).encode("utf-8", "surrogatepass")
        arrays += [said, counts, numbers]
        about[name] = [len(said), len(terms), len(numbers) // NUMBER_SIZE_BYTES]
    return about


def _columns(entries: Iterable[Entry]) -> list[Any]:
    """The entries by field, without their texts; names and speakers, which recur, by number."""
    voices: dict[str, int] = {}
    speakers: dict[frozenset[str], int] = {}
    rows = [
        (
            *(one.position, one.part, one.start, one.reference, voices.setdefault(one.voice, len(voices)), one.first),
            *(one.history_position, speakers.setdefault(one.speaker, len(speakers)), one.day),
        )
        for one in entries
    ]
    return [list(voices), list(map(sorted, speakers)), *map(list, zip(*rows, strict=True))]


def _entries(columns: list[Any]) -> list[Entry]:
    voices, sets, *given = columns
    if not given:
        return []
    positions, parts, starts, references, voice_of, firsts, places, speaker_of, days = given
    speakers = list(map(frozenset, sets))
    fields = (
        *(positions, parts, starts, [None] * len(positions), references, map(voices.__getitem__, voice_of)),
        *(firsts, places, map(speakers.__getitem__, speaker_of), days),
    )
    return list(map(Entry._make, zip(*fields, strict=True)))


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
        return self.octets(count * NUMBER_SIZE_BYTES).cast(NUMBER)

    def postings(self, sizes: list[int]) -> Postings:
        """The next terms, with the numbers of each. Not every number is checked: a search raises IndexError for a wrong one."""
        octets, terms, numbers = sizes
        said = str(self.octets(octets), "utf-8", "surrogatepass")
        counts = self.numbers(terms)
        return Postings(said.split("\n") if said else [], counts, self.numbers(numbers))

    def octets(self, count: int) -> memoryview:
        """The next so many bytes. Raises ValueError if there are fewer."""
        found, self._data = self._data[:count], self._data[count:]
        if len(found) != count:
            raise ValueError("cut short")
        return found


def _segment(fields: Mapping[str, Any], taken: _Taken, read: Callable[[Entry], str]) -> Segment:
    segment = Segment(read)
    for name, size in zip(_ARRAYS, fields["sizes"], strict=True):
        setattr(segment, name, array(NUMBER, taken.numbers(size)))
    units = len(segment.end_of)
    segment.kinds = bytearray(taken.octets(units))
    segment.entries = _entries(fields["entries"])
    segment.units = taken.postings(fields["units"])
    segment.headings = taken.postings(fields["headings"])
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
