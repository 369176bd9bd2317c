"""The history of a log: the messages that its edits have left.

A log is append-only. When a host removes or changes messages, an `edit` record stores it: removed messages stay in the log under
their numbers, and changed messages get the wording in the record. Views that were made before follow it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from plimsoll.compaction.references import merged_runs, runs_of
from plimsoll.compaction.steps import REPEATED
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.errors import SessionDamaged
from plimsoll.formats.format import Format
from plimsoll.formats.words import words_of
from plimsoll.light.dataclass import dataclass, field
from plimsoll.message import Message, Part, Reasoning, Text, ToolResult, Wire
from plimsoll.protocols import Record, SessionLog
from plimsoll.records.compactions import record_at

Run: TypeAlias = tuple[int, int]
"""Positions `[start, stop)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """The accumulated effect of edits. Without edits every message of the log is in the history, unchanged."""

    left: tuple[Run, ...] = ()
    """Positions no longer in the history, as disjoint runs in order."""
    changed: Mapping[int, int] = field(default_factory=dict)
    """Position -> number of the record with the message's current wording."""
    unbound: frozenset[int] = frozenset()
    """Positions of messages whose thinking is invalid because the messages it depends on have changed."""

    def holds(self, position: int) -> bool:
        """True if the message at a position is in the history."""
        at = bisect_right(self.left, (position, position)) if self.left else 0
        return not ((at and self.left[at - 1][1] > position) or (at < len(self.left) and self.left[at][0] == position))

    def runs(self, start: int, stop: int) -> list[Run]:
        """The runs of positions in `[start, stop)` that are in the history."""
        found: list[Run] = []
        for first, end in self.left:
            if first > start:
                found.append((start, min(first, stop)))
            start = max(start, end)
            if start >= stop:
                break
        return [*(run for run in found if run[0] < run[1]), *([(start, stop)] if start < stop else [])]

    def edited(
        self, left: Iterable[Sequence[int]], changed: Iterable[int], seq: int, unbound: Iterable[int] = ()
    ) -> Branch:
        """The branch after edit record `seq`. A removed position that is changed returns to the history."""
        back = dict.fromkeys(changed, seq)
        gone = merged_runs([*self.left, *((run[0], run[1]) for run in left)])
        for position in back:
            gone = [part for run in gone for part in _without(run, position)]
        wordings = {**self.changed, **back} if back else self.changed
        return Branch(left=tuple(gone), changed=wordings, unbound=(self.unbound - back.keys()).union(unbound))

    def to_data(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "left": [list(run) for run in self.left],
            "changed": [[position, seq] for position, seq in sorted(self.changed.items())],
            **({"unbound": sorted(self.unbound)} if self.unbound else {}),
        }

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> Branch:
        """The branch that `to_data` wrote."""
        return cls(
            left=tuple((start, stop) for start, stop in data.get("left", ())),
            changed=dict(data.get("changed", ())),
            unbound=frozenset(data.get("unbound", ())),
        )


NONE_KNOWN: Mapping[int, Message] = MappingProxyType({})

READ_THROUGH_MESSAGES = 32
"""Gaps up to this many messages are read through, which costs about as much as searching for the next position."""


class History:
    """Reads the messages of a history in their current wording."""

    def __init__(self, log: SessionLog, format: Format) -> None:
        self._log = log
        self._format = format
        self._wordings: dict[int, Wire] = {}
        self.branch = Branch()

    def take(self, record: Record) -> None:
        """Apply an edit record."""
        changed = dict(record.data["changed"])
        self.branch = self.branch.edited(record.data["left"], changed, record.seq, record.data.get("unbound", ()))
        self._wordings.update(changed)

    def go_back(self, branch: Branch) -> None:
        """Restore the branch that a record stores."""
        if branch != self.branch:
            self.branch = branch
            self._wordings.clear()

    def __copy__(self) -> History:
        """An independent copy."""
        reader = History(self._log, self._format)
        reader.branch, reader._wordings = self.branch, dict(self._wordings)
        return reader

    def read(self, start: int, stop: int) -> list[Message]:
        """Decode the messages at positions `[start, stop)` of the history."""
        return [message for _, message in self.decoded(start, stop)]

    def decoded(self, start: int, stop: int) -> Iterator[tuple[int, Message]]:
        """Like `read`, with positions."""
        for record in self.messages(start, stop):
            yield record.position, self._format.decode(record.data["m"], record.position)

    def gathered(self, runs: Iterable[Run], known: Mapping[int, Message] = NONE_KNOWN) -> dict[int, Message]:
        """Messages of the history in runs `[start, stop)`, by position. Reads only those not in `known`."""
        wanted = {position for run in runs for position in range(*run)}
        found = {position: known[position] for position in wanted & known.keys()}
        for start, stop in runs_of(wanted - found.keys(), READ_THROUGH_MESSAGES):
            found |= {position: message for position, message in self.decoded(start, stop) if position in wanted}
        return found

    @property
    def is_edited(self) -> bool:
        """True if any message was removed or changed."""
        return self.branch != Branch()

    @property
    def count(self) -> int:
        """Number of messages in the history."""
        return sum(stop - start for start, stop in self.branch.runs(0, self._log.messages))

    def messages(self, start: int = 0, stop: int | None = None) -> Iterator[Record]:
        """Yield the readable records of the history at positions `[start, stop)`, in order and in their current wording."""
        branch = self.branch
        for record in self._log.read_messages(start, stop):
            if branch.holds(record.position):
                yield record._replace(data=self._reworded(record)) if record.position in branch.changed else record

    def wordings(self, position: int) -> Iterator[Wire]:
        """Yield every wording that a message has had, even if it left the history. Reads the whole log."""
        if self.branch == Branch():
            return
        for record in self._log.read_messages(position, position + 1):
            yield record.data["m"]
        for record in self._log.read():
            if record.kind == "edit":
                yield from (wire for at, wire in record.data["changed"] if at == position)

    def _reworded(self, record: Record) -> Mapping[str, Any]:
        """The current wording of a changed message; the original if the edit record cannot be read."""
        position = record.position
        if position not in self._wordings:
            try:
                edit = record_at(self._log, self.branch.changed[position])
            except SessionDamaged:
                return record.data
            if edit.kind != "edit":
                return record.data
            self._wordings.update(
                (at, wire) for at, wire in edit.data["changed"] if self.branch.changed.get(at) == edit.seq
            )
        wire = self._wordings.get(position)
        return record.data if wire is None else {"m": wire}


def _without(run: Run, position: int) -> list[Run]:
    start, stop = run
    if not start <= position < stop:
        return [run]
    return [part for part in ((start, position), (position + 1, stop)) if part[0] < part[1]]


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
    return says and entry.is_plain and tied([entry.message]) == tied([message]) and format.is_sound(message)


def tied(messages: Iterable[Message]) -> list[tuple[str, list[str], list[str]]]:
    """What connects messages to each other: the role, the ids of calls and the ids of answered calls."""
    return [
        (message.role, [call.id for call in message.calls], [result.call_id for result in message.results])
        for message in messages
    ]


def _says_something(part: Part) -> bool:
    """True if a part has text, or is of a kind that needs none."""
    return not isinstance(part, Text | ToolResult | Reasoning) or bool(words_of(part).strip())
