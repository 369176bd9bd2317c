"""Make a history one that a provider accepts, message by message, changing only what would be refused.

Results without a call, calls nobody answered, ids used twice, empty messages: each is repaired with the least change and the
change is reported. A history that was valid comes through untouched.

The arranger works one message at a time and looks only at the exchange that is still open, so a session can feed it as
messages arrive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from operator import is_
from typing import Any

from plimsoll.compaction.blank import holds_blank, is_empty, without_blanks
from plimsoll.compaction.reunite import answered_soon, reunited
from plimsoll.exchange import RUNS_OF_ONE_ANSWER, speaks
from plimsoll.formats.anthropic.repair import system_words
from plimsoll.formats.openai_chat.decode import answers_by_name, is_legacy
from plimsoll.formats.openai_responses.encode import answer_to
from plimsoll.formats.openai_responses.validate import is_led_to
from plimsoll.formats.registry import FORMATS
from plimsoll.formats.repairs import repaired
from plimsoll.formats.turns import OPENING
from plimsoll.formats.ui_parts.validate import needs_result
from plimsoll.message import FormatName, Message, Part, Reasoning, Text, ToolCall, ToolResult, said
from plimsoll.provenance import notice, noticed_words

EMPTY = "(empty)"
NO_RESULT = "[No result: the call was interrupted or its result was not recorded.]"
OPENER = "[The conversation begins with the assistant's message below.]"
LABELLED = "system text in the user's role stands under a label of its own"
_NOTE = re.compile(r"Result(?: of .{1,200})? of a call that is not shown|Result of an unknown tool call")
"""The words of a notice before a result without its call: ours, and those of a conversion to UI messages."""

_NOT_IN_A_NAME = re.compile(r"[\[\]\n]")
_STRICT_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
WANTS_USER_FIRST = frozenset({"anthropic"})
_WANTS_TEXT = frozenset({"anthropic"})
"""Formats that refuse an empty text block even beside others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arranged:
    """A message ready for the provider. `position` is None when it was made here; `repairs` says what was changed and why."""

    message: Message
    position: int | None
    repairs: tuple[str, ...] = ()
    note: bool = False
    """Whether it is a tool's words in the user's role, so that nobody takes them for a request."""


