"""The fields that the Messages API accepts (anthropic.types: MessageParam and ContentBlockParam, including the beta)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from plimsoll.formats.fields import ByType, Fields, fields, trimmed, typed

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


def send(own: dict[str, Any]) -> dict[str, Any]:
    """Reduce a message written by plimsoll to the fields that the API accepts."""
    return trimmed(own, objects_in(own))


def objects_in(wire: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Fields]]:
    """The message, its blocks and those in its tool results, each with the fields it may have."""
    if isinstance(wire, dict):
        yield wire, MESSAGE
    for block, allowed in typed(wire.get("content"), BLOCKS):
        yield block, allowed
        if block["type"] == "tool_result":
            yield from typed(block.get("content"), BLOCKS)
