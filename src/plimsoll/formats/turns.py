"""Conversations of any format as turns, from which every format can be written.

A turn is system text, a user message, one answer of the model (text, thinking and calls in their order), or the results of its
calls. Results directly follow the answer with their calls, whatever the source format allowed, and every call has an id. One
answer alone is a piece of a conversation: its last calls may still be answered. Several are a conversation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from plimsoll.formats.exchange import OpenCalls, is_legacy, placeholder
from plimsoll.formats.format import Loss
from plimsoll.formats.ids import original_of
from plimsoll.formats.rules import RULES
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

Speaker: TypeAlias = Literal["system", "user", "assistant", "results"]

OPENING = "[The conversation begins with the assistant.]"
"""Opens a conversation that begins with the assistant, in formats that require a user. Converting back removes it."""


@dataclass(slots=True, kw_only=True)
class Turn:
    """One turn. `position` is the index of the message it came from, or of the first of them."""

    speaker: Speaker
    position: int
    parts: list[Part] = field(default_factory=list)
    name: str | None = None
    is_item: bool = False
    """True for Responses items, which hold one answer of the model piece by piece."""

    @property
    def calls(self) -> list[ToolCall]:
        """The tool calls in it."""
        return [part for part in self.parts if isinstance(part, ToolCall)]

    @property
    def results(self) -> list[ToolResult]:
        """The tool results in it."""
        return [part for part in self.parts if isinstance(part, ToolResult)]


def turns_of(messages: Sequence[Message], losses: list[Loss], *, headed: bool = False) -> list[Turn]:
    """Convert messages to turns, with results directly after their calls. What is dropped is added to `losses`. Linear.

    `headed` is True if system text precedes them, so that they are a conversation.
    """
    return _settled(_merged(_split(messages, losses)), losses, headed=headed)


def _split(messages: Sequence[Message], losses: list[Loss]) -> Iterator[Turn]:
    for position, message in enumerate(messages):
        if _is_opening(message, position):
            continue
        answer = message.role == "assistant" and len(message.parts) > 1
        split = _split_answer(message, position, losses) if answer else _split_message(message, position, losses)
        yield from _plain_ui(message, position, split, losses) if message.format == "ui-parts" else split


def _is_opening(message: Message, position: int) -> bool:
    return message.format == "anthropic" and position <= 1 and message.role == "user" and message.text == OPENING


def _plain_ui(message: Message, position: int, turns: Iterable[Turn], losses: list[Loss]) -> Iterator[Turn]:
    """UI text is always in parts; a single part becomes plain text in other formats."""
    if (message.wire or {}).get("metadata"):
        losses.append(Loss(position=position, what="metadata", reason="dropped: only UI messages have it"))
    for turn in turns:
        if sum(isinstance(part, (Text, Media)) for part in turn.parts) == 1:
            turn.parts = [_plain_text(part, losses, position) for part in turn.parts]
        yield turn


def _plain_text(part: Part, losses: list[Loss], position: int) -> Part:
    if not isinstance(part, Text):
        return part
    if (part.wire or {}).get("providerMetadata"):
        losses.append(Loss(position=position, what="provider metadata", reason="dropped: only UI messages have it"))
    return Text(text=part.text)


def _split_message(message: Message, position: int, losses: list[Loss]) -> Iterator[Turn]:
    parts = _with_original_ids(message)
    results: list[Part] = [part for part in parts if isinstance(part, ToolResult)]
    content: list[Part] = [part for part in parts if not isinstance(part, ToolResult)]
    if results:
        yield Turn(speaker="results", position=position, parts=results)
    if message.role == "tool" and results:
        losses.extend(
            Loss(position=position, what=kind_of_opaque(part), reason="dropped: specific to its own format")
            for part in content
            if isinstance(part, Opaque)
        )
    elif content or not results:
        speaker: Speaker = "user" if message.role == "tool" else message.role
        yield Turn(speaker=speaker, position=position, parts=content, name=message.name, is_item=_is_item(message))


def _with_original_ids(message: Message) -> tuple[Part, ...]:
    """The parts with their original ids, if the source format required rewritten ones."""
    rewritten = message.format is not None and RULES[message.format].rewrites_ids
    return tuple(map(_with_original_id, message.parts)) if rewritten else message.parts


def _with_original_id(part: Part) -> Part:
    match part:
        case ToolCall(id=id):
            return replace(part, id=original_of(id))
        case ToolResult(call_id=id):
            return replace(part, call_id=original_of(id))
        case _:
            return part


def _split_answer(message: Message, position: int, losses: list[Loss]) -> Iterator[Turn]:
    """Split an answer where text follows a call, and a UI message, which holds a whole agent run, at each step."""
    turn, answers = _step(message, position)
    called = False
    for part in _with_original_ids(message):
        is_step = isinstance(part, Opaque) and part.wire.get("type") == "step-start"
        if (is_step and turn.parts) or (called and isinstance(part, (Text, Reasoning))):
            yield from (turn, answers)
            turn, answers = _step(message, position)
            called = False
        if isinstance(part, ToolResult):
            answers.parts.append(part)
        elif isinstance(part, ToolCall) and (part.wire or {}).get("state") == "input-streaming":
            losses.append(
                Loss(position=position, what="tool call", reason="dropped: its arguments were still arriving")
            )
        elif not is_step:
            turn.parts.append(part)
            called = called or isinstance(part, ToolCall)
    if turn.parts or not message.parts:
        yield turn
    yield answers


def _step(message: Message, position: int) -> tuple[Turn, Turn]:
    turn = Turn(speaker="assistant", position=position, name=message.name, is_item=_is_item(message))
    return turn, Turn(speaker="results", position=position)


def _is_item(message: Message) -> bool:
    return message.format is not None and RULES[message.format].splits_answers


def _merged(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Merge consecutive results, and consecutive Responses items of one answer."""
    held: Turn | None = None
    for turn in turns:
        if turn.speaker == "results" and not turn.parts:
            continue
        if held is not None and _continues(held, turn):
            held.parts.extend(turn.parts)
            continue
        if held is not None:
            yield held
        held = turn
    if held is not None:
        yield held


