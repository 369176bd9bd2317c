"""Convert conversations of any format to Chat Completions messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from plimsoll.formats.format import Converted, Loss
from plimsoll.formats.media import chat_block
from plimsoll.formats.openai_chat.codec import encode
from plimsoll.formats.portable import ContentPart, Portable, rendered, words_and_media
from plimsoll.formats.turns import Turn
from plimsoll.light.dataclass import replace
from plimsoll.message import Media, Message, Reasoning, Text, ToolCall, ToolResult


def render(messages: Sequence[Message]) -> Converted:
    """Any conversation as chat messages."""
    return rendered(messages, "openai-chat", encode, _Writer)


class _Writer:
    def __init__(self, losses: list[Loss]) -> None:
        self._portable = Portable("openai-chat", chat_block, losses)

    def write(self, turn: Turn) -> Iterator[dict[str, Any]]:
        """One turn as messages: one for each result, otherwise one."""
        match turn.speaker:
            case "results":
                yield from (self._result(result, turn.position) for result in turn.results)
            case "assistant":
                yield from self._assistant(turn)
            case _:
                yield self._said(turn)

    def _said(self, turn: Turn) -> dict[str, Any]:
        parts = words_and_media(list(self._portable.content_parts(turn)))
        content = self._portable.content(parts, turn.position, "text")
        return {"role": turn.speaker, **({"name": turn.name} if turn.name else {}), "content": content}

    def _assistant(self, turn: Turn) -> Iterator[dict[str, Any]]:
        parts = list(self._portable.content_parts(turn))
        words = [part for part in parts if isinstance(part, Text)]
        calls = [part for part in parts if isinstance(part, ToolCall)]
        for part in parts:
            self._note(part, turn.position)
        if not words and not calls and turn.parts:
            return
        if calls and len(words) == 1:
            words = [replace(words[0], wire=None)]
        content = self._portable.content([*words], turn.position, "text")
        listed = {"tool_calls": [self._call(call, turn.position) for call in calls]} if calls else {}
        yield {"role": "assistant", **({"name": turn.name} if turn.name else {}), "content": content, **listed}

    def _note(self, part: ContentPart, position: int) -> None:
        if isinstance(part, Reasoning):
            self._portable.drop_reasoning(position)
        elif isinstance(part, Media):
            self._portable.lose(position, part.kind, "dropped: an assistant message contains only text")

    def _call(self, call: ToolCall, position: int) -> dict[str, Any]:
        named = self._portable.named(call, position)
        if is_custom(call):
            return {
                "id": self._portable.id(call.id),
                "type": "custom",
                "custom": {"name": named.name, "input": call.arguments},
            }
        function = {"name": named.name, "arguments": call.arguments}
        return {"id": self._portable.id(call.id), "type": "function", "function": function}

    def _result(self, result: ToolResult, position: int) -> dict[str, Any]:
        texts = self._portable.result_texts(result, position)
        notes = []
        for part in result.media:
            self._portable.lose(position, part.kind, "dropped: a tool message contains only text")
            notes.append(f"[{part.kind} left out]")
        if notes:
            texts = "\n".join([*([texts] if isinstance(texts, str) else texts), *notes]).lstrip("\n")
        content = texts if isinstance(texts, str) else [{"type": "text", "text": text} for text in texts]
        return {"role": "tool", "tool_call_id": self._portable.id(result.call_id), "content": content}


def is_custom(call: ToolCall) -> bool:
    """True if the call's input is free text rather than JSON."""
    wire = call.wire or {}
    return wire.get("type") == "custom_tool_call" or isinstance(wire.get("custom"), dict)
