"""The tools served with the official SDK of the Model Context Protocol, over standard input and output or HTTP."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import anyio
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from plimsoll.errors import PlimsollError
from plimsoll.mcp.answers import sendable
from plimsoll.mcp.sessions import ServedSessions
from plimsoll.mcp.tools import TOOLS, ServedTool

INSTRUCTIONS = (
    "Plimsoll keeps every message of this agent's sessions, also those that a compaction took out of the context. When something "
    "said or read earlier is missing, search it with recall and read it in full with read, before asking the user again or "
    "doing the work twice."
)


def server_for(sessions: ServedSessions) -> Server[dict[str, Any]]:
    """The server, not yet connected to anything. Calls run one thread each, so that a long search holds up no other call."""
    known = {tool.name: tool for tool in TOOLS}

    async def list_tools(_context: object, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_described(tool) for tool in TOOLS])

    async def call_tool(_context: object, params: CallToolRequestParams) -> CallToolResult:
        tool = known.get(params.name)
        if tool is None:
            raise MCPError(
                INVALID_PARAMS, sendable(f"there is no tool {params.name[:80]!r}; there are {', '.join(known)}")
            )
        try:
            text, failed = await anyio.to_thread.run_sync(tool.call, sessions, params.arguments), False
        except (PlimsollError, OSError) as error:
            text, failed = sendable(f"{type(error).__name__}: {error}"), True
        return CallToolResult(content=[TextContent(text=text)], is_error=failed)

    return Server(
        "plimsoll",
        version=_version(),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(sessions: ServedSessions) -> None:
    """Serve one client over standard input and output until it closes them. What anything prints goes to standard error."""
    server = server_for(sessions)
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


def _described(tool: ServedTool) -> Tool:
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema,
        annotations=ToolAnnotations(
            read_only_hint=not tool.changes,
            destructive_hint=False,
            idempotent_hint=not tool.changes,
            open_world_hint=False,
        ),
    )


def _version() -> str:
    try:
        return version("plimsoll-context")
    except PackageNotFoundError:
        return ""
