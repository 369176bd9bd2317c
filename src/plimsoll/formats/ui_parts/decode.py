"""Decode UI messages (AI SDK 5 and 6, `UIMessage`; also with snake-case tool fields)."""

from __future__ import annotations

from typing import Any, Final

from plimsoll.errors import FormatError
from plimsoll.formats.media import media_of
from plimsoll.formats.reasoning import ui_signature
from plimsoll.formats.wire import arguments_text, copied, objects_field, output_text, role_word, text_field
from plimsoll.message import Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult, Wire

ROLES: Final[dict[str, Role]] = {"system": "system", "user": "user", "assistant": "assistant"}

DENIED: Final = "Tool execution denied."
"""Result of a refused call for which the user gave no reason, in the words of the AI SDK."""

ID_FIELDS: Final = ("toolCallId", "tool_call_id")
NAME_FIELDS: Final = ("toolName", "tool_name")


def decode(wire: Wire, position: int) -> Message:
    """Decode one UI message. Raises FormatError."""
    try:
        own = copied(wire)
        role = ROLES[role_word(own, ROLES)]
        parts = tuple(part for block in _listed(own) for part in _parts(block))
        return Message(role=role, parts=parts, format="ui-parts", wire=own)
    except FormatError as error:
        raise FormatError(error.reason, position=position, format="ui-parts") from None


def _listed(own: Wire) -> list[dict[str, Any]]:
    if own.get("parts") is None:
        raise FormatError("a UI message needs parts")
    return objects_field(own, "parts")


def is_tool(block: Wire) -> bool:
    """True for a tool part, which holds a call and later its result."""
    kind = block.get("type")
    return isinstance(kind, str) and (kind == "dynamic-tool" or (kind.startswith("tool-") and "state" in block))


def _parts(block: dict[str, Any]) -> list[Part]:
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return [Text(text=block["text"], wire=block)]
    if kind == "reasoning" and isinstance(block.get("text"), str):
        return [Reasoning(text=block["text"], signature=ui_signature(block), wire=block)]
    if is_tool(block):
        return _tool(block)
    return [media_of(block) or Opaque(wire=block)]


def _tool(block: dict[str, Any]) -> list[Part]:
    call_id = text_field(block, *ID_FIELDS)
    name = tool_name(block)
    call = ToolCall(id=call_id, name=name, arguments=tool_arguments(block), wire=block)
    answer = tool_answer(block)
    if answer is None:
        return [call]
    content, is_error = answer
    return [call, ToolResult(call_id=call_id, content=content, name=name, is_error=is_error, wire=block)]


def tool_name(block: Wire) -> str:
    """The tool's name: a field of dynamic tools, the rest of the type otherwise."""
    if block.get("type") == "dynamic-tool":
        return text_field(block, *NAME_FIELDS)
    return text_field(block, "type").removeprefix("tool-")


def tool_arguments(block: Wire) -> str:
    """The input of the call as JSON text, or the raw input if it could not be parsed."""
    value = block.get("input")
    return arguments_text(block.get("rawInput") if value is None else value)


def tool_answer(block: Wire) -> tuple[str, bool] | None:
    """The result's text and whether the call failed; None without a result."""
    match block.get("state"):
        case "output-available":
            return output_text(block.get("output")), False
        case "output-error":
            return text_field(block, "errorText", "error_text"), True
        case "output-denied":
            approval = block.get("approval")
            reason = approval.get("reason") if isinstance(approval, dict) else None
            return reason if isinstance(reason, str) and reason else DENIED, True
        case _:
            return None
