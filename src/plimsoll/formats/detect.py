"""Detect the format of messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from plimsoll.errors import FormatError, SettingError
from plimsoll.formats.openai_responses.fields import CALLS, RESULTS
from plimsoll.light.dataclass import dataclass
from plimsoll.light.regex import regex
from plimsoll.message import FormatName, Wire

_ITEM_TYPES: Final = frozenset(
    (
        "reasoning item_reference compaction compaction_trigger web_search_call file_search_call image_generation_call "
        "code_interpreter_call mcp_call mcp_list_tools mcp_approval_request mcp_approval_response additional_tools"
    ).split()
).union(CALLS, RESULTS)
_CHAT_FIELDS: Final = frozenset("tool_calls tool_call_id function_call refusal reasoning_content audio".split())
_ANSWERED: Final = frozenset({"stop_reason", "usage", "model"})
"""Fields of an Anthropic response that a Responses item never has."""

_BLOCKS: Final[dict[FormatName, str]] = {
    "openai-chat": "image_url input_audio file refusal",
    "openai-responses": "input_text output_text input_image input_file",
    "anthropic": (
        "tool_use tool_result thinking redacted_thinking server_tool_use mcp_tool_use container_upload image document "
        "search_result"
    ),
}
"""Types of blocks that only one format has."""
_BLOCK_FORMATS: Final = {kind: format for format, kinds in _BLOCKS.items() for kind in kinds.split()}
_MARKS: Final = frozenset({"cache_control", "citations"})
"""Fields of a text block that only Anthropic defines, though routers take them in other formats too."""
_EXCHANGED: Final = ("tool_use", "tool_result")
_CLAUDE: Final = regex(r"(?:[a-z-]{2,12}\.){0,2}claude-")
"""Names of Claude in Anthropic's API and in clouds with its format. Routers, which use other formats, prefix a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """The other parts of a request, as far as they indicate the format of its messages."""

    model: str | None = None
    system: object = None
    tools: Sequence[object] | None = None

    def certain_format(self) -> FormatName | None:
        """The only format with tools of this form, or with a separate system text; None if there are several."""
        for tool in tool_list(self.tools):
            if isinstance(tool, Mapping) and (found := _format_of_tool(tool)) is not None:
                return found
        return None if self.system is None else "anthropic"

    def likely_format(self) -> FormatName | None:
        """The format by the name of the model, for messages that fit several formats."""
        return "anthropic" if isinstance(self.model, str) and _CLAUDE.match(self.model) else None


def tool_list(tools: object) -> Iterable[object]:
    """The tool definitions; empty for None. Raises SettingError for anything that cannot be iterated twice."""
    if tools is None:
        return ()
    if isinstance(tools, (str, bytes, Mapping, Iterator)) or not isinstance(tools, Iterable):
        raise SettingError("tools", f"must be a list of tool definitions, not {type(tools).__name__}")
    return tools


def _format_of_tool(tool: Mapping[str, Any]) -> FormatName | None:
    if "input_schema" in tool:
        return "anthropic"
    if tool.get("type") != "function":
        return None
    return "openai-chat" if "function" in tool else "openai-responses"


NO_CONTEXT: Final = RequestContext()


def detect(messages: Sequence[Wire], context: RequestContext = NO_CONTEXT) -> FormatName:
    """The format of the messages: that of the first message that fits only one. Takes linear time.

    If there is no such message, the tools, a system text, cache markers or citations, and the name of the model decide, in
    this order. Without any of them, messages of a role and text, and an empty list, are `openai-chat`. Raises FormatError,
    with the position, if a message fits no format and no message decides.
    """
    unknown: int | None = None
    for position, wire in enumerate(messages):
        found = _format_of(wire)
        if found is not None:
            return found
        if unknown is None and not isinstance(wire.get("role"), str):
            unknown = position
    if unknown is not None:
        raise FormatError("matches no format: it has no role, no known type and no parts", position=unknown)
    found = context.certain_format()
    if found is not None:
        return found
    if any(map(_is_system, messages)):
        return "openai-chat"
    marked: FormatName | None = "anthropic" if any(map(_is_marked, messages)) else None
    return marked or context.likely_format() or "openai-chat"


def certain_format_of(messages: Sequence[Wire], context: RequestContext = NO_CONTEXT) -> FormatName | None:
    """The format of the first message that fits only one, or None if there is no such message. Takes linear time.

    System messages rule out Anthropic if only the name of the model indicates it.
    """
    found: FormatName | None = next((name for wire in messages if (name := _format_of(wire)) is not None), None)
    if (
        found is None
        and context.certain_format() is None
        and context.likely_format()
        and any(map(_is_system, messages))
    ):
        return "openai-chat"
    return found


def refuse_calls_of_another(wire: Wire, format: FormatName, position: int) -> None:
    """Raise FormatError for a message whose calls or results only another format has: here they would be text, or missing."""
    found = _format_of(wire)
    if found is not None and found != format and _only_there(wire, found):
        raise FormatError(
            f"in the format {found}, among messages in {format}: first convert the calls together with their results, "
            f'plimsoll.convert(messages, to="{format}").messages',
            position=position,
        )


def _only_there(wire: Wire, format: FormatName) -> bool:
    """True if this message of that format has calls, results or items that no other format reads."""
    match format:
        case "openai-chat":
            return wire.get("role") == "tool" or bool(wire.get("tool_calls"))
        case "anthropic":
            content = wire.get("content")
            blocks = content if isinstance(content, (list, tuple)) else ()
            return any(isinstance(block, Mapping) and block.get("type") in _EXCHANGED for block in blocks)
        case "openai-responses":
            return "role" not in wire
        case "ui-parts":
            return "content" not in wire


def _format_of(wire: Wire) -> FormatName | None:
    """The format of this message, if it fits only one."""
    if isinstance(wire.get("parts"), list):
        return "ui-parts"
    kind = wire.get("type")
    if kind == "message" and not _ANSWERED.isdisjoint(wire):
        return "anthropic"
    if isinstance(kind, str) and (kind in _ITEM_TYPES or kind == "message"):
        return "openai-responses"
    if wire.get("role") in ("tool", "function") or not _CHAT_FIELDS.isdisjoint(wire):
        return "openai-chat"
    return _format_of_content(wire.get("content"))


def _format_of_content(content: object) -> FormatName | None:
    if not isinstance(content, (list, tuple)):
        return None
    for block in content:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "thinking" and isinstance(block.get("thinking"), list):
            return "openai-chat"  # Mistral's
        if isinstance(kind, str) and kind in _BLOCK_FORMATS:
            return _BLOCK_FORMATS[kind]
        if isinstance(kind, str) and kind.endswith("_tool_result"):
            return "anthropic"
    return None


def _is_marked(wire: Wire) -> bool:
    content = wire.get("content")
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and not _MARKS.isdisjoint(block) for block in blocks)


def _is_system(wire: Wire) -> bool:
    return wire.get("role") in ("system", "developer")
