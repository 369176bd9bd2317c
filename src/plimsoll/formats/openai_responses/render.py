"""Convert conversations of any format to Responses items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from plimsoll.formats.format import Converted, Loss
from plimsoll.formats.media import responses_block
from plimsoll.formats.openai_responses.codec import encode, text_block
from plimsoll.formats.portable import Block, ContentPart, Portable, rendered, words_and_media
from plimsoll.formats.reasoning import known_to_openai
from plimsoll.formats.turns import Turn
from plimsoll.formats.wire import copied
from plimsoll.light.dataclass import replace
from plimsoll.message import Media, Message, Reasoning, Text, ToolCall, ToolResult


def render(messages: Sequence[Message]) -> Converted:
    """Any conversation as items."""
    return rendered(messages, "openai-responses", encode, _Writer)


class _Writer:
    def __init__(self, losses: list[Loss]) -> None:
        self._portable = Portable("openai-responses", responses_block, losses)
        self._custom: set[str] = set()
        self._answers = 0

    def write(self, turn: Turn) -> Iterator[dict[str, Any]]:
        match turn.speaker:
            case "results":
                yield from (self._result(result, turn.position) for result in turn.results)
            case "assistant":
                yield from self._assistant(turn)
            case _:
                parts = words_and_media(list(self._portable.content_parts(turn)))
                yield {"role": turn.speaker, "content": self._portable.content(parts, turn.position, "input_text")}

    def _assistant(self, turn: Turn) -> Iterator[dict[str, Any]]:
        """Thinking, then words, then calls, each an item: the order the API itself answers in."""
        parts = list(self._portable.content_parts(turn))
        thoughts = [item for part in parts if isinstance(part, Reasoning) for item in self._thinking(part, turn)]
        words = self._words(parts, turn)
        calls = [self._call(part, turn.position) for part in parts if isinstance(part, ToolCall)]
        if thoughts and not words and not calls:
            self._portable.lose(turn.position, "reasoning", "dropped: nothing follows it")
            return
        yield from (*thoughts, *words, *calls)

    def _thinking(self, part: Reasoning, turn: Turn) -> list[dict[str, Any]]:
        known = known_to_openai(part)
        if known is None:
            self._portable.drop_reasoning(turn.position)
            return []
        return [copied(known)]

    def _words(self, parts: list[ContentPart], turn: Turn) -> list[dict[str, Any]]:
        """The text as one item. Empty text in a message with calls is left out."""
        texts = [part for part in parts if isinstance(part, Text)]
        for part in parts:
            if isinstance(part, Media):
                self._portable.lose(turn.position, part.kind, "dropped: an assistant message contains only text")
        calls = any(isinstance(part, ToolCall) for part in parts)
        if calls and len(texts) == 1:
            texts = [replace(texts[0], wire=None)] if texts[0].text else []
        if not texts:
            return [] if turn.parts else [{"role": "assistant", "content": ""}]
        if len(texts) == 1 and texts[0].wire is None:
            return [{"role": "assistant", "content": texts[0].text}]
        self._answers += 1
        blocks = [{**text_block(part.text, "output_text"), **self._portable.marker(part.wire)} for part in texts]
        answer = {"type": "message", "id": f"msg_{self._answers}", "role": "assistant", "status": "completed"}
        return [{**answer, "content": blocks}]

    def _call(self, call: ToolCall, position: int) -> dict[str, Any]:
        named, call_id = self._portable.named(call, position), self._portable.id(call.id)
        if isinstance((call.wire or {}).get("custom"), dict):
            self._custom.add(call.id)
            return {"type": "custom_tool_call", "call_id": call_id, "name": named.name, "input": call.arguments}
        self._custom.discard(call.id)  # an id may be reused for a tool of the other kind
        return {"type": "function_call", "call_id": call_id, "name": named.name, "arguments": call.arguments}

    def _result(self, result: ToolResult, position: int) -> dict[str, Any]:
        kind = "custom_tool_call_output" if result.call_id in self._custom else "function_call_output"
        call_id, texts = self._portable.id(result.call_id), self._portable.result_texts(result, position)
        if isinstance(texts, str) and not result.media:
            return {"type": kind, "call_id": call_id, "output": texts}
        texts = [texts] if isinstance(texts, str) else texts
        blocks: list[Block] = [{"type": "input_text", "text": text} for text in texts if text]
        for part in result.media:
            note = {"type": "input_text", "text": f"[{part.kind} left out]"}
            blocks.append(self._portable.medium(part, position) or note)
        return {"type": kind, "call_id": call_id, "output": blocks or ""}
