"""The content of a message, part by part, for people to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from plimsoll.formats.registry import decode_all
from plimsoll.message import FormatName, Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from plimsoll.tokens.framing import compact_json


def spoken(messages: Sequence[Any], format: FormatName) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The role of each message, and its parts as `parts_of` gives them."""
    for message in decode_all(messages, format)[1]:
        yield message.role, parts_of(message)


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
