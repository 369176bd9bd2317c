"""Make a history valid for a provider, message by message, changing only what the provider would reject.

Results without a call, calls without a result, reused ids and empty messages are repaired with the smallest change, and each
change is reported. Valid messages are returned unchanged. Only the open exchange is examined, so a session can add messages
as they arrive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from operator import is_
from typing import Any

from plimsoll.compaction.join import entry_of, origin_of
from plimsoll.compaction.notes import BEGINNINGS, EMPTY, OPENER, note_of
from plimsoll.compaction.served import close, taken
from plimsoll.compaction.settle import UNANSWERED, is_empty, is_empty_answer, settled
from plimsoll.compaction.view_message import CountMessage, ViewMessage
from plimsoll.formats.checks import repaired
from plimsoll.formats.exchange import OpenCalls, answers_by_name, is_legacy, speaks
from plimsoll.formats.format import Format
from plimsoll.formats.ids import SAFE
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.message import Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, text_message

MOVED = "results moved to their calls"
LABELLED = "system text converted to a labelled user message"

_WORDS = frozenset({"role", "content"})
_SPEAKERS = ("user", "assistant")


@dataclass(slots=True)
class HistoryNormalizer:
    """Normalizes messages one at a time. `add` returns the messages to append to the view.

    Calls without a result are left open: settle.py adds placeholders when the view is sent.
    """

    format: Format
    count_message: CountMessage
    seen_ids: set[str] = field(default_factory=set)
    """Ids of calls; those in `new_ids` were added since it was copied."""
    new_ids: set[str] = field(default_factory=set)
    pending: OpenCalls[ToolCall] = field(default_factory=OpenCalls)
    """Calls that a result may still answer: original id -> the calls under their ids in the view."""
    lost: list[ToolCall] = field(default_factory=list)
    """Calls that can no longer be answered because a later call reused their id."""
    asked: set[str] = field(default_factory=set)
    """The original call ids of the newest answer."""
    answers: dict[str, int] = field(default_factory=dict)
    """Original id of a pending call -> number of the answer that made it."""
    newest: int = 0
    """Number of the newest answer."""
    begun: bool = False
    answering: bool = False
    """True while the newest message belongs to the newest answer, which may continue."""
    in_sequence: bool = False
    """True if only results have followed the newest answer."""
    out_of_place: bool = False
    """True if a result in the view does not directly follow its call."""
    has_empty_answer: bool = False
    """True if a message in the view is empty, which only the last one may be."""
    served: dict[str, int] = field(default_factory=dict)
    """Calls that the provider runs itself and that have no result: id -> number of the answer that made it."""
    held: list[tuple[int, Message]] = field(default_factory=list)
    """Reasoning received before its answer, with its position: OpenAI rejects reasoning on its own."""

    @property
    def is_settled(self) -> bool:
        """True if the view can be sent as it is: every call has its result directly after it."""
        is_open = self.pending and not all(map(is_legacy, self.pending.all()))
        return not (is_open or self.lost or self.out_of_place or self.has_empty_answer or self.served)

    def add(self, original: Message, position: int) -> list[ViewMessage]:
        """Normalize the next message. Returns it, possibly repaired, split or after inserted messages; or nothing yet."""
        rules = self.format.rules
        words = "" if self.held or rules.results_inside else _words_of(original)
        if self.begun and words and not words.isspace():
            self._follow(original)
            self.in_sequence = self.answering
            return [ViewMessage(shown=original, count_message=self.count_message, position=position)]
        if rules.splits_answers and _only_reasons(original):
            self.held.append((position, original))
            return self._opening(original)
        repairs: list[str] = []
        message = original if words else self._by_itself(original, position, repairs)
        before = [] if self.begun and not self.held else [*self._opening(message), *self._released(message)]
        self._follow(message)
        parts: list[Part] = []
        late: dict[int, list[Part]] = {}
        named: set[str] = set()
        follows = False
        for index, part in enumerate(message.parts):
            match part:
                case ToolCall():
                    parts.append(self._call(part, position, index, named, repairs))
                case ToolResult():
                    answer, is_open = self.answers.get(part.call_id, 0), part.call_id in self.pending
                    is_next = is_open and self.in_sequence and part.call_id in self.asked
                    may_stay = rules.results_anywhere or answers_by_name(part)
                    is_late = is_open and not is_next and not may_stay
                    (late.setdefault(answer, []) if is_late else parts).append(self._result(part, repairs))
                    follows = follows or is_next
                case Text() if not part.text or part.text.isspace():
                    self._blank(part, parts, repairs)
                case Opaque() if rules.pairs_served:
                    parts.append(taken(part, self.served, self.newest, repairs))
                case _:
                    parts.append(part)
        if rules.results_inside:
            self._close_within()
        if message.role != "assistant":
            self.in_sequence = self.in_sequence and (follows or (not parts and bool(late)))
        return [*before, *self._normalized(original, message, position, parts, late, repairs)]

    def _follow(self, message: Message) -> None:
        """Update which answer the message belongs to."""
        is_answer = message.role == "assistant"
        if self.served and not is_answer:
            close(self.served, self.newest, beside=bool(self.asked))
        if is_answer and not (self.answering and self.format.rules.joins_answers):
            self.asked = set()
            self.newest += 1
        self.in_sequence = self.in_sequence or is_answer
        self.answering = is_answer

    def _close_within(self) -> None:
        """Close all open calls: a UI message contains its calls together with their results."""
        self.lost += self.pending.all()
        self.pending.clear()

    def _normalized(  # noqa: PLR0913, PLR0917 - what add has found out about one message
        self,
        original: Message,
        message: Message,
        position: int,
        parts: list[Part],
        late: Mapping[int, list[Part]],
        repairs: list[str],
    ) -> list[ViewMessage]:
        """The message with its repaired parts. Late results become separate messages, one for each answer they are moved to."""
        self.out_of_place = self.out_of_place or bool(late)
        groups = list(late.values())
        if groups and not parts:
            parts = groups.pop()
        apart = [self._entry(message.with_parts(tuple(group)), position, (MOVED,)) for group in groups]
        repairs += [MOVED] if groups else []
        fixed = self._finish(message, parts, repairs)
        if fixed is original:
            origin = origin_of(original)
            return [ViewMessage(shown=original, count_message=self.count_message, position=position, origin=origin)]
        is_note = _is_note(message, fixed)
        return [*apart, self._entry(fixed, position, tuple(repairs) or ("order",), is_note=is_note)]

    def _entry(
        self, message: Message, position: int | None, repairs: tuple[str, ...] = (), *, is_note: bool = False
    ) -> ViewMessage:
        return entry_of(message, position, self.count_message, repairs, is_note=is_note)

    def _by_itself(self, message: Message, position: int, repairs: list[str]) -> Message:
        """Repair what the provider rejects in a message regardless of its context."""
        if message.format != self.format.rules.name:
            return message
        if message.role == "user" or not self.begun:
            found = self.format.labelled(message)
            if found is not None:
                repairs.append(LABELLED)
                return found
        return repaired(self.format, message, position, repairs)

    def _released(self, message: Message) -> list[ViewMessage]:
        """Release held reasoning when its answer arrives; without an answer it stays out of the view."""
        held, self.held = self.held, []
        if not self.format.follows_reasoning(message.wire or {"role": message.role}):
            return []
        return [self._reasoned(reasoning, position) for position, reasoning in held]

    def _reasoned(self, reasoning: Message, position: int) -> ViewMessage:
        repairs: list[str] = []
        message = self._by_itself(reasoning, position, repairs)
        return self._entry(message, position, tuple(repairs))

    def _blank(self, part: Text, parts: list[Part], repairs: list[str]) -> None:
        """Handle a text part of white space only, which some formats reject."""
        if self.format.rules.refuses_blank_text:
            repairs.append("removed empty text")
        else:
            parts.append(part)

    def copied(self) -> HistoryNormalizer:
        """A copy, in a time that does not depend on the history. Either of the two may be used from then on, not both."""
        self.seen_ids |= self.new_ids
        self.new_ids = set()
        pending = self.pending.copied() if self.pending else OpenCalls()
        calls = pending, [*self.lost], {*self.asked}, {**self.answers}
        flags = self.begun, self.answering, self.in_sequence, self.out_of_place, self.has_empty_answer
        rest = {**self.served}, [*self.held]
        return HistoryNormalizer(
            self.format, self.count_message, self.seen_ids, set(), *calls, self.newest, *flags, *rest
        )

    def to_dict(self) -> dict[str, Any]:
        """The state, JSON-ready, without what `of_dict` can derive from the view."""
        pending = {key: [[call.id, call.name] for call in calls] for key, calls in self.pending.items()}
        held = [position for position, _ in self.held]
        state = {"begun": self.begun, "answering": self.answering, "pending": pending, "held": held}
        served = {"served": {**self.served}, "newest": self.newest} if self.served else {}
        return {**state, "asked": sorted(self.asked), "in_sequence": self.in_sequence, **served}

    @classmethod
    def of_dict(  # noqa: PLR0913 - what of its state is written down, and what the view says
        cls,
        format: Format,
        count_message: CountMessage,
        data: Mapping[str, Any],
        *,
        seen_ids: Iterable[str],
        unanswered: Sequence[ToolCall],
        is_ready: bool,
        read: Callable[[int], Message],
    ) -> HistoryNormalizer:
        """Restore the normalizer that `to_dict` described, for a view.

        A call that is no longer in the view is not open: its result has nothing to answer.

        Args:
            format: The format of the session.
            count_message: Counts the messages of the view.
            data: The result of `to_dict`.
            seen_ids: The ids of all calls in the view.
            unanswered: The calls in the view that have no result.
            is_ready: Whether the view can be sent as it is, except for calls without results.
            read: Returns a message of the history by position.

        """
        open_calls = {call.id: call for call in unanswered}
        pending: OpenCalls[ToolCall] = OpenCalls()
        for key, calls in data["pending"].items():
            found = [open_calls.pop(id) for id, _ in calls if id in open_calls]
            if found:
                pending[key] = deque(found)
        waiting = set(map(id, pending.all()))
        return cls(
            format,
            count_message,
            set(seen_ids),
            pending=pending,
            lost=[call for call in unanswered if id(call) not in waiting],
            asked=set(data.get("asked", ())),
            begun=data["begun"],
            answering=data["answering"],
            in_sequence=data.get("in_sequence", False),
            out_of_place=not is_ready,
            newest=data.get("newest", 0),
            served={**data.get("served", {})},
            held=[(position, read(position)) for position in data["held"]],
        )

    def _opening(self, message: Message) -> list[ViewMessage]:
        """Insert a user opening before the first message if the provider requires one."""
        if self.begun or message.role == "system":
            return []
        self.begun = True
        if self.format.rules.user_first and message.role not in ("user", "tool"):
            return [self._entry(text_message("user", OPENER), None, ("the first message must be the user's",))]
        return []

    def _call(self, call: ToolCall, position: int, index: int, named: set[str], repairs: list[str]) -> ToolCall:
        """Open a call under an id that the provider accepts. `named` collects the ids used in this message."""
        fixed, rules = call, self.format.rules
        refused = rules.call_id_chars_max is not None and len(call.id) > rules.call_id_chars_max
        refused = refused or (rules.strict_ids and not SAFE.fullmatch(call.id))
        if not call.id or refused or call.id in named or self._is_taken(call.id):
            fixed = replace(call, id=self._fresh_id(position, index, named))
            repairs.append(f"call id {call.id[:80]!r} renamed")
        named.add(fixed.id)
        self.new_ids.add(fixed.id)
        if call.id not in self.asked:
            self.lost += self.pending.pop(call.id, ())
        self.asked.add(call.id)
        self.answers[call.id] = self.newest
        self.pending.ask(call.id, fixed)
        return fixed

    def _fresh_id(self, position: int, index: int, named: Container[str]) -> str:
        """An unused id. The history may contain ids that plimsoll made for an earlier view of it."""
        id, others = f"call_{position}_{index}", 0
        while id in named or id in self.seen_ids or id in self.new_ids:
            others += 1
            id = f"call_{position}_{index}_{others}"
        return id

    def _is_taken(self, id: str) -> bool:
        """True if an id cannot be reused: anywhere if ids are strict, otherwise while its answer waits for results."""
        if self.format.rules.strict_ids:
            return id in self.seen_ids or id in self.new_ids
        return id in self.asked and id in self.pending

    def _result(self, result: ToolResult, repairs: list[str]) -> Part:
        """The result under its call's id; a text note if no open call matches."""
        call = self.pending.answer(result.call_id, newest=self.format.rules.results_inside)
        if call is None and answers_by_name(result):
            return result
        if call is None:
            repairs.append(f"result {result.call_id!r} answers no call before it")
            return Text(text=note_of(result))
        if result.call_id not in self.pending:
            self.answers.pop(result.call_id, None)
        filled = self.format.without_blanks(result)
        if filled is not result:
            repairs.append("removed empty text from a result")
            result = filled
        if self.format.rules.refuses_blank_text and result.is_error and not result.content.strip() and not result.media:
            repairs.append("a failed result must not be empty")
            result = replace(result, content=EMPTY)
        return result if call.id == result.call_id else replace(result, call_id=call.id)

    def _finish(self, message: Message, parts: list[Part], repairs: list[str]) -> Message:
        """The message with its repaired parts in a role that may hold them; the same object if nothing changed."""
        rules = self.format.rules
        if is_empty_answer(message, rules):
            self.has_empty_answer = True
            return message
        role = message.role
        if role == "tool" and not any(isinstance(part, ToolResult) for part in parts):
            role = "user"
        if rules.results_first and role in ("user", "tool"):
            parts.sort(key=lambda part: not isinstance(part, ToolResult))
        while rules.refuses_thinking_last and parts and isinstance(parts[-1], Reasoning):
            repairs.append("removed thinking that nothing follows")
            parts.pop()
        if is_empty(parts, role, rules):
            repairs.append("empty message")
            parts = [Text(text=EMPTY)]
        if role == message.role and _same(parts, message.parts):
            return message
        if role != message.role and not rules.joins_roles:
            return Message(role=role, parts=tuple(parts), format=message.format)
        return replace(message.with_parts(tuple(parts)), role=role)


