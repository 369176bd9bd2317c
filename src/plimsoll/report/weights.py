"""Where the tokens of a conversation are: by who speaks, by what kind of content, and by tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

from plimsoll.light.dataclass import asdict, dataclass, field
from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from plimsoll.report.figures import named
from plimsoll.tokens.framing import MessageCounter

UNNAMED_TOOL = "(no name)"
TOOL_RESULTS = "tool results"
UNSEEN = "not in this file"
_HEAVIEST_SHOWN = 10
_BEGINNING_CHARS = 200
REQUEST = "frame of the request"
"""What each request has once, whatever its messages are: it primes the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """One row: how many there are of something and what they cost. `count` is messages, parts or calls."""

    label: str
    count: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Heaviest:
    """One of the largest messages. `name` says which: `m12`; or "system" for system text that is sent apart."""

    name: str
    position: int | None
    role: str
    tokens: int
    begins: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightTables:
    """The rows of each table, the heaviest first. The roles add up to `tokens` and `unseen_tokens`, and so do the kinds."""

    tokens: int
    unseen_tokens: int
    """What a provider counted beyond these messages: system text and tools that are not in the file."""
    messages: int
    roles: tuple[Weight, ...]
    kinds: tuple[Weight, ...]
    tools: tuple[Weight, ...]
    heaviest: tuple[Heaviest, ...]

    @property
    def total_tokens(self) -> int:
        """All that is sent."""
        return self.tokens + self.unseen_tokens

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "total_tokens": self.total_tokens}


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


def weigh(  # noqa: PLR0913 - what there is to weigh
    messages: Sequence[Message],
    counter: MessageCounter,
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    system: Message | None = None,
    places: Sequence[tuple[int, ...]] = (),
    unseen_tokens: int = 0,
) -> WeightTables:
    """Count every part once. `tokens` is what `count_tokens` gives for the same messages, tools and system text.

    `places` are the positions in the history that each message comes from, by default its own index. `unseen_tokens` is what is
    sent with all that.
    """
    scales = _Scales(counter, names=_names(messages))
    sizes = [] if system is None else [scales.put(system, "system", None)]
    for index, message in enumerate(messages):
        positions = places[index] if places else (index,)
        sizes.append(scales.put(message, named(positions) or "-", positions[0] if positions else None))
    definitions, priming = counter.tools(tools), counter.messages(())
    scales.put_beside("tool definitions", definitions, len(tools))
    scales.put_beside(REQUEST, priming, 0)
    scales.put_beside(UNSEEN, unseen_tokens, 0)
    largest = sorted(sizes, key=lambda size: -size.tokens)[:_HEAVIEST_SHOWN]
    return WeightTables(
        tokens=sum(size.tokens for size in sizes) + definitions + priming,
        unseen_tokens=unseen_tokens,
        messages=len(messages),
        roles=scales.roles.weights(),
        kinds=scales.kinds.weights(),
        tools=scales.tools.weights(),
        heaviest=tuple(largest),
    )


class _Scales:
    """Adds messages up by who speaks, by kind and by tool."""

    def __init__(self, counter: MessageCounter, *, names: Mapping[str, str]) -> None:
        self.roles, self.kinds, self.tools = _Scale(), _Scale(), _Scale()
        self._counter, self._names = counter, names

    def put(self, message: Message, name: str, position: int | None) -> Heaviest:
        """Add a message. Results of tools are their own, whoever's message they are sent in."""
        tokens = self._counter.message(message)
        framing, results = tokens, 0
        for part in message.parts:
            cost = self._counter.part(part)
            framing -= cost
            results += cost if isinstance(part, ToolResult) else 0
            self.kinds.add(kind_of(part), cost)
            _to_tool(part, cost, self._names, self.tools)
        self.kinds.add("framing", framing)
        role = role_of(message)
        self.roles.add(role, tokens if role == TOOL_RESULTS else tokens - results)
        if results and role != TOOL_RESULTS:
            self.roles.add(TOOL_RESULTS, results, 0)
        return Heaviest(name=name, position=position, role=role, tokens=tokens, begins=begins(message))

    def put_beside(self, label: str, tokens: int, count: int) -> None:
        if tokens:
            self.roles.add(label, tokens, count)
            self.kinds.add("framing" if label == REQUEST else label, tokens, count)


def _to_tool(part: Part, tokens: int, names: Mapping[str, str], tools: _Scale) -> None:
    """A call and its result belong to the same tool; the call is what counts."""
    match part:
        case ToolCall():
            tools.add(part.name or UNNAMED_TOOL, tokens)
        case ToolResult():
            tools.add(part.name or names.get(part.call_id, UNNAMED_TOOL), tokens, 0)
        case _:
            pass


def role_of(message: Message) -> str:
    """Who speaks, in the words of the tables: results of tools are their own, whoever's message they are sent in."""
    only_results = bool(message.parts) and all(isinstance(part, ToolResult) for part in message.parts)
    return TOOL_RESULTS if only_results else message.role


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
    return {call.id: call.name for message in messages for call in message.calls}


def begins(message: Message) -> str:
    """How a message begins: its text, or the first call or thought where it has none."""
    for part in message.parts:
        match part:
            case Text() if part.text.strip():
                return part.text.lstrip()[:_BEGINNING_CHARS]
            case ToolResult() if part.content.strip():
                return part.content.lstrip()[:_BEGINNING_CHARS]
            case ToolCall():
                return f"{part.name} {part.arguments}"[:_BEGINNING_CHARS]
            case _:
                continue
    return next((part.text[:_BEGINNING_CHARS] for part in message.parts if isinstance(part, Reasoning)), "")
