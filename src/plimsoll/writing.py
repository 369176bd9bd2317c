"""A view written down: pieces encoded in the format they came in."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Sequence
from typing import Any

from plimsoll.compaction.join import as_one, outgoing, runs
from plimsoll.compaction.piece import Piece
from plimsoll.compaction.repair import finished
from plimsoll.formats.anthropic.marks import NO_MARKS, MarksBeside, keep_last
from plimsoll.formats.format import Format

Wires = list[dict[str, Any]]

CHUNK_MESSAGES = 32
"""Messages that are frozen at once. Chunks of equal size are merged, so that their number grows with the logarithm of the view."""


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


class ViewWriter:
    """Writes a view that grows at its end, again and again: what it has encoded once it only copies.

    Callers may change the messages they are given (mark one for the provider's cache, for instance), so each view consists of
    fresh objects. The beginning of the view is kept as the bytes that `marshal` makes of it: reading those back is about ten
    times as fast as encoding and copying the messages one by one.
    """

    def __init__(self) -> None:
        self._format: Format | None = None
        self._chunks: list[tuple[int, bytes]] = []
        """Each with the number of its messages."""
        self._frozen: list[Piece] = []
        """The pieces that the chunks hold, in order."""

    def write(self, pieces: Sequence[Piece], format: Format, beside: MarksBeside = NO_MARKS) -> Wires:
        """The messages of a view, as `written` gives them."""
        if format is not self._format or not (_begins_with(pieces, self._frozen) and self._is_parted(pieces, format)):
            self._format, self._chunks, self._frozen = format, [], []
        self._freeze(pieces, format)
        messages: Wires = []
        for _, chunk in self._chunks:
            messages += marshal.loads(chunk)  # noqa: S302 - bytes made here, a moment ago, never stored
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
                self._add(marshal.dumps([format.encode(as_one(run)) for run in chosen]))
            except ValueError:  # a value of a class derived from text or a number: such a view is encoded each time
                return
            self._frozen += [piece for run in chosen for piece in run]

    def _is_parted(self, pieces: Sequence[Piece], format: Format) -> bool:
        """Whether what follows the frozen pieces now is not joined to them. Something has to follow: a last message is finished."""
        known = len(self._frozen)
        return not known or len(list(runs([self._frozen[-1], *pieces[known : known + 1]], format.name))) > 1

    def _add(self, chunk: bytes) -> None:
        count = CHUNK_MESSAGES
        while self._chunks and self._chunks[-1][0] <= count:
            before, older = self._chunks.pop()
            count, chunk = count + before, marshal.dumps(marshal.loads(older) + marshal.loads(chunk))  # noqa: S302
        self._chunks.append((count, chunk))


def _begins_with(pieces: Sequence[Piece], before: Iterable[Piece]) -> bool:
    """Whether a view begins with these pieces. They may have been weighed again since, which makes new pieces."""
    known = list(before)
    return len(known) <= len(pieces) and all(
        one is other or (one.message is other.message and (one.position, one.apart) == (other.position, other.apart))
        for one, other in zip(known, pieces, strict=False)
    )
