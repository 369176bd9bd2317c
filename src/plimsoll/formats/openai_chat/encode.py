"""Encode messages as Chat Completions messages."""

from __future__ import annotations

from typing import Any

from plimsoll.formats.media import chat_block, source_of
from plimsoll.formats.openai_chat.decode import REASONING_FIELDS, ROLES, exposed_fields, result_content
from plimsoll.formats.openai_chat.fields import send
from plimsoll.formats.wire import ABSENT, arguments_text, copied, copied_value, patched
from plimsoll.message import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, Wire

_BLOCKS = frozenset({"text", "image_url", "input_audio", "file", "refusal", "video_url"})
_CONTENT = (Text, Media, Opaque)


def encode(message: Message) -> dict[str, Any]:
    """One chat message as a new object, with only the fields that servers accept."""
    own = message.wire if message.format == "openai-chat" else None
    if own is not None and not message.edited:
        return send(copied(own))
    if own is not None and ROLES.get(own["role"]) != message.role:
        own = None
    if message.results:
        return send(_tool_message(message.results[0], own))
    return send(_encoded(message, own or {}))


def _encoded(message: Message, own: Wire) -> dict[str, Any]:
    role = own.get("role") or ("user" if message.role == "tool" else message.role)
    opaque = [(field, part) for part in message.parts for field in [_field_of(part, own)] if field is not None]
    fields = {field: copied_value(part.wire[field]) for field, part in opaque if isinstance(part, Opaque)}
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    listed = [call_block(call) for call in calls if "function_call" not in (call.wire or {})]
    changes: dict[str, Any] = {
        "role": role,
        "content": _content(message, own, silent=bool(calls) or bool(fields.keys() & {"refusal", "audio"})),
        "tool_calls": listed or ABSENT,
        "function_call": next((_legacy(call) for call in calls if "function_call" in (call.wire or {})), ABSENT),
        **_reasoning(message, own),
        **{field: value for field, value in fields.items() if field not in own},
    }
    if message.name and "name" not in own:
        changes["name"] = message.name
    return patched(own, changes, dropped=[field for field in exposed_fields(own) if field not in fields])


def _field_of(part: object, own: Wire) -> str | None:
    """The message field that an Opaque part was decoded from, or None if it is a content block."""
    if not isinstance(part, Opaque) or len(part.wire) != 1:
        return None
    field = next(iter(part.wire))
    return field if field != "type" and (not own or field in own) else None


def _content(message: Message, own: Wire, *, silent: bool) -> Any:
    """`content` in its original shape if possible: text, a list, or null if the message has calls."""
    parts = [part for part in message.parts if isinstance(part, _CONTENT) and _field_of(part, own) is None]
    before = own.get("content")
    if not parts:
        return None if silent and not isinstance(before, str) else ""
    if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].wire is None and not isinstance(before, list):
        return parts[0].text
    return [block for block in map(_block, parts) if block is not None]


def _block(part: Text | Media | Opaque) -> dict[str, Any] | None:
    match part:
        case Text(text=text, wire=wire):
            return patched(wire, {"text": text}) if wire and _is_ours(wire) else {"type": "text", "text": text}
        case Media(wire=wire):
            source = source_of(wire or {})
            return copied(wire) if wire and _is_ours(wire) else chat_block(source) if source else None
        case Opaque(wire=wire):
            return copied(wire)


def _is_ours(wire: Wire) -> bool:
    return wire.get("type") in _BLOCKS and "mediaType" not in wire


def call_block(call: ToolCall) -> dict[str, Any]:
    """A call as an entry of `tool_calls`. Fields that were not edited are unchanged."""
    wire = call.wire or {}
    for kind, text in (("function", "arguments"), ("custom", "input")):
        function = wire.get(kind)
        if isinstance(function, dict):
            same = arguments_text(function.get(text)) == call.arguments
            inner = {"name": call.name} if same and text in function else {"name": call.name, text: call.arguments}
            return patched(wire, {"id": call.id, kind: patched(function, inner)})
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _legacy(call: ToolCall) -> dict[str, Any]:
    function = (call.wire or {})["function_call"]
    same = arguments_text(function.get("arguments")) == call.arguments
    return patched(function, {"name": call.name} if same else {"name": call.name, "arguments": call.arguments})


def _reasoning(message: Message, own: Wire) -> dict[str, Any]:
    """The reasoning fields: the text of parts that are still present, ABSENT for the others."""
    changes: dict[str, Any] = {field: ABSENT for field in REASONING_FIELDS if own.get(field)}
    for part in message.parts:
        if isinstance(part, Reasoning):
            changes.update({field: part.text for field in REASONING_FIELDS if field in (part.wire or {})})
    return changes


def _tool_message(result: ToolResult, own: Wire | None) -> dict[str, Any]:
    if own is None:
        return {"role": "tool", "tool_call_id": result.call_id, "content": result.content}
    content, media = result_content(own)
    changes: dict[str, Any] = {} if own.get("role") == "function" else {"tool_call_id": result.call_id}
    if content != result.content or len(media) != len(result.media) or own.get("content") is None:
        changes["content"] = _result_content(result, own.get("content"))
    return patched(own, changes)


def _result_content(result: ToolResult, before: object) -> Any:
    """The new text in the original shape: the first text block keeps its other fields, and media parts stay."""
    if not isinstance(before, list):
        return result.content
    first = next((block for block in before if block.get("type") == "text"), {"type": "text"})
    media = [copied(part.wire) for part in result.media if part.wire is not None]
    return [patched(first, {"text": result.content}), *media]
