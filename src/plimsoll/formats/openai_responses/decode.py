"""Decode Responses items (openai.types.responses.ResponseInputItemParam). One item is one message."""

from __future__ import annotations

from typing import Any, Final

from plimsoll.errors import FormatError
from plimsoll.formats.media import media_of, text_and_media
from plimsoll.formats.openai_responses.fields import CALLS, MESSAGE, RESULTS
from plimsoll.formats.wire import (
    arguments_text,
    copied,
    extra_fields,
    json_text,
    kind_of,
    objects_field,
    output_text,
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
    """The arguments of a call as text: JSON, or free text for custom tools."""
    return arguments_text(own.get(CALLS[own["type"]]))


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
