"""What the records of a session say: values to JSON objects and back. docs/format.md lists every field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from plimsoll.brief import Fact, ShortRepr, pluralize, size_change
from plimsoll.compaction.plan import Action, Outline, Stage
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.dataclass import dataclass
from plimsoll.errors import FormatError
from plimsoll.formats.format import Format
from plimsoll.formats.wire import json_text
from plimsoll.limits import TIME_MS_MAX
from plimsoll.message import Message, Wire, text_message
from plimsoll.policy.budget import Level, level_named
from plimsoll.protocols import Record
from plimsoll.records.json_diff import changed, changes
from plimsoll.records.packing import action_rows, unpacked
from plimsoll.regex import regex

POSITIONS_MAX = 10**12
"""No number in a record that counts anything is larger."""

_TIME_MS_MIN = -62_135_596_800_000
"""The beginning of the year 1."""


def moment_of(at_ms: int) -> datetime:
    """A Unix time in UTC. A clock may be wrong by any number of years: one that no calendar has is the nearest that one has."""
    return datetime.fromtimestamp(min(max(at_ms, _TIME_MS_MIN), TIME_MS_MAX) / 1000, UTC)


Trigger: TypeAlias = Literal["manual", "auto"]
"""What a caller may say of why a compaction is made."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Compaction(ShortRepr):
    """A compaction that was carried out. Sizes in tokens, `at_ms` Unix time in milliseconds.

    `covers` are the positions `[start, end)` its summary speaks for. `id` is None when there was nothing to do and nothing
    was recorded; `note` then says why. `undone` says that a rollback has taken it back since.
    """

    id: str | None
    at_ms: int
    trigger: str
    level: Level
    stage: Stage
    tokens_before: int
    tokens_after: int
    summary: str | None
    """What the view said of the past."""
    covers: tuple[int, int] | None
    lost: tuple[Action, ...]
    actions: tuple[Action, ...]
    note: str | None = None
    undone: bool = False
    position: int = 0
    """How many messages had been said."""
    kept: tuple[tuple[int, int], ...] = ()
    """The positions `[start, end)` of messages that stayed in the view, whole or cut."""
    actual_pre_tokens: int | None = None
    """What the provider counted for the newest request before it; None where nothing was reported."""
    written: str | None = None
    """What a model, a person or another tool wrote for the summary, whole, of which the view may show less."""

    def _facts(self) -> Iterable[Fact]:
        yield "id", repr(self.id) if self.id else "nothing to do"
        yield "trigger", self.trigger
        yield "tokens", size_change(self.tokens_before, self.tokens_after)
        yield "level", f"level {self.level}"
        yield "stage", f"stage {self.stage}"
        yield "lost", f"{pluralize(len(self.lost), 'exchange')} left{', undone' if self.undone else ''}"

    def _text(self) -> str | None:
        return self.summary

    @property
    def at(self) -> datetime:
        """When, in UTC."""
        return moment_of(self.at_ms)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; the level as its name."""
        return {
            "id": self.id,
            "at": self.at.isoformat(timespec="milliseconds"),
            "trigger": self.trigger,
            "level": str(self.level),
            "stage": self.stage,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "summary": self.summary,
            "written": self.written,
            "covers": list(self.covers) if self.covers else None,
            "lost": [action.to_dict() for action in self.lost],
            "actions": [action.to_dict() for action in self.actions],
            "note": self.note,
            "undone": self.undone,
            "position": self.position,
            "kept": [list(run) for run in self.kept],
            "actual_pre_tokens": self.actual_pre_tokens,
        }


def view_items(
    pieces: Sequence[ViewMessage], format: Format, history: Mapping[int, Wire], *, summary: str | None = None
) -> list[Any]:
    """A view as data: `[first, last]` for messages shown as they were said, an object for each that is not.

    The object holds where the message came from (`o`), its position (`p`, absent when it was made here), `a` when it stays apart
    from a neighbour of the same role, `j` when it goes out in one message with the one before it, and the message: as a change
    (`c`) of the one in the history at that position, or of one that says the summary; whole (`m`) where that is shorter or
    `history` has none there.
    """
    items: list[Any] = []
    for piece in pieces:
        if not is_plain(piece):
            items.append(_item(piece, format, _base(piece.position, piece.origin, format, history, summary)))
        elif items and isinstance(items[-1], list) and items[-1][1] + 1 == piece.position:
            items[-1][1] = piece.position
        else:
            items.append([piece.position, piece.position])
    return items


def _item(piece: ViewMessage, format: Format, base: Wire | None) -> dict[str, Any]:
    wire = format.encode(piece.message)
    if said_by := (piece.message.wire or {}).get("model"):
        wire["model"] = said_by  # is never sent; says whether thinking is bound to what was before it
    patch = None if base is None else changes(base, wire)
    is_shorter = patch is not None and len(json_text(patch)) < len(json_text(wire))
    item: dict[str, Any] = {**({"c": patch} if is_shorter else {"m": wire}), "o": piece.origin}
    if piece.position is not None:
        item["p"] = piece.position
    if piece.apart:
        item["a"] = 1
    if piece.joined:
        item["j"] = 1
    return item


def _base(
    position: int | None, origin: str, format: Format, history: Mapping[int, Wire], summary: str | None
) -> Wire | None:
    """What a message of a view is written as a change of."""
    if position is not None:
        return history.get(position)
    return format.encode(text_message("user", summary)) if origin == "summary" and summary else None


def is_plain(piece: ViewMessage) -> bool:
    """Whether a view shows a message of the history as it was said."""
    return (
        piece.position is not None and piece.whole and piece.origin == "history" and not (piece.apart or piece.joined)
    )


def pieces_of(
    items: Sequence[Any],
    format: Format,
    weigh: Callable[[Message], int],
    history: Mapping[int, Message],
    *,
    summary: str | None = None,
) -> list[ViewMessage]:
    """The pieces that `view_items` wrote, from the messages at `positions_in` them. What is not in `history` is left out."""
    pieces: list[ViewMessage] = []
    for item in items:
        if isinstance(item, list):
            shown = [(position, history[position]) for position in range(item[0], item[1] + 1) if position in history]
            pieces += [ViewMessage(message=message, weigh=weigh, position=position) for position, message in shown]
        elif (message := _shown(item, format, history, summary)) is not None:
            pieces.append(_piece(item, message, weigh))
    return pieces


def positions_in(items: Sequence[Any]) -> list[tuple[int, int]]:
    """The runs `[start, stop)` of the history that `pieces_of` needs."""
    runs = [(item[0], item[1] + 1) for item in items if isinstance(item, list)]
    return runs + [
        (item["p"], item["p"] + 1) for item in items if isinstance(item, dict) and "c" in item and "p" in item
    ]


def _shown(
    item: Mapping[str, Any], format: Format, history: Mapping[int, Message], summary: str | None
) -> Message | None:
    """The message of an item; None when what it is a change of is gone."""
    position = item.get("p")
    if "m" in item:
        return format.decode(item["m"], position or 0)
    wires = {} if position is None or position not in history else {position: history[position].wire or {}}
    base = _base(position, item["o"], format, wires, summary)
    return None if base is None else format.decode(changed(base, item["c"]), position or 0)


_NO_CHANGE = changes({}, {})


def _piece(item: Mapping[str, Any], message: Message, weigh: Callable[[Message], int]) -> ViewMessage:
    return ViewMessage(
        message=message,
        weigh=weigh,
        position=item.get("p"),
        origin=item["o"],
        whole=item.get("c") == _NO_CHANGE,
        apart="a" in item,
        joined="j" in item,
    )


def action_data(action: Action) -> list[Any]:
    """An action as a short row: compactions are many and their actions more."""
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
    """The action that `action_data` wrote."""
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
    """Whether `action_of` can read a row."""
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


def compaction_data(compaction: Compaction) -> dict[str, Any]:
    """What a compaction's record says of it, besides the view and the state it led to."""
    return {
        "trigger": compaction.trigger,
        "level": str(compaction.level),
        "stage": compaction.stage,
        "before": compaction.tokens_before,
        "after": compaction.tokens_after,
        "summary": compaction.summary,
        **({"written": compaction.written} if compaction.written is not None else {}),
        "covers": list(compaction.covers) if compaction.covers else None,
        "actions": [action_data(action) for action in compaction.actions if action.decision != "keep"],
        "note": compaction.note,
        **({} if compaction.actual_pre_tokens is None else {"reported": compaction.actual_pre_tokens}),
    }


