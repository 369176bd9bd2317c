"""Which messages of a log its history is made of.

A log only grows. When a host takes messages back, removes or changes them, an `edit` record says so: messages leave the history and
stay in the log under their numbers, and a changed message reads as the record says.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from plimsoll.dataclass import dataclass
from plimsoll.errors import SessionDamaged
from plimsoll.formats.format import Format
from plimsoll.message import Message, Wire
from plimsoll.protocols import Record, SessionLog
from plimsoll.records.compactions import record_at

Run: TypeAlias = tuple[int, int]
"""Positions `[start, stop)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """What the edits of a log have come to. Without any, every message of the log is in the history as it was appended."""

    left: tuple[Run, ...] = ()
    """Positions that are no longer in the history, as separate runs in order."""
    changed: Mapping[int, int] = field(default_factory=dict)
    """Position -> the number of the record that says how the message there reads now."""
    unbound: frozenset[int] = frozenset()
    """Positions of messages whose thinking is no longer good: what it was made for has changed since."""

    def holds(self, position: int) -> bool:
        """Whether the message at a position is in the history."""
        at = bisect_right(self.left, (position, position)) if self.left else 0
        return not ((at and self.left[at - 1][1] > position) or (at < len(self.left) and self.left[at][0] == position))

    def runs(self, start: int, stop: int) -> list[Run]:
        """The positions in `[start, stop)` that are in the history."""
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
        """The branch after the edit record `seq`. A changed position that had left is in the history again."""
        back = dict.fromkeys(changed, seq)
        gone = _joined([*self.left, *((run[0], run[1]) for run in left)])
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
"""Messages that are read and passed over rather than looking for the place after them: about the same work."""


class History:
    """Reads the messages of a log's history, as they read now."""

    def __init__(self, log: SessionLog, format: Format) -> None:
        self._log = log
        self._format = format
        self._wordings: dict[int, Wire] = {}
        self.branch = Branch()

    def take(self, record: Record) -> None:
        """Let an edit record have its effect."""
        changed = dict(record.data["changed"])
        self.branch = self.branch.edited(record.data["left"], changed, record.seq, record.data.get("unbound", ()))
        self._wordings.update(changed)

    def go_back(self, branch: Branch) -> None:
        """Read by what a record says the edits had come to."""
        if branch != self.branch:
            self.branch = branch
            self._wordings.clear()

    def __copy__(self) -> History:
        """A reader that edits may change apart from this one."""
        reader = History(self._log, self._format)
        reader.branch, reader._wordings = self.branch, dict(self._wordings)
        return reader

    def read(self, start: int, stop: int) -> list[Message]:
        """Messages of the history at positions `[start, stop)`."""
        return [message for _, message in self.said(start, stop)]

    def said(self, start: int, stop: int) -> Iterator[tuple[int, Message]]:
        """The same, each with its position."""
        for record in self.messages(start, stop):
            yield record.position, self._format.decode(record.data["m"], record.position)

    def gathered(self, runs: Iterable[Run], known: Mapping[int, Message] = NONE_KNOWN) -> dict[int, Message]:
        """The messages of the history in some runs `[start, stop)`, by position: those known already, the others read."""
        wanted = {position for run in runs for position in range(*run)}
        found = {position: known[position] for position in wanted & known.keys()}
        for start, stop in _few_runs(sorted(wanted - found.keys())):
            found |= {position: message for position, message in self.said(start, stop) if position in wanted}
        return found

    @property
    def is_edited(self) -> bool:
        """Whether any message has left or reads otherwise."""
        return self.branch != Branch()

    def positions(self) -> Iterator[int]:
        """The positions of its messages, in order."""
        for run in self.branch.runs(0, self._log.messages):
            yield from range(*run)

    @property
    def count(self) -> int:
        """How many messages are in the history."""
        return sum(stop - start for start, stop in self.branch.runs(0, self._log.messages))

    def messages(self, start: int = 0, stop: int | None = None) -> Iterator[Record]:
        """The messages at positions `[start, stop)` that are in the history and can be read, in order."""
        branch = self.branch
        for record in self._log.read_messages(start, stop):
            if branch.holds(record.position):
                yield replace(record, data=self._reworded(record)) if record.position in branch.changed else record

    def wordings(self, position: int) -> Iterator[Wire]:
        """Everything that a message has ever said, also where it has left the history. Reads the log."""
        if self.branch == Branch():
            return
        for record in self._log.read_messages(position, position + 1):
            yield record.data["m"]
        for record in self._log.read():
            if record.kind == "edit":
                yield from (wire for at, wire in record.data["changed"] if at == position)

    def _reworded(self, record: Record) -> Mapping[str, Any]:
        """What a changed message says now; where the record that says so cannot be read, what it said before."""
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


def _joined(runs: Iterable[Run]) -> list[Run]:
    """Runs in order, those that touch as one."""
    found: list[Run] = []
    for start, stop in sorted(runs):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        elif start < stop:
            found.append((start, stop))
    return found


def _without(run: Run, position: int) -> list[Run]:
    start, stop = run
    if not start <= position < stop:
        return [run]
    return [part for part in ((start, position), (position + 1, stop)) if part[0] < part[1]]


def _few_runs(positions: Iterable[int]) -> list[Run]:
    """Positions in order as few runs `[start, stop)`, with what lies between them where that is little."""
    runs: list[Run] = []
    for position in positions:
        if runs and position - runs[-1][1] <= READ_THROUGH_MESSAGES:
            runs[-1] = (runs[-1][0], position + 1)
        else:
            runs.append((position, position + 1))
    return runs