def _continues(held: Turn, turn: Turn) -> bool:
    if held.speaker == turn.speaker == "results":
        return True
    if held.speaker != "assistant" or turn.speaker != "assistant" or not held.is_item or not turn.is_item:
        return False
    return not (any(isinstance(part, Text) for part in turn.parts) and _has_answered(held))


def _has_answered(turn: Turn) -> bool:
    return any(isinstance(part, (Text, ToolCall)) for part in turn.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """A call without a result, and the turn for its result."""

    slot: Turn
    call: ToolCall
    """The call with the id it is written with."""
    position: int
    heard: int
    """Number of turns before the call, where the items of one answer do not count."""


class _Settling:
    """Moves results directly after their calls, in order, and gives ids to calls without one."""

    def __init__(self, losses: list[Loss]) -> None:
        self.out: list[Turn] = []
        self._losses = losses
        self._waiting: OpenCalls[_Waiting] = OpenCalls()
        self._unnamed: deque[str] = deque()
        self._asked: dict[int, _Waiting] = {}
        """Every call without a result, by the identity of its entry."""
        self._heard = 0
        self._last = -1

    def speak(self, turn: Turn) -> None:
        self._hear(turn)
        self.out.append(turn)
        if turn.calls:
            slot = Turn(speaker="results", position=turn.position)
            self.out.append(slot)
            turn.parts = [
                self._wait(part, slot, index) if isinstance(part, ToolCall) else part
                for index, part in enumerate(turn.parts)
            ]

    def _hear(self, turn: Turn) -> None:
        """Count turns that moving a result across must be reported for: all except the items of one answer."""
        piece = turn.speaker == "assistant" and (turn.is_item or turn.position == self._last)
        self._heard += not piece
        self._last = turn.position

    def _wait(self, call: ToolCall, slot: Turn, index: int) -> ToolCall:
        asked = call.id or f"call_{slot.position}_{index}"
        if not call.id:
            self._unnamed.append(asked)
        if asked in self._waiting and self._waiting[asked][0].slot is not slot:
            del self._waiting[asked]
        given = f"{asked}_{index}" if asked in self._waiting else asked
        written = call if call.id == given else replace(call, id=given)
        waiting = _Waiting(slot=slot, call=written, position=slot.position, heard=self._heard)
        self._waiting.ask(asked, waiting)
        self._asked[id(waiting)] = waiting
        return written

    def answer(self, turn: Turn) -> None:
        for result in turn.results:
            asked = result.call_id or (self._unnamed.popleft() if self._unnamed else "")
            waiting = self._waiting.answer(asked)
            if waiting is None:
                self._keep_orphan(result, turn.position)
            else:
                self._place(waiting, result, turn.position)

    def close(self, *, headed: bool) -> None:
        """Add a placeholder result for each call without a result, except the last of an answer that is alone."""
        last = self.out[-1] if not headed and is_piece(self.out) else None
        for waiting in self._asked.values():
            if waiting.slot is not last and not is_legacy(waiting.call):
                self._losses.append(Loss(position=waiting.position, what="tool call", reason="no result: words say so"))
                waiting.slot.parts.append(placeholder(waiting.call))

    def _place(self, waiting: _Waiting, result: ToolResult, position: int) -> None:
        del self._asked[id(waiting)]
        if waiting.heard != self._heard:
            self._losses.append(Loss(position=position, what="order", reason="result moved to directly after its call"))
        if not waiting.slot.parts:
            waiting.slot.position = position
        waiting.slot.parts.append(replace(result, call_id=waiting.call.id))

    def _keep_orphan(self, result: ToolResult, position: int) -> None:
        """Keep a result without a call in its place. `validate` of the target format reports it."""
        named = result if result.call_id else replace(result, call_id=f"call_{position}_orphan")
        if self.out and self.out[-1].speaker == "results":
            self.out[-1].parts.append(named)
        else:
            self.out.append(Turn(speaker="results", position=position, parts=[named]))


def _settled(turns: Iterable[Turn], losses: list[Loss], *, headed: bool) -> list[Turn]:
    settling = _Settling(losses)
    for turn in turns:
        if turn.speaker == "results":
            settling.answer(turn)
        else:
            settling.speak(turn)
    settling.close(headed=headed)
    return [turn for turn in settling.out if turn.speaker != "results" or turn.parts]


def is_piece(turns: Sequence[Turn]) -> bool:
    """Whether the turns are a piece of a conversation: one answer of the model, with or without results of its calls.

    One message may be several turns, and so may the items of one answer: until a result was given, the model says one answer.
    """
    answers = [turn for turn in turns if turn.speaker == "assistant"]
    if not answers or turns[0] is not answers[0] or any(t.speaker not in ("assistant", "results") for t in turns):
        return False
    given = [after.position for before, after in pairwise(turns) if after.position > before.position and after.results]
    is_one = all(turn.is_item or turn.position == answers[0].position for turn in answers)
    return is_one and all(answers[-1].position < position for position in given)


def spoken(part: Opaque) -> str | None:
    """Readable text in a part unknown to another format; None if there is none."""
    wire = part.wire
    if isinstance(wire.get("refusal"), str):
        return str(wire["refusal"])
    if wire.get("type") == "document" and isinstance(wire.get("source"), dict):
        return _document_text(wire["source"], wire.get("title"))
    if wire.get("type") == "search_result":
        head = [text for text in (wire.get("title"), wire.get("source")) if isinstance(text, str)]
        return "\n".join([*head, *_texts(wire.get("content"))])
    return None


def _document_text(source: dict[str, Any], title: object) -> str | None:
    body = source.get("data") if source.get("type") == "text" else source.get("content")
    texts = [body] if isinstance(body, str) else _texts(body)
    return "\n".join([title, *texts] if isinstance(title, str) else texts) if texts else None


def _texts(blocks: object) -> list[str]:
    listed = blocks if isinstance(blocks, list) else []
    return [block["text"] for block in listed if isinstance(block, dict) and isinstance(block.get("text"), str)]


def kind_of_opaque(part: Opaque) -> str:
    """The name of the part in a report."""
    kind = part.wire.get("type")
    return kind if isinstance(kind, str) and kind else next(iter(part.wire), "part")
