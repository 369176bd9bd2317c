"""Appending messages: computes the records to write without changing the session's state.

A message record also stores how the view shows the message if it differs from the original (a tool result cut on arrival, a
repair for the provider), so that readers with other rules show the same view.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from plimsoll.compaction.bound import unbound, unbound_at
from plimsoll.compaction.meter import ContextMeter
from plimsoll.compaction.references import reference_of
from plimsoll.compaction.shrink import cut_results
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.compaction.working_view import WorkingView
from plimsoll.formats.detect import NO_CONTEXT, RequestContext, certain_format_of
from plimsoll.formats.format import Format
from plimsoll.formats.intake import Received, received
from plimsoll.formats.registry import format_named
from plimsoll.formats.wire import ascii_text, has_halves
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.message import Message, Part, ToolResult, Wire
from plimsoll.protocols import Record, RecordDraft
from plimsoll.records.replay import ViewState
from plimsoll.records.values import view_items
from plimsoll.summary.language import language_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What is known about the format of a session.

    Attributes:
        is_fixed: True if a message or an option determined it.
        is_recorded: True if the log contains it.
        beside: Request fields sent with the messages; they suggest a format until a message determines it.

    """

    is_fixed: bool
    is_recorded: bool
    beside: RequestContext = NO_CONTEXT

    def newly_known(self, taken: Received, likely: Format) -> Format | None:
        """The format if this is the first time it is known, from an option or these messages; None otherwise."""
        if self.is_fixed:
            return None if self.is_recorded else likely
        declared = taken.declared or (certain_format_of(taken.wires, self.beside) if taken.may_tell else None)
        return None if declared is None else format_named(declared)

    def format_of(self, messages: object, likely: Format) -> Format:
        """The recorded format, or the one that these messages are the first to show. Raises FormatError."""
        return likely if self == FIXED else self.newly_known(received(messages), likely) or likely


FIXED = Knowledge(is_fixed=True, is_recorded=True)
"""The log contains the format."""


class Requests:
    """The views that were handed out for requests not answered yet."""

    def __init__(self) -> None:
        self._events: set[int | None] = set()
        self._is_answered = False

    def show(self, event: int | None) -> None:
        """A view was handed out. `event` is the record on which it is based."""
        if self._is_answered:
            self._events.clear()
        self._events.add(event)
        self._is_answered = False

    def answer(self) -> None:
        """An answer was appended. Another may follow to the same view."""
        self._is_answered = True

    def are_of_other_than(self, event: int | None) -> bool:
        """True if an answer appended now may have been generated for a view based on another record than `event`."""
        return not self._events <= {event}


_HALF = "\\ud"
"""How the escape of a surrogate half begins, or of a character beyond the basic plane."""

_SEARCHED_CHARS_MAX = 2_000
"""In longer JSON it takes less time to ask each string whether it is ASCII than to search for escapes."""


