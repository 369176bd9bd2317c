"""Read and write Responses items (openai.types.responses.ResponseInputItemParam). One item is one message."""

from __future__ import annotations

from typing import Any, Final

from plimsoll.errors import FormatError
from plimsoll.formats.checks import trimmed
from plimsoll.formats.media import media_of, responses_block, source_of, text_and_media
from plimsoll.formats.openai_responses.fields import CALLS, MESSAGE, RESULTS, objects_in
from plimsoll.formats.reasoning import known_to_openai
from plimsoll.formats.wire import (
    arguments_text,
    copied,
    copied_value,
    extra_fields,
    json_text,
    kind_of,
    objects_field,
    output_text,
    patched,
    role_word,
    text_field,
)
from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult, Wire

ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}

_SERVED: Final = frozenset({"tool_search_call", "tool_search_output"})
"""Items whose `call_id` is optional: without one the server executes them itself."""

_SETTINGS: Final = frozenset({"additional_tools", "configuration_update"})
"""Items without an author that configure what follows. A response to an approval belongs to its request."""

_TEXTS: Final = frozenset({"input_text", "output_text", "text"})
_BOOKKEEPING: Final = frozenset({"type", "id", "status", "role", "content", "prompt_cache_breakpoint"})


def decode(wire: Wire, position: int) -> Message:
    """Decode one item. Raises FormatError."""
    try:
        own = copied(wire)
        role, parts = _read(own)
        return Message(role=role, parts=tuple(parts), format="openai-responses", wire=own)
    except FormatError as error:
        raise FormatError(error.reason, position=position, format="openai-responses") from None


def _read(own: dict[str, Any]) -> tuple[Role, list[Part]]:
    kind = own.get("type")
    if kind == "message" or (kind is None and "role" in own):
        return ROLES[role_word(own, ROLES)], _message(own)
    if kind is not None and not isinstance(kind, str):
        raise FormatError(f"type must be text, not {kind_of(kind)}")
    if kind is None and not isinstance(own.get("id"), str):
        raise FormatError("an item needs a type, a role, or the id it refers to")
    served = kind in _SERVED and own.get("call_id") is None
    if kind in CALLS and not served:
        return "assistant", [_call(own)]
    if kind in RESULTS and not served:
        return "tool", [_result(own)]
    if kind == "reasoning":
        return "assistant", [_reasoning(own)]
    role: Role = "system" if kind in _SETTINGS else "assistant"
    return role, [media_of(own) or Opaque(wire=own)]


def call_id(own: Wire) -> str:
    """The id that pairs a call with its output. Local shell outputs may have it in `id`."""
    if own.get("type") == "local_shell_call_output":
        return text_field(own, "call_id", "id")
    return text_field(own, "call_id")


def _message(own: dict[str, Any]) -> list[Part]:
    content = own.get("content")
    if "content" not in own or not isinstance(content, (str, list, type(None))):
        raise FormatError(f"content must be text or a list of parts, not {kind_of(content)}")
    parts: list[Part] = [Text(text=content)] if isinstance(content, str) else content_parts(own, "content")
    return [*parts, *(Opaque(wire={field: own[field]}) for field in exposed_fields(own))]


def exposed_fields(own: Wire) -> list[str]:
    """Fields that are sent but have no part type: each is carried and counted as an Opaque part."""
    return [field for field in extra_fields(own, _BOOKKEEPING) if field in MESSAGE]


def content_parts(own: Wire, field: str) -> list[Part]:
    """The blocks of a list field as parts."""
    return [
        Text(text=block["text"], wire=block)
        if str(block.get("type")) in _TEXTS and isinstance(block.get("text"), str)
        else media_of(block) or Opaque(wire=block)
        for block in objects_field(own, field)
    ]


def call_arguments(own: Wire) -> str:
    """The arguments of a call as text: JSON, or free text for custom tools. A computer call has one action, or several."""
    value = own.get(CALLS[own["type"]])
    return arguments_text(own.get("actions") if value is None and own["type"] == "computer_call" else value)


