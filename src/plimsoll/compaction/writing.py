"""Encode the messages of a view in the format they came in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from operator import is_
from typing import Any

from plimsoll.compaction.copies import Originals
from plimsoll.compaction.join import as_one, outgoing, runs
from plimsoll.compaction.normalize import finished
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.formats.cache_marks import NO_MARKS, LeadingMarks, keep_last
from plimsoll.formats.format import Format

Wires = list[dict[str, Any]]


def written(pieces: Sequence[ViewMessage], format: Format, leading: LeadingMarks = NO_MARKS) -> Wires:
    """The messages to send, as fresh objects. `leading` are the cache marks in tools and system text."""
    wires = _encoded(pieces, format)
    _unmark(wires, pieces, format, leading)
    return wires


def _encoded(pieces: Sequence[ViewMessage], format: Format) -> Wires:
    messages = list(outgoing(pieces, format))
    if messages:
        messages[-1] = finished(messages[-1], format.rules)
    return [format.encode(message) for message in messages]


def _unmark(wires: Wires, pieces: Sequence[ViewMessage], format: Format, leading: LeadingMarks) -> None:
    """Keep only as many cache marks as the provider allows, the last ones."""
    if _are_marked(pieces, format):
        _keep_last(wires, format, leading)


def _are_marked(pieces: Sequence[ViewMessage], format: Format) -> bool:
    """True if some of these have cache marks, and the provider limits their number."""
    return format.rules.cache_marks_max is not None and any(piece.marks for piece in pieces)


def _keep_last(wires: Wires, format: Format, leading: LeadingMarks) -> None:
    if format.rules.cache_marks_max is not None:
        keep_last(wires, leading, format.rules.cache_marks_max)


class _Encoded:
    """Messages that were encoded before, with the view messages they were made from."""

    def __init__(self) -> None:
        self.pieces: list[ViewMessage] = []
        self._originals = Originals()
        self._starts: list[int] = []
        """Number of view messages before each message."""
        self._marked: list[int] = []
        """The messages with cache marks that may have to be removed."""

    @property
    def is_marked(self) -> bool:
        """True if some of the messages have cache marks that may have to be removed."""
        return bool(self._marked)

    def add(self, pieces: Sequence[ViewMessage], format: Format) -> None:
        """Append the output messages of these view messages."""
        for run in runs(pieces, format):
            if _are_marked(run, format):
                self._marked.append(len(self._starts))
            self._starts.append(len(self.pieces))
            self.pieces += run
            self._originals.add(format.encode(as_one(run, format)))

    def cut(self, pieces: int) -> None:
        """Keep only the messages made from the first `pieces` view messages alone."""
        while len(self.pieces) > pieces:
            del self.pieces[self._starts.pop() :]
        count = len(self._starts)
        self._originals.cut(count)
        self._marked = [number for number in self._marked if number < count]

    def copies(self) -> Wires:
        """The messages, as fresh objects."""
        return self._originals.copies()


class ViewWriter:
    """Encodes a growing view repeatedly; messages encoded before are only copied.

    Callers may modify the messages they receive (for instance add cache marks), so each view consists of fresh objects. Leading
    system text is kept apart, because some hosts change it for each request.
    """

    def __init__(self) -> None:
        self._format: Format | None = None
        self._system, self._rest = _Encoded(), _Encoded()

    def write(self, pieces: Sequence[ViewMessage], format: Format, leading: LeadingMarks = NO_MARKS) -> Wires:
        """The messages of a view, as `written` returns them."""
        if format is not self._format:
            self._format, self._system, self._rest = format, _Encoded(), _Encoded()
        system = sum(1 for _ in takewhile(lambda piece: piece.message.role == "system", pieces))
        if not _is_parted(pieces, system, format):
            system = 0
        self._keep(self._system, pieces[:system], format)
        stop = max(system, len(pieces) - 1)  # the last one may still be merged or change
        while stop > system and not _is_parted(pieces, stop, format):
            stop -= 1
        self._keep(self._rest, pieces[system:stop], format)
        messages = self._system.copies() + self._rest.copies() + _encoded(pieces[stop:], format)
        if self._system.is_marked or self._rest.is_marked or _are_marked(pieces[stop:], format):
            _keep_last(messages, format, leading)
        return messages

    @staticmethod
    def _keep(encoded: _Encoded, pieces: Sequence[ViewMessage], format: Format) -> None:
        """Encode new messages, and those after the first that differs from the last view."""
        same = _same(encoded.pieces, pieces)
        while same and not _is_parted(pieces, same, format):
            same -= 1
        encoded.cut(same)
        if len(encoded.pieces) < len(pieces):
            encoded.add(pieces[len(encoded.pieces) :], format)


def _is_parted(pieces: Sequence[ViewMessage], at: int, format: Format) -> bool:
    """True if the message at an index is not merged with the one before it."""
    return not 0 < at < len(pieces) or len(list(runs(pieces[at - 1 : at + 1], format))) > 1


def _same(known: Sequence[ViewMessage], pieces: Sequence[ViewMessage]) -> int:
    """Number of known messages that a view begins with. They may have been counted again since, which makes new objects."""
    if len(known) <= len(pieces) and all(map(is_, known, pieces)):
        return len(known)
    pairs = zip(known, pieces, strict=False)
    return sum(1 for _ in takewhile(lambda pair: _shows_same(*pair), pairs))


def _shows_same(one: ViewMessage, other: ViewMessage) -> bool:
    return one is other or (
        one.message is other.message
        and (one.position, one.apart, one.joined) == (other.position, other.apart, other.joined)
    )
