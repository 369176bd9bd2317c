"""Decode Chat Completions messages (openai.types.chat.ChatCompletionMessageParam)."""

from __future__ import annotations

from typing import Any, Final

from plimsoll.errors import FormatError
from plimsoll.formats.media import media_of, text_and_media
from plimsoll.formats.openai_chat.fields import MESSAGES
from plimsoll.formats.wire import (
    arguments_text,
    copied,
    extra_fields,
    kind_of,
    object_field,
    objects_field,
    role_word,
    text_field,
)
from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult, Wire

ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}

REASONING_FIELDS: Final = ("reasoning_content", "reasoning")
"""The fields in which providers of this format send the model's thinking (DeepSeek and vLLM; OpenRouter)."""

_PLAIN: Final = frozenset({"role", "content"})
_KNOWN: Final = _PLAIN | {
    "name",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "cache_control",
    "prompt_cache_breakpoint",
    *REASONING_FIELDS,
}


def legacy_call_id(name: str) -> str:
    """The id that pairs a legacy `function_call` with the `function` message that answers it."""
    return f"function_call:{name}"


def decode(wire: Wire, position: int) -> Message:
    """Decode one chat message. Raises FormatError."""
    try:
        own = copied(wire)
        word = role_word(own, ROLES)
        return _decoded(own, word)
    except FormatError as error:
        raise FormatError(error.reason, position=position, format="openai-chat") from None


def _decoded(own: dict[str, Any], word: str) -> Message:
    role = ROLES[word]
    content = own.get("content")
    parts: tuple[Part, ...]
    if role == "tool":
        parts = (_result(own, word), *_extras(own))
    elif isinstance(content, str) and own.keys() <= _PLAIN:
        parts = (Text(text=content),)
    else:
        parts = (*_reasoning(own), *content_parts(own), *_calls(own), *_extras(own))
    name = None if own.get("name") is None else text_field(own, "name")
    return Message(role=role, parts=parts, name=name, format="openai-chat", wire=own)


def content_parts(own: Wire) -> list[Part]:
    """The parts in `content`: plain text, or a list of blocks."""
    content = own.get("content")
    if isinstance(content, str):
        return [Text(text=content)]
    if content is not None and not isinstance(content, list):
        raise FormatError(f"content must be text or a list of parts, not {kind_of(content)}")
    return [_block(block) for block in objects_field(own, "content")]


def _block(block: dict[str, Any]) -> Part:
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return Text(text=block["text"], wire=block)
    return media_of(block) or Opaque(wire=block)


def _reasoning(own: Wire) -> list[Part]:
    return [
        Reasoning(text=own[field], wire={field: own[field]})
        for field in REASONING_FIELDS
        if isinstance(own.get(field), str) and own[field]
    ]


def _calls(own: Wire) -> list[Part]:
    calls: list[Part] = [_call(call) for call in objects_field(own, "tool_calls")]
    if own.get("function_call") is not None:
        legacy = object_field(own, "function_call")
        name = text_field(legacy, "name")
        arguments = arguments_text(legacy.get("arguments"))
        calls.append(ToolCall(id=legacy_call_id(name), name=name, arguments=arguments, wire={"function_call": legacy}))
    return calls


def _call(call: dict[str, Any]) -> ToolCall:
    """A function call, or a custom one whose input is free text."""
    custom = isinstance(call.get("custom"), dict)
    function = object_field(call, "custom" if custom else "function")
    arguments = arguments_text(function.get("input" if custom else "arguments"))
    return ToolCall(id=text_field(call, "id"), name=text_field(function, "name"), arguments=arguments, wire=call)


def _result(own: dict[str, Any], word: str) -> ToolResult:
    name = text_field(own, "name") or None
    call_id = text_field(own, "tool_call_id") if word == "tool" else legacy_call_id(name or "")
    content, media = result_content(own)
    return ToolResult(call_id=call_id, content=content, name=name, media=media, wire=own)


def result_content(own: Wire) -> tuple[str, tuple[Media, ...]]:
    """A tool message's text and media. Other blocks are kept as JSON text."""
    if isinstance(own.get("content"), str):
        return own["content"], ()
    return text_and_media(content_parts(own))


def exposed_fields(own: Wire) -> list[str]:
    """Fields that are sent but have no part type: each is carried and counted as an Opaque part."""
    taken = MESSAGES.get(own.get("role", ""), frozenset())
    return [field for field in extra_fields(own, _KNOWN) if field in taken]


def _extras(own: Wire) -> list[Part]:
    return [Opaque(wire={field: own[field]}) for field in exposed_fields(own)]
