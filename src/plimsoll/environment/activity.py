"""Recent activity of a conversation: its newest requests, and its tool calls with their outcome."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from plimsoll.environment.layers import RecentCall, ToolContext, ToolState
from plimsoll.formats.exchange import OpenCalls, speaks
from plimsoll.formats.text_tools import is_output
from plimsoll.light.regex import regex
from plimsoll.limits import (
    ACTIVITY_CALLS_MAX,
    ACTIVITY_TEXT_CHARS_MAX,
    ACTIVITY_TOPIC_CHARS_MAX,
    ACTIVITY_TOPICS_MAX,
)
from plimsoll.message import Message, Text, ToolCall, ToolResult
from plimsoll.summary.ledger.calls import understand
from plimsoll.summary.ledger.outcome import succeeded

Timed = tuple[int, Message]
"""A message and its Unix time in milliseconds."""

_NAMES = regex(r"[\w./@#-]{4,200}")
_IDENTIFIER = regex(r"[0-9]{5}|[A-Za-z]-?[0-9]|[0-9]-?[A-Za-z]|\w[./_#@]\w")
"""What tells an identifier from a word: digits next to letters, five digits in a row, or punctuation inside."""


def topics(messages: Sequence[Timed]) -> tuple[str, ...]:
    """The first lines of the newest requests, oldest first."""
    words = (
        _first_line(message) for _, message in reversed(messages) if speaks(message) and not is_output(message.text)
    )
    newest = [line for line, _ in zip((line for line in words if line), range(ACTIVITY_TOPICS_MAX), strict=False)]
    return tuple(reversed(newest))


def tool_context(messages: Iterable[Timed]) -> ToolContext:
    """The calls in these messages, each with the first later result that has its id."""
    messages = list(messages)
    calls: list[RecentCall] = []
    open_calls: OpenCalls[tuple[int, ToolCall]] = OpenCalls()
    for at_ms, message in messages:
        for part in message.parts:  # a message may hold a call and its result
            if isinstance(part, ToolCall):
                open_calls.ask(part.id, (len(calls), part))
                calls.append(RecentCall(tool_name=part.name, at_ms=at_ms, success=None))
            elif isinstance(part, ToolResult) and (answered := open_calls.answer(part.call_id)) is not None:
                index, call = answered
                success = succeeded(understand(call.name, call.arguments), part, message.wire)
                calls[index] = RecentCall(tool_name=call.name, at_ms=at_ms, success=success)
    return ToolContext(
        recent_calls=tuple(calls[-ACTIVITY_CALLS_MAX:]),
        tool_states=_states(calls),
        dependencies=_dependencies(message for _, message in messages),
    )


def _dependencies(messages: Iterable[Message]) -> dict[str, tuple[str, ...]]:
    """Tool -> the tools whose results first named the paths, ids or numbers it was called with."""
    dependencies: dict[str, dict[str, None]] = {}
    named_by: dict[str, str | None] = {}
    tool_of_call: dict[str, str] = {}
    for message in messages:
        for part in message.parts:
            match part:
                case ToolResult():
                    _record(named_by, part.content, tool_of_call.get(part.call_id))
                case Text():
                    _record(named_by, part.text, None)
                case ToolCall():
                    tool_of_call[part.id] = part.name
                    sources = [tool for name in _names(part.arguments) if (tool := named_by.get(name))]
                    dependencies.setdefault(part.name, {}).update(
                        dict.fromkeys(tool for tool in sources if tool != part.name)
                    )
                    _record(named_by, part.arguments, None)
                case _:
                    pass
    return {tool: tuple(sources) for tool, sources in dependencies.items() if sources}


def _record(named_by: dict[str, str | None], text: str, tool: str | None) -> None:
    """Record which tool named an identifier first; None if no tool did."""
    for name in _names(text):
        named_by.setdefault(name, tool)


def _names(text: str) -> Iterator[str]:
    """The identifiers at the beginning of a text, without surrounding punctuation."""
    for match in _NAMES.finditer(text[:ACTIVITY_TEXT_CHARS_MAX]):
        if _IDENTIFIER.search(name := match[0].strip("./#-")):
            yield name


def _states(calls: Iterable[RecentCall]) -> dict[str, ToolState]:
    states: dict[str, ToolState] = {}
    for call in calls:
        before = states.get(call.tool_name, ToolState(calls=0, failed=0, last_ms=call.at_ms))
        failed = before.failed + (call.success is False)
        states[call.tool_name] = ToolState(calls=before.calls + 1, failed=failed, last_ms=call.at_ms)
    return states


def _first_line(message: Message) -> str:
    """The first non-blank line, from the first 4,000 characters of each text."""
    texts = (part.text[:4_000].strip() for part in message.parts if isinstance(part, Text))
    line = next((text.split("\n", 1)[0].strip() for text in texts if text), "")
    return line if len(line) <= ACTIVITY_TOPIC_CHARS_MAX else f"{line[: ACTIVITY_TOPIC_CHARS_MAX - 1]}…"
