"""Read and write Chat Completions messages (openai.types.chat.ChatCompletionMessageParam).

The fields are those that Chat Completions accepts, and those of other servers with this format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from plimsoll.errors import FormatError
from plimsoll.formats.checks import ByType, Fields, fields, trimmed, typed
from plimsoll.formats.media import chat_block, media_of, source_of, text_and_media
from plimsoll.formats.wire import (
    ABSENT,
    arguments_text,
    copied,
    copied_value,
    extra_fields,
    json_text,
    kind_of,
    object_field,
    objects_field,
    patched,
    role_word,
    text_field,
)
from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult, Wire

_SERVERS: Final = fields("cache_control prompt_cache_breakpoint! extra_content provider_specific_fields")
"""Cache markers (OpenRouter, OpenAI), and fields that Gemini and LiteLLM servers require to be returned unchanged."""

_WORDS: Final = fields("role content name!") | _SERVERS
MESSAGES: Final[Mapping[str, Fields]] = {
    "system": _WORDS,
    "developer": _WORDS,
    "user": _WORDS,
    "tool": _WORDS | {"tool_call_id"},
    "function": _WORDS,
    "assistant": _WORDS
    | fields("audio function_call refusal tool_calls!")
    | fields("reasoning reasoning_content reasoning_details thinking thinking_blocks images prefix partial"),
}
"""By role. The last line has the fields of other servers for thinking and unfinished answers."""

CALL: Final = fields("id type function custom") | _SERVERS
CALLED: Final[Mapping[str, Fields]] = {
    "function": fields("name arguments") | _SERVERS,
    "custom": fields("name input") | _SERVERS,
}

BLOCKS: Final[ByType] = {
    "text": fields("type text") | _SERVERS,
    "image_url": fields("type image_url") | _SERVERS,
    "input_audio": fields("type input_audio") | _SERVERS,
    "file": fields("type file") | _SERVERS,
    "refusal": fields("type refusal") | _SERVERS,
}


def objects_in(wire: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Fields]]:
    """The message, its calls and its content parts, each with the fields it may have."""
    if isinstance(wire, dict) and wire.get("role") in MESSAGES:
        yield wire, MESSAGES[wire["role"]]
    calls = wire.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            yield call, CALL
            yield from ((call[kind], CALLED[kind]) for kind in CALLED if isinstance(call.get(kind), dict))
    yield from typed(wire.get("content"), BLOCKS)


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

SEALED_FIELDS: Final = ("thinking_blocks", "reasoning_details")
"""The fields with lists of thinking that its provider signed or encrypted (LiteLLM; OpenRouter)."""

_REASONING: Final = frozenset({*REASONING_FIELDS, *SEALED_FIELDS})

THINKING_BLOCKS: Final = ("thinking", "redacted_thinking", "reasoning")
"""Types of blocks with the model's thinking (Mistral's; Anthropic's and the Responses API's as frameworks hand them on)."""

_PLAIN: Final = frozenset({"role", "content"})
_KNOWN: Final = _PLAIN | {
    "name",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "cache_control",
    "prompt_cache_breakpoint",
    *REASONING_FIELDS,
    *SEALED_FIELDS,
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
        said = map(_thinking, content_parts(own)) if role == "assistant" else content_parts(own)
        reasoning = () if _REASONING.isdisjoint(own) else _reasoning(own)
        parts = (*reasoning, *said, *_calls(own), *_extras(own))
    name = None if own.get("name") is None else text_field(own, "name")
    return Message(role=role, parts=parts, name=name, format="openai-chat", wire=own)


def content_parts(own: Wire) -> list[Part]:
    """The parts in `content`: plain text, or a list of blocks."""
    content = own.get("content")
    if isinstance(content, str):
        return [Text(text=content)]
    if content is None:
        return []
    if not isinstance(content, list):
        raise FormatError(f"content must be text or a list of parts, not {kind_of(content)}")
    return [_block(block) for block in objects_field(own, "content")]


def _block(block: dict[str, Any]) -> Part:
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return Text(text=block["text"], wire=block)
    return media_of(block) or Opaque(wire=block)


def _thinking(part: Part) -> Part:
    """A block with the model's thinking as such. Mistral and frameworks around other APIs have it in the content."""
    if not isinstance(part, Opaque) or part.wire.get("type") not in THINKING_BLOCKS:
        return part
    wire = part.wire
    text = "\n".join(filter(None, (_text_in(wire.get(field)) for field in ("thinking", "reasoning", "summary"))))
    sealed = (wire.get(field) for field in ("signature", "encrypted_content", "data"))
    signature = next((text for text in sealed if isinstance(text, str) and text), None)
    return Reasoning(text=text if text or signature else json_text(wire), signature=signature, wire=wire)


def _text_in(value: object) -> str:
    """A text, or those of a list of blocks."""
    if isinstance(value, list):
        return "\n".join(_text_in(block.get("text")) for block in value if isinstance(block, dict))
    return value if isinstance(value, str) else ""


def _reasoning(own: Wire) -> list[Part]:
    said: list[Part] = [
        Reasoning(text=own[field], wire={field: own[field]})
        for field in REASONING_FIELDS
        if isinstance(own.get(field), str) and own[field]
    ]
    sealed = [field for field in SEALED_FIELDS if own.get(field)]
    return [*said, *(Reasoning(text=json_text(own[field]), wire={field: own[field]}) for field in sealed)]


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
    function = call.get("function")
    if "custom" not in call and type(function) is dict:
        id, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
        if type(id) is type(name) is type(arguments) is str:
            return ToolCall(id=id, name=name, arguments=arguments, wire=call)
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
    return [] if own.keys() <= _KNOWN else [Opaque(wire={field: own[field]}) for field in exposed_fields(own)]


