"""A view written down: pieces encoded in the format they came in."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from itertools import takewhile
from operator import is_
from typing import Any

from plimsoll.compaction.join import as_one, outgoing, runs
from plimsoll.compaction.piece import Piece
from plimsoll.compaction.repair import finished
from plimsoll.formats.cache_marks import NO_MARKS, MarksBeside, keep_last
from plimsoll.formats.format import Format

Wires = list[dict[str, Any]]

CHUNK_MESSAGES = 8
"""Messages that are frozen at once. Chunks of equal size are merged, so that their number grows with the logarithm of the view."""

SHARED_CHARS_MIN = 32
"""Longer texts are shared by all copies of a message rather than copied: nobody can change a text."""


def written(pieces: Sequence[Piece], format: Format, beside: MarksBeside = NO_MARKS) -> Wires:
    """The messages to send, fresh objects in order. `beside` are the cache marks that the request has before them."""
    wires = _encoded(pieces, format)
    _unmark(wires, pieces, format, beside)
    return wires


def _encoded(pieces: Sequence[Piece], format: Format) -> Wires:
    messages = list(outgoing(pieces, format))
    if messages:
        messages[-1] = finished(messages[-1], format.rules)
    return [format.encode(message) for message in messages]


def _unmark(wires: Wires, pieces: Sequence[Piece], format: Format, beside: MarksBeside) -> None:
    """Leave only as many cache marks as the provider takes, the last ones."""
    marks_max = format.rules.cache_marks_max
    if marks_max is not None and any(piece.marks for piece in pieces):
        keep_last(wires, beside, marks_max)


class _Reader(pickle.Unpickler):
    persistent_load: Callable[[Any], Any]


class Frozen(pickle.Pickler):
    """Messages of which fresh copies are made, several times as fast as by copying dicts and lists one by one."""

    def __init__(self, messages: Wires, pieces: Sequence[Piece]) -> None:
        """The messages that these pieces go out as.

        Raises PicklingError, AttributeError or TypeError for values that are not plain JSON.
        """
        self.pieces = list(pieces)
        self._texts: list[str] = []
        stream = io.BytesIO()
        super().__init__(stream, protocol=5)
        self.dump(messages)
        self._bytes = stream.getvalue()

    def persistent_id(self, obj: Any) -> int | None:
        """The number of a text that is shared."""
        if type(obj) is not str or len(obj) < SHARED_CHARS_MIN:
            return None
        self._texts.append(obj)
        return len(self._texts) - 1

    def copies(self) -> Wires:
        """The messages, as fresh objects."""
        reader = _Reader(io.BytesIO(self._bytes))
        reader.persistent_load = self._texts.__getitem__
        messages: Wires = reader.load()
        return messages


class ViewWriter:
    """Writes a view that grows at its end, again and again: what it has encoded once it only copies.

    Callers may change the messages they are given (mark one for the provider's cache, for instance), so each view consists of
    fresh objects. The system text at the beginning is kept apart: some hosts change it for each request.
    """

    def __init__(self) -> None:
        self._format: Format | None = None
        self._chunks: list[Frozen] = []

    def write(self, pieces: Sequence[Piece], format: Format, beside: MarksBeside = NO_MARKS) -> Wires:
        """The messages of a view, as `written` gives them."""
        if format is not self._format:
            self._format, self._chunks = format, []
        try:
            start = self._freeze(pieces, self._kept(pieces, format), format)
        except (pickle.PicklingError, AttributeError, TypeError):  # such a view is encoded each time
            self._chunks, start = [], 0
        messages: Wires = []
        for chunk in self._chunks:
            messages += chunk.copies()
        messages += _encoded(pieces[start:], format)
        _unmark(messages, pieces, format, beside)
        return messages

    def _kept(self, pieces: Sequence[Piece], format: Format) -> int:
        """Keep the chunks that the view begins with; how many pieces they hold."""
        known, self._chunks, start = self._chunks, [], 0
        for chunk in known:
            stop = start + len(chunk.pieces)
            if _same(chunk.pieces, pieces[start:stop]):
                self._chunks.append(chunk)
            elif start == 0 and stop == _system_pieces(pieces) and _is_parted(pieces, stop, format):
                self._chunks.append(_frozen(pieces[:stop], format))
            else:
                break
            start = stop
        while self._chunks and not _is_parted(pieces, start, format):
            start -= len(self._chunks.pop().pieces)
        return start

    def _freeze(self, pieces: Sequence[Piece], start: int, format: Format) -> int:
        """Keep what no later message can change; how many pieces are kept. The last may still be joined or finished."""
        if not self._chunks and (system := _system_pieces(pieces)) and _is_parted(pieces, system, format):
            self._chunks.append(_frozen(pieces[:system], format))
            start = system
        while (left := len(pieces) - start) >= 2 * CHUNK_MESSAGES:
            stop = start + (CHUNK_MESSAGES << (left // CHUNK_MESSAGES - 1).bit_length() - 1)
            while stop < len(pieces) and not _is_parted(pieces, stop, format):
                stop += 1
            if stop == len(pieces):
                break
            self._add(_frozen(pieces[start:stop], format))
            start = stop
        return start

    def _add(self, chunk: Frozen) -> None:
        """Put a chunk at the end, together with those before it that are no larger, but for the system text."""
        while self._chunks and len(self._chunks[-1].pieces) <= len(chunk.pieces) and not _is_system(self._chunks[-1]):
            before = self._chunks.pop()
            chunk = Frozen(before.copies() + chunk.copies(), [*before.pieces, *chunk.pieces])
        self._chunks.append(chunk)


def _frozen(pieces: Sequence[Piece], format: Format) -> Frozen:
    return Frozen([format.encode(as_one(run, format)) for run in runs(pieces, format)], pieces)


def _is_system(chunk: Frozen) -> bool:
    return chunk.pieces[0].message.role == "system"


def _system_pieces(pieces: Sequence[Piece]) -> int:
    """How many pieces of system text a view begins with."""
    return sum(1 for _ in takewhile(lambda piece: piece.message.role == "system", pieces))


def _is_parted(pieces: Sequence[Piece], at: int, format: Format) -> bool:
    """Whether the piece at an index is not joined to the one before. There has to be one: a last message is finished."""
    return not at or len(list(runs(pieces[at - 1 : at + 1], format))) > 1


def _same(known: Sequence[Piece], pieces: Sequence[Piece]) -> bool:
    """Whether these are the same pieces. They may have been weighed again since, which makes new ones."""
    if len(known) != len(pieces):
        return False
    return all(map(is_, known, pieces)) or all(
        one is other or (one.message is other.message and (one.position, one.apart) == (other.position, other.apart))
        for one, other in zip(known, pieces, strict=True)
    )
