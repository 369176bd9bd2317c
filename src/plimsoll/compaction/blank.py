"""Messages and results that say nothing: which of them a provider refuses, and a result without its empty blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from plimsoll.formats.anthropic.decode import result_content
from plimsoll.message import FormatName, Message, Part, Reasoning, Text, ToolResult


def is_empty(parts: Iterable[Part], role: str, format: FormatName) -> bool:
    """Whether the provider would refuse a message for saying nothing."""
    found = list(parts)
    if role == "tool" or any(not isinstance(part, (Text, Reasoning)) for part in found):
        return False
    if format == "openai-responses" and any(isinstance(part, Reasoning) for part in found):
        return False
    texts = [part.text for part in found if isinstance(part, Text)]
    return not any(text.strip() for text in texts) if format == "anthropic" else not texts


def is_unsaid(message: Message, format: FormatName) -> bool:
    """Whether it is an assistant's message without content, which Anthropic takes at the very end, and nowhere else."""
    if format != "anthropic" or message.role != "assistant" or message.edited or message.wire is None:
        return False
    return message.wire.get("content") in ("", [])


def holds_blank(result: ToolResult) -> bool:
    """Whether one of the blocks of a result is text of nothing but space, which Anthropic refuses."""
    content = (result.wire or {}).get("content")
    return isinstance(content, list) and any(map(_is_blank, content))


def without_blanks(result: ToolResult) -> ToolResult:
    """A result without the blocks of empty text that it held beside others; empty where it held nothing else."""
    wire = result.wire or {}
    smaller = {**wire, "content": [block for block in wire["content"] if not _is_blank(block)] or ""}
    content, media = result_content(smaller)
    return replace(result, content=content, media=media, wire=smaller)


def _is_blank(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text" and not str(block.get("text", "")).strip()
