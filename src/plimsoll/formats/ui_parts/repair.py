"""Repair UI messages that the AI SDK rejects on their own, regardless of context."""

from __future__ import annotations

from typing import Any

from plimsoll.formats.checks import in_words
from plimsoll.formats.ui_parts.codec import ID_FIELDS, NAME_FIELDS, is_tool, made_id, tool_arguments
from plimsoll.formats.ui_parts.codec import tool_name as name_of
from plimsoll.formats.ui_parts.validate import STATES, TEXT_FIELDS
from plimsoll.formats.wire import copied, output_text, parsed_object
from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, Wire


def is_sound(message: Message) -> bool:
    """A quick check: True if the message certainly needs no repair."""
    id = (message.wire or {}).get("id")
    if not isinstance(id, str) or not id or not message.parts:
        return False
    judge = _is_sound_answer if message.role == "assistant" else _is_sound_words
    return all(map(judge, message.parts))


def _is_sound_answer(part: Part) -> bool:
    """True if a tool part is valid; it holds both a call and its result."""
    if isinstance(part, ToolCall):
        wire = part.wire or {}
        return bool(part.id) and bool(part.name) and wire.get("state") == "output-available" and "output" in wire
    if isinstance(part, Opaque):
        return part.wire.get("type") == "step-start"
    return isinstance(part, ToolResult) or _is_sound_words(part)


def _is_sound_words(part: Part) -> bool:
    return isinstance(part, (Text, Reasoning, Media))


def repair(wire: Wire, repairs: list[str]) -> dict[str, Any]:
    """Convert to text or remove what the SDK rejects in a message. `repairs` receives what was done."""
    own = copied(wire)
    own["parts"] = [
        kept for part in own["parts"] for kept in [_repaired(part, own["role"], repairs)] if kept is not None
    ]
    if not isinstance(own.get("id"), str) or not own["id"]:
        repairs.append("a message needs an id")
        own = {**own, "id": made_id(own["role"], [str(part) for part in own["parts"]])}
    return own


def _repaired(part: dict[str, Any], role: str, repairs: list[str]) -> dict[str, Any] | None:
    """A part as it is accepted in a message of that role, or None if it has no content."""
    kind = part.get("type")
    if isinstance(kind, str) and kind.startswith("data-"):
        return part
    if isinstance(kind, str) and (is_tool(part) or kind.startswith("tool-")) and role == "assistant":
        return _tool(part, repairs)
    fields = TEXT_FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is not None and all(isinstance(part.get(field), str) for field in fields):
        return part
    if kind in ("text", "reasoning"):
        repairs.append(f"removed a part of type {kind} without text")
        return None
    repairs.append(f"{ascii(kind)[:40]} not allowed in a message of role {role}: converted to text")
    return {"type": "text", "text": in_words(part)}


def _tool(part: dict[str, Any], repairs: list[str]) -> dict[str, Any]:
    """A tool part with a valid state and the fields that the state requires."""
    fixed = dict(part)
    state = _state(part)
    fixed["state"] = state
    field = STATES[state]
    if field == "errorText" and not isinstance(part.get(field), str):
        fixed[field] = output_text(part.get(field))
    elif field == "input" and field not in part:
        fixed[field] = parsed_object(tool_arguments(part)) or {}
    elif field == "output" and field not in part:
        fixed[field] = None
    if part["type"] == "dynamic-tool" and not name_of(part):
        fixed[next((name for name in NAME_FIELDS if name in part), NAME_FIELDS[0])] = "tool"
    elif part["type"] == "tool-":
        fixed["type"] = "tool-tool"
    if not any(isinstance(part.get(name), str) for name in ID_FIELDS):
        fixed[ID_FIELDS[0]] = ""
    if fixed != part:
        repairs.append("a tool part lacked fields that its state requires")
    return fixed


def _state(part: Wire) -> str:
    """Its state, or the one that matches its fields."""
    state = part.get("state")
    if isinstance(state, str) and state in STATES and (STATES[state] != "approval" or "approval" in part):
        return state
    return "output-available" if "output" in part else "output-error" if "errorText" in part else "input-available"
