"""Messages of Strands as Chat Completions messages, and back."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, cast

from strands.types.content import ContentBlock, Message

from plimsoll.adapters.calls import Wire
from plimsoll.adapters.parts import (
    PartsDialect,
    arguments_of,
    blocks_of,
    call_piece,
    content_of,
    data_url,
    dumped,
    file_block,
    image_block,
    matched,
    result_piece,
    text_block,
    text_of,
)


class StrandsDialect(PartsDialect[Message, ContentBlock]):
    """A user's message holds the results of all calls before it. A system prompt is a message with the role `system`."""

    def role(self, message: Message) -> str:
        """Its own role."""
        return str(message["role"])

    def parts(self, message: Message) -> Sequence[ContentBlock]:
        """Its blocks."""
        return list(message["content"])

    def piece(self, part: ContentBlock) -> Wire | None:
        """How a block is written. A mark for the cache is not."""
        return _piece(cast("Wire", part))

    def part(self, piece: Wire, origin: ContentBlock | None) -> ContentBlock:
        """A block with the content of a piece."""
        return cast("ContentBlock", _block(piece, cast("Wire", origin or {})))

    def message(self, role: str, parts: list[ContentBlock], origin: Message | None) -> Message:
        """A message; results are a user's."""
        given = cast("Wire", origin or {})
        return cast("Message", {**given, "role": "user" if role == "tool" else role, "content": parts})


def _piece(block: Wire) -> Wire | None:  # noqa: PLR0911 - one for each kind of block
    match block:
        case {"text": str(text)}:
            return text_block(text)
        case {"toolUse": call}:
            return call_piece(call["toolUseId"], call["name"], dumped(call["input"]))
        case {"toolResult": result}:
            pieces = [piece for one in result["content"] if (piece := _piece(one)) is not None]
            return result_piece(result["toolUseId"], content_of(pieces))
        case {"json": value}:
            return text_block(dumped(value))
        case {"image": media}:
            return image_block(_address(media, f"image/{media['format']}"))
        case {"document": media}:
            return file_block(media.get("name"), _address(media, f"application/{media.get('format', 'octet-stream')}"))
        case {"reasoningContent": {"reasoningText": said}}:
            return {"type": "thinking", "thinking": said.get("text") or ""}
        case {"reasoningContent": {"redactedContent": bytes(data)}}:
            return {"type": "redacted_thinking", "data": b64encode(data).decode()}
        case {"cachePoint": _}:
            return None
        case _:
            return text_block(dumped(block))


def _block(piece: Wire, origin: Wire) -> Wire:
    if piece.get("role") == "tool":
        before = origin.get("toolResult") or {"status": "success"}
        content = matched(blocks_of(piece["content"]), before.get("content", ()), _piece, _content)
        return {"toolResult": {**before, "toolUseId": piece["tool_call_id"], "content": content}}
    if piece.get("type") == "function":
        name = piece["function"]["name"]
        return {
            "toolUse": {
                **(origin.get("toolUse") or {}),
                "toolUseId": piece["id"],
                "name": name,
                "input": arguments_of(piece),
            }
        }
    return {"text": text_of(piece)}


def _content(piece: Wire, origin: Wire | None) -> Wire:
    return _block(piece, origin or {})


def _address(media: Wire, media_type: str) -> str:
    """Where the content of a block is, or the content itself."""
    source: Any = media.get("source") or {}
    if isinstance(source.get("bytes"), bytes):
        return data_url(source["bytes"], media_type)
    uri = (source.get("location") or {}).get("uri")
    return uri if isinstance(uri, str) else f"data:{media_type},{dumped(source)}"
