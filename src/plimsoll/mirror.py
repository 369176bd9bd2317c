"""A host's own list, held against a session: what is new in it is taken in, and what is gone from it leaves the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from plimsoll.alignment import Saying, Side, align, saying_of
from plimsoll.chronicle import Chronicle
from plimsoll.compaction.account import is_account
from plimsoll.compaction.piece import Origins, Piece
from plimsoll.editing import edit_draft, events_of
from plimsoll.errors import FormatError
from plimsoll.events import compaction_at
from plimsoll.fitted import View
from plimsoll.formats.format import Format
from plimsoll.formats.intake import received
from plimsoll.message import Message
from plimsoll.payloads import is_plain
from plimsoll.settling import Settled, Settling
from plimsoll.snapshot import restored, snapshot

Stand = tuple[int, Any, str]
"""How far a session had come: messages, what its history is made of, and its format."""


class Mirror:
    """What a session remembers of the list that its host gave it last.

    Each item is kept as a snapshot, so that one which the host has changed in place is found by comparing: no object is trusted to
    be what it was because it is the same object.
    """

    def __init__(self) -> None:
        self._given: list[Any] = []
        self._places: list[tuple[int, ...]] = []
        self._sayings: dict[int, Saying] = {}
        self._at: dict[int, int] = {}
        self._ours: list[int] = []
        self._stand: Stand | None = None
        self._is_from_log = False
        self._is_said = True
        """Whether the list is in the host's own words, and not a view that it took over."""

    def take_in(self, chronicle: Chronicle, messages: Sequence[Any]) -> None:
        """Make the history what the list is: append what is new, and record what has left or changed.

        All of it is one append, or nothing is done. Raises FormatError, LimitExceeded, StoreError.
        """
        given = list(messages)
        if self._stand != _stand(chronicle):
            self._read(chronicle)
        count = len(self._given)
        if self._given == given[:count]:
            self._append(chronicle, given, count)
        else:
            self._settle(chronicle, given)
        self._stand = _stand(chronicle)

    def placed(self, view: View) -> View:
        """The same view of the session with its origins as positions in the list."""
        at, ours = self._at, [(index, self._given[index]) for index in self._ours]
        return View(view, lambda: _placed(view, at, ours))

    def _read(self, chronicle: Chronicle) -> None:
        """What the log says, where it is not known what the host holds."""
        records = list(chronicle.timeline.history.messages())
        self._hold([snapshot(record.data["m"]) for record in records], [(record.position,) for record in records])
        self._is_from_log = self._is_said = True

    def _hold(
        self,
        given: list[Any],
        places: list[tuple[int, ...]],
        own: list[tuple[int, ...]] | None = None,
        ours: Sequence[int] = (),
    ) -> None:
        self._given, self._places, self._ours = given, places, list(ours)
        self._sayings, self._is_from_log = {}, False
        self._at = {at: index for index, positions in enumerate(own or places) for at in positions}

    def _append(self, chronicle: Chronicle, given: list[Any], start: int) -> None:
        """Take in what follows the items that are known."""
        new = given[start:]
        if not new:
            return
        snapshots = list(map(snapshot, new))
        for places in _appended(chronicle, given, start, edit=None):
            self._at.update(dict.fromkeys(places, len(self._places)))
            self._places.append(places)
        self._given += snapshots

    def _settle(self, chronicle: Chronicle, given: list[Any]) -> None:
        """Find out what the list has to do with the history, where it does not simply go on."""
        reading = _Reading(chronicle, given)
        if reading.format is not chronicle.gauge.format:
            self._sayings.clear()
        mine = Known(
            side=Side(self._given, lambda index: (self._saying(reading.format, index),)),
            places=self._places,
            ours=frozenset(self._ours),
            is_said=self._is_said,
        )
        others = reading.others(is_said=self._is_said, is_first=self._is_from_log)
        chosen, known, ours = reading.best(chain([lambda: mine], others))
        known_items = len(self._given)
        snapshots = [
            self._given[index] if index < known_items and self._given[index] == item else snapshot(item)
            for index, item in enumerate(given)
        ]
        draft = edit_draft(chronicle, chosen.edit) if chosen.edit else None
        new = _appended(chronicle, given, chosen.first_new, edit=draft)
        self._hold(snapshots, [*chosen.places, *new], [*chosen.own, *new], ours)
        self._is_said = known.is_said

    def _saying(self, format: Format, index: int) -> Saying:
        if index not in self._sayings:
            self._sayings[index] = saying_of(_messages(format, restored(self._given[index]), index))
        return self._sayings[index]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Something that a host's list may go on from: its last list, the history itself, or a view of ours."""

    side: Side
    places: Sequence[tuple[int, ...]]
    """The positions in the history that each item stands for."""
    ours: frozenset[int] = frozenset()
    """Indexes of the items that were made here."""
    unseen: Sequence[int] = ()
    """Positions that none of them stands for."""
    is_said: bool = True
    """Whether all of it is as it was said."""


