"""Which format messages are in, found by looking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from plimsoll.dataclass import dataclass
from plimsoll.errors import FormatError, SettingError
from plimsoll.formats.openai_responses.fields import CALLS, RESULTS
from plimsoll.message import FormatName, Wire
from plimsoll.regex import regex

_ITEM_TYPES: Final = frozenset(
    {
        *CALLS,
        *RESULTS,
        "reasoning",
        "item_reference",
        "compaction",
        "compaction_trigger",
        "web_search_call",
        "file_search_call",
        "image_generation_call",
        "code_interpreter_call",
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "additional_tools",
    }
)
_CHAT_FIELDS: Final = frozenset(
    {"tool_calls", "tool_call_id", "function_call", "refusal", "reasoning_content", "audio"}
)
_ANSWERED: Final = frozenset({"stop_reason", "usage", "model"})
"""Fields of an answer of Anthropic's that a Responses item never has."""

_BLOCK_FORMATS: Final[dict[str, FormatName]] = {
    "image_url": "openai-chat",
    "input_audio": "openai-chat",
    "file": "openai-chat",
    "refusal": "openai-chat",
    "input_text": "openai-responses",
    "output_text": "openai-responses",
    "input_image": "openai-responses",
    "input_file": "openai-responses",
    "tool_use": "anthropic",
    "tool_result": "anthropic",
    "thinking": "anthropic",
    "redacted_thinking": "anthropic",
    "server_tool_use": "anthropic",
    "mcp_tool_use": "anthropic",
    "container_upload": "anthropic",
    "image": "anthropic",
    "document": "anthropic",
    "search_result": "anthropic",
}


_CLAUDE: Final = regex(r"(?:[a-z-]{2,12}\.){0,2}claude-")
"""Claude by the names of Anthropic's API and of clouds that speak its format. Routers, which speak others, put a path before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a request holds beside its messages, as far as it tells their format."""

    model: str | None = None
    system: object = None
    tools: Sequence[object] | None = None

    def tells(self) -> FormatName | None:
        """The format that the form of the tools, or a system text sent apart, can only be in."""
        for tool in tool_list(self.tools):
            if isinstance(tool, Mapping) and (found := _tool_tells(tool)) is not None:
                return found
        return None if self.system is None else "anthropic"

    def suggests(self) -> FormatName | None:
        """The format by the model's name, for messages that could be in several."""
        return "anthropic" if isinstance(self.model, str) and _CLAUDE.match(self.model) else None


def tool_list(tools: object) -> Iterable[object]:
    """Tool definitions as they were given, none for None. Raises SettingError for what cannot be looked through twice."""
    if tools is None:
        return ()
    if isinstance(tools, (str, bytes, Mapping, Iterator)) or not isinstance(tools, Iterable):
        raise SettingError("tools", f"must be a list of tool definitions, not {type(tools).__name__}")
    return tools


def _tool_tells(tool: Mapping[str, Any]) -> FormatName | None:
    if "input_schema" in tool:
        return "anthropic"
    if tool.get("type") != "function":
        return None
    return "openai-chat" if "function" in tool else "openai-responses"


NOTHING: Final = Beside()


def detect(messages: Sequence[Wire], beside: Beside = NOTHING) -> FormatName:
    """The format of the messages: that of the first one that could be in no other. Linear.

    Where no message tells, what stands beside them does: tools, a system text, cache markers, the model's name. Else messages
    that are only a role and text, and an empty list, are `openai-chat`. Raises FormatError, with the position, when a message is
    recognised by no format and no other tells.
    """
    unknown: int | None = None
    for position, wire in enumerate(messages):
        found = _tells(wire)
        if found is not None:
            return found
        if unknown is None and not isinstance(wire.get("role"), str):
            unknown = position
    if unknown is not None:
        raise FormatError("matches no format: it has no role, no known type and no parts", position=unknown)
    found = beside.tells()
    if found is not None:
        return found
    if any(map(_is_system, messages)):
        return "openai-chat"
    marked: FormatName | None = "anthropic" if any(map(_has_cache_marker, messages)) else None
    return marked or beside.suggests() or "openai-chat"


def telling(messages: Sequence[Wire], beside: Beside = NOTHING) -> FormatName | None:
    """The format of the first message that could be in no other; None when none tells. Linear.

    System text among the messages tells against Anthropic where only the model's name speaks for it.
    """
    found: FormatName | None = next((name for wire in messages if (name := _tells(wire)) is not None), None)
    if found is None and beside.tells() is None and beside.suggests() and any(map(_is_system, messages)):
        return "openai-chat"
    return found


def _tells(wire: Wire) -> FormatName | None:
    """The only format this message can be in, if there is only one."""
    if isinstance(wire.get("parts"), list):
        return "ui-parts"
    kind = wire.get("type")
    if kind == "message" and not _ANSWERED.isdisjoint(wire):
        return "anthropic"
    if isinstance(kind, str) and (kind in _ITEM_TYPES or kind == "message"):
        return "openai-responses"
    if wire.get("role") in ("tool", "function") or not _CHAT_FIELDS.isdisjoint(wire):
        return "openai-chat"
    return _block_tells(wire.get("content"))


def _block_tells(content: object) -> FormatName | None:
    if not isinstance(content, (list, tuple)):
        return None
    for block in content:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if isinstance(kind, str) and kind in _BLOCK_FORMATS:
            return _BLOCK_FORMATS[kind]
        if isinstance(kind, str) and kind.endswith("_tool_result"):
            return "anthropic"
    return None


def _has_cache_marker(wire: Wire) -> bool:
    content = wire.get("content")
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and "cache_control" in block for block in blocks)


def _is_system(wire: Wire) -> bool:
    return wire.get("role") in ("system", "developer")