def compaction_from(outline: Outline, trigger: str, at_ms: int, actual_pre_tokens: int | None = None) -> Compaction:
    """A plan that is about to be carried out, as a compaction without an id."""
    return Compaction(
        id=None,
        at_ms=at_ms,
        trigger=trigger,
        level=outline.level,
        stage=outline.stage,
        tokens_before=outline.tokens_before,
        tokens_after=outline.tokens_after,
        summary=outline.summary,
        written=outline.written,
        covers=outline.covers,
        lost=outline.lost,
        actions=outline.actions,
        note=outline.note,
        actual_pre_tokens=actual_pre_tokens,
    )


_COMPACTION_ID = regex(r"c([0-9]{1,15})")


def seq_of(compaction_id: str | None) -> int:
    """The number of the record that a compaction's id names; -1 for anything that is none."""
    match = _COMPACTION_ID.fullmatch(compaction_id) if isinstance(compaction_id, str) else None
    return int(match[1]) if match else -1


def compaction_of(record: Record, *, undone: bool = False) -> Compaction:
    """The compaction of a record."""
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
    )


def actions_in(data: Mapping[str, Any]) -> tuple[Action, ...]:
    """The actions in the unpacked payload of a compaction's record; none where they cannot be read."""
    try:
        rows = action_rows(data)
    except FormatError:
        return ()
    return tuple(map(action_of, rows)) if isinstance(rows, list) and all(map(is_action_row, rows)) else ()


def kept_runs(items: Sequence[Any]) -> list[tuple[int, int]]:
    """The positions that a recorded view shows, as runs `[start, end)`, in order."""
    runs: list[tuple[int, int]] = []
    shown = (
        item if isinstance(item, list) else [item["p"], item["p"]]
        for item in items
        if isinstance(item, list) or "p" in item
    )
    for first, last in sorted(shown):
        if runs and runs[-1][1] == first:
            runs[-1] = (runs[-1][0], last + 1)
        else:
            runs.append((first, last + 1))
    return runs
