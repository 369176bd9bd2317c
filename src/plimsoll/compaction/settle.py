"""Order calls and results as a provider requires: each result directly after its call, placeholders for missing ones.

A history keeps messages in arrival order: a user or system message may come between a call and its result, parallel results
may arrive one by one, and a tool may never answer. The order is computed each time a view is sent, so that a late result is
still used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import TypeAlias

from plimsoll.compaction.notes import EMPTY
from plimsoll.compaction.served import calls_without_result, without_calls
from plimsoll.compaction.tally import RunningSum, Tally
from plimsoll.compaction.view_message import CountMessage, ViewMessage
from plimsoll.formats.exchange import NO_RESULT, OpenCalls, answers_by_name, is_legacy, open_calls, placeholder
from plimsoll.formats.format import Format
from plimsoll.formats.rules import Rules
from plimsoll.formats.server_tools import served_answer, served_call
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.message import Message, Part, Reasoning, Text, ToolCall, ToolResult

UNANSWERED = "a call had no result"
"""The reported reason for a placeholder."""


Make: TypeAlias = Callable[[Message], ViewMessage]
"""Makes the view message of a placeholder."""


@dataclass(slots=True)
class _Answer:
    """An answer of the model with the results that belong behind it; or any message without calls."""

    items: list[ViewMessage]
    open: OpenCalls[ToolCall] = field(default_factory=OpenCalls)
    late: list[ViewMessage] = field(default_factory=list)
    """Results that arrived after some other message."""
    served: set[str] = field(default_factory=set)
    """The calls that the provider runs itself and that have no result."""
    sent: list[ViewMessage] | None = None
    """Its items in sending order; None if they have to be ordered again."""

    def missing(self) -> list[ToolCall]:
        """The calls that require a result and have none."""
        return [call for call in self.open.all() if not is_legacy(call)]


class _Order:
    """Items in order: answers, each with its results, and other messages. Grows as items are added.

    The order of earlier items is cached until a result arrives for them.
    """

    def __init__(self, format: Format, *, moves: bool) -> None:
        self.answers: list[_Answer] = []
        self._format = format
        self._moves = moves
        self._homes: dict[str, _Answer] = {}
        self._served_homes: dict[str, _Answer] = {}
        self._spoken: _Answer | None = None
        """The newest answer."""
        self._current: _Answer | None = None
        """The newest answer, while results may follow it directly."""
        self._speaking = False
        self._ready: list[ViewMessage] = []
        """The items of the first answers in sending order, to which no result has come since."""
        self._ready_count = 0
        self._ready_tokens = RunningSum(self._ready)

    @classmethod
    def of(cls, items: Iterable[ViewMessage], format: Format, *, moves: bool = True) -> _Order:
        """Order all of these items."""
        order = cls(format, moves=moves)
        for item in items:
            order.add(item)
        return order

    def add(self, item: ViewMessage) -> None:
        """Add the next item."""
        message = item.message
        if self._format.rules.results_inside:
            self.answers.append(_Answer([item]))
        elif message.role == "assistant":
            if self._current is None or not self._speaking or not self._format.rules.joins_answers:
                self._current = _Answer([])
                self.answers.append(self._current)
            self._speaking = True
            self._current.items.append(item)
            self._current.sent = None
            for call in message.calls:
                self._current.open.ask(call.id, call)
                self._homes[call.id] = self._current
            self._pair_served(message, self._current)
        else:
            self._speaking = False
            self._add_other(item)

    def _pair_served(self, message: Message, answer: _Answer) -> None:
        """Note the calls in a message that the provider runs itself, and which earlier ones it has the results of."""
        if self._spoken is not answer and self._spoken is not None and self._spoken.served:
            self._order_again(self._spoken)  # its calls may no longer wait
        self._spoken = answer
        for part in message.parts if self._format.rules.pairs_served else ():
            if (asked := served_call(part)) is not None:
                answer.served.add(asked)
                self._served_homes[asked] = answer
            elif (answered := served_answer(part)) is not None and answered in self._served_homes:
                home = self._served_homes.pop(answered)
                home.served.discard(answered)
                self._order_again(home)

    def _order_again(self, answer: _Answer) -> None:
        answer.sent = None
        self._ready, self._ready_count = [], 0
        self._ready_tokens = RunningSum(self._ready)

    def _may_wait(self, answer: _Answer) -> bool:
        """True if results of what the provider runs itself may still come: after a pause, or beside calls of the client's."""
        waits = any(item.message.calls for item in answer.items)
        return answer is self._spoken and (waits or answer is self.answers[-1])

    def _add_other(self, item: ViewMessage) -> None:
        results = item.message.results
        if any(self._homes.get(result.call_id, self._current) is not self._current for result in results):
            self._ready, self._ready_count = [], 0
            self._ready_tokens = RunningSum(self._ready)
        home = _home_of(item.message, self._homes) if results else None
        if home is not None and home is self._current:
            home.items.append(item)
        elif home is not None and self._moves and not all(map(answers_by_name, results)):
            home.late.append(item)
        else:
            self._current = None
            self.answers.append(_Answer([item]))

    def sent(self, make: Make) -> list[ViewMessage]:
        """The items in sending order."""
        for answer in self.answers[self._ready_count : -1]:
            if answer.sent is None:
                answer.sent = self._sent(answer, make, is_last=False)
            self._ready += answer.sent
        self._ready_count = max(self._ready_count, len(self.answers) - 1)
        last = (item for answer in self.answers[-1:] for item in self._sent(answer, make, is_last=True))
        return [*self._ready, *last]

    def tokens(self, sent: Sequence[ViewMessage]) -> int:
        """Tokens of the items in sending order, of which all but those of the last answer were counted before."""
        return self._ready_tokens.tokens() + sum(item.tokens for item in sent[len(self._ready) :])

    def _sent(self, answer: _Answer, make: Make, *, is_last: bool) -> list[ViewMessage]:
        if self._format.rules.results_inside:
            return [_within(item, self._format, is_last=is_last) for item in answer.items]
        made = map(make, _placeholders(answer.missing(), self._format))
        items = answer.items
        if answer.served and not self._may_wait(answer):
            waiting = calls_without_result((item.message for item in items), answer.served)
            items = [_without_served(item, waiting.get(number)) for number, item in enumerate(items)]
        found = [*items, *answer.late, *made]
        whole = len(found) - is_last
        return [_without_empty_content(item, self._format) for item in found[:whole]] + found[whole:]


