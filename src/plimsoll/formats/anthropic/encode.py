"""Encode Anthropic messages."""

from __future__ import annotations

from typing import Any, Final

from plimsoll.formats.anthropic.decode import DOCUMENT_FIELDS, ROLES, result_content
from plimsoll.formats.anthropic.fields import send
from plimsoll.formats.media import anthropic_block, source_of
from plimsoll.formats.reasoning import signed_by_anthropic
from plimsoll.formats.wire import arguments_text, copied, copied_value, parsed_object, patched
from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, Wire
from plimsoll.provenance import TAG_HEX, is_tagged, tag_of
from plimsoll.regex import regex

_LABEL: Final = "System message"
_LABELLED: Final = regex(rf"\[{_LABEL} (?P<tag>[0-9a-f]{{{TAG_HEX}}})\]\n")

NO_OUTPUT: Final = "The tool failed without output."
"""A failed call's result must not be empty."""

RAW_ARGUMENTS: Final = "raw_arguments"
"""The field that holds call arguments that are not a JSON object, since the API requires an object."""


def labelled_text(text: str) -> str:
    """System text as user text, for places that allow only user and assistant. The tag marks it as system text."""
    words = f"{_LABEL}\n{text}"
    return f"[{_LABEL} {tag_of(words)}]\n{text}"


def unlabelled_text(text: str) -> str | None:
    """The system text in a text made by `labelled_text`, or None for any other text."""
    label = _LABELLED.match(text)
    if label is None or not is_tagged(f"{_LABEL}\n{text[label.end() :]}", label["tag"]):
        return None
    return text[label.end() :]


def encode(message: Message) -> dict[str, Any]:
    """Encode one message as a fresh object with only the fields that the API accepts."""
    own = message.wire if message.format == "anthropic" else None
    if own is not None and not message.edited:
        return send(copied(own))
    if own is None or ROLES.get(own["role"]) != message.role:
        own = {}
    role = own.get("role") or ("assistant" if message.role == "assistant" else "user")
    return send(patched(own, {"role": role, "content": _content(message, own)}))


def _content(message: Message, own: Wire) -> str | list[dict[str, Any]]:
    """Text if it is and was only text, otherwise blocks. Results come first, as the API requires."""
    parts = message.parts
    match parts:
        case (Text(text=text, wire=None),) if not isinstance(own.get("content"), list):
            return labelled_text(text) if message.role == "system" and not own else text
        case ():
            return ""
    ordered = sorted(parts, key=lambda part: not isinstance(part, ToolResult)) if message.results else parts
    return [block for part in ordered for block in [block_of(part)] if block is not None]


def block_of(part: Part) -> dict[str, Any] | None:
    """A part as a content block, or None if the API does not accept it. Fields that were not edited are unchanged."""
    match part:
        case Text(text=text, wire=wire):
            ours = wire is not None and wire.get("type") == "text"
            return None if not text else patched(wire or {}, {"text": text}) if ours else {"type": "text", "text": text}
        case Reasoning():
            signed = signed_by_anthropic(part)
            return copied(signed) if signed else None
        case ToolCall():
            return call_block(part)
        case ToolResult():
            return result_block(part)
        case Media(wire=wire):
            return _medium(wire)
        case Opaque(wire=wire):
            return None if wire.keys() <= DOCUMENT_FIELDS else copied(wire)


def _medium(wire: Wire | None) -> dict[str, Any] | None:
    if wire is not None and wire.get("type") in ("image", "document"):
        return copied(wire)
    source = source_of(wire or {})
    return anthropic_block(source) if source is not None else None


def call_block(call: ToolCall) -> dict[str, Any]:
    """A call as a `tool_use` block. Arguments that are not a JSON object are wrapped in one."""
    wire = call.wire or {}
    ours = wire if wire.get("type") == "tool_use" else {"type": "tool_use"}
    if "input" in ours and arguments_text(ours["input"]) == call.arguments:
        return patched(ours, {"id": call.id, "name": call.name})
    value = parsed_object(call.arguments or "{}")
    changed = {RAW_ARGUMENTS: call.arguments} if value is None else value
    return patched(ours, {"id": call.id, "name": call.name, "input": changed})


def result_block(result: ToolResult) -> dict[str, Any]:
    """A result as a `tool_result` block."""
    wire = result.wire or {}
    if wire.get("type") != "tool_result":
        failed = {"is_error": True} if result.is_error else {}
        content = _result_content(result, result.content)
        return {"type": "tool_result", "tool_use_id": result.call_id, "content": content, **failed}
    text, media = result_content(wire)
    changes: dict[str, Any] = {"tool_use_id": result.call_id}
    if text != result.content or len(media) != len(result.media):
        changes["content"] = _result_content(result, wire.get("content"))
    return patched(wire, changes)


def _result_content(result: ToolResult, before: object) -> str | list[dict[str, Any]]:
    """New text in the old shape: the first text block keeps its other fields and takes over a cache marker of any of them."""
    text = result.content or (NO_OUTPUT if result.is_error and not result.media else "")
    media = [block for part in result.media for block in [_medium(part.wire)] if block is not None]
    if not media and not isinstance(before, list):
        return text
    blocks = [block for block in before if block.get("type") == "text"] if isinstance(before, list) else []
    markers = [block["cache_control"] for block in blocks if block.get("cache_control")]
    marker = {"cache_control": copied_value(markers[-1])} if markers else {}
    first = blocks[0] if blocks else {"type": "text"}
    texts = [patched(first, {"text": text, **marker})] if text.strip() else []
    return [*texts, *media] or text
