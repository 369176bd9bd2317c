"""The parts of a request body that make a conversation, in each of the three APIs, and the body with other messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from plimsoll.errors import FormatError
from plimsoll.formats.cache_marks import leading_marks, marked_as
from plimsoll.formats.detect import RequestContext, detect
from plimsoll.formats.format import SystemText
from plimsoll.formats.intake import received
from plimsoll.formats.rules import RULES
from plimsoll.light.dataclass import dataclass
from plimsoll.message import FormatName

Api: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic"]

ROUTES: Final[Mapping[str, FormatName]] = {
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
    "/messages": "anthropic",
}
"""The end of the path that each API is served at."""

_HELD_BY_PROVIDER: Final = ("previous_response_id", "conversation", "prompt", "context_management")
"""Fields of a Responses request whose conversation, or its compaction, is the provider's."""

_RESERVES: Final[Mapping[str, tuple[str, ...]]] = {
    "openai-chat": ("max_completion_tokens", "max_tokens"),
    "openai-responses": ("max_output_tokens",),
    "anthropic": ("max_tokens",),
}
_SYSTEM: Final[Mapping[str, str]] = {"openai-responses": "instructions", "anthropic": "system"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestParts:
    """What a request says about its conversation."""

    format: FormatName
    messages: Sequence[Any]
    system: SystemText = None
    """System text beside the messages."""
    tools: Sequence[Mapping[str, Any]] | None = None
    model: str | None = None
    reserve_tokens: int | None = None
    """The longest reply asked for."""


def parts_of(body: Mapping[str, Any], format: FormatName | None = None) -> RequestParts | None:
    """The parts of a request body; None if the provider keeps the conversation itself, or the body is no such request.

    `format` is that of the route it was sent to; None: found by looking. Raises FormatError for messages of no format.
    """
    found = format or _format_of(body)
    messages = body.get(RULES[found].messages_key)
    if found == "openai-responses":
        if any(body.get(name) for name in _HELD_BY_PROVIDER):
            return None
        messages = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    if not isinstance(messages, list | tuple) or not messages:
        return None
    system, tools, model = body.get(_SYSTEM.get(found, "")), body.get("tools"), body.get("model")
    return RequestParts(
        format=found,
        messages=messages,
        system=system if isinstance(system, str | list) and system else None,
        tools=tools if isinstance(tools, list | tuple) else None,
        model=model if isinstance(model, str) and model else None,
        reserve_tokens=_reserve(body, found),
    )


def api_of(format: FormatName) -> Api | None:
    """The API that takes messages of a format; None for UI messages, which are converted before they are sent."""
    return None if format == "ui-parts" else format


def parts_of_list(messages: Sequence[Any], system: SystemText, format: FormatName | None) -> RequestParts:
    """The parts of a conversation of which only the list is known. Raises FormatError for messages of no format."""
    found = format or detect(received(messages).wires, RequestContext(system=system))
    return RequestParts(format=found, messages=messages, system=system)


def with_messages(body: Mapping[str, Any], parts: RequestParts, messages: Sequence[Any]) -> dict[str, Any]:
    """The same body with other messages, fields in the same order. A host that marks messages for the cache keeps a mark."""
    key, marks_max = RULES[parts.format].messages_key, RULES[parts.format].cache_marks_max
    if marks_max is not None:
        leading = leading_marks(parts.system, parts.tools or ()).number + bool(body.get("cache_control"))
        messages = marked_as(list(messages), parts.messages, leading, marks_max)
    return {name: list(messages) if name == key else value for name, value in body.items()}


def with_more(body: Mapping[str, Any], parts: RequestParts, messages: Sequence[Any]) -> dict[str, Any]:
    """The same body with messages added at the end."""
    key = RULES[parts.format].messages_key
    return {**body, key: [*body[key], *messages]}


def with_tools(body: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The same body with more tools behind its own; None where that would not be the same request.

    Functions of the older kind exclude tools, several choices are no one answer, and a tool may have the name already.
    """
    own = body.get("tools")
    several = body.get("n") not in (None, 1) or body.get("background")
    if body.get("functions") or several or not isinstance(own, list | tuple | None):
        return None
    names = {_tool_name(tool) for tool in own or ()}
    if any(_tool_name(tool) in names for tool in tools):
        return None
    return {**body, "tools": [*(own or ()), *tools]}


def _tool_name(tool: object) -> object:
    """The name in a tool definition of any of the three APIs."""
    if not isinstance(tool, Mapping):
        return None
    function = tool.get("function")
    return function.get("name") if isinstance(function, Mapping) else tool.get("name")


def _format_of(body: Mapping[str, Any]) -> FormatName:
    if "input" in body:
        return "openai-responses"
    messages = body.get("messages")
    if not isinstance(messages, list | tuple):
        raise FormatError("the request has neither messages nor input")
    tools, system, model = body.get("tools"), body.get("system"), body.get("model")
    context = RequestContext(
        model=model if isinstance(model, str) else None,
        system=system,
        tools=tools if isinstance(tools, list | tuple) else None,
    )
    return detect(received(messages).wires, context)


def _reserve(body: Mapping[str, Any], format: FormatName) -> int | None:
    for name in _RESERVES.get(format, ()):
        value = body.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None
