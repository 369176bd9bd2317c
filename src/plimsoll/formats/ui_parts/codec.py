"""Read and write UI messages of the AI SDK (versions 5 and 6, `UIMessage`; also with snake-case tool fields)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from plimsoll.errors import FormatError
from plimsoll.formats.media import media_of, source_of, ui_block
from plimsoll.formats.reasoning import ui_reasoning, ui_signature
from plimsoll.formats.wire import (
    ABSENT,
    arguments_text,
    copied,
    objects_field,
    output_text,
    parsed_object,
    patched,
    role_word,
    text_field,
)
from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult, Wire

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


_ANSWER_FIELDS: Final = ("output", "errorText", "error_text")


def encode(message: Message) -> dict[str, Any]:
    """One UI message as a fresh object."""
    own = message.wire if message.format == "ui-parts" else None
    if own is not None and not message.edited:
        return copied(own)
    if own is None or ROLES.get(own["role"]) != message.role:
        id = made_id(message.role, [message.text, *(call.id for call in message.calls)])
        own = {"id": id, "role": "user" if message.role == "tool" else message.role, "parts": []}
    return patched(own, {"parts": blocks_of(message.parts)})


def made_id(role: str, texts: Iterable[str]) -> str:
    """A deterministic id derived from the text of a message, as there is nothing else to derive it from."""
    import hashlib  # noqa: PLC0415  (only messages without one need it)

    content = "\0".join([role, *texts])
    return f"msg-{hashlib.sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def blocks_of(parts: tuple[Part, ...]) -> list[dict[str, Any]]:
    """Parts as UI parts, each result in the part of its call."""
    called = {part.id for part in parts if isinstance(part, ToolCall)}
    results = {part.call_id: part for part in parts if isinstance(part, ToolResult)}
    blocks = []
    for part in parts:
        match part:
            case Text(text=text, wire=wire):
                ours = wire is not None and wire.get("type") == "text"
                blocks.append(patched(wire or {}, {"text": text}) if ours else {"type": "text", "text": text})
            case Reasoning():
                blocks.append(patched(ui_reasoning(part), {"text": part.text}))
            case ToolCall():
                blocks.append(tool_block(part, results.get(part.id)))
            case ToolResult():
                if part.call_id not in called:
                    blocks.append(_result_alone(part))
            case Media(wire=wire):
                blocks.append(_file(wire) or {"type": "text", "text": f"[{part.kind} left out]"})
            case Opaque(wire=wire):
                blocks.append(copied(wire))
    return blocks


def _file(wire: Wire | None) -> dict[str, Any] | None:
    if wire is not None and "mediaType" in wire:
        return copied(wire)
    source = source_of(wire or {})
    return ui_block(source) if source is not None else None


def tool_block(call: ToolCall, result: ToolResult | None) -> dict[str, Any]:
    """A call and its result, if any, as one tool part."""
    wire = call.wire or {}
    if not is_tool(wire):
        value = parsed_object(call.arguments or "{}")
        made = {"type": "dynamic-tool", "toolName": call.name, "toolCallId": call.id, "state": "input-available"}
        return patched({**made, "input": call.arguments if value is None else value}, _answered(made, result))
    changes = _called(call, wire)
    return patched(wire, {**changes, **_answered(wire, result)})


def _called(call: ToolCall, wire: Wire) -> dict[str, Any]:
    changes: dict[str, Any] = {_field(wire, ID_FIELDS): call.id}
    if call.name != tool_name(wire):
        dynamic = wire.get("type") == "dynamic-tool"
        changes |= {_field(wire, NAME_FIELDS): call.name} if dynamic else {"type": f"tool-{call.name}"}
    if call.arguments != tool_arguments(wire):
        value = parsed_object(call.arguments)
        changes["input"] = call.arguments if value is None else value
        if "rawInput" in wire:
            changes["rawInput"] = ABSENT
    return changes


def _field(wire: Wire, names: tuple[str, ...]) -> str:
    return next((name for name in names if name in wire), names[0])


def _answered(wire: Wire, result: ToolResult | None) -> dict[str, Any]:
    """Fields for the outcome of the call that differ from those already present."""
    before = tool_answer(wire)
    gone = dict.fromkeys(_ANSWER_FIELDS, ABSENT)
    if result is None:
        return {} if before is None else {"state": "input-available", **gone, "approval": ABSENT}
    if before == (result.content, result.is_error):
        return {}
    approved = {"approval": ABSENT} if wire.get("state") in ("approval-requested", "output-denied") else {}
    if result.is_error:
        return {"state": "output-error", **gone, **approved, "errorText": result.content}
    return {"state": "output-available", **gone, **approved, "output": result.content}


def _result_alone(result: ToolResult) -> dict[str, Any]:
    """A result whose call is not in the message, as a tool part with unknown input."""
    wire = result.wire or {}
    if is_tool(wire):
        return patched(wire, _answered(wire, result))
    call = ToolCall(id=result.call_id, name=result.name or "tool", arguments="{}")
    return tool_block(call, result)
