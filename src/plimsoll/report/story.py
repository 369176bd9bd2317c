"""A conversation message by message, and how full the window was while it went on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from plimsoll.compaction.plan import Action
from plimsoll.formats.registry import decode_all
from plimsoll.light.dataclass import dataclass, field
from plimsoll.message import FormatName, Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from plimsoll.records.usage import Usage
from plimsoll.report.figures import named
from plimsoll.report.weights import begins, kind_of, role_of
from plimsoll.tokens.framing import MessageCounter, compact_json


def spoken(messages: Sequence[Any], format: FormatName) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The role of each message, and its parts as `parts_of` gives them."""
    for message in decode_all(messages, format)[1]:
        yield message.role, parts_of(message)


def parts_of(message: Message) -> list[tuple[str, str]]:
    """For each part what it is (nothing for plain text) and its words."""
    return [_said(part) for part in message.parts]


def _said(part: Part) -> tuple[str, str]:
    match part:
        case Text():
            return "", part.text
        case Reasoning():
            return "reasoning", part.text
        case ToolCall():
            return f"call {part.name}", part.arguments
        case ToolResult():
            return "error" if part.is_error else "result", part.content
        case Media():
            return part.kind, part.mime or ""
        case Opaque():
            return "provider part", compact_json(part.wire)
        case _:
            assert_never(part)


TEXT_CHARS_MAX = 6_000
"""Of one message that the page holds; the rest is a `plimsoll read` away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One message: what it costs by kind, how it begins and what it says, and what the plan does to it and why."""

    name: str
    role: str
    tokens: int
    kinds: Mapping[str, int]
    begins: str
    text: str = field(repr=False)
    cut_chars: int = 0
    """Characters that are not in `text`."""
    decision: str = "keep"
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A request as its provider counted it. `at_ms` is Unix time in milliseconds."""

    name: str
    at_ms: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A compaction. Sizes in tokens, as far as they are known."""

    label: str
    at_ms: int
    tokens_before: int | None
    tokens_after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The messages of a view, and what happened on the way to it."""

    strips: tuple[Strip, ...]
    points: tuple[Point, ...] = ()
    marks: tuple[Mark, ...] = ()


def points_of(usages: Iterable[Usage]) -> tuple[Point, ...]:
    """Requests in the order of their time; those without one cannot be drawn."""
    points = [
        Point(name=usage.id or "", at_ms=usage.at_ms, tokens=usage.prompt_tokens)
        for usage in usages
        if usage.at_ms is not None
    ]
    return tuple(sorted(points, key=lambda point: point.at_ms))


def strips_of(
    messages: Sequence[Message],
    counter: MessageCounter,
    actions: Iterable[Action],
    *,
    names: Sequence[tuple[int, ...]] = (),
    places: Sequence[tuple[int, ...]] = (),
) -> tuple[Strip, ...]:
    """A strip for each message.

    `names` are the positions in the history that each message comes from; `places` those that the plan's actions go by. Both are
    its own index where they are not given.
    """
    decided = {place: action for action in actions for place in range(action.first, action.last + 1)}
    strips = []
    for index, message in enumerate(messages):
        where = places[index] if places else (index,)
        action = next((decided[place] for place in where if place in decided), None)
        strips.append(_strip(message, counter, named(names[index] if names else (index,)) or "-", action))
    return tuple(strips)


def _strip(message: Message, counter: MessageCounter, name: str, action: Action | None) -> Strip:
    kinds: dict[str, int] = {}
    for part in message.parts:
        kinds[kind_of(part)] = kinds.get(kind_of(part), 0) + counter.part(part)
    tokens = counter.message(message)
    kinds["framing"] = tokens - sum(kinds.values())
    text = "\n\n".join(f"[{label}] {words}" if label else words for label, words in parts_of(message))
    return Strip(
        name=name,
        role=role_of(message),
        tokens=tokens,
        kinds=kinds,
        begins=begins(message),
        text=text[:TEXT_CHARS_MAX],
        cut_chars=max(0, len(text) - TEXT_CHARS_MAX),
        decision="keep" if action is None else action.decision,
        reason="" if action is None else action.reason,
    )
