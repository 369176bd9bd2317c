"""Which format messages are in, found by looking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from plimsoll.errors import FormatError
from plimsoll.formats.openai_responses.decode import CALLS, RESULTS
from plimsoll.message import FormatName, Wire

_ITEM_TYPES: Final = frozenset(
    {
        *CALLS,
        *RESULTS,
        "reasoning",
        "item_reference",
        "compaction",
        "compaction_trigger",
        "web_search_call",
        "file_search_call",
        "image_generation_call",
        "code_interpreter_call",
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "additional_tools",
    }
)
_CHAT_FIELDS: Final = frozenset(
    {"tool_calls", "tool_call_id", "function_call", "refusal", "reasoning_content", "audio"}
)
_BLOCK_FORMATS: Final[dict[str, FormatName]] = {
    "image_url": "openai-chat",
    "input_audio": "openai-chat",
    "file": "openai-chat",
    "refusal": "openai-chat",
    "input_text": "openai-responses",
    "output_text": "openai-responses",
    "input_image": "openai-responses",
    "input_file": "openai-responses",
    "tool_use": "anthropic",
    "tool_result": "anthropic",
    "thinking": "anthropic",
    "redacted_thinking": "anthropic",
    "server_tool_use": "anthropic",
    "web_search_tool_result": "anthropic",
    "image": "anthropic",
    "document": "anthropic",
    "search_result": "anthropic",
}


def detect(messages: Sequence[Wire]) -> FormatName:
    """The format of the messages: that of the first one that could be in no other. Linear.

    Messages that say nothing but a role and text are `openai-chat`, and so is an empty list. Raises FormatError, with
    the position, when one is recognised by no format and no other tells.
    """
    unknown: int | None = None
    for position, wire in enumerate(messages):
        found = _tells(wire)
        if found is not None:
            return found
        if unknown is None and not isinstance(wire.get("role"), str):
            unknown = position
    if unknown is not None:
        raise FormatError("no format recognises it: it has no role, no known type and no parts", position=unknown)
    return (
        "anthropic" if any(map(_has_cache_marker, messages)) and not any(map(_is_system, messages)) else "openai-chat"
    )


def telling(messages: Sequence[Wire]) -> FormatName | None:
    """The format of the first message that could be in no other; None when none tells. Linear."""
    return next((found for wire in messages if isinstance(wire, Mapping) and (found := _tells(wire)) is not None), None)


def _tells(wire: Wire) -> FormatName | None:
    """The only format this message can be in, if there is only one."""
    if isinstance(wire.get("parts"), list):
        return "ui-parts"
    kind = wire.get("type")
    if isinstance(kind, str) and (kind in _ITEM_TYPES or (kind == "message" and "stop_reason" not in wire)):
        return "openai-responses"
    if wire.get("role") in ("tool", "function") or not _CHAT_FIELDS.isdisjoint(wire):
        return "openai-chat"
    return _block_tells(wire.get("content"))


def _block_tells(content: object) -> FormatName | None:
    if not isinstance(content, (list, tuple)):
        return None
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind in _BLOCK_FORMATS:
            return _BLOCK_FORMATS[kind]
    return None


def _has_cache_marker(wire: Wire) -> bool:
    content = wire.get("content")
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and "cache_control" in block for block in blocks)


def _is_system(wire: Wire) -> bool:
    return wire.get("role") in ("system", "developer")