_BLOCKS = frozenset({"text", "image_url", "input_audio", "file", "refusal", "video_url"})


def encode(message: Message) -> dict[str, Any]:
    """One chat message as a new object, with only the fields that servers accept."""
    own = message.wire if message.format == "openai-chat" else None
    if own is not None and not message.edited:
        return trimmed(copied(own), objects_in)
    if own is not None and ROLES.get(own["role"]) != message.role:
        own = None
    if message.results:
        return trimmed(_tool_message(message.results[0], own), objects_in)
    return trimmed(_encoded(message, own or {}), objects_in)


def _encoded(message: Message, own: Wire) -> dict[str, Any]:
    role = own.get("role") or ("user" if message.role == "tool" else message.role)
    opaque = [(field, part) for part in message.parts for field in [_field_of(part, own)] if field is not None]
    fields = {field: copied_value(part.wire[field]) for field, part in opaque if isinstance(part, Opaque)}
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    listed = [call_block(call) for call in calls if "function_call" not in (call.wire or {})]
    changes: dict[str, Any] = {
        "role": role,
        "content": _content(message, own, silent=bool(calls) or bool(fields.keys() & {"refusal", "audio"})),
        "tool_calls": listed or ABSENT,
        "function_call": next((_legacy(call) for call in calls if "function_call" in (call.wire or {})), ABSENT),
        **_written_reasoning(message, own),
        **{field: value for field, value in fields.items() if field not in own},
    }
    if message.name and "name" not in own:
        changes["name"] = message.name
    return patched(own, changes, dropped=[field for field in exposed_fields(own) if field not in fields])


def _field_of(part: object, own: Wire) -> str | None:
    """The message field that an Opaque part was decoded from, or None if it is a content block."""
    if not isinstance(part, Opaque) or len(part.wire) != 1:
        return None
    field = next(iter(part.wire))
    return field if field != "type" and (not own or field in own) else None


def _content(message: Message, own: Wire, *, silent: bool) -> Any:
    """`content` in its original shape if possible: text, a list, or null if the message has calls."""
    parts = [part for part in message.parts if _is_content(part) and _field_of(part, own) is None]
    before = own.get("content")
    if not parts:
        return None if silent and not isinstance(before, str) else ""
    if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].wire is None and not isinstance(before, list):
        return parts[0].text
    return [block for block in map(_written_block, parts) if block is not None]


def _is_content(part: Part) -> bool:
    return isinstance(part, Text | Media | Opaque) or (isinstance(part, Reasoning) and "type" in (part.wire or {}))


def _written_block(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(text=text, wire=wire):
            return patched(wire, {"text": text}) if wire and _is_ours(wire) else {"type": "text", "text": text}
        case Media(wire=wire):
            source = source_of(wire or {})
            return copied(wire) if wire and _is_ours(wire) else chat_block(source) if source else None
        case Opaque(wire=wire) | Reasoning(wire=wire):
            return copied(wire or {})
        case ToolCall() | ToolResult():
            return None


def _is_ours(wire: Wire) -> bool:
    return wire.get("type") in _BLOCKS and "mediaType" not in wire


def call_block(call: ToolCall) -> dict[str, Any]:
    """A call as an entry of `tool_calls`. Fields that were not edited are unchanged."""
    wire = call.wire or {}
    for kind, text in (("function", "arguments"), ("custom", "input")):
        function = wire.get(kind)
        if isinstance(function, dict):
            same = arguments_text(function.get(text)) == call.arguments
            inner = {"name": call.name} if same and text in function else {"name": call.name, text: call.arguments}
            return patched(wire, {"id": call.id, kind: patched(function, inner)})
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _legacy(call: ToolCall) -> dict[str, Any]:
    function = (call.wire or {})["function_call"]
    same = arguments_text(function.get("arguments")) == call.arguments
    return patched(function, {"name": call.name} if same else {"name": call.name, "arguments": call.arguments})


def _written_reasoning(message: Message, own: Wire) -> dict[str, Any]:
    """The reasoning fields: the text of parts that are still present, ABSENT for the others."""
    changes: dict[str, Any] = {field: ABSENT for field in (*REASONING_FIELDS, *SEALED_FIELDS) if own.get(field)}
    for part in message.parts:
        if isinstance(part, Reasoning) and part.wire is not None and not _is_content(part):
            changes.update({field: part.text for field in REASONING_FIELDS if field in part.wire})
            changes.update({field: copied_value(part.wire[field]) for field in SEALED_FIELDS if field in part.wire})
    return changes


def _tool_message(result: ToolResult, own: Wire | None) -> dict[str, Any]:
    if own is None:
        return {"role": "tool", "tool_call_id": result.call_id, "content": result.content}
    content, media = result_content(own)
    changes: dict[str, Any] = {} if own.get("role") == "function" else {"tool_call_id": result.call_id}
    if content != result.content or len(media) != len(result.media) or own.get("content") is None:
        changes["content"] = _result_content(result, own.get("content"))
    return patched(own, changes)


def _result_content(result: ToolResult, before: object) -> Any:
    """The new text in the original shape: the first text block keeps its other fields, and media parts stay."""
    if not isinstance(before, list):
        return result.content
    first = next((block for block in before if block.get("type") == "text"), {"type": "text"})
    media = [copied(part.wire) for part in result.media if part.wire is not None]
    return [patched(first, {"text": result.content}), *media]