@dataclass(slots=True)
class Arranger:
    """Feeds messages through one at a time. `feed` returns what now follows in the view; `closing` what a view needs at its end."""

    format: FormatName
    seen_ids: set[str] = field(default_factory=set)
    pending: dict[str, list[ToolCall]] = field(default_factory=dict)
    """Calls of the open exchange without a result: the id as the history wrote it -> the calls as the view names them."""
    begun: bool = False
    answering: bool = False
    held: list[tuple[int, Message]] = field(default_factory=list)
    """Reasoning whose answer has not come yet, with its position: alone, OpenAI refuses it."""

    def feed(self, came: Message, position: int, *, is_last: bool = True, soon: Container[str] = ()) -> list[Arranged]:
        """What the next message of the history becomes: itself, repaired, perhaps after made messages or not yet.

        `is_last` is False where another is known to follow, so that nothing in this one can still be waited for; `soon` are
        the calls that messages right after it, of the same turn, are known to answer.
        """
        if self.format == "openai-responses" and _only_reasons(came):
            self.held.append((position, came))
            return self._before(came)
        repairs: list[str] = []
        message = self._by_itself(came, position, repairs)
        before = [*self._before(message), *self._released(message)] if self.held else self._before(message)
        parts: list[Part] = self._inserted(message, repairs, soon) if self.pending else []
        named: set[str] = set()
        for index, part in enumerate(message.parts):
            match part:
                case ToolCall():
                    parts.append(self._call(part, position, index, named, repairs))
                case ToolResult():
                    parts.append(self._result(part, repairs))
                case Text() if not part.text or part.text.isspace():
                    self._blank(part, parts, repairs)
                case _:
                    parts.append(part)
        if self.pending and self.format == "ui-parts":
            parts = self._settled(parts, repairs, is_last=is_last)
        fixed = self._finish(message, parts, repairs)
        self.answering = bool(named) or (self.answering and message.role == "assistant")
        if fixed is came:
            return [*before, Arranged(message=came, position=position)]
        note = _is_note(message, fixed)
        return [*before, Arranged(message=fixed, position=position, repairs=tuple(repairs) or ("order",), note=note)]

    def _by_itself(self, message: Message, position: int, repairs: list[str]) -> Message:
        """The message with what is refused of it whatever stands around it made acceptable."""
        if message.format != self.format:
            return message
        if self.format == "anthropic" and (message.role == "user" or not self.begun):
            words = system_words(message)
            if words is not None:
                repairs.append(LABELLED)
                return Message(role="system", parts=(Text(text=words),), format="anthropic")
        return repaired(FORMATS[self.format], message, position, repairs)

    def _settled(self, parts: list[Part], repairs: list[str], *, is_last: bool) -> list[Part]:
        """The parts of a UI message, where a call and its result are one, with every call in it answered that must be."""
        waiting = {id(call) for calls in self.pending.values() for call in calls}
        self.pending.clear()
        settled: list[Part] = []
        for part in parts:
            settled.append(part)
            if id(part) in waiting and isinstance(part, ToolCall) and needs_result(part.wire or {}, is_last=is_last):
                repairs.append(f"call {part.id} had no result")
                settled.append(_placeholder(part))
        return settled

    def _released(self, message: Message) -> list[Arranged]:
        """Held reasoning, now that its answer is there; without an answer it stays out of the view."""
        held, self.held = self.held, []
        if not is_led_to(message.wire or {"role": message.role}):
            return []
        return [self._reasoned(reasoning, position) for position, reasoning in held]

    def _reasoned(self, reasoning: Message, position: int) -> Arranged:
        repairs: list[str] = []
        message = self._by_itself(reasoning, position, repairs)
        return Arranged(message=message, position=position, repairs=tuple(repairs))

    def _blank(self, part: Text, parts: list[Part], repairs: list[str]) -> None:
        """Text of nothing but space, which some formats refuse."""
        if self.format in _WANTS_TEXT:
            repairs.append("empty text left out")
        else:
            parts.append(part)

    def to_dict(self) -> dict[str, Any]:
        """Where it stands, JSON-ready. The ids it has seen are not in it: `of_dict` is told them again."""
        pending = {key: [[call.id, call.name] for call in calls] for key, calls in self.pending.items()}
        held = [position for position, _ in self.held]
        return {"begun": self.begun, "answering": self.answering, "pending": pending, "held": held}

    @classmethod
    def of_dict(
        cls, format: FormatName, data: Mapping[str, Any], seen_ids: Iterable[str], read: Callable[[int], Message]
    ) -> Arranger:
        """The arranger that `to_dict` described, with the ids of the calls in the view. `read` gives a message by position.

        A call that has left the view is no longer open: its result, when it comes, has nothing to answer.
        """
        seen = set(seen_ids)
        pending = {
            key: [ToolCall(id=id, name=name, arguments="{}") for id, name in calls if id in seen]
            for key, calls in data["pending"].items()
            if any(id in seen for id, _ in calls)
        }
        held = [(position, read(position)) for position in data["held"]]
        return cls(format, seen, pending, begun=data["begun"], answering=data["answering"], held=held)

    def closing(self, shown: Container[str] | None = None) -> list[Arranged]:
        """Placeholder results for the calls nobody has answered yet, of those in `shown` where it is given.

        The arranger itself does not change.
        """
        return self._placeholders(shown)

    def _before(self, message: Message) -> list[Arranged]:
        """What must stand between the message and what came before it."""
        if self.begun and not self.pending:
            return []
        made: list[Arranged] = []
        if not self.begun and message.role != "system":
            self.begun = True
            if self.format in WANTS_USER_FIRST and message.role not in ("user", "tool"):
                made.append(_made(said("user", OPENER), "the first message must be the user's"))
        if self.pending and not self._continues(message) and not self._takes_insertions(message):
            made += self._placeholders()
            self.pending.clear()
        return made

    def _continues(self, message: Message) -> bool:
        """Whether the message belongs to the open exchange."""
        if message.role == "assistant":
            return self.answering and self.format in RUNS_OF_ONE_ANSWER and not message.results
        return any(result.call_id in self.pending for result in message.results)

    def _takes_insertions(self, message: Message) -> bool:
        """Anthropic wants every result of a turn in the one message that follows the call."""
        return self.format == "anthropic" and any(result.call_id in self.pending for result in message.results)

    def _inserted(self, message: Message, repairs: list[str], soon: Container[str]) -> list[Part]:
        """Placeholder results that must stand inside this very message, before what it says."""
        if not (self.pending and self._takes_insertions(message)):
            return []
        answered = [result.call_id for result in message.results]
        if not self._only_answers(message, answered):
            soon = ()
        missing = [
            call
            for key, calls in self.pending.items()
            if key not in soon
            for call in calls[min(len(calls), answered.count(key)) :]
        ]
        for key in list(self.pending):
            self.pending[key] = [call for call in self.pending[key] if call not in missing]
        repairs.extend(f"call {call.id} had no result" for call in missing)
        return [_placeholder(call) for call in missing]

    def _only_answers(self, message: Message, answered: list[str]) -> bool:
        """Whether nothing will be in the message but results of open calls, so that further results may follow it."""
        given = Counter(answered)
        return len(answered) == len(message.parts) and all(
            count <= len(self.pending.get(id, ())) for id, count in given.items()
        )

    def _call(self, call: ToolCall, position: int, index: int, named: set[str], repairs: list[str]) -> ToolCall:
        """The call under an id the provider accepts, noted as open. `named` are the ids this message has used."""
        fixed = call
        strict = self.format == "anthropic" and not _STRICT_ID.fullmatch(call.id)
        if not call.id or strict or call.id in named or call.id in self._taken():
            fixed = replace(call, id=self._fresh_id(position, index, named))
            repairs.append(f"call id {call.id[:80]!r} renamed")
        named.add(fixed.id)
        self.seen_ids.add(fixed.id)
        self.pending.setdefault(call.id, []).append(fixed)
        return fixed

    def _fresh_id(self, position: int, index: int, named: Container[str]) -> str:
        """An id nobody has used: the history may hold one of ours, from an earlier view of it."""
        id, others = f"call_{position}_{index}", 0
        while id in named or id in self.seen_ids:
            others += 1
            id = f"call_{position}_{index}_{others}"
        return id

    def _taken(self) -> Container[str]:
        """Ids that may not come again: anywhere for Anthropic, while they are unanswered for the others."""
        if self.format == "anthropic":
            return self.seen_ids
        return {call.id for calls in self.pending.values() for call in calls} if self.pending else ()

    def _result(self, result: ToolResult, repairs: list[str]) -> Part:
        """The result under its call's id; a note when no open call asked for it."""
        calls = self.pending.get(result.call_id)
        if not calls and answers_by_name(result):
            return result
        if not calls:
            repairs.append(f"result {result.call_id!r} answers no call before it")
            return Text(text=note_of(result))
        call = calls.pop(-1 if self.format == "ui-parts" else 0)  # a UI result is in one part with its call
        if not calls:
            del self.pending[result.call_id]
        if self.format == "anthropic" and holds_blank(result):
            repairs.append("empty text left out of a result")
            result = without_blanks(result)
        if self.format == "anthropic" and result.is_error and not result.content.strip() and not result.media:
            repairs.append("a failed result must say something")
            result = replace(result, content=EMPTY)
        return result if call.id == result.call_id else replace(result, call_id=call.id)

    def _finish(self, message: Message, parts: list[Part], repairs: list[str]) -> Message:
        """The message with its repaired parts, in a role that may say them; the same object when nothing changed."""
        role = message.role
        if role == "tool" and not any(isinstance(part, ToolResult) for part in parts):
            role = "user"
        if self.format == "anthropic" and role in ("user", "tool"):
            parts.sort(key=lambda part: not isinstance(part, ToolResult))
        while self.format == "anthropic" and parts and isinstance(parts[-1], Reasoning):
            repairs.append("thinking that led to nothing left out")
            parts.pop()
        if is_empty(parts, role, self.format):
            repairs.append("empty message")
            parts = [Text(text=EMPTY)]
        if role == message.role and _same(parts, message.parts):
            return message
        if role != message.role and message.format != "anthropic":
            return Message(role=role, parts=tuple(parts), format=message.format)
        return replace(message.with_parts(tuple(parts)), role=role)

    def _placeholders(self, shown: Container[str] | None = None) -> list[Arranged]:
        """Results for every open call, as messages of their own."""
        calls = (call for calls in self.pending.values() for call in calls)
        parts = [_placeholder(call) for call in calls if (shown is None or call.id in shown) and not is_legacy(call)]
        if not parts:
            return []
        reason = "a call had no result"
        if self.format == "anthropic":
            return [_made(Message(role="tool", parts=tuple(parts)), reason)]
        return [_made(Message(role="tool", parts=(part,)), reason) for part in parts]


