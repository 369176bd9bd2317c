"""Repair Anthropic messages that the API rejects on their own, regardless of context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plimsoll.formats.anthropic.codec import RAW_ARGUMENTS, result_content, unlabelled_text
from plimsoll.formats.anthropic.validate import has_source, is_text, is_whole, may_stand, may_stand_in_result
from plimsoll.formats.cache_marks import is_mark
from plimsoll.formats.checks import in_words, is_name, tool_name
from plimsoll.formats.wire import arguments_text, copied, parsed_object
from plimsoll.light.dataclass import replace
from plimsoll.message import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult, Wire

_MEDIA: Final = ("image", "document")


def is_sound(message: Message) -> bool:
    """A quick check: True if the message certainly needs no repair. Blank texts are left to the normalizer."""
    content = (message.wire or {}).get("content")
    if isinstance(content, str):
        return True
    if content is None or message.role == "system":
        return False
    judge = _is_sound_answer if message.role == "assistant" else _is_sound_request
    return all(map(judge, message.parts)) and all(map(_is_marked_well, message.parts))


def _is_marked_well(part: Part) -> bool:
    mark = (part.wire or {}).get("cache_control")
    return mark is None or is_mark(mark)


def _is_sound_answer(part: Part) -> bool:
    if isinstance(part, ToolCall):
        return is_name(part.name, "anthropic") and isinstance((part.wire or {}).get("input"), dict)
    if isinstance(part, Reasoning):
        return bool(part.signature) and (part.wire is None or is_whole(part.wire))
    return isinstance(part, Text)


def _is_sound_request(part: Part) -> bool:
    if isinstance(part, ToolResult):
        content = (part.wire or {}).get("content")
        return isinstance(content, str) or (isinstance(content, list) and all(map(_is_sound_text, content)))
    return isinstance(part, Text) or (isinstance(part, Media) and has_source(part.wire or {}))


def _is_sound_text(block: dict[str, Any]) -> bool:
    """True for text in a result that certainly needs no repair."""
    return is_text(block) and isinstance(block.get("text"), str) and "cache_control" not in block


def repair(wire: Wire, repairs: list[str]) -> dict[str, Any]:
    """Convert to text or remove what the API rejects in a message. `repairs` receives what was done."""
    own = copied(wire)
    content = own.get("content")
    if content is None:
        return {**own, "content": ""}
    if isinstance(content, list):
        own["content"] = [
            kept for block in content for kept in [_repaired(block, own["role"], repairs)] if kept is not None
        ]
    return own


def without_blanks(result: ToolResult) -> ToolResult:
    """A result without its blocks of blank text, which the API refuses. Unchanged if it has none."""
    wire = result.wire or {}
    blocks = wire.get("content")
    if not isinstance(blocks, list) or not any(map(_is_blank, blocks)):
        return result
    smaller = {**wire, "content": [block for block in blocks if not _is_blank(block)] or ""}
    content, media = result_content(smaller)
    return replace(result, content=content, media=media, wire=smaller)


def _is_blank(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text" and not str(block.get("text", "")).strip()


def labelled(message: Message) -> Message | None:
    """System text as labelled text in the user's role, as sent among the messages. None for other messages.

    The API takes system text outside the messages. A message with the label that `encode` writes counts as system text, too.
    """
    wire = message.wire or {}
    content = wire.get("content")
    words = None
    if message.role == "system" and wire:
        texts = [part.text if isinstance(part, Text) else in_words(part.wire or {}) for part in message.parts]
        words = "\n".join(texts)
        own = unlabelled_text(words)
        words = words if own is None else own
    elif isinstance(content, str) and wire == {"role": "user", "content": content}:
        words = unlabelled_text(content)
    return None if words is None else Message(role="system", parts=(Text(text=words),), format="anthropic")


def _repaired(block: dict[str, Any], role: str, repairs: list[str]) -> dict[str, Any] | None:
    """A block as it is accepted in a message of that role, or None if it is not accepted in any form."""
    kind = block.get("type")
    if block.get("cache_control") is not None and not is_mark(block["cache_control"]):
        repairs.append("removed an invalid cache mark")
        del block["cache_control"]
    match kind:
        case "text" if not isinstance(block.get("text"), str):
            repairs.append("removed a text block without text")
            return None
        case "thinking" | "redacted_thinking" if role != "assistant" or not is_whole(block):
            repairs.append("removed thinking without a signature")
            return None
        case "tool_use" if role == "assistant":
            return _call(block, repairs)
        case "tool_result" if role == "user":
            return _result(block, repairs)
        case "image" | "document" if not has_source(block):
            pass
        case str() if kind and may_stand(kind, role):
            return block
    repairs.append(f"{ascii(kind)[:40]} not allowed in a message of role {role}: converted to text")
    return {"type": "text", "text": in_words(block)}


def _call(block: dict[str, Any], repairs: list[str]) -> dict[str, Any]:
    given = block.get("input")
    if not is_name(block.get("name"), "anthropic"):
        repairs.append("invalid tool name")
        block["name"] = tool_name(block.get("name"), "anthropic")
    if not isinstance(given, dict):
        repairs.append("arguments must be an object")
        text = arguments_text(given)
        value = parsed_object(text)
        block["input"] = {RAW_ARGUMENTS: text} if value is None else value
    return block


def _result(block: dict[str, Any], repairs: list[str]) -> dict[str, Any]:
    content = block.get("content")
    if not isinstance(content, list):
        return block
    block["content"] = [_inside(inner, repairs) for inner in content]
    if block.get("is_error") is True and not all(map(is_text, content)):
        repairs.append("a failed result may contain only text")
        block["content"] = [
            inner if is_text(inner) else {"type": "text", "text": in_words(inner)} for inner in block["content"]
        ]
    return block


def _inside(inner: dict[str, Any], repairs: list[str]) -> dict[str, Any]:
    kind = inner.get("type")
    is_whole = isinstance(inner.get("text"), str) if kind == "text" else kind not in _MEDIA or has_source(inner)
    if may_stand_in_result(kind) and is_whole:
        return inner
    repairs.append(f"{ascii(kind)[:40]} not allowed in a result: converted to text")
    return {"type": "text", "text": in_words(inner)}
