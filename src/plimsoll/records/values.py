"""Conversion between values and the payloads of records. docs/format.md lists every field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from plimsoll.compaction.plan import Action, Outline, Stage
from plimsoll.compaction.references import merged_runs
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.errors import FormatError
from plimsoll.formats.format import Format
from plimsoll.formats.wire import json_text
from plimsoll.light.brief import Fact, JsonReady, ShortRepr, pluralize, size_change
from plimsoll.light.dataclass import dataclass
from plimsoll.light.regex import regex
from plimsoll.limits import TIME_MS_MAX
from plimsoll.message import Message, Wire, text_message
from plimsoll.policy.budget import Level, level_named
from plimsoll.protocols import Record
from plimsoll.records.json_diff import changed, changes
from plimsoll.records.packing import action_rows, unpacked

POSITIONS_MAX = 10**12
"""Upper limit of any count or position in a record."""

_TIME_MS_MIN = -62_135_596_800_000
"""The beginning of the year 1."""


def moment_of(at_ms: int) -> datetime:
    """Unix time as a UTC datetime, clamped to the range of datetime because clocks can be wrong."""
    return datetime.fromtimestamp(min(max(at_ms, _TIME_MS_MIN), TIME_MS_MAX) / 1000, UTC)


Trigger: TypeAlias = Literal["manual", "auto"]
"""Why a compaction is made, as a caller may state it."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Compaction(ShortRepr, JsonReady):
    """A completed compaction. Sizes in tokens, `at_ms` Unix time in milliseconds.

    `covers` are the positions `[start, end)` that its summary covers. `id` is None if there was nothing to do and nothing was
    recorded; `note` then says why. `undone` is True if it was rolled back.
    """

    id: str | None
    at_ms: int
    trigger: str
    level: Level
    stage: Stage
    tokens_before: int
    tokens_after: int
    summary: str | None
    """The summary in the view."""
    covers: tuple[int, int] | None
    lost: tuple[Action, ...]
    actions: tuple[Action, ...]
    note: str | None = None
    undone: bool = False
    position: int = 0
    """Number of messages in the session at the time."""
    kept: tuple[tuple[int, int], ...] = ()
    """The positions `[start, end)` of messages kept in the view, whole or cut."""
    actual_pre_tokens: int | None = None
    """The provider's token count of the newest request before it; None if not reported."""
    written: str | None = None
    """The full text that a model, a person or another tool wrote as the summary; the view may contain less of it."""
    flushed_memories: int = 0
    """Number of memories that were kept, durably, of what then left the view; 0 without a store of memories."""

    def _facts(self) -> Iterable[Fact]:
        yield "id", repr(self.id) if self.id else "nothing to do"
        yield "trigger", self.trigger
        yield "tokens", size_change(self.tokens_before, self.tokens_after)
        yield "level", f"level {self.level}"
        yield "stage", f"stage {self.stage}"
        yield (
            "lost",
            f"{pluralize(len(self.lost), 'exchange')} taken out of the view{', undone' if self.undone else ''}",
        )

    def _text(self) -> str | None:
        return self.summary

    @property
    def at(self) -> datetime:
        """Time of the compaction, in UTC."""
        return moment_of(self.at_ms)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: `at` in place of `at_ms`, as ISO 8601."""
        found = JsonReady.to_dict(self)
        del found["at_ms"]
        return {**found, "at": self.at.isoformat(timespec="milliseconds")}


def view_items(
    entries: Sequence[ViewMessage], format: Format, history: Mapping[int, Wire], *, summary: str | None = None
) -> list[Any]:
    """Serialise a view: `[first, last]` for runs of unchanged messages, an object for any other message.

    Keys of the object: origin `o`; position `p` (absent if the message is not from the history); `a` if it is not merged with a
    neighbour of the same role; `j` if it is sent in one message with the one before it; and the message, either as a diff `c`
    against the one in `history` or against a message with the summary, or whole as `m` if that is shorter or there is no base.
    """
    items: list[Any] = []
    for entry in entries:
        if not entry.is_plain:
            items.append(_item(entry, format, _base(entry.position, entry.origin, format, history, summary)))
        elif items and isinstance(items[-1], list) and items[-1][1] + 1 == entry.position:
            items[-1][1] = entry.position
        else:
            items.append([entry.position, entry.position])
    return items


def _item(entry: ViewMessage, format: Format, base: Wire | None) -> dict[str, Any]:
    wire = format.encode(entry.message)
    if said_by := (entry.message.wire or {}).get("model"):
        wire["model"] = said_by  # never sent; needed to tell which model's thinking it is
    patch = None if base is None else changes(base, wire)
    is_shorter = patch is not None and len(json_text(patch)) < len(json_text(wire))
    item: dict[str, Any] = {**({"c": patch} if is_shorter else {"m": wire}), "o": entry.origin}
    if entry.position is not None:
        item["p"] = entry.position
    if entry.apart:
        item["a"] = 1
    if entry.joined:
        item["j"] = 1
    return item


def _base(
    position: int | None, origin: str, format: Format, history: Mapping[int, Wire], summary: str | None
) -> Wire | None:
    """The message that a message of a view is stored as a diff of."""
    if position is not None:
        return history.get(position)
    return format.encode(text_message("user", summary)) if origin == "summary" and summary else None


def entries_of(
    items: Sequence[Any],
    format: Format,
    count_message: Callable[[Message], int],
    history: Mapping[int, Message],
    *,
    summary: str | None = None,
) -> list[ViewMessage]:
    """Inverse of `view_items`, given the messages at `positions_in(items)`. Omits messages that are not in `history`."""
    entries: list[ViewMessage] = []
    for item in items:
        if isinstance(item, list):
            shown = [(position, history[position]) for position in range(item[0], item[1] + 1) if position in history]
            entries += [
                ViewMessage(shown=message, count_message=count_message, position=position)
                for position, message in shown
            ]
        elif (message := _shown(item, format, history, summary)) is not None:
            entries.append(_entry(item, message, count_message))
    return entries


def positions_in(items: Sequence[Any]) -> list[tuple[int, int]]:
    """The runs `[start, stop)` of the history that `entries_of` needs."""
    runs = [(item[0], item[1] + 1) for item in items if isinstance(item, list)]
    return runs + [
        (item["p"], item["p"] + 1) for item in items if isinstance(item, dict) and "c" in item and "p" in item
    ]


def _shown(
    item: Mapping[str, Any], format: Format, history: Mapping[int, Message], summary: str | None
) -> Message | None:
    """The message of an item; None if the base of its diff is missing."""
    position = item.get("p")
    if "m" in item:
        return format.decode(item["m"], position or 0)
    wires = {} if position is None or position not in history else {position: history[position].wire or {}}
    base = _base(position, item["o"], format, wires, summary)
    return None if base is None else format.decode(changed(base, item["c"]), position or 0)


_NO_CHANGE = changes({}, {})


def _entry(item: Mapping[str, Any], message: Message, count_message: Callable[[Message], int]) -> ViewMessage:
    return ViewMessage(
        shown=message,
        count_message=count_message,
        position=item.get("p"),
        origin=item["o"],
        whole=item.get("c") == _NO_CHANGE,
        apart="a" in item,
        joined="j" in item,
    )


def action_data(action: Action) -> list[Any]:
    """An action as a compact row, since compactions have many."""
    return [
        action.decision,
        action.first,
        action.last,
        action.what,
        action.reason,
        action.tokens_before,
        action.tokens_after,
        list(action.references),
    ]


def action_of(row: Sequence[Any]) -> Action:
    """Inverse of `action_data`."""
    decision, first, last, what, reason, before, after, references = row
    return Action(
        decision=decision,
        first=first,
        last=last,
        what=what,
        reason=reason,
        tokens_before=before,
        tokens_after=after,
        references=tuple(references),
    )


def is_action_row(row: object) -> bool:
    """True if `action_of` accepts a row."""
    if not isinstance(row, list) or len(row) != 8:
        return False
    decision, first, last, what, reason, before, after, references = row
    numbers = (first, last, before, after)
    return (
        all(isinstance(text, str) for text in (decision, what, reason))
        and all(type(number) is int and 0 <= number <= POSITIONS_MAX for number in numbers)
        and first <= last
        and isinstance(references, list)
        and all(isinstance(name, str) for name in references)
    )


def compaction_data(outline: Outline, trigger: str, actual_pre_tokens: int | None) -> dict[str, Any]:
    """The fields of a compaction record, except the view and the state."""
    return {
        "trigger": trigger,
        "level": str(outline.level),
        "stage": outline.stage,
        "before": outline.tokens_before,
        "after": outline.tokens_after,
        "summary": outline.summary,
        **({"written": outline.written} if outline.written is not None else {}),
        "covers": list(outline.covers) if outline.covers else None,
        "actions": [action_data(action) for action in outline.actions if action.decision != "keep"],
        "note": outline.note,
        **({} if actual_pre_tokens is None else {"reported": actual_pre_tokens}),
        **({"memories": outline.flushed_memories} if outline.flushed_memories else {}),
    }


_COMPACTION_ID = regex(r"c([0-9]{1,15})")


def seq_of(compaction_id: str | None) -> int:
    """The record number in a compaction's id; -1 if the id is invalid."""
    match = _COMPACTION_ID.fullmatch(compaction_id) if isinstance(compaction_id, str) else None
    return int(match[1]) if match else -1


