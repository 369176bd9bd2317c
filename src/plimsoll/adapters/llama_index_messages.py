"""Messages of LlamaIndex as Chat Completions messages, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import (
    CachePoint,
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)

from plimsoll.adapters.calls import Wire
from plimsoll.adapters.parts import (
    PartsDialect,
    arguments_of,
    blocks_of,
    call_piece,
    content_of,
    dumped,
    file_block,
    image_block,
    pieces_of,
    result_piece,
    text_block,
    text_of,
)

_ROLES = {
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "system",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
}
_RESULTS = (MessageRole.TOOL, MessageRole.FUNCTION)
_ID = "tool_call_id"
_CALLS = "tool_calls"


class LlamaIndexDialect(PartsDialect[ChatMessage, Any]):
    """A result is a message, whose call is named beside its blocks. So are the calls of some integrations."""

    def role(self, message: ChatMessage) -> str:
        """Who says it. A result is a user's."""
        return _ROLES.get(message.role, "user")

    def parts(self, message: ChatMessage) -> Sequence[Any]:
        """Its blocks."""
        return list(message.blocks)

    def piece(self, part: Any) -> Wire | None:  # noqa: PLR0911 - one for each kind of block
        """How a block is written. A mark for the cache is not."""
        match part:
            case TextBlock():
                return text_block(part.text)
            case ToolCallBlock():
                return call_piece(part.tool_call_id or "", part.tool_name, part.tool_kwargs)
            case ImageBlock():
                return image_block(_address(part.url, part.path, part.image, part.image_mimetype or "image/png"))
            case DocumentBlock():
                media_type = part.document_mimetype or "application/octet-stream"
                return file_block(part.title, _address(part.url, part.path, part.data, media_type))
            case ThinkingBlock():
                return {"type": "thinking", "thinking": part.content or ""}
            case CachePoint():
                return None
            case _:
                return text_block(dumped(part.model_dump()))

    def part(self, piece: Wire, origin: Any) -> Any:
        """A block with the content of a piece."""
        if piece.get("type") == "function":
            arguments = arguments_of(piece)
            if origin is not None:
                return origin.model_copy(update={"tool_kwargs": arguments})
            return ToolCallBlock(tool_call_id=piece["id"], tool_name=piece["function"]["name"], tool_kwargs=arguments)
        return TextBlock(text=text_of(piece))

    def author(self, message: ChatMessage) -> str | None:
        """The name that integrations of OpenAI send."""
        name = message.additional_kwargs.get("name")
        return name if isinstance(name, str) else None

    def message(self, role: str, parts: list[Any], origin: ChatMessage | None) -> ChatMessage:
        """A message with what else is in its origin."""
        if origin is not None:
            return origin.model_copy(update={"blocks": parts})
        return ChatMessage(role=MessageRole(role), blocks=parts)

    def wires(self, message: ChatMessage) -> Sequence[Wire]:
        """One message."""
        if message.role in _RESULTS:
            content = content_of(self.pieces(message.blocks))
            return (result_piece(str(message.additional_kwargs.get(_ID) or ""), content),)
        [wire] = super().wires(message)
        calls = [] if _CALLS in wire else [_beside(call) for call in message.additional_kwargs.get(_CALLS) or ()]
        return ({**wire, _CALLS: calls} if calls else wire,)

    def built(self, wire: Wire, origin: ChatMessage | None) -> ChatMessage:
        """A message of which the blocks that did not change are those of the origin."""
        before = [] if origin is None else origin.blocks
        if wire["role"] == "tool":
            blocks = self.matched(blocks_of(wire["content"]), before)
            beside = {**({} if origin is None else origin.additional_kwargs), _ID: wire[_ID]}
            made = self.message("tool", blocks, origin)
            return made.model_copy(update={"additional_kwargs": beside})
        given = {} if origin is None else origin.additional_kwargs
        if not given.get(_CALLS) or any(isinstance(block, ToolCallBlock) for block in before):
            return super().built(wire, origin)
        blocks = self.matched(pieces_of({**wire, _CALLS: None}), before)
        kept = given[_CALLS] if [_beside(call) for call in given[_CALLS]] == wire.get(_CALLS) else wire.get(_CALLS)
        made = self.message(wire["role"], blocks, origin)
        return made.model_copy(update={"additional_kwargs": {**given, _CALLS: kept}})


def _address(url: Any, path: Any, data: Any, media_type: str) -> str:
    """Where a picture or a file is, or its content, which LlamaIndex holds in base 64."""
    if url is not None or path is not None:
        return str(url if url is not None else path)
    return f"data:{media_type};base64,{data.decode('ascii', 'replace') if isinstance(data, bytes) else ''}"


def _beside(call: Any) -> Wire:
    """A call as some integrations keep it beside the blocks: an object of their SDK, or a dictionary."""
    dump = getattr(call, "model_dump", None)
    found = dump() if callable(dump) else call
    asked = found.get("function") or {}
    return call_piece(str(found.get("id") or ""), str(asked.get("name") or ""), asked.get("arguments") or "{}")