def _without_served(item: ViewMessage, indexes: set[int] | None) -> ViewMessage:
    return _edited(item, without_calls(item.message, indexes), UNANSWERED) if indexes else item


def settled(items: Sequence[ViewMessage], format: Format, make: Make, *, moves: bool) -> list[ViewMessage]:
    """Order items for sending: results directly behind their calls, placeholders for missing results, and filler text in empty
    messages other than the last. Linear. `moves` is False if results may stay where they are (see Rules.results_anywhere).
    """
    if not format.rules.results_inside and all(_is_talk(item.message, format.rules) for item in items):
        return list(items)
    return _Order.of(items, format, moves=moves).sent(make)


def _is_talk(message: Message, rules: Rules) -> bool:
    """True for a message of text alone, which neither moves nor makes others move."""
    return all(type(part) is Text for part in message.parts) and not is_empty_answer(message, rules)


def is_empty_answer(message: Message, rules: Rules) -> bool:
    """True for an assistant message without content, which providers accept only as the last message."""
    if not rules.continues_last or message.role != "assistant" or message.edited or message.wire is None:
        return False
    return message.wire.get("content") in ("", [])


def is_empty(parts: Iterable[Part], role: str, rules: Rules) -> bool:
    """True if the provider would reject a message with these parts as empty."""
    if role == "tool":
        return False
    for part in parts:
        if isinstance(part, Text):
            if not rules.refuses_blank_text or part.text.strip():
                return False
        elif rules.splits_answers or not isinstance(part, Reasoning):
            return False
    return True


def _without_empty_content(item: ViewMessage, format: Format) -> ViewMessage:
    if not is_empty_answer(item.message, format.rules):
        return item
    return _edited(item, item.message.with_parts((Text(text=EMPTY),)), "empty message")


def ordered(items: Sequence[ViewMessage], format: Format) -> list[ViewMessage]:
    """Move results directly behind their calls. Linear."""
    if format.rules.results_inside:
        return list(items)
    return [item for answer in _Order.of(items, format).answers for item in (*answer.items, *answer.late)]


def unanswered(items: Iterable[ViewMessage], format: Format) -> list[ToolCall]:
    """The calls without a result, in order."""
    if format.rules.results_inside:
        return [call for item in items for call in _open_within(item.message)]
    return [call for answer in _Order.of(items, format).answers for call in answer.missing()]


def is_ready(items: Sequence[ViewMessage], format: Format) -> bool:
    """True if every result directly follows its call, what the provider runs itself has its result, and no message is empty."""
    if any(is_empty_answer(item.message, format.rules) for item in items):
        return False
    answers = () if format.rules.results_inside else _Order.of(items, format).answers
    return not any(answer.late or answer.served for answer in answers)


def without_placeholders(entries: Iterable[ViewMessage]) -> tuple[ViewMessage, ...]:
    """Remove placeholder results; they are made again for each view until the results arrive."""
    return tuple(entry for entry in entries if not (entry.origin == "made" and is_placeholder(entry.message)))


