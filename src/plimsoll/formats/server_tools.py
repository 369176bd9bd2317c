"""Calls that the provider runs itself, such as web searches, and their results: blocks of the agent's own messages.

The result is in the same message as the call, in the next one after a pause, or in the one after the results of other calls that
were made beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from plimsoll.message import Message, Opaque, Part, Wire

_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use", "mcp_approval_request"})
_ANSWER: Final = "mcp_approval_response"


def called_in(wire: Wire) -> str | None:
    """The id of the call in a block: one that the provider runs itself, or asks to approve. None for any other block."""
    kind = wire.get("type")
    return _id(wire, "id") if isinstance(kind, str) and kind in _CALLS else None


def answered_in(wire: Wire) -> str | None:
    """The id of the call that a block answers; None for any other block, also for the result of a client's tool."""
    kind = wire.get("type")
    if not isinstance(kind, str) or kind == "tool_result":
        return None
    if kind == _ANSWER:
        return _id(wire, "approval_request_id")
    return _id(wire, "tool_use_id") if kind.endswith("_tool_result") else None


def served_call(part: Part) -> str | None:
    """`called_in` of an opaque part; None for any other part."""
    return called_in(part.wire) if isinstance(part, Opaque) else None


def served_answer(part: Part) -> str | None:
    """`answered_in` of an opaque part; None for any other part."""
    return answered_in(part.wire) if isinstance(part, Opaque) else None


def served_ids(messages: Iterable[Message]) -> frozenset[str]:
    """The ids of all calls in messages that the provider runs itself."""
    calls = (served_call(part) for message in messages for part in message.parts)
    return frozenset(id for id in calls if id is not None)


def _id(wire: Wire, field: str) -> str | None:
    id = wire.get(field)
    return id if isinstance(id, str) and id else None
