"""Encode the messages of a view in the format they came in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from operator import is_
from typing import Any

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
    marks_max = format.rules.cache_marks_max
    if marks_max is not None and any(piece.marks for piece in pieces):
        keep_last(wires, leading, marks_max)


class _Encoded:
    """Templates from which fresh copies of messages are made, twice as fast as unpickling.

    Each dict and list is stored without its nested ones, so that the garbage collector need not visit it.
    """

    def __init__(self) -> None:
        self.pieces: list[ViewMessage] = []
        self._templates: list[dict[str, Any] | tuple[Any, ...]] = []
        """Each dict, and each list as a tuple, with None in place of nested ones."""
        self._links: list[tuple[int, Any, int]] = []
        """(index of a template, key or index in it, index of the nested template)."""
        self._messages: list[int] = []
        """Template index of each message."""
        self._marks: list[tuple[int, int]] = []
        """Number of templates and links before each message."""

    def add(self, pieces: Sequence[ViewMessage], format: Format) -> None:
        """Append the output messages of these view messages."""
        for run in runs(pieces, format):
            self._marks.append((len(self.pieces), len(self._links)))
            self.pieces += run
            self._messages.append(self._taken(format.encode(as_one(run, format))))

    def cut(self, pieces: int) -> None:
        """Keep only the first `pieces` view messages."""
        while len(self.pieces) > pieces:
            stop, links = self._marks.pop()
            del self.pieces[stop:], self._links[links:], self._templates[self._messages.pop() :]

    def copies(self) -> Wires:
        """The messages, as fresh objects."""
        templates: list[Any] = self._templates
        if not self._links:  # messages of only texts and numbers
            return list(map(dict.copy, templates))
        found: list[Any] = [template.copy() if type(template) is dict else list(template) for template in templates]
        for parent, key, child in self._links:
            found[parent][key] = found[child]
        return [found[number] for number in self._messages]

    def _taken(self, value: dict[str, Any] | list[Any]) -> int:
        """Store a JSON value; returns its index."""
        number = len(self._templates)
        is_list = isinstance(value, list)
        bare = {key: None if isinstance(item, (dict, list)) else item for key, item in _items(value)}
        self._templates.append(tuple(bare.values()) if is_list else bare)
        for key, item in _items(value):
            if isinstance(item, (dict, list)):
                self._links.append((number, key, self._taken(item)))
        return number


def _items(value: dict[str, Any] | list[Any]) -> Any:
    return enumerate(value) if isinstance(value, list) else value.items()


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
        system = _system_pieces(pieces)
        if not _is_parted(pieces, system, format):
            system = 0
        self._keep(self._system, pieces[:system], format)
        stop = max(system, len(pieces) - 1)  # the last one may still be merged or change
        while stop > system and not _is_parted(pieces, stop, format):
            stop -= 1
        self._keep(self._rest, pieces[system:stop], format)
        messages = self._system.copies() + self._rest.copies() + _encoded(pieces[stop:], format)
        _unmark(messages, pieces, format, leading)
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


def _system_pieces(pieces: Sequence[ViewMessage]) -> int:
    """Number of system messages that a view begins with."""
    return sum(1 for _ in takewhile(lambda piece: piece.message.role == "system", pieces))


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
