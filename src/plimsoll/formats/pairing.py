"""Pair calls with their results by id."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeVar

from plimsoll.message import Part, ToolCall, ToolResult

Call = TypeVar("Call")


class OpenCalls(dict[str, deque[Call]]):
    """Calls without a result, by id. A model may reuse an id before it is answered; then several calls are open under it."""

    def ask(self, id: str, call: Call) -> None:
        """Record a call."""
        self.setdefault(id, deque()).append(call)

    def answer(self, id: str, *, newest: bool = False) -> Call | None:
        """The call answered by a result with this id: the oldest open one, or the newest; None if none is open."""
        calls = self.get(id)
        if calls is None:
            return None
        call = calls.pop() if newest else calls.popleft()
        if not calls:
            del self[id]
        return call

    def all(self) -> Iterator[Call]:
        """Every open call."""
        return (call for calls in self.values() for call in calls)

    def copied(self) -> OpenCalls[Call]:
        """An independent copy."""
        return OpenCalls((id, calls.copy()) for id, calls in self.items())


def open_calls(parts: Iterable[Part], *, newest: bool = False) -> OpenCalls[ToolCall]:
    """The calls among the parts of one answer without a result among them."""
    found: OpenCalls[ToolCall] = OpenCalls()
    for part in parts:
        if isinstance(part, ToolCall):
            found.ask(part.id, part)
        elif isinstance(part, ToolResult):
            found.answer(part.call_id, newest=newest)
    return found