def compaction_of(record: Record, *, undone: bool = False) -> Compaction:
    """The Compaction in a record."""
    data = unpacked(record.data)
    actions = actions_in(data)
    covers = data["covers"]
    return Compaction(
        id=f"c{record.seq}",
        at_ms=record.at_ms,
        trigger=data["trigger"],
        level=level_named("level", data["level"]),
        stage=data["stage"],
        tokens_before=data["before"],
        tokens_after=data["after"],
        summary=data["summary"],
        written=data.get("written"),
        covers=None if covers is None else (covers[0], covers[1]),
        lost=tuple(action for action in actions if action.decision in ("summarise", "drop")),
        actions=actions,
        note=data["note"],
        undone=undone,
        position=record.position,
        kept=tuple(kept_runs(data["view"])),
        actual_pre_tokens=data.get("reported"),
        flushed_memories=data.get("memories", 0),
    )


def actions_in(data: Mapping[str, Any]) -> tuple[Action, ...]:
    """The actions in an unpacked compaction payload; empty if they cannot be read."""
    try:
        rows = action_rows(data)
    except FormatError:
        return ()
    return tuple(map(action_of, rows)) if isinstance(rows, list) and all(map(is_action_row, rows)) else ()


def kept_runs(items: Sequence[Any]) -> list[tuple[int, int]]:
    """The positions that a recorded view shows, as runs `[start, end)` in order."""
    shown = (
        item if isinstance(item, list) else [item["p"], item["p"]]
        for item in items
        if isinstance(item, list) or "p" in item
    )
    return merged_runs((first, last + 1) for first, last in shown)
