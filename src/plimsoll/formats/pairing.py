"""Calls and the results that answer them, paired by id."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeVar

from plimsoll.message import Part, ToolCall, ToolResult

Call = TypeVar("Call")


class OpenCalls(dict[str, deque[Call]]):
    """Calls that no result has answered yet, by id. A model may use an id again before it is answered: then it is open twice."""

    def ask(self, id: str, call: Call) -> None:
        """A call is made."""
        self.setdefault(id, deque()).append(call)

    def answer(self, id: str, *, newest: bool = False) -> Call | None:
        """The call that a result with this id answers: the oldest open one, or the newest; None where there is none."""
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
        """The same calls, to be answered apart from these."""
        return OpenCalls((id, calls.copy()) for id, calls in self.items())


def open_calls(parts: Iterable[Part], *, newest: bool = False) -> OpenCalls[ToolCall]:
    """The calls among the parts of one answer that no result among them answers."""
    found: OpenCalls[ToolCall] = OpenCalls()
    for part in parts:
        if isinstance(part, ToolCall):
            found.ask(part.id, part)
        elif isinstance(part, ToolResult):
            found.answer(part.call_id, newest=newest)
    return found
