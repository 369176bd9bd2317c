"""Equality of message content, whatever the encoding.

A host may return a conversation in another encoding: other key order, text as one block, absent or null fields, moved cache marks,
merged neighbours, no reasoning. Therefore messages are compared as atoms: their content part by part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

Atom: TypeAlias = tuple[str, ...]
"""Role, kind of part, and content."""

_HANDLING = frozenset({"cache_control", "prompt_cache_breakpoint"})
"""Fields that control how a provider processes a request; not content."""


def atoms(message: Message) -> tuple[Atom, ...]:
    """The content of a message without its reasoning."""
    found = (_atom(message, part) for part in message.parts if not isinstance(part, Reasoning))
    return tuple(atom for atom in found if atom is not None)


def thoughts(message: Message) -> tuple[Atom, ...]:
    """The reasoning of a message: text and signature of each part."""
    return tuple((part.text, part.signature or "") for part in message.parts if isinstance(part, Reasoning))


def _atom(message: Message, part: Part) -> Atom | None:
    match part:
        case Text():
            return (message.role, "text", part.text, message.name or "") if part.text else None
        case ToolCall():
            return (message.role, "call", part.id, part.name, _meaning(part.arguments))
        case ToolResult():
            media = (_canonical(medium.wire) for medium in part.media)
            return ("tool", "result", part.call_id, part.content, "error" if part.is_error else "", *media)
        case Media() | Opaque():
            return (message.role, "part", _canonical(part.wire))
        case Reasoning():
            return None


def _meaning(arguments: str) -> str:
    """Arguments as canonical JSON, or unchanged if they are not JSON."""
    try:
        return _dumped(json.loads(arguments))
    except (ValueError, RecursionError):
        return arguments


def _canonical(wire: Mapping[str, Any] | None) -> str:
    return _dumped(_content(wire))


def _content(value: Any) -> Any:
    """A JSON value without null fields and control fields."""
    if isinstance(value, Mapping):
        return {key: _content(item) for key, item in value.items() if item is not None and key not in _HANDLING}
    return [_content(item) for item in value] if isinstance(value, (list, tuple)) else value


def _dumped(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