def _same(parts: Sequence[Part], others: Sequence[Part]) -> bool:
    return len(parts) == len(others) and all(map(is_, parts, others))


def _only_reasons(message: Message) -> bool:
    return bool(message.parts) and all(isinstance(part, Reasoning) for part in message.parts)


def note_of(result: ToolResult) -> str:
    """A result without its call as words that say what they are. `as_said` reads it back."""
    name = f" of {_NOT_IN_A_NAME.sub(' ', result.name)[:200]}" if result.name else ""
    return f"{notice(f'Result{name} of a call that is not shown')}\n{result.content}".rstrip()


def is_note(part: Part) -> bool:
    """Whether a text was made here and is no request: a result without its call, the opening, the words for nothing.

    Only what carries content carries a tag: the opening and the words for nothing say the same whoever wrote them.
    """
    if not isinstance(part, Text):
        return False
    return part.text in (OPENER, OPENING, EMPTY) or _NOTE.fullmatch(noticed_words(part.text) or "") is not None


def says_nothing(message: Message) -> bool:
    """Whether a message is only the words for nothing."""
    return message.text == EMPTY and len(message.parts) == 1


def as_said(message: Message) -> Message:
    """The message with the notes in it as what they stand for: tool results. A tool's words never become a user's."""
    if message.role != "user" or not any(is_note(part) for part in message.parts):
        return message
    parts = [_unnoted(part) for part in message.parts]
    return replace(message.with_parts(tuple(parts)), role="tool" if all(map(is_note, message.parts)) else "user")


