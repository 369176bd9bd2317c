"""Decode Anthropic messages (anthropic.types.MessageParam)."""

from __future__ import annotations

from typing import Any, Final

from plimsoll.errors import FormatError
from plimsoll.formats.media import media_of, text_and_media
from plimsoll.formats.wire import (
    arguments_text,
    copied,
    kind_of,
    objects_field,
    role_word,
    text_field,
)
from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult, Wire

ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "assistant", "system": "system"}

DOCUMENT_FIELDS: Final = frozenset({"title", "context"})
"""Text fields of a document block. Decoded as an Opaque part, so that they are counted."""


def decode(wire: Wire, position: int) -> Message:
    """Decode one message. Raises FormatError."""
    try:
        own = copied(wire)
        role = ROLES[role_word(own, ROLES)]
        return Message(role=role, parts=tuple(_content(own)), format="anthropic", wire=own)
    except FormatError as error:
        raise FormatError(error.reason, position=position, format="anthropic") from None


def _content(own: Wire) -> list[Part]:
    content = own.get("content")
    if isinstance(content, str):
        return [Text(text=content)]
    if "content" not in own or not isinstance(content, (list, type(None))):
        raise FormatError(f"content must be text or a list of blocks, not {kind_of(content)}")
    return [part for block in objects_field(own, "content") for part in _parts(block)]


def _parts(block: dict[str, Any]) -> list[Part]:
    match block.get("type"):
        case "text" if isinstance(block.get("text"), str):
            return [Text(text=block["text"], wire=block)]
        case "tool_use":
            arguments = arguments_text(block.get("input"))
            return [
                ToolCall(id=text_field(block, "id"), name=text_field(block, "name"), arguments=arguments, wire=block)
            ]
        case "tool_result":
            return [_result(block)]
        case "thinking":
            signature = text_field(block, "signature") or None
            return [Reasoning(text=text_field(block, "thinking"), signature=signature, wire=block)]
        case "redacted_thinking":
            return [Reasoning(text="", signature=text_field(block, "data") or None, wire=block)]
        case _:
            return _media(block)


def _media(block: dict[str, Any]) -> list[Part]:
    media = media_of(block)
    if media is None:
        return [Opaque(wire=block)]
    texts = {field: block[field] for field in DOCUMENT_FIELDS & block.keys() if block[field]}
    return [media, Opaque(wire=texts)] if texts else [media]


def _result(block: dict[str, Any]) -> ToolResult:
    content, media = result_content(block)
    return ToolResult(
        call_id=text_field(block, "tool_use_id"),
        content=content,
        is_error=block.get("is_error") is True,
        media=media,
        wire=block,
    )


def result_content(block: Wire) -> tuple[str, tuple[Media, ...]]:
    """A tool result's text and media. Other blocks are kept as JSON text."""
    if isinstance(block.get("content"), str):
        return block["content"], ()
    return text_and_media(map(_inside, objects_field(block, "content")))


def _inside(block: dict[str, Any]) -> Part:
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return Text(text=block["text"])
    return media_of(block) or Opaque(wire=block)
