"""Encode the messages of a view in the format they came in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from operator import is_
from typing import Any

from plimsoll.compaction.copies import Originals
from plimsoll.compaction.join import as_one, outgoing, runs
from plimsoll.compaction.notes import EMPTY
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.formats.cache_marks import NO_MARKS, LeadingMarks, keep_last
from plimsoll.formats.format import Format
from plimsoll.formats.rules import Rules
from plimsoll.message import Message, Text

Wires = list[dict[str, Any]]


def written(entries: Sequence[ViewMessage], format: Format, leading: LeadingMarks = NO_MARKS) -> Wires:
    """The messages to send, as fresh objects. `leading` are the cache marks in tools and system text."""
    wires = _encoded(entries, format)
    _unmark(wires, entries, format, leading)
    return wires


def _encoded(entries: Sequence[ViewMessage], format: Format) -> Wires:
    messages = list(outgoing(entries, format))
    if messages:
        messages[-1] = finished(messages[-1], format.rules)
    return [format.encode(message) for message in messages]


def _unmark(wires: Wires, entries: Sequence[ViewMessage], format: Format, leading: LeadingMarks) -> None:
    """Keep only as many cache marks as the provider allows, the last ones."""
    if _are_marked(entries, format):
        _keep_last(wires, format, leading)


def _are_marked(entries: Sequence[ViewMessage], format: Format) -> bool:
    """True if some of these have cache marks, and the provider limits their number."""
    return format.rules.cache_marks_max is not None and any(entry.marks for entry in entries)


def _keep_last(wires: Wires, format: Format, leading: LeadingMarks) -> None:
    if format.rules.cache_marks_max is not None:
        keep_last(wires, leading, format.rules.cache_marks_max)


def finished(message: Message, rules: Rules) -> Message:
    """Finish the last message of a view: one that the model continues may not end in white space."""
    if not rules.continues_last or message.role != "assistant" or not message.parts:
        return message
    last = message.parts[-1]
    if not isinstance(last, Text) or last.text == last.text.rstrip():
        return message
    return message.with_parts((*message.parts[:-1], replace(last, text=last.text.rstrip() or EMPTY)))


class _Encoded:
    """Messages that were encoded before, with the view messages they were made from."""

    def __init__(self) -> None:
        self.entries: list[ViewMessage] = []
        self._originals = Originals()
        self._starts: list[int] = []
        """Number of view messages before each message."""
        self._marked: list[int] = []
        """The messages with cache marks that may have to be removed."""

    @property
    def is_marked(self) -> bool:
        """True if some of the messages have cache marks that may have to be removed."""
        return bool(self._marked)

    def add(self, entries: Sequence[ViewMessage], format: Format) -> None:
        """Append the output messages of these view messages."""
        for run in runs(entries, format):
            if _are_marked(run, format):
                self._marked.append(len(self._starts))
            self._starts.append(len(self.entries))
            self.entries += run
            self._originals.add(format.encode(as_one(run, format)))

    def cut(self, entries: int) -> None:
        """Keep only the messages made from the first `entries` view messages alone."""
        while len(self.entries) > entries:
            del self.entries[self._starts.pop() :]
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

    def write(self, entries: Sequence[ViewMessage], format: Format, leading: LeadingMarks = NO_MARKS) -> Wires:
        """The messages of a view, as `written` returns them."""
        if format is not self._format:
            self._format, self._system, self._rest = format, _Encoded(), _Encoded()
        system = sum(1 for _ in takewhile(lambda entry: entry.message.role == "system", entries))
        if not _is_parted(entries, system, format):
            system = 0
        self._keep(self._system, entries[:system], format)
        stop = max(system, len(entries) - 1)  # the last one may still be merged or change
        while stop > system and not _is_parted(entries, stop, format):
            stop -= 1
        self._keep(self._rest, entries[system:stop], format)
        messages = self._system.copies() + self._rest.copies() + _encoded(entries[stop:], format)
        if self._system.is_marked or self._rest.is_marked or _are_marked(entries[stop:], format):
            _keep_last(messages, format, leading)
        return messages

    @staticmethod
    def _keep(encoded: _Encoded, entries: Sequence[ViewMessage], format: Format) -> None:
        """Encode new messages, and those after the first that differs from the last view."""
        same = _same(encoded.entries, entries)
        while same and not _is_parted(entries, same, format):
            same -= 1
        encoded.cut(same)
        if len(encoded.entries) < len(entries):
            encoded.add(entries[len(encoded.entries) :], format)


def _is_parted(entries: Sequence[ViewMessage], at: int, format: Format) -> bool:
    """True if the message at an index is not merged with the one before it."""
    return not 0 < at < len(entries) or len(list(runs(entries[at - 1 : at + 1], format))) > 1


def _same(known: Sequence[ViewMessage], entries: Sequence[ViewMessage]) -> int:
    """Number of known messages that a view begins with. They may have been counted again since, which makes new objects."""
    if len(known) <= len(entries) and all(map(is_, known, entries)):
        return len(known)
    pairs = zip(known, entries, strict=False)
    return sum(1 for _ in takewhile(lambda pair: _shows_same(*pair), pairs))


def _shows_same(one: ViewMessage, other: ViewMessage) -> bool:
    return one is other or (
        one.message is other.message
        and (one.position, one.apart, one.joined) == (other.position, other.apart, other.joined)
    )
