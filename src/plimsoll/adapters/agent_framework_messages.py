"""Messages of the Microsoft Agent Framework as Chat Completions messages, and back."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from agent_framework import Content, Message

from plimsoll.adapters.calls import Wire
from plimsoll.adapters.parts import (
    PartsDialect,
    blocks_of,
    call_piece,
    content_of,
    dumped,
    file_block,
    image_block,
    matched,
    result_piece,
    text_block,
    text_of,
)

_SIDES = {"system": "system", "developer": "system", "assistant": "assistant"}


class AgentFrameworkDialect(PartsDialect[Message, Content]):
    """Results have a role of their own, `tool`; a message with it may hold several."""

    def role(self, message: Message) -> str:
        """Who says it. Results are a user's."""
        return _SIDES.get(message.role, "user")

    def parts(self, message: Message) -> Sequence[Content]:
        """Its contents."""
        return list(message.contents)

    def piece(self, part: Content) -> Wire | None:
        """How a content is written. What a service counted is not."""
        return _piece(part)

    def part(self, piece: Wire, origin: Content | None) -> Content:
        """A content that says what a piece does."""
        return _content(piece, origin)

    def message(self, role: str, parts: list[Content], origin: Message | None) -> Message:
        """A message with the id, the author and the properties of its origin."""
        if origin is None:
            return Message(role, parts)
        made = copy(origin)
        made.contents = parts
        made.raw_representation = None
        return made

    def side(self, message: Message) -> str | None:
        """Results that follow each other are of one message; nothing else is joined."""
        return "tool" if message.role == "tool" else None


def _piece(part: Content) -> Wire | None:  # noqa: PLR0911 - one for each kind of content
    match str(part.type):
        case "usage":
            return None
        case "text":
            return text_block(part.text or "")
        case "text_reasoning":
            return {"type": "thinking", "thinking": part.text or part.protected_data or ""}
        case "data" | "uri":
            is_picture = (part.media_type or "").startswith("image/")
            return image_block(part.uri or "") if is_picture else file_block(None, part.uri or "")
        case "function_call":
            return call_piece(part.call_id or "", part.name or "", part.arguments or "{}")
        case "function_result":
            return result_piece(part.call_id or "", _result(part))
        case _:
            return text_block(dumped(part.to_dict()))


def _result(part: Content) -> Any:
    if part.items:
        return content_of([piece for item in part.items if (piece := _piece(item)) is not None])
    return part.result if isinstance(part.result, str) else dumped(part.result)


def _content(piece: Wire, origin: Content | None) -> Content:
    if piece.get("role") == "tool":
        before = () if origin is None else origin.items or ()
        items = matched(blocks_of(piece["content"]), before, _piece, _content)
        fresh = Content.from_function_result(piece["tool_call_id"], result=items)
        return fresh if origin is None else _like(origin, items=fresh.items, result=fresh.result)
    if piece.get("type") == "function":
        asked = piece["function"]
        if origin is None:
            return Content.from_function_call(piece["id"], asked["name"], arguments=asked["arguments"])
        return _like(origin, arguments=asked["arguments"])
    return Content.from_text(text_of(piece)) if origin is None else _like(origin, text=text_of(piece))


def _like(origin: Content, **changes: Any) -> Content:
    made = copy(origin)
    for name, value in {**changes, "raw_representation": None}.items():
        setattr(made, name, value)
    return made
