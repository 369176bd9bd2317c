"""Exchanges, the units of compaction: a tool call and its results, which are never separated.

A message without a tool call is an exchange of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plimsoll.dataclass import dataclass
from plimsoll.formats.pairing import open_calls
from plimsoll.formats.rules import RULES
from plimsoll.message import Message, Part, Text, ToolCall, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Consecutive messages `[start, start + len(messages))` of a sequence that stay or leave together."""

    start: int
    messages: tuple[Message, ...]
    pending: frozenset[str] = frozenset()
    """Ids of the calls without a result."""

    @property
    def end(self) -> int:
        """Index after the last message."""
        return self.start + len(self.messages)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Its tool calls, in order."""
        return tuple(call for message in self.messages for call in message.calls)

    @property
    def calls_tools(self) -> bool:
        """Whether it calls any tool."""
        return any(isinstance(part, ToolCall) for message in self.messages for part in message.parts)

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """Its tool results, in order."""
        return tuple(result for message in self.messages for result in message.results)

    @property
    def is_system(self) -> bool:
        """True for system text."""
        return self.messages[0].role == "system"

    @property
    def is_request(self) -> bool:
        """True if it holds a user message with something other than tool results."""
        return any(speaks(message) for message in self.messages)


def speaks(message: Message) -> bool:
    """True for text or media of the user, as opposed to tool results carried in the user's role and blank text."""
    return message.role == "user" and any(map(_says_something, message.parts))


def _says_something(part: Part) -> bool:
    if isinstance(part, Text):
        return bool(part.text) and not part.text.isspace()
    return not isinstance(part, ToolResult)


def group(messages: Sequence[Message]) -> list[Exchange]:
    """Split messages into exchanges, in order; every message is in exactly one. Linear.

    Assistant messages and results belong together from the first call up to the first message that is neither a result for one of
    its calls nor, in formats that send calls one by one, another part of the same answer.
    """
    return list(_walk(messages))


def _walk(messages: Sequence[Message]) -> Iterator[Exchange]:
    start = 0
    while start < len(messages):
        end = _answer_end(messages, start)
        pending = open_calls(part for message in messages[start:end] for part in message.parts)
        while pending and end < len(messages):
            ids = [part.call_id for part in messages[end].parts if isinstance(part, ToolResult)]
            if pending.keys().isdisjoint(ids):
                break
            for id in ids:
                pending.answer(id)
            end += 1
        yield Exchange(start=start, messages=tuple(messages[start:end]), pending=frozenset(pending))
        start = end


def _answer_end(messages: Sequence[Message], start: int) -> int:
    """The end of one answer of the model, which may consist of several messages.

    Messages that the provider merges can still be separated if the first has no call; the items of one answer cannot.
    """
    end, first = start + 1, messages[start]
    if first.role != "assistant" or first.format is None:
        return end
    rules = RULES[first.format]
    if not (rules.splits_answers or (rules.joins_roles and first.calls)):
        return end
    while end < len(messages) and messages[end].role == "assistant":
        end += 1
    return end
