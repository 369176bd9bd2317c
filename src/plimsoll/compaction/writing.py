"""Encode the messages of a view in the format they came in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plimsoll.compaction.copies import Originals
from plimsoll.compaction.entries import Row, Rows, same_rows
from plimsoll.compaction.join import as_one, outgoing, runs
from plimsoll.compaction.notes import EMPTY
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.formats.cache_marks import NO_MARKS, LeadingMarks, keep_last
from plimsoll.formats.format import Format
from plimsoll.formats.rules import Rules
from plimsoll.light.dataclass import replace
from plimsoll.message import Message, Text

Wires = list[dict[str, Any]]


def written(entries: Sequence[ViewMessage], format: Format, leading: LeadingMarks = NO_MARKS) -> Wires:
    """The messages to send, as fresh objects. `leading` are the cache marks in tools and system text."""
    wires = _encoded(entries, format)
    if _are_marked(entries, format):
        _keep_last(wires, format, leading)
    return wires


def _encoded(entries: Sequence[ViewMessage], format: Format) -> Wires:
    messages = list(outgoing(entries, format))
    if messages:
        messages[-1] = finished(messages[-1], format.rules)
    return [format.encode(message) for message in messages]


def _are_marked(entries: Sequence[ViewMessage], format: Format) -> bool:
    """True if some of these have cache marks, and the provider limits their number."""
    return format.rules.cache_marks_max is not None and any(entry.marks for entry in entries)


def _keep_last(wires: Wires, format: Format, leading: LeadingMarks) -> None:
    """Keep only as many cache marks as the provider allows, the last ones."""
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
    """A part of a view that was encoded before."""

    def __init__(self) -> None:
        self.entries = 0
        """Number of view messages that it was made from."""
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
        for run in runs([entry.awake() for entry in entries], format):
            if _are_marked(run, format):
                self._marked.append(len(self._starts))
            self._starts.append(self.entries)
            self.entries += len(run)
            self._originals.add(format.encode(as_one(run, format)))

    def cut(self, entries: int) -> None:
        """Keep only the messages made from the first `entries` view messages alone."""
        if self.entries <= entries:
            return
        while self.entries > entries:
            self.entries = self._starts.pop()
        count = len(self._starts)
        self._originals.cut(count)
        self._marked = [number for number in self._marked if number < count]

    def copies(self) -> Wires:
        """The messages, as fresh objects."""
        return self._originals.copies()


_NOTHING = _Encoded()
"""Nothing encoded yet. Each format that a writer is used for begins with others."""


class ViewWriter:
    """Encodes a growing view repeatedly; messages encoded before are only copied.

    Callers may modify the messages they receive (for instance add cache marks), so each view consists of fresh objects. Leading
    system text is kept apart, because some hosts change it for each request.
    """

    def __init__(self) -> None:
        self._format: Format | None = None
        self._rows: list[Row] = []
        self._count = 0
        """The last view: that many of these rows."""
        self._listed = Rows()
        self._system = self._rest = _NOTHING

    def write(self, entries: Sequence[ViewMessage], format: Format, leading: LeadingMarks = NO_MARKS) -> Wires:
        """The messages of a view, as `written` returns them."""
        if format is not self._format:
            self._format, self._count, self._system, self._rest = format, 0, _Encoded(), _Encoded()
        before, rows = self._rows[: self._count], self._listed.of(entries)
        grown = rows is self._rows  # looks at no message
        self._rows, self._count = rows, len(rows)
        system = self._system.entries if grown and self._rest.entries else _leading_system(entries, rows, format)
        if system != self._system.entries:
            self._system, self._rest = _Encoded(), _Encoded()
        stop = max(system, len(rows) - 1)  # the last one may still be merged or change
        while stop > system and not _is_parted(entries, stop, format):
            stop -= 1
        parts = (self._system, 0, system), (self._rest, system, stop)
        for encoded, start, end in parts:
            known = encoded.entries
            if known and not grown:
                known = same_rows(before[start : start + known], rows[start:])
            encoded.cut(_parted_before(entries, start, min(known, end - start), format))
        for encoded, start, end in parts:
            if encoded.entries < end - start:
                encoded.add(entries[start + encoded.entries : end], format)
        messages = self._system.copies()
        messages += self._rest.copies()
        last = entries[stop:]
        messages += _encoded(last, format)
        if self._system.is_marked or self._rest.is_marked or _are_marked(last, format):
            _keep_last(messages, format, leading)
        return messages


def _parted_before(entries: Sequence[ViewMessage], start: int, count: int, format: Format) -> int:
    """The largest number of messages from `start` on, up to `count`, that are not merged with the one after them."""
    while count > 0 and not _is_parted(entries, start + count, format):
        count -= 1
    return count


def _is_parted(entries: Sequence[ViewMessage], at: int, format: Format) -> bool:
    """True if the message at an index is not merged with the one before it."""
    pair = entries[at - 1 : at + 1] if at and format.rules.joins_roles else ()
    return len(pair) < 2 or len(list(runs(pair, format))) > 1


def _leading_system(entries: Sequence[ViewMessage], rows: list[Row], format: Format) -> int:
    """Number of the messages of system text that a view begins with; 0 if the last is merged with the message after it."""
    count = 0
    while count < len(rows) and isinstance(row := rows[count], ViewMessage) and row.is_system:
        count += 1
    return count if count and _is_parted(entries, count, format) else 0
