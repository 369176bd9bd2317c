"""Render conversations of any format as Anthropic messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plimsoll.formats.anthropic.codec import NO_OUTPUT, RAW_ARGUMENTS, block_of, encode, labelled_text
from plimsoll.formats.format import Converted, Loss, SystemText
from plimsoll.formats.ids import UniqueIds
from plimsoll.formats.media import anthropic_block
from plimsoll.formats.portable import Block, ContentPart, Portable, is_native
from plimsoll.formats.reasoning import signed_by_anthropic
from plimsoll.formats.rules import RULES
from plimsoll.formats.turns import OPENING, Turn, is_piece, turns_of
from plimsoll.formats.wire import copied, parsed_object
from plimsoll.light.dataclass import replace
from plimsoll.message import Media, Message, Reasoning, Text, ToolCall, ToolResult


def render(messages: Sequence[Message]) -> Converted:
    """A conversation as Anthropic messages, with its leading system messages as the separate system text."""
    losses: list[Loss] = []
    leading = _leading_system(messages)
    system = _system(messages[:leading], losses)
    rest = list(messages[leading:])
    if is_native(rest, "anthropic") and not any(message.role == "system" for message in rest):
        return Converted(messages=[encode(message) for message in rest], system=system, losses=losses)
    writer = _Writer(losses)
    turns = turns_of(rest, losses, headed=leading > 0)
    for turn in turns:
        writer.write(turn)
    return Converted(
        messages=writer.finished(opens=leading > 0 or not is_piece(turns)),
        system=system,
        losses=_placed(losses, leading),
    )


def _placed(losses: list[Loss], leading: int) -> list[Loss]:
    """Losses in order, with positions in the whole conversation."""
    moved = [loss if loss.position is None else replace(loss, position=loss.position + leading) for loss in losses]
    return sorted(moved, key=lambda loss: -1 if loss.position is None else loss.position)


def _leading_system(messages: Sequence[Message]) -> int:
    return next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))


def _system(messages: Sequence[Message], losses: list[Loss]) -> SystemText:
    """Text if it is one message of plain text, else blocks with their cache markers."""
    if len(messages) == 1 and [part.wire for part in messages[0].parts if isinstance(part, Text)] == [None]:
        only = messages[0].parts
        if len(only) == 1:
            return messages[0].text
    portable = Portable("anthropic", anthropic_block, losses)
    blocks: list[Block] = []
    for message in messages:
        turn = Turn(speaker="system", position=0, parts=list(message.parts))
        words = [part for part in portable.content_parts(turn) if isinstance(part, Text) and part.text.strip()]
        blocks.extend({"type": "text", "text": part.text, **portable.marker(part.wire)} for part in words)
    for index, loss in enumerate(losses):
        losses[index] = replace(loss, position=None)
    return blocks or None


class _Writer:
    def __init__(self, losses: list[Loss]) -> None:
        self._portable = Portable("anthropic", anthropic_block, losses)
        self._ids = UniqueIds(chars_max=RULES["anthropic"].call_id_chars_max)
        self._named: dict[str, str] = {}
        self._messages: list[dict[str, Any]] = []
        self._positions: list[int] = []

    def write(self, turn: Turn) -> None:
        match turn.speaker:
            case "results":
                self._add("user", [self._result(result, turn.position) for result in turn.results], turn)
            case "system":
                self._portable.lose(turn.position, "system role", "became a labelled user message")
                words = [part for part in self._portable.content_parts(turn) if isinstance(part, Text)]
                text = "\n".join(part.text for part in words)
                self._add("user", labelled_text(text), turn)
            case "user" | "assistant":
                self._speak(turn)

    def finished(self, *, opens: bool) -> list[dict[str, Any]]:
        """The messages without trailing white space, and starting with the user where `opens` is True."""
        if opens and self._messages and self._messages[0]["role"] == "assistant":
            self._portable.lose(self._positions[0], "opening", "a user message was inserted before the first one")
            self._messages.insert(0, {"role": "user", "content": OPENING})
        if self._messages and self._messages[-1]["role"] == "assistant":
            self._trim(self._messages[-1])
        return self._messages

    def _trim(self, last: dict[str, Any]) -> None:
        """Trim a final assistant message: the model continues it, and the API refuses trailing white space."""
        content = last["content"]
        text = content if isinstance(content, str) else content[-1].get("text", "")
        if text != text.rstrip():
            self._portable.lose(self._positions[-1], "white space", "trimmed from the end of the last message")
            if isinstance(content, str):
                last["content"] = text.rstrip()
            else:
                content[-1]["text"] = text.rstrip()

    def _add(self, role: str, content: str | list[Block], turn: Turn) -> None:
        self._messages.append({"role": role, "content": content})
        self._positions.append(turn.position)

    def _speak(self, turn: Turn) -> None:
        parts = list(self._portable.content_parts(turn))
        match parts:
            case [Text(text=text, wire=None)] if text.strip():
                self._add(turn.speaker, text, turn)
                return
        calls = any(isinstance(part, ToolCall) for part in parts)
        blocks = [block for part in parts for block in self._block(part, turn, beside_calls=calls)]
        while blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            blocks.pop()
            self._portable.lose(turn.position, "reasoning", "dropped: nothing follows it")
        if not blocks:
            self._portable.lose(turn.position, "empty message", "dropped: this format has no empty messages")
        elif not self._joins_results(parts, turn):
            self._add(turn.speaker, blocks, turn)
        else:
            self._messages[-1]["content"].extend(blocks)

    def _joins_results(self, parts: list[ContentPart], turn: Turn) -> bool:
        """Whether a user's blocks directly follow tool results. Anthropic has both in one message."""
        before = self._messages[-1]["content"] if self._messages else None
        follows = isinstance(before, list) and before[-1]["type"] == "tool_result"
        return turn.speaker == "user" and follows and all(part.wire is not None for part in parts)

    def _block(self, part: ContentPart, turn: Turn, *, beside_calls: bool) -> list[Block]:
        match part:
            case Text(text=text):
                return (
                    self._text(part, turn.position, beside_calls=beside_calls)
                    if not text.strip()
                    else [{"type": "text", "text": text, **self._portable.marker(part.wire)}]
                )
            case Reasoning():
                return self._thinking(part, turn.position)
            case ToolCall():
                return [self._call(part, turn.position)]
            case Media():
                return self._medium(part, turn)

    def _text(self, part: Text, position: int, *, beside_calls: bool) -> list[Block]:
        """Drop blank text, which the API refuses. Empty text in a message with calls is no loss."""
        if part.text or not beside_calls:
            self._portable.lose(position, "empty text", "dropped: this format has no blank text")
        return []

    def _thinking(self, part: Reasoning, position: int) -> list[Block]:
        signed = signed_by_anthropic(part)
        if signed is None:
            self._portable.drop_reasoning(position)
            return []
        return [copied(signed)]

    def _medium(self, part: Media, turn: Turn) -> list[Block]:
        if turn.speaker == "assistant":
            self._portable.lose(turn.position, part.kind, "dropped: not allowed in an assistant message")
            return []
        block = self._portable.medium(part, turn.position)
        return [block or {"type": "text", "text": f"[{part.kind} left out]"}]

    def _call(self, call: ToolCall, position: int) -> Block:
        named = self._portable.named(call, position)
        written = self._named[call.id] = self._ids.named(call.id)
        if parsed_object(call.arguments or "{}") is None:
            reason = f"not a JSON object: kept as text in {RAW_ARGUMENTS}"
            self._portable.lose(position, "arguments", reason)
        block = block_of(replace(named, id=written)) or {}
        return {**block, **self._portable.marker(call.wire)}

    def _result(self, result: ToolResult, position: int) -> Block:
        texts = self._portable.result_texts(result, position)
        lines = [texts] if isinstance(texts, str) else texts
        media = [self._portable.medium(part, position) for part in result.media]
        lines += [f"[{part.kind} left out]" for part, block in zip(result.media, media, strict=True) if block is None]
        blocks = [block for block in media if block is not None]
        content: str | list[Block] = texts if isinstance(texts, str) and len(lines) == 1 else []
        if blocks or not isinstance(content, str):
            content = [*({"type": "text", "text": text} for text in lines if text.strip()), *blocks]
        failed = {"is_error": True} if result.is_error else {}
        if failed and not content:
            self._portable.lose(
                position, "empty error", "text added: this format does not allow an empty failed result"
            )
        written = self._named.get(result.call_id) or self._ids.named(result.call_id)
        return {
            "type": "tool_result",
            "tool_use_id": written,
            "content": content or (NO_OUTPUT if failed else ""),
            **failed,
            **self._portable.marker(result.wire),
        }
