"""What is said in a message, part by part, for people to read."""

from __future__ import annotations

from typing import assert_never

from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from plimsoll.tokens.framing import compact_json


def parts_of(message: Message) -> list[tuple[str, str]]:
    """For each part what it is (nothing for plain text) and its words."""
    return [_said(part) for part in message.parts]


def _said(part: Part) -> tuple[str, str]:
    match part:
        case Text():
            return "", part.text
        case Reasoning():
            return "reasoning", part.text
        case ToolCall():
            return f"call {part.name}", part.arguments
        case ToolResult():
            return "error" if part.is_error else "result", part.content
        case Media():
            return part.kind, part.mime or ""
        case Opaque():
            return "provider part", compact_json(part.wire)
        case _:
            assert_never(part)