def is_placeholder(message: Message) -> bool:
    """True for an unedited placeholder for missing results."""
    made = message.wire is None and not message.edited and bool(message.parts)
    return made and all(isinstance(part, ToolResult) and part.content == NO_RESULT for part in message.parts)


def _placeholders(calls: Sequence[ToolCall], format: Format) -> list[Message]:
    """Messages that answer the calls of one answer."""
    parts = tuple(map(placeholder, calls))
    if format.rules.results_first:
        return [Message(role="tool", parts=parts)] if parts else []
    return [Message(role="tool", parts=(part,)) for part in parts]


def _home_of(message: Message, homes: dict[str, _Answer]) -> _Answer | None:
    """The answer that the results of a message belong to. Its calls are marked as answered."""
    home: _Answer | None = None
    for result in message.results:
        found = homes.get(result.call_id)
        if found is not None and found.open.answer(result.call_id) is not None:
            found.sent = None
            home = home or found
    return home


def _open_within(message: Message) -> list[ToolCall]:
    """The calls of a UI message without results in it. A call and its result are one part, so the newest call is answered first."""
    return list(open_calls(message.parts, newest=True).all())


def _within(item: ViewMessage, format: Format, *, is_last: bool) -> ViewMessage:
    """Give every call in a UI message that requires one a placeholder result."""
    message = item.message
    waiting = {id(call) for call in _open_within(message) if format.needs_result(call.wire or {}, is_last)}
    if not waiting:
        return item
    parts: list[Part] = []
    for part in message.parts:
        parts.append(part)
        if isinstance(part, ToolCall) and id(part) in waiting:
            parts.append(placeholder(part))
    return _edited(item, message.with_parts(tuple(parts)), UNANSWERED)


def as_ordered(entries: Sequence[ViewMessage]) -> tuple[ViewMessage, ...]:
    """Sort into history order, as before a compaction. An inserted message stays behind the one it follows.

    A late result that goes back to its place does not take along the placeholders behind it: they belong to calls before it.
    """
    runs: list[tuple[int, list[ViewMessage]]] = [(-1, [])]
    behind = runs[-1][1]
    positions = [math.inf if entry.position is None else entry.position for entry in entries]
    next_positions = [*reversed([*accumulate(reversed(positions), min)]), math.inf][1:]
    for entry, next_position in zip(entries, next_positions, strict=True):
        if entry.position is None:
            behind.append(entry)
            continue
        runs.append((entry.position, [entry]))
        if entry.position <= next_position:
            behind = runs[-1][1]
    return tuple(entry for _, run in sorted(runs, key=itemgetter(0)) for entry in run)


class Sending:
    """Orders the messages of a view for sending and caches the order of the last view."""

    def __init__(self, format: Format, count_message: CountMessage) -> None:
        self._format = format
        self._count_message = count_message
        self._stand_ins: dict[tuple[str, ...], ViewMessage] = {}
        self._tally: Tally | None = None
        self._taken = 0
        """Number of the view's messages that are already ordered."""
        self._order: _Order | None = None
        self._view: list[ViewMessage] = []
        self._tokens: int | None = None

    def view(self, tally: Tally) -> list[ViewMessage]:
        """The ordered messages, for a view with missing results or results away from their calls."""
        self._ordered(tally)
        return self._view

    def _ordered(self, tally: Tally) -> _Order:
        """The order of the messages, with those that came since the last call."""
        order, count = self._order, len(tally.entries)
        if order is None or tally is not self._tally or self._taken > count:
            self._tally, self._taken, self._view = tally, 0, []
            order = self._order = _Order(self._format, moves=not self._format.rules.results_anywhere)
        if self._taken < count:
            for entry in tally.entries[self._taken :]:
                order.add(entry)
            self._taken, self._tokens = count, None
            self._view = order.sent(self._made)
        return order

    def tokens(self, tally: Tally) -> int:
        """Tokens of the ordered messages."""
        order = self._ordered(tally)
        if self._tokens is None:
            self._tokens = order.tokens(self._view)
        return self._tokens

    def settled(self, entries: Sequence[ViewMessage], *, moves: bool | None = None) -> list[ViewMessage]:
        """The messages in sending order. With `moves`, results move to their calls even in formats that allow them elsewhere."""
        if moves is None:
            moves = not self._format.rules.results_anywhere
        return settled(entries, self._format, self._made, moves=moves)

    def _made(self, message: Message) -> ViewMessage:
        """A placeholder message, cached by its calls so that it is encoded and counted once."""
        key = tuple(result.call_id for result in message.results)
        known = self._stand_ins.get(key)
        if known is None or known.message != message:
            known = self._stand_ins[key] = ViewMessage(
                shown=message, count_message=self._count_message, origin="made", whole=False
            )
        return known


def _edited(entry: ViewMessage, message: Message, reason: str) -> ViewMessage:
    return replace(entry, shown=message, whole=False, repairs=(*entry.repairs, reason))
