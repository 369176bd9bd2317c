"""Exchanges, the units of compaction: a tool call and its results, which are never separated.

A message without a tool call is an exchange of its own. A call whose result is missing is given a placeholder.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from plimsoll.formats.media import media_of
from plimsoll.formats.rules import RULES
from plimsoll.formats.server_tools import served_answer, served_call
from plimsoll.formats.text_tools import marked_outputs
from plimsoll.light.dataclass import dataclass, field
from plimsoll.message import Message, Opaque, Part, Text, ToolCall, ToolResult

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


NO_RESULT = "[No result: the call was interrupted or its result was not recorded.]"


_NO_PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg=="
)
"""A picture of one black pixel, where nothing but a picture is an answer."""


def placeholder(call: ToolCall) -> ToolResult:
    """A placeholder result of the type that answers the call."""
    wire = answer_to(call, NO_RESULT)
    medium = None if wire is None or not isinstance(wire.get("output"), dict) else media_of(wire["output"])
    media = () if medium is None else (medium,)
    return ToolResult(call_id=call.id, name=call.name, content=NO_RESULT, is_error=True, media=media, wire=wire)


def is_legacy(call: ToolCall) -> bool:
    """True for a legacy `function_call`, which needs no result. It has no id except the one assigned when decoding."""
    return "function_call" in (call.wire or {})


def answers_by_name(result: ToolResult) -> bool:
    """True for a `function` message, which is accepted without a call."""
    return (result.wire or {}).get("role") == "function"


def answer_to(call: ToolCall, words: str) -> dict[str, Any] | None:
    """An output item, for calls that require their own output type; None for all others.

    It holds the text, but for the outputs that have no place for one: a picture and a list of tools.
    """
    kind = (call.wire or {}).get("type")
    said: dict[str, Any]
    match kind:
        case "custom_tool_call":
            said = {"output": words}
        case "local_shell_call":
            said = {"id": call.id, "output": words}
        case "shell_call":
            said = {"output": [{"stdout": "", "stderr": words, "outcome": {"type": "exit", "exit_code": 1}}]}
        case "apply_patch_call":
            said = {"status": "failed", "output": words}
        case "computer_call":
            said = {"output": {"type": "computer_screenshot", "image_url": _NO_PICTURE}}
        case "tool_search_call":
            said = {"type": "tool_search_output", "execution": "client", "status": "completed", "tools": []}
        case "program":
            said = {"id": call.id, "result": words, "status": "incomplete"}
        case _:
            return None
    return {"type": f"{kind}_output", "call_id": call.id, **said}


class Among:
    """The whole sequence of messages that exchanges are parts of, for what only all of it tells."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages

    @cached_property
    def outputs(self) -> Mapping[int, bool]:
        """Whether messages that look like outputs of tools in plain text are such, by index."""
        return marked_outputs(self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Consecutive messages `[start, start + len(messages))` of a sequence that stay or leave together."""

    start: int
    messages: tuple[Message, ...]
    pending: frozenset[str] = frozenset()
    """Ids of the calls without a result."""
    among: Among = field(repr=False, compare=False)

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
        for message in self.messages:  # written out: it is asked of each exchange, several times
            for part in message.parts:
                if isinstance(part, ToolCall):
                    return True
        return False

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """Its tool results, in order."""
        return tuple(result for message in self.messages for result in message.results)

    @property
    def is_system(self) -> bool:
        """True for system text."""
        return self.messages[0].role == "system"

    @property
    def is_answer(self) -> bool:
        """Whether it is words of the assistant that call no tool."""
        return self.messages[0].role == "assistant" and not self.calls_tools

    @property
    def is_request(self) -> bool:
        """True if it holds a user message with something other than tool results, also such as are in plain text."""
        return any(
            speaks(message) and not self.among.outputs.get(index)
            for index, message in enumerate(self.messages, self.start)
        )


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
    its calls nor, in formats that send calls one by one, another part of the same answer. The result of a call that the provider
    runs itself may be in a later message of the agent: in the next one after a pause, or in the one after the results of its other
    calls.
    """
    return list(_walk(messages))


def _walk(messages: Sequence[Message]) -> Iterator[Exchange]:
    start, among = 0, Among(messages)
    while start < len(messages):
        end = _answer_end(messages, start)
        if end == start + 1 and all(map(_is_text, messages[start].parts)):
            yield Exchange(start=start, messages=(messages[start],), among=among)
            start = end
            continue
        pending, served = open_calls(()), set[str]()
        _take_in(messages[start:end], pending, served)
        while (pending or served) and end < len(messages):
            if not _continues(messages[end], pending, served):
                break
            stop = _answer_end(messages, end)
            _take_in(messages[end:stop], pending, served)
            end = stop
        yield Exchange(start=start, messages=tuple(messages[start:end]), pending=frozenset(pending), among=among)
        start = end


def _is_text(part: Part) -> bool:
    return type(part) is Text


def _take_in(messages: Iterable[Message], pending: OpenCalls[ToolCall], served: set[str]) -> None:
    """Add the calls of messages to those without a result, and remove those that they answer."""
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, ToolCall):
            pending.ask(part.id, part)
        elif isinstance(part, ToolResult):
            pending.answer(part.call_id)
        elif isinstance(part, Opaque):
            if (asked := served_call(part)) is not None:
                served.add(asked)
            elif (answered := served_answer(part)) is not None:
                served.discard(answered)


def _continues(message: Message, pending: OpenCalls[ToolCall], served: set[str]) -> bool:
    """True if a message answers an open call. What the provider runs itself may be answered one message of the agent later."""
    if any(isinstance(part, ToolResult) and part.call_id in pending for part in message.parts):
        return True
    return bool(served) and any(served_answer(part) in served for part in message.parts)


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
