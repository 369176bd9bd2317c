"""The messages of a growing view. Those at rest are rows of atoms, which the garbage collector does not visit.

See formats/atoms.py for what rests, and decision 0025 for why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from operator import is_
from typing import Any, Self, TypeAlias, overload

from plimsoll.compaction.view_message import CountMessage, ViewMessage
from plimsoll.formats.atoms import Atoms, atoms_of
from plimsoll.light.dataclass import replace
from plimsoll.message import Message

Row: TypeAlias = ViewMessage | Atoms
"""A message, or while it rests the atoms of the message and of the six fields in `_beside`.

One flat tuple: the collector drops a nested one from its lists only after it has visited both twice.
"""

_FIELDS = 6


class Entries(Sequence[ViewMessage]):
    """Messages in order, to which others are only added. A `ViewMessage` is made of a row whenever its message is looked at.

    `rows` is the same list for as long as the object lives. A row that rests, or wakes, shows the same message as before.
    """

    __slots__ = ("_count_message", "rows")

    def __init__(self, rows: Iterable[Row] = (), count_message: CountMessage | None = None) -> None:
        """`count_message` counts the messages at rest; None if none of the rows rests."""
        self.rows: list[Row] = list(rows)
        self._count_message = count_message

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> ViewMessage: ...

    @overload
    def __getitem__(self, at: slice) -> list[ViewMessage]: ...

    def __getitem__(self, at: int | slice) -> ViewMessage | list[ViewMessage]:
        if isinstance(at, slice):
            return [row if isinstance(row, ViewMessage) else self._entry(row) for row in self.rows[at]]
        return self._entry(self.rows[at])

    def __iter__(self) -> Iterator[ViewMessage]:
        return map(self._entry, self.rows)

    def __iadd__(self, entries: Iterable[ViewMessage]) -> Self:
        self.rows += entries
        return self

    def shortened(self) -> bool:
        """True if a message of the history is not shown whole."""
        return any(position is not None and not whole for _, position, _, whole, _, _ in _fields(self))

    def first(self, count: int) -> Entries:
        """The first messages, independent of the rest."""
        return Entries(self.rows[:count], self._count_message)

    def with_inserted(self, place: int, entry: ViewMessage) -> Entries:
        """The same with one more message, at an index."""
        return Entries([*self.rows[:place], entry, *self.rows[place:]], self._count_message)

    def with_row(self, place: int, entry: ViewMessage) -> Entries:
        """The same with another message at an index."""
        return Entries([*self.rows[:place], entry, *self.rows[place + 1 :]], self._count_message)

    def recounted(self, count_message: CountMessage) -> Entries:
        """The same, counted by another function."""
        return Entries((_recounted(row, count_message) for row in self.rows), count_message)

    def tokens_from(self, start: int) -> int:
        """Tokens of the messages from an index on. Each is counted once."""
        return sum(map(self._tokens, range(start, len(self.rows))))

    def rest(self, start: int, stop: int) -> None:
        """Let the messages from an index up to another rest, as far as they can."""
        for at, row in enumerate(self.rows[start:stop], start):
            if isinstance(row, ViewMessage):
                self.rows[at] = self._rested(row)

    def wake(self, start: int, stop: int) -> None:
        """Decode those of these messages that were not counted yet."""
        for at, row in enumerate(self.rows[start:stop], start):
            if isinstance(row, ViewMessage):
                row.wake()
            elif row[-_FIELDS] is None:
                self.rows[at] = self._entry(row).awake()

    def _rested(self, entry: ViewMessage) -> Row:
        """The message at rest: atoms alone, if it has no repairs and is counted like the others."""
        atoms = _atoms(entry)
        if atoms is None:
            return entry
        entry.rest(atoms)
        if self._count_message is None:
            self._count_message = entry.count_message
        return entry if entry.repairs or entry.count_message != self._count_message else atoms

    def _entry(self, row: Row) -> ViewMessage:
        if isinstance(row, ViewMessage):
            return row
        assert self._count_message is not None
        tokens, position, origin, whole, apart, joined = row[-_FIELDS:]
        entry = ViewMessage(
            shown=row,
            count_message=self._count_message,
            position=position,
            origin=origin,
            whole=whole,
            apart=apart,
            joined=joined,
        )
        return entry if tokens is None else entry.counted(tokens)

    def _tokens(self, at: int) -> int:
        row = self.rows[at]
        if isinstance(row, ViewMessage):
            return row.tokens
        tokens: int | None = row[-_FIELDS]
        if tokens is None:
            tokens = self._entry(row).tokens
            self.rows[at] = (*row[:-_FIELDS], tokens, *row[1 - _FIELDS :])
        return tokens


def _beside(entry: ViewMessage) -> tuple[Any, ...]:
    """What is kept of a message at rest beside what it shows."""
    return entry.tokens_if_counted, entry.position, entry.origin, entry.whole, entry.apart, entry.joined


def _atoms(entry: ViewMessage) -> Atoms | None:
    """The atoms of a message and its fields; None for system text, which is looked at for each view, and an edited message."""
    shown, fields = entry.shown, _beside(entry)
    if isinstance(shown, Message):
        return None if entry.is_system else atoms_of(shown, *fields)
    return shown if shown[-_FIELDS:] == fields else (*shown[:-_FIELDS], *fields)


class Rows:
    """The rows of messages: those of `Entries` themselves, else a new list, which begins with those of the list before it."""

    def __init__(self) -> None:
        self._entries: Sequence[ViewMessage] = ()
        self._rows: list[Row] = []
        self._awake: list[int] = []
        """Indexes of messages that did not rest."""

    def of(self, entries: Sequence[ViewMessage]) -> list[Row]:
        """The rows of these messages."""
        if isinstance(entries, Entries):
            return entries.rows
        same = sum(takewhile(bool, map(is_, self._entries, entries)))
        places = [*(at for at in self._awake if at < same), *range(same, len(entries))]
        rows = [*self._rows[:same], *entries[same:]]
        for at in places:
            rows[at] = _row(entries[at])
        self._entries, self._rows = [*entries], rows
        self._awake = [at for at in places if isinstance(rows[at], ViewMessage)]
        return rows


def _row(entry: ViewMessage) -> Row:
    shown = entry.shown
    if isinstance(shown, Message) or (shown[1 - _FIELDS], *shown[-2:]) != (entry.position, entry.apart, entry.joined):
        return entry
    return shown


def shown_whole(entries: Sequence[ViewMessage]) -> set[int]:
    """Positions of the messages of the history that are shown whole."""
    whole_ones = (position for _, position, origin, whole, _, _ in _fields(entries) if whole and origin == "history")
    return {position for position in whole_ones if position is not None}


def summaries_in(entries: Sequence[ViewMessage]) -> list[ViewMessage]:
    """The summaries among messages. Those that are none and rest are not made."""
    return [entries[at] for at, (_, _, origin, _, _, _) in enumerate(_fields(entries)) if origin == "summary"]


def _fields(entries: Sequence[ViewMessage]) -> Iterator[tuple[Any, ...]]:
    """What is kept of each message beside what it shows."""
    rows: Sequence[Row] = entries.rows if isinstance(entries, Entries) else entries
    return (_beside(row) if isinstance(row, ViewMessage) else row[-_FIELDS:] for row in rows)


def tokens_from(entries: Sequence[ViewMessage], start: int) -> int:
    """Tokens of messages from an index on."""
    if isinstance(entries, Entries):
        return entries.tokens_from(start)
    return sum(entry.tokens for entry in entries[start:])


def _recounted(row: Row, count_message: CountMessage) -> Row:
    if isinstance(row, ViewMessage):
        return replace(row, count_message=count_message)
    return (*row[:-_FIELDS], None, *row[1 - _FIELDS :])


def _shown(row: Row) -> Message | Atoms:
    """What a row shows: the very same object for the same message, while it is awake and while it rests."""
    return row.shown if isinstance(row, ViewMessage) else row


def same_rows(known: Sequence[Row], rows: Sequence[Row]) -> int:
    """Number of known rows that others begin with: of the same message at the same place, which may be counted differently."""
    same = sum(takewhile(bool, map(is_, known, rows)))
    while same < min(len(known), len(rows)) and _shows_same(known[same], rows[same]):
        same += 1
        same += sum(takewhile(bool, map(is_, known[same:], rows[same:])))
    return same


def _shows_same(one: Row, other: Row) -> bool:
    return one is other or (_shown(one) is _shown(other) and _place(one) == _place(other))


def _place(row: Row) -> tuple[int | None, bool, bool]:
    _, position, _, _, apart, joined = _beside(row) if isinstance(row, ViewMessage) else row[-_FIELDS:]
    return position, apart, joined