class Arrivals:
    """The record drafts of an append. `take` applies the records after they were written.

    Attributes:
        meter: Measures the session from then on.
        state: The state to apply the records to: the session's own, or a new one if the format became known or an edit is
            appended as well.
        drafts: The drafts to write.

    """

    def __init__(  # noqa: PLR0913 - the state, and what is known about the messages
        self,
        meter: ContextMeter,
        state: ViewState,
        *,
        new_format: Format | None,
        limit_tokens: int | None,
        edit: RecordDraft | None = None,
        is_late: bool = False,
    ) -> None:
        """Start an append.

        Args:
            meter: The session's counter and budget.
            state: The state of the session before the append.
            new_format: The format if it becomes known now; the view is then decoded again.
            limit_tokens: Size limit of a tool result.
            edit: A change of earlier messages, applied first.
            is_late: True if the messages may answer an older view; thinking bound to that view is then removed.

        """
        self.meter = meter
        self.state = state
        self.drafts: list[RecordDraft] = []
        self._limit_tokens = limit_tokens
        self._is_late = is_late
        self._arrived: list[tuple[Message, Sequence[ViewMessage]]] = []
        if new_format is not None:
            self.meter = replace(meter, format=new_format)
            self.state = ViewState.of(state.log, new_format, self.meter.count_message, known=False)
            self.state.format_fixed = True
            self.drafts.append(RecordDraft(kind="note", data={"what": "format", "format": new_format.name}))
        if edit is not None:
            self._edit(edit)
        self._effective = len(self.drafts)
        self._normalizer = self.state.normalizer.copied()

    def add(self, message: Message, position: int, at_ms: int | None, text: str | None = None) -> None:
        """Add the next message. `text` is its JSON in the log, if the caller has it (see `as_stored`)."""
        data: dict[str, Any] = {"m": message.wire}
        normalized = self._normalizer.add(message, position)
        if not self._stays(normalized, message):
            entries = [self._shrunk(entry, message) for entry in normalized]
            entries = list(unbound_at(entries, self.state.history.branch.unbound))
            if self._is_late:
                entries = list(unbound(entries, self.meter.binds))
            if len(entries) != 1 or entries[0].position != position or not entries[0].is_plain:
                data["shown"] = view_items(entries, self.meter.format, {position: message.wire or {}})
        self._arrived.append((message, normalized))
        payload = None if text is None or "shown" in data else f'{{"m":{text}}}'
        self.drafts.append(RecordDraft(kind="message", data=data, at_ms=at_ms, text=payload))

    def take(self, records: Sequence[Record]) -> None:
        """Apply the written records."""
        self.state.normalizer = self._normalizer
        for record, arrived in zip(records[self._effective :], self._arrived, strict=True):
            self.state.append(record, *arrived)

    def _stays(self, normalized: Sequence[ViewMessage], message: Message) -> bool:
        """True if a quick check shows that the view keeps the message unchanged."""
        if len(normalized) != 1 or normalized[0].shown is not message or normalized[0].origin != "history":
            return False
        if self._is_late or self.state.history.branch.unbound:
            return False
        for part in message.parts:  # noqa: SIM110 - a generator takes twice the time
            if type(part) is ToolResult and self._may_be_cut(part):
                return False
        return True

    def _edit(self, draft: RecordDraft) -> None:
        """Apply an edit as reading its record back would."""
        log = self.state.log
        seq = log.length + len(self.drafts)
        record = Record(seq=seq, position=log.messages, kind=draft.kind, at_ms=draft.at_ms or 0, data=draft.data)
        self.state = self.state.edited(record)
        self.drafts.append(draft)

    def _shrunk(self, entry: ViewMessage, original: Message) -> ViewMessage:
        """The entry with each tool result above the policy's limit cut, with a reference to the original."""
        limit = self._limit_tokens
        if limit is None or not any(map(self._may_be_cut, entry.message.parts)) or entry.tokens <= limit:
            return entry
        view = self._working_view(entry, lambda _: original)
        exchange = view.exchanges[0]
        cut_results(view, exchange, limit)
        return exchange.entries[0]

    def _working_view(self, entry: ViewMessage, read: Callable[[int], Message]) -> WorkingView:
        """A working view of one entry, worded in the language of the session."""
        shown_messages = (shown.message for shown in self.state.entries)
        language = language_of(shown_messages, self.meter.policy.language)
        return self.meter.working_view([entry], refer=partial(reference_of, read=read), language=language)

    def _may_be_cut(self, part: Part) -> bool:
        """True for a tool result, unless its length proves that it fits: tokens have at least one byte."""
        if self._limit_tokens is None or not isinstance(part, ToolResult):
            return False
        is_bounded = self.meter.counter.exact and self.meter.choice is None
        size_bytes_max = len(part.content) * (1 if part.content.isascii() else 4)
        return size_bytes_max > self._limit_tokens or bool(part.media) or not is_bounded


def as_stored(message: Message, format: Format, position: int) -> tuple[Message, str | None]:
    """The message as it reads back from the log, and its compact ASCII JSON there; None for one that the log refuses.

    JSON joins surrogate halves, and the live message must equal the stored one.
    """
    try:
        text = ascii_text(message.wire)
    except ValueError:
        return message, None
    if (len(text) <= _SEARCHED_CHARS_MAX and _HALF not in text) or not _holds_halves(message.wire):
        return message, text
    return format.decode(json.loads(text), position), text


def _holds_halves(wire: Wire | None) -> bool:
    """True if any string in a message, field names included, contains a surrogate half."""
    values: list[Any] = [wire]
    for value in values:  # the list grows during the loop
        kind = type(value)
        if kind is dict:
            values += value
            values += value.values()
        elif kind is list:
            values += value
        elif isinstance(value, str) and not value.isascii() and has_halves(value):
            return True
    return False
