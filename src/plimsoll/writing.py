"""A view written down: pieces encoded in the format they came in."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from plimsoll.compaction.join import as_one, outgoing, runs
from plimsoll.compaction.piece import Piece
from plimsoll.compaction.repair import finished
from plimsoll.formats.anthropic.marks import NO_MARKS, MarksBeside, keep_last
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
    messages = list(outgoing(pieces, format.name))
    if messages:
        messages[-1] = finished(messages[-1], format.name)
    return [format.encode(message) for message in messages]


def _unmark(wires: Wires, pieces: Sequence[Piece], format: Format, beside: MarksBeside) -> None:
    """Leave only as many cache marks as the provider takes, the last ones."""
    if format.name == "anthropic" and any(piece.marks for piece in pieces):
        keep_last(wires, beside)


class _Reader(pickle.Unpickler):
    persistent_load: Callable[[Any], Any]


class Frozen(pickle.Pickler):
    """Messages of which fresh copies are made, several times as fast as by copying dicts and lists one by one."""

    def __init__(self, messages: Wires) -> None:
        """Raises PicklingError, AttributeError or TypeError for values that are not plain JSON."""
        self._texts: list[str] = []
        stream = io.BytesIO()
        super().__init__(stream, protocol=5)
        self.dump(messages)
        self._bytes, self.count = stream.getvalue(), len(messages)

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
    fresh objects.
    """

    def __init__(self) -> None:
        self._format: Format | None = None
        self._chunks: list[Frozen] = []
        self._frozen: list[Piece] = []
        """The pieces that the chunks hold, in order."""

    def write(self, pieces: Sequence[Piece], format: Format, beside: MarksBeside = NO_MARKS) -> Wires:
        """The messages of a view, as `written` gives them."""
        if format is not self._format or not (_begins_with(pieces, self._frozen) and self._is_parted(pieces, format)):
            self._format, self._chunks, self._frozen = format, [], []
        self._freeze(pieces, format)
        messages: Wires = []
        for chunk in self._chunks:
            messages += chunk.copies()
        messages += _encoded(pieces[len(self._frozen) :], format)
        _unmark(messages, pieces, format, beside)
        return messages

    def _freeze(self, pieces: Sequence[Piece], format: Format) -> None:
        """Keep what no later message can change. The last messages may still be joined by others, or be finished."""
        if len(pieces) - len(self._frozen) < 2 * CHUNK_MESSAGES:
            return
        settled = list(runs(pieces[len(self._frozen) :], format.name))[:-1]
        for start in range(0, len(settled) - CHUNK_MESSAGES, CHUNK_MESSAGES):
            chosen = settled[start : start + CHUNK_MESSAGES]
            try:
                self._add([format.encode(as_one(run)) for run in chosen])
            except (pickle.PicklingError, AttributeError, TypeError):  # such a view is encoded each time
                return
            self._frozen += [piece for run in chosen for piece in run]

    def _is_parted(self, pieces: Sequence[Piece], format: Format) -> bool:
        """Whether what follows the frozen pieces now is not joined to them. Something has to follow: a last message is finished."""
        known = len(self._frozen)
        return not known or len(list(runs([self._frozen[-1], *pieces[known : known + 1]], format.name))) > 1

    def _add(self, messages: Wires) -> None:
        """Freeze more messages, together with chunks that are no larger."""
        size = CHUNK_MESSAGES
        while self._chunks and self._chunks[-1].count <= size:
            size += self._chunks[-1].count
            messages = self._chunks.pop().copies() + messages
        self._chunks.append(Frozen(messages))


def _begins_with(pieces: Sequence[Piece], known: Sequence[Piece]) -> bool:
    """Whether a view begins with these pieces. They may have been weighed again since, which makes new pieces."""
    if len(known) > len(pieces):
        return False
    return all(map(is_, known, pieces)) or all(
        one is other or (one.message is other.message and (one.position, one.apart) == (other.position, other.apart))
        for one, other in zip(known, pieces, strict=False)
    )
