"""The effect of an edit of the history on a view that was made before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from plimsoll.compaction.steps import REPEATED
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.formats.format import Format
from plimsoll.formats.words import words_of
from plimsoll.message import Message, Part, Reasoning, Text, ToolResult
from plimsoll.records.history import Branch
from plimsoll.records.values import is_plain


def items_left(data: Mapping[str, Any], branch: Branch, *, since: int) -> list[Any]:
    """The items of a recorded view whose messages are still in the history; changed messages are replaced by their new wording.

    If messages have left, a result collapsed to a pointer at a later result is shown in full: the later one may be gone.
    """
    if branch == Branch():
        return list(data["view"])
    has_left = branch.left != Branch.of_data(data["state"].get("branch", {})).left
    items: list[Any] = []
    for item in data["view"]:
        position = item.get("p") if isinstance(item, dict) else None
        if position is None:
            items.append(item)
        elif branch.holds(position):
            is_stale = branch.changed.get(position, -1) > since or (has_left and _points_to_later(item))
            items.append([position, position] if is_stale else item)
    return items


def _points_to_later(item: Mapping[str, Any]) -> bool:
    """True if an item may contain a result that only refers to a later result with the same content."""
    return any(line in str(item) for line in REPEATED.values())


def may_replace(entry: ViewMessage, message: Message, format: Format) -> bool:
    """True if a message can replace an entry without affecting its neighbours."""
    says = bool(message.parts) and all(map(_says_something, message.parts))
    return says and is_plain(entry) and tied([entry.message]) == tied([message]) and format.is_sound(message)


def tied(messages: Iterable[Message]) -> list[tuple[str, list[str], list[str]]]:
    """What connects messages to each other: the role, the ids of calls and the ids of answered calls."""
    return [
        (message.role, [call.id for call in message.calls], [result.call_id for result in message.results])
        for message in messages
    ]


def _says_something(part: Part) -> bool:
    """True if a part has text, or is of a kind that needs none."""
    return not isinstance(part, Text | ToolResult | Reasoning) or bool(words_of(part).strip())