def _words_of(message: Message) -> str:
    """The text of a message that is only text from a user or assistant, which every provider accepts unchanged; else "".

    Text that begins like a label is excluded: it may be system text, or ours.
    """
    wire = message.wire
    if wire is None or message.edited or message.role not in _SPEAKERS:
        return ""
    words = wire["content"] if len(wire) == len(_WORDS) and _WORDS.issuperset(wire) else None
    return words if isinstance(words, str) and not words.startswith(BEGINNINGS) else ""


def _same(parts: Sequence[Part], others: Sequence[Part]) -> bool:
    return len(parts) == len(others) and all(map(is_, parts, others))


def _only_reasons(message: Message) -> bool:
    return bool(message.parts) and all(isinstance(part, Reasoning) for part in message.parts)


def _is_note(message: Message, fixed: Message) -> bool:
    """True if a repaired message holds only a tool's output in the user's role."""
    return fixed.role == "user" and not fixed.results and (message.role != "user" or not speaks(message))


def normalize(messages: Iterable[Message], format: Format, count_message: CountMessage) -> list[ViewMessage]:
    """Normalize a whole history. Linear. A valid history is returned unchanged, message for message."""
    return placed(fed(messages, format, count_message), format, count_message, moves=True)


def fed(messages: Iterable[Message], format: Format, count_message: CountMessage) -> list[ViewMessage]:
    """Normalize messages one by one, leaving calls without results."""
    normalizer = HistoryNormalizer(format, count_message)
    return [entry for position, message in enumerate(messages) for entry in normalizer.add(message, position)]


def placed(
    entries: Sequence[ViewMessage], format: Format, count_message: CountMessage, *, moves: bool
) -> list[ViewMessage]:
    """Move results behind their calls and add placeholders for missing ones (see `settled`)."""

    def stand_in(message: Message) -> ViewMessage:
        return entry_of(message, None, count_message, (UNANSWERED,))

    return settled(entries, format, stand_in, moves=moves)
