"""Convert conversations of any format to UI messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from plimsoll.formats.format import Converted, Loss
from plimsoll.formats.ids import UniqueIds
from plimsoll.formats.media import ui_block
from plimsoll.formats.portable import Block, ContentPart, Portable, is_native
from plimsoll.formats.provenance import notice
from plimsoll.formats.reasoning import ui_reasoning
from plimsoll.formats.turns import Turn, turns_of
from plimsoll.formats.ui_parts.codec import encode, made_id
from plimsoll.formats.wire import copied, parsed_object
from plimsoll.message import Media, Message, Reasoning, Text, ToolCall, ToolResult


def render(messages: Sequence[Message]) -> Converted:
    """Any conversation as UI messages. An agent run is one message, its steps separated by `step-start` parts."""
    if is_native(list(messages), "ui-parts"):
        return Converted(messages=[encode(message) for message in messages], losses=[])
    losses: list[Loss] = []
    writer = _Writer(losses)
    for turn in turns_of(messages, losses):
        writer.write(turn)
    return Converted(messages=writer.messages, losses=sorted(losses, key=lambda loss: loss.position or 0))


class _Writer:
    def __init__(self, losses: list[Loss]) -> None:
        self._portable = Portable("ui-parts", ui_block, losses)
        self._ids = UniqueIds(any_text=True)
        self._names = UniqueIds(any_text=True)
        self._tools: dict[str, Block] = {}
        self.messages: list[dict[str, Any]] = []

    def write(self, turn: Turn) -> None:
        if turn.speaker == "results":
            for result in turn.results:
                self._answer(result, turn.position)
            return
        parts = [self._part(part, turn.position) for part in self._portable.content_parts(turn)]
        if turn.speaker == "assistant":
            self._run([{"type": "step-start"}, *parts])
        else:
            self._add(turn.speaker, parts or [{"type": "text", "text": ""}])

    def _add(self, role: str, parts: list[Block]) -> None:
        name = self._names.named(made_id(role, map(json.dumps, parts)))
        self.messages.append({"id": name, "role": role, "parts": parts})

    def _run(self, parts: list[Block]) -> None:
        """Add parts to the current agent run's message. Its id is of those that it begins with, so that it stays while it grows."""
        if self.messages and self.messages[-1]["role"] == "assistant":
            self.messages[-1]["parts"].extend(parts)
        else:
            self._add("assistant", parts)

    def _part(self, part: ContentPart, position: int) -> Block:
        match part:
            case Text(text=text):
                return {"type": "text", "text": text}
            case Reasoning():
                return copied(ui_reasoning(part))
            case ToolCall():
                return self._call(part, position)
            case Media():
                note = {"type": "text", "text": f"[{part.kind} left out]"}
                return self._portable.medium(part, position) or note

    def _call(self, call: ToolCall, position: int) -> Block:
        value = parsed_object(call.arguments or "{}")
        if value is None:
            self._portable.lose(position, "arguments", "not a JSON object: kept as text")
        self._tools[call.id] = block = {
            "type": f"tool-{call.name}",
            "toolCallId": self._ids.named(call.id),
            "state": "input-available",
            "input": call.arguments if value is None else value,
        }
        return block

    def _answer(self, result: ToolResult, position: int) -> None:
        texts = self._portable.result_texts(result, position)
        lines = [texts] if isinstance(texts, str) else texts
        for part in result.media:
            self._portable.lose(position, part.kind, "dropped: a tool part contains only its output")
            lines = [*lines, f"[{part.kind} left out]"]
        text = "\n".join(lines)
        block = self._tools.get(result.call_id)
        if block is None or block["state"] != "input-available":
            self._answer_alone(text, position)
        elif result.is_error:
            block |= {"state": "output-error", "errorText": text}
        else:
            block |= {"state": "output-available", "output": text}

    def _answer_alone(self, text: str, position: int) -> None:
        """Keep the text of a result without a call as user text, because there is no tool part for it."""
        self._portable.lose(position, "tool result", "converted to a labelled user message: it has no matching call")
        self._add("user", [{"type": "text", "text": f"{notice('Result of an unknown tool call')}\n{text}"}])
