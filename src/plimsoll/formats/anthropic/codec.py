"""Read and write Anthropic messages (anthropic.types: MessageParam and ContentBlockParam), and the fields that the API accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from plimsoll.errors import FormatError
from plimsoll.formats.checks import ByType, Fields, fields, trimmed, typed
from plimsoll.formats.media import anthropic_block, media_of, source_of, text_and_media
from plimsoll.formats.provenance import TAG_HEX, is_tagged, tag_of
from plimsoll.formats.reasoning import signed_by_anthropic
from plimsoll.formats.wire import (
    arguments_text,
    copied,
    copied_value,
    kind_of,
    objects_field,
    parsed_object,
    patched,
    role_word,
    text_field,
)
from plimsoll.light.regex import regex
from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult, Wire

MESSAGE: Final = fields("role content")

_SERVED: Final = fields("type tool_use_id content cache_control")
"""The result of a server tool."""

BLOCKS: Final[ByType] = {
    "text": fields("type text cache_control citations"),
    "image": fields("type source cache_control transformations"),
    "document": fields("type source cache_control citations context title"),
    "search_result": fields("type source title content cache_control citations!"),
    "thinking": fields("type thinking signature"),
    "redacted_thinking": fields("type data"),
    "tool_use": fields("type id name input cache_control caller! toolset_name"),
    "tool_result": fields("type tool_use_id content! is_error! cache_control toolset_name"),
    "server_tool_use": fields("type id name input cache_control caller!"),
    "web_search_tool_result": _SERVED | fields("caller!"),
    "web_fetch_tool_result": _SERVED | fields("caller!"),
    "code_execution_tool_result": _SERVED,
    "bash_code_execution_tool_result": _SERVED,
    "text_editor_code_execution_tool_result": _SERVED,
    "tool_search_tool_result": _SERVED,
    "advisor_tool_result": _SERVED,
    "mcp_tool_use": fields("type id name input server_name cache_control"),
    "mcp_tool_result": _SERVED | fields("is_error!"),
    "container_upload": fields("type file_id cache_control"),
}


def objects_in(wire: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Fields]]:
    """The message, its blocks and those in its tool results, each with the fields it may have."""
    if isinstance(wire, dict):
        yield wire, MESSAGE
    for block, allowed in typed(wire.get("content"), BLOCKS):
        yield block, allowed
        if block["type"] == "tool_result":
            yield from typed(block.get("content"), BLOCKS)


ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "assistant", "system": "system"}

DOCUMENT_FIELDS: Final = frozenset({"title", "context"})
"""Text fields of a document block. Decoded as an Opaque part, so that they are counted."""


def decode(wire: Wire, position: int) -> Message:
    """Decode one message. Raises FormatError."""
    try:
        own = copied(wire)
        role = ROLES[role_word(own, ROLES)]
        return Message(role=role, parts=tuple(_content(own)), format="anthropic", wire=own)
    except FormatError as error:
        raise FormatError(error.reason, position=position, format="anthropic") from None


def _content(own: Wire) -> list[Part]:
    content = own.get("content")
    if isinstance(content, str):
        return [Text(text=content)]
    if "content" not in own or not isinstance(content, (list, type(None))):
        raise FormatError(f"content must be text or a list of blocks, not {kind_of(content)}")
    return [part for block in objects_field(own, "content") for part in _parts(block)]


def _parts(block: dict[str, Any]) -> list[Part]:
    match block.get("type"):
        case "text" if isinstance(block.get("text"), str):
            return [Text(text=block["text"], wire=block)]
        case "tool_use":
            arguments = arguments_text(block.get("input"))
            return [
                ToolCall(id=text_field(block, "id"), name=text_field(block, "name"), arguments=arguments, wire=block)
            ]
        case "tool_result":
            return [_result(block)]
        case "thinking":
            signature = text_field(block, "signature") or None
            return [Reasoning(text=text_field(block, "thinking"), signature=signature, wire=block)]
        case "redacted_thinking":
            return [Reasoning(text="", signature=text_field(block, "data") or None, wire=block)]
        case _:
            return _media(block)


def _media(block: dict[str, Any]) -> list[Part]:
    media = media_of(block)
    if media is None:
        return [Opaque(wire=block)]
    texts = {field: block[field] for field in sorted(DOCUMENT_FIELDS & block.keys()) if block[field]}
    return [media, Opaque(wire=texts)] if texts else [media]


def _result(block: dict[str, Any]) -> ToolResult:
    content, media = result_content(block)
    return ToolResult(
        call_id=text_field(block, "tool_use_id"),
        content=content,
        is_error=block.get("is_error") is True,
        media=media,
        wire=block,
    )


def result_content(block: Wire) -> tuple[str, tuple[Media, ...]]:
    """A tool result's text and media. Other blocks are kept as JSON text."""
    if isinstance(block.get("content"), str):
        return block["content"], ()
    return text_and_media(map(_inside, objects_field(block, "content")))


def _inside(block: dict[str, Any]) -> Part:
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return Text(text=block["text"])
    return media_of(block) or Opaque(wire=block)


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
        return trimmed(copied(own), objects_in)
    if own is None or ROLES.get(own["role"]) != message.role:
        own = {}
    role = own.get("role") or ("assistant" if message.role == "assistant" else "user")
    return trimmed(patched(own, {"role": role, "content": _written_content(message, own)}), objects_in)


def _written_content(message: Message, own: Wire) -> str | list[dict[str, Any]]:
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
