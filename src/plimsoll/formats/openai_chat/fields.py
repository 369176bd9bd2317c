"""The fields that Chat Completions accepts (openai.types.chat), and those of other servers with this format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from plimsoll.formats.fields import ByType, Fields, fields, trimmed, typed

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


def send(own: dict[str, Any]) -> dict[str, Any]:
    """Reduce a message written by plimsoll to the fields that the API accepts."""
    return trimmed(own, objects_in(own))


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