class _Reading:
    """A host's list, read in the session's format and held against what is known."""

    def __init__(self, chronicle: Chronicle, given: Sequence[Any]) -> None:
        self._chronicle = chronicle
        self.format = chronicle.format_of(given)
        self._messages: dict[int, list[Message]] = {}
        self._given = Side(given, lambda index: (saying_of(self._read(index)),))

    def _read(self, index: int) -> list[Message]:
        if index not in self._messages:
            self._messages[index] = _messages(self.format, self._given.items[index], index)
        return self._messages[index]

    def best(self, found: Iterable[Callable[[], Known]]) -> tuple[Settled, Known, list[int]]:
        """What follows from that of which the list says most, what that is, and which items of the list were made here."""
        chosen: tuple[Settled, Known, list[int]] | None = None
        most: tuple[int, int, bool] | None = None
        for make in found:
            known = make()
            matches = align(self._given, known.side)
            settled = Settling(
                given=self._given,
                known=known.side,
                places=known.places,
                ours=known.ours,
                unseen=known.unseen,
                branch=self._chronicle.timeline.history.branch,
                read=self._read,
            ).settled(matches)
            worth = self._worth(settled)
            if most is None or worth > most:
                made = (match.given for match in matches if match.known in known.ours)
                chosen, most = (settled, known, [at for at in made if at < settled.first_new]), worth
            if not settled.edit:
                break
        assert chosen is not None
        return chosen

    def _worth(self, settled: Settled) -> tuple[int, int, bool]:
        """How well a list is understood: no summary of ours is taken for the host's, and most of it is known.

        Where two are equal, that one is right by which nothing has happened.
        """
        changed = (index for index, places in enumerate(settled.own) if not settled.changed.keys().isdisjoint(places))
        misread = sum(map(self._holds_summary, [*changed, *range(settled.first_new, len(self._given))]))
        return -misread, settled.known_items, not settled.edit and settled.first_new == len(self._given)

    def others(self, *, is_said: bool, is_first: bool) -> Iterator[Callable[[], Known]]:
        """What a list that does not go on from the host's last one may go on from: the history, the view, or an earlier view.

        Earlier views are read back only where it is not known what the host held last, or where a summary shows that it is one.
        """
        if not is_said:
            yield self._history
        pieces = self._chronicle.timeline.sendable()
        if len(pieces) != self._chronicle.timeline.history.count or not all(map(is_plain, pieces)):
            yield lambda: self._view(pieces)
        if is_first or any(map(self._holds_summary, range(len(self._given)))):
            for seq in events_of(self._chronicle).in_force()[1:]:
                yield partial(self._view_since, seq)

    def _view_since(self, seq: int) -> Known:
        """The view that a compaction led to, with every message since at its end."""
        chronicle, weigh = self._chronicle, self._chronicle.gauge.weigh
        record = compaction_at(chronicle.log, seq)
        since = chronicle.timeline.history.gathered([(record.position, chronicle.log.messages)])
        added = [Piece(message=said, weigh=weigh, position=at) for at, said in sorted(since.items())]
        holds = chronicle.timeline.history.branch.holds
        then = chronicle.timeline.then(record).pieces
        return self._view([*(piece for piece in then if piece.position is None or holds(piece.position)), *added])

    def _holds_summary(self, index: int) -> bool:
        """Whether an item holds a summary that was made here, perhaps beside other words."""
        said = self._given.saying(index).atoms
        return any(atom[1] == "text" and is_account(atom[2]) for atom in said)

    def _history(self) -> Known:
        """The history, as the log has it."""
        records = list(self._chronicle.timeline.history.messages())
        items = [record.data["m"] for record in records]
        return Known(
            side=Side(items, lambda index: (saying_of(_messages(self.format, items[index], index)),)),
            places=[(record.position,) for record in records],
        )

    def _view(self, pieces: Sequence[Piece]) -> Known:
        """A view, piece by piece: a message of the history as it is shown or as it was said, a summary for all that is not."""
        branch, log = self._chronicle.timeline.history.branch, self._chronicle.log
        held = [position for run in branch.runs(0, log.messages) for position in range(*run)]
        items = [self.format.encode(piece.message) for piece in pieces]
        made = frozenset(index for index, piece in enumerate(pieces) if piece.position is None)
        optional = frozenset(index for index in made if pieces[index].origin == "made")

        def read(index: int) -> list[Saying]:
            shown = saying_of(_messages(self.format, items[index], index))
            original = self._original(pieces[index])
            return [shown] if original is None else [shown, saying_of([original])]

        shown = {piece.position for piece in pieces}
        hidden = [position for position in held if position not in shown]
        speaks = next((index for index, piece in enumerate(pieces) if piece.origin == "summary"), None)
        places = [
            tuple(hidden) if index == speaks else () if piece.position is None else (piece.position,)
            for index, piece in enumerate(pieces)
        ]
        unseen = hidden if speaks is None else ()
        return Known(side=Side(items, read, optional=optional), places=places, ours=made, unseen=unseen, is_said=False)

    def _original(self, piece: Piece) -> Message | None:
        """What was said where a piece shows it in another way."""
        if piece.position is None or piece.whole:
            return None
        return self._chronicle.originals.find(piece.position)


def _placed(view: View, at: Mapping[int, int], ours: Sequence[tuple[int, Any]]) -> Origins:
    """Origins as positions in the host's list; a summary that the host holds has its place there."""
    found = view.origins
    placed = [tuple(sorted({at[position] for position in positions if position in at})) for positions in found]
    for index, item in ours:
        for number, message in enumerate(view):
            if not found[number] and message == item:
                placed[number] = (index,)
    return tuple(placed)


def _stand(chronicle: Chronicle) -> Stand:
    return chronicle.log.messages, chronicle.timeline.history.branch, chronicle.gauge.format.name


def _appended(chronicle: Chronicle, given: Sequence[Any], start: int, *, edit: Any) -> list[tuple[int, ...]]:
    """Append the items from an index on, after an edit; the positions of each."""
    new = given[start:]
    try:
        positions = chronicle.append(new, edit=edit)
    except FormatError as error:
        where = None if error.position is None else error.position + start
        raise FormatError(error.reason, position=where, format=error.format) from None
    if len(positions) == len(new):
        return [(position,) for position in positions]
    counts = [len(received([item]).wires) for item in new]
    left = iter(positions)
    return [tuple(next(left) for _ in range(count)) for count in counts]


def _messages(format: Format, item: Any, index: int) -> list[Message]:
    return [format.decode(wire, index) for wire in received([item]).wires]
