"""Where the tokens of a conversation are: by who speaks, by what kind of content, and by tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, assert_never

from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from plimsoll.tokens.framing import MessageCounter

UNNAMED_TOOL = "(no name)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """One row: how many there are of something and what they cost. `count` is messages, parts or calls."""

    label: str
    count: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Heaviest:
    """One of the largest messages. `position` is its index; None for system text that is sent apart."""

    position: int | None
    role: str
    tokens: int
    begins: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The rows of each table, the heaviest first. The roles add up to `tokens`, and so do the kinds."""

    tokens: int
    messages: int
    roles: tuple[Weight, ...]
    kinds: tuple[Weight, ...]
    tools: tuple[Weight, ...]
    heaviest: tuple[Heaviest, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


@dataclass(slots=True)
class _Scale:
    """Rows being added up."""

    rows: dict[str, list[int]] = field(default_factory=dict)

    def add(self, label: str, tokens: int, count: int = 1) -> None:
        row = self.rows.setdefault(label, [0, 0])
        row[0] += count
        row[1] += tokens

    def weights(self) -> tuple[Weight, ...]:
        found = (Weight(label=label, count=count, tokens=tokens) for label, (count, tokens) in self.rows.items())
        return tuple(sorted(found, key=lambda weight: -weight.tokens))


def weigh(
    messages: Sequence[Message],
    counter: MessageCounter,
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    system: Message | None = None,
    heaviest: int = 10,
) -> Weights:
    """Count every part once. The total is that of `count_tokens` over the same messages, tools and system text."""
    roles, kinds, by_tool = _Scale(), _Scale(), _Scale()
    said = [(None, system)] if system is not None else []
    sizes: list[tuple[int, int | None, Message]] = []
    names = _names(messages)
    for position, message in (*said, *enumerate(messages)):
        tokens = counter.message(message)
        roles.add(message.role, tokens)
        sizes.append((tokens, position, message))
        framing = tokens
        for part in message.parts:
            cost = counter.part(part)
            framing -= cost
            kinds.add(kind_of(part), cost)
            _to_tool(part, cost, names, by_tool)
        kinds.add("framing", framing)
    definitions, priming = counter.tools(tools), counter.messages(())
    if definitions:
        roles.add("tool definitions", definitions, len(tools))
        kinds.add("tool definitions", definitions, len(tools))
    roles.add("reply", priming, 0)
    kinds.add("framing", priming, 0)
    largest = sorted(sizes, key=lambda size: -size[0])[:heaviest]
    return Weights(
        tokens=sum(tokens for tokens, _, _ in sizes) + definitions + priming,
        messages=len(messages),
        roles=roles.weights(),
        kinds=kinds.weights(),
        tools=by_tool.weights(),
        heaviest=tuple(_heaviest(tokens, position, message) for tokens, position, message in largest),
    )


def _to_tool(part: Part, tokens: int, names: Mapping[str, str], tools: _Scale) -> None:
    """A call and its result belong to the same tool; the call is what counts."""
    match part:
        case ToolCall():
            tools.add(part.name or UNNAMED_TOOL, tokens)
        case ToolResult():
            tools.add(part.name or names.get(part.call_id, UNNAMED_TOOL), tokens, 0)
        case _:
            pass


def kind_of(part: Part) -> str:
    """What a part is, in the words of the tables."""
    match part:
        case Text():
            return "text"
        case Reasoning():
            return "reasoning"
        case ToolCall():
            return "tool calls"
        case ToolResult():
            return "tool results"
        case Media():
            return f"{part.kind}s"
        case Opaque():
            return "provider parts"
        case _:
            assert_never(part)


def _names(messages: Iterable[Message]) -> dict[str, str]:
    """The tool of each call, by the call's id."""
    return {call.id: call.name for message in messages for call in message.calls}


def _heaviest(tokens: int, position: int | None, message: Message) -> Heaviest:
    return Heaviest(position=position, role=message.role, tokens=tokens, begins=begins(message))


def begins(message: Message, chars_max: int = 200) -> str:
    """How a message begins: its text, or the first call or thought where it has none."""
    for part in message.parts:
        match part:
            case Text() if part.text.strip():
                return part.text.lstrip()[:chars_max]
            case ToolResult() if part.content.strip():
                return part.content.lstrip()[:chars_max]
            case ToolCall():
                return f"{part.name} {part.arguments}"[:chars_max]
            case _:
                continue
    return next((part.text[:chars_max] for part in message.parts if isinstance(part, Reasoning)), "")