def _call(own: dict[str, Any]) -> ToolCall:
    kind = own["type"]
    name = text_field(own, "name") or kind.removesuffix("_call")
    return ToolCall(id=call_id(own), name=name, arguments=call_arguments(own), wire=own)


def _result(own: dict[str, Any]) -> ToolResult:
    content, media = result_content(own)
    return ToolResult(call_id=call_id(own), content=content, media=media, is_error=_failed(own), wire=own)


def _failed(own: Wire) -> bool:
    return own.get("type") == "apply_patch_call_output" and own.get("status") == "failed"


def result_content(own: Wire) -> tuple[str, tuple[Media, ...]]:
    """An output's text and media. Other parts are kept as JSON text."""
    field = RESULTS[own["type"]]
    value = own.get(field)
    if isinstance(value, dict):
        medium = media_of(value)
        return ("", (medium,)) if medium is not None else (json_text(value), ())
    if not isinstance(value, list) or not _is_content(value):
        return output_text(value), ()
    return text_and_media(content_parts(own, field))


def _is_content(value: list[Any]) -> bool:
    return all(isinstance(block, dict) and str(block.get("type", "")).startswith("input_") for block in value)


def _reasoning(own: dict[str, Any]) -> Reasoning:
    """The summary and, if the provider shows it, the full thinking text."""
    blocks = [*objects_field(own, "summary"), *objects_field(own, "content")]
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    return Reasoning(text="\n".join(texts), signature=text_field(own, "encrypted_content") or None, wire=own)


_EDITABLE_CALLS: Final = frozenset({"function_call", "custom_tool_call"})
_MEDIA: Final = frozenset({"input_image", "input_file", "computer_screenshot"})


def encode(message: Message) -> dict[str, Any]:
    """One item as a fresh object with the fields that the API accepts. A message with a call or a result becomes that item."""
    own = message.wire if message.format == "openai-responses" else None
    if own is not None and not message.edited:
        return trimmed(copied(own), objects_in)
    whole = next(
        (item for part in message.parts for item in [_item(part, alone=len(message.parts) == 1)] if item), None
    )
    return trimmed(whole or _message_item(message, own or {}), objects_in)


def _item(part: Part, *, alone: bool) -> dict[str, Any] | None:
    """The part as an item, for part types that are items."""
    match part:
        case ToolCall():
            return call_item(part)
        case ToolResult():
            return result_item(part)
        case Reasoning() if alone:
            return reasoning_item(part)
        case Opaque(wire=wire) | Media(wire=wire) if alone and wire is not None and _is_item(wire):
            return copied(wire)
        case _:
            return None


def _is_item(wire: Wire) -> bool:
    """True for an item, false for a part of a message: those begin with `input_` or `output_`, or are refusals."""
    kind = wire.get("type")
    if not isinstance(kind, str):
        return "id" in wire
    return not kind.startswith(("input_", "output_")) and kind != "refusal"


def _message_item(message: Message, own: Wire) -> dict[str, Any]:
    if ROLES.get(str(own.get("role"))) != message.role:
        own = {}
    fields = {field for part in message.parts for field in [_field_of(part, own)] if field is not None}
    role = own.get("role") or ("user" if message.role == "tool" else message.role)
    changes = {"role": role, "content": _content(message, own, role)}
    return patched(own, changes, dropped=[field for field in exposed_fields(own) if field not in fields])


def _field_of(part: Part, own: Wire) -> str | None:
    """The message field that an Opaque part was decoded from, or None if it is a content block."""
    field = next(iter(part.wire)) if isinstance(part, Opaque) and len(part.wire) == 1 else None
    return field if field in own and field != "type" else None


def _content(message: Message, own: Wire, role: str) -> str | list[dict[str, Any]]:
    parts = [part for part in message.parts if isinstance(part, (Text, Media, Opaque)) and _field_of(part, own) is None]
    match parts:
        case [Text(text=text, wire=None)] if not isinstance(own.get("content"), list):
            return text
        case []:
            return ""
    kind = "output_text" if role == "assistant" else "input_text"
    return [block for block in (_block(part, kind) for part in parts) if block is not None]