def _unnoted(part: Part) -> Part:
    return (
        ToolResult(call_id="", content=part.text.partition("\n")[2])
        if isinstance(part, Text) and is_note(part)
        else part
    )


def finished(message: Message, format: FormatName) -> Message:
    """The last message of a view: Anthropic refuses one of the assistant's that ends in white space."""
    if format != "anthropic" or message.role != "assistant" or not message.parts:
        return message
    last = message.parts[-1]
    if not isinstance(last, Text) or last.text == last.text.rstrip():
        return message
    return message.with_parts((*message.parts[:-1], replace(last, text=last.text.rstrip() or EMPTY)))


def _is_note(message: Message, fixed: Message) -> bool:
    """Whether a repaired message holds nothing but a tool's words in the user's role."""
    return fixed.role == "user" and not fixed.results and (message.role != "user" or not speaks(message))


def _placeholder(call: ToolCall) -> ToolResult:
    return ToolResult(
        call_id=call.id, name=call.name, content=NO_RESULT, is_error=True, wire=answer_to(call, NO_RESULT)
    )


def _made(message: Message, reason: str) -> Arranged:
    return Arranged(message=message, position=None, repairs=(reason,))


def arrange(messages: Iterable[Message], format: FormatName) -> list[Arranged]:
    """The whole history made acceptable, in order. Linear. A valid history comes back as it is, message for message."""
    arranger = Arranger(format)
    ordered = reunited(list(messages), format)
    last = ordered[-1][0] if ordered else 0
    soon = answered_soon([message for _, message in ordered]) if format == "anthropic" else repeat(())
    arranged = [
        item
        for (position, message), ids in zip(ordered, soon, strict=False)
        for item in arranger.feed(message, position, is_last=position == last, soon=ids)
    ]
    closing = arranger.closing()
    if ordered and format == "anthropic" and not closing and _says_nothing_yet(ordered[-1][1]):
        position, message = ordered[-1]
        arranged[-1] = Arranged(message=message, position=position)
    return arranged + closing


def _says_nothing_yet(message: Message) -> bool:
    """Whether it is an assistant's message without content, which Anthropic takes at the very end."""
    return message.role == "assistant" and message.wire is not None and message.wire.get("content") in ("", [])
