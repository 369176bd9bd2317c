"""Cache marks. Anthropic allows four in a request, including tools and system text, and long-lived ones only before short-lived.

A caller that marks the newest message on each turn accumulates marks. The history keeps them all; a view keeps the last ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from plimsoll.formats.checks import Findings
from plimsoll.formats.rules import RULES
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.message import Message, ToolResult, Wire

_FIELD: Final = "cache_control"
_LONG: Final = "1h"
_MARKABLE: Final = frozenset({"text", "tool_result", "image", "document"})


class LeadingMarks(NamedTuple):
    """The marks in tools and system text, before the messages."""

    number: int = 0
    has_short: bool = False
    """True if one of them is short-lived: then no later one may be long-lived."""


NO_MARKS: Final = LeadingMarks()
"""A request without marks before its messages."""


def leading_marks(system: object, tools: Iterable[Mapping[str, Any]]) -> LeadingMarks:
    """The marks in a system text and in tools."""
    found = [*(tool for tool in tools if tool.get(_FIELD)), *_marked(system)]
    return LeadingMarks(len(found), not all(map(_is_long, found)))


def marks_in(blocks: object) -> int:
    """Number of marked blocks in a list, including those inside tool results."""
    return sum(1 for _ in _marked(blocks))


def marks_of(message: Message) -> int:
    """Number of marks that a message may be sent with."""
    count = 0
    for part in message.parts:
        wire = part.wire or {}
        count += bool(wire.get(_FIELD))
        if isinstance(part, ToolResult):
            count += marks_in(wire.get("content"))
    return count


def is_mark(value: object) -> bool:
    """True if the API accepts this `cache_control`."""
    return isinstance(value, Mapping) and value.get("type") == "ephemeral" and value.get("ttl") in (None, "5m", _LONG)


def keep_last(messages: Iterable[Mapping[str, Any]], leading: LeadingMarks, marks_max: int) -> None:
    """Remove all cache marks but the last ones from messages written by plimsoll, and long-lived ones after short-lived ones.

    Args:
        messages: The messages, changed in place.
        leading: The marks that the request has before its messages.
        marks_max: Marks that the whole request may have.

    """
    found = [block for message in messages for block in _marked(message.get("content"))]
    stays = max(0, len(found) - max(0, marks_max - leading.number))
    short = leading.has_short
    for number, block in enumerate(found):
        is_long = _is_long(block)
        if number < stays or (is_long and short):
            del block[_FIELD]
        else:
            short = short or not is_long


def marked_as(view: list[Any], given: Iterable[Any], leading: int, marks_max: int) -> list[Any]:
    """A view with a mark at its end if the messages it was made of had marks and it has lost them all.

    Between compactions a view only grows at its end, so that is where the part that stays ends.

    Args:
        view: The messages to send. Not changed.
        given: The messages that the host sent.
        leading: The number of marks before the messages.
        marks_max: Marks that the whole request may have.

    """
    if leading >= marks_max or _count_in(view) or not _count_in(given):
        return view
    for index in range(len(view) - 1, -1, -1):
        content = view[index].get("content") if isinstance(view[index], Mapping) else None
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if (
            isinstance(blocks, list)
            and blocks
            and isinstance(blocks[-1], Mapping)
            and blocks[-1].get("type") in _MARKABLE
        ):
            marked = [*blocks[:-1], {**blocks[-1], _FIELD: {"type": "ephemeral"}}]
            return [*view[:index], {**view[index], "content": marked}, *view[index + 1 :]]
    return view


def _count_in(messages: Iterable[Any]) -> int:
    contents = (message.get("content") for message in messages if isinstance(message, Mapping))
    return sum(map(marks_in, contents))


def check_marks(findings: Findings, wires: Sequence[Wire], system: object, tools: Sequence[Wire]) -> None:
    """Check number and order of the marks in a request: tools, system text, messages."""
    marks_max = RULES["anthropic"].cache_marks_max or 0
    leading = [*(tool for tool in tools if tool.get(_FIELD)), *_marked(system)]
    placed = [(None, block) for block in leading] + [
        (position, block) for position, wire in enumerate(wires) for block in _marked(wire.get("content"))
    ]
    if len(placed) > marks_max:
        reason = f"{marks_max} blocks of a request may have cache_control, not {len(placed)}"
        findings.add("too_many_cache_marks", reason, placed[marks_max][0])
    short = False
    for position, block in placed:
        if _is_long(block) and short:
            findings.add("cache_mark_order", "a cache_control with ttl 1h may not come after one with 5m", position)
        short = short or not _is_long(block)


def _is_long(block: Mapping[str, Any]) -> bool:
    mark = block.get(_FIELD)
    return isinstance(mark, Mapping) and mark.get("ttl") == _LONG


def _marked(blocks: object) -> Iterator[dict[str, Any]]:
    for block in blocks if isinstance(blocks, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_result":
            yield from _marked(block.get("content"))
        if block.get(_FIELD):
            yield block