def _block(part: Text | Media | Opaque, kind: str) -> dict[str, Any] | None:
    match part:
        case Text(text=text, wire=wire):
            ours = wire is not None and wire.get("type") in ("input_text", "output_text")
            return patched(wire or {}, {"text": text, **_stale(part)}) if ours else text_block(text, kind)
        case Media(wire=wire):
            return _medium(wire)
        case Opaque(wire=wire):
            return copied(wire)


def _stale(part: Text) -> dict[str, Any]:
    """Citations and log probabilities refer to text positions, so they are dropped when the text changes."""
    wire = part.wire or {}
    if wire.get("text") == part.text:
        return {}
    return {field: [] for field in ("annotations", "logprobs") if wire.get(field)}


def text_block(text: str, kind: str) -> dict[str, Any]:
    """A text block; those of an assistant have a list of citations."""
    return {"type": kind, "text": text, **({"annotations": []} if kind == "output_text" else {})}


def _medium(wire: Wire | None) -> dict[str, Any] | None:
    if wire is not None and wire.get("type") in _MEDIA:
        return copied(wire)
    source = source_of(wire or {})
    return responses_block(source) if source is not None else None


def call_item(call: ToolCall) -> dict[str, Any]:
    """A call as an item. Fields that were not edited, and the arguments of the provider's own tools, are unchanged."""
    wire = call.wire or {}
    kind = wire.get("type")
    if kind not in CALLS:
        return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
    changes: dict[str, Any] = {"call_id": call.id}
    if "name" in wire:
        changes["name"] = call.name
    if kind in _EDITABLE_CALLS and call_arguments(wire) != call.arguments:
        changes[CALLS[kind]] = call.arguments
    return patched(wire, changes)


def result_item(result: ToolResult) -> dict[str, Any]:
    """A result as an item. Fields that were not edited are unchanged."""
    wire = result.wire or {}
    kind = wire.get("type")
    if kind not in RESULTS:
        return {"type": "function_call_output", "call_id": result.call_id, "output": _output(result, result.content)}
    changes: dict[str, Any] = {} if call_id(wire) == result.call_id else {"call_id": result.call_id}
    text, media = result_content(wire)
    field = RESULTS[kind]
    if text != result.content or len(media) != len(result.media):
        value = wire.get(field)
        changes[field] = _first_tools(value, result) if kind == "tool_search_output" else _output(result, value)
    return patched(wire, changes)


def _first_tools(before: object, result: ToolResult) -> list[Any]:
    """As many of the first tool definitions as the shortened text has room for: nothing else may be in this output."""
    kept: list[Any] = []
    room = len(result.content)
    for tool in before if isinstance(before, list) else ():
        room -= len(json_text(tool)) + 1
        if room < 0:
            break
        kept.append(copied_value(tool))
    return kept


def _output(result: ToolResult, before: object) -> Any:
    """New output in the old shape."""
    first = before[0] if isinstance(before, list) and before and isinstance(before[0], dict) else {}
    if "stdout" in first:
        return [patched(first, {"stdout": result.content, "stderr": ""})]
    if isinstance(before, dict):
        return copied_value(before)
    media = [block for part in result.media for block in [_medium(part.wire)] if block is not None]
    if not media and not isinstance(before, list):
        return result.content
    blocks = before if isinstance(before, list) else []
    text = next((block for block in blocks if block.get("type") == "input_text"), {"type": "input_text"})
    texts = [patched(text, {"text": result.content})] if result.content else []
    return [*texts, *media] or ""


def reasoning_item(part: Reasoning) -> dict[str, Any]:
    """Reasoning as an item. Encrypted content cannot be edited, so an edited text changes only the summary."""
    known = known_to_openai(part)
    if known is None:
        return {"type": "reasoning", "id": "rs_0", "summary": [{"type": "summary_text", "text": part.text}]}
    return copied(known)
