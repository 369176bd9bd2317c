"""A host's own list, held against a session: what is new in it is taken in, and what is gone from it leaves the history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from plimsoll.compaction.result import View
from plimsoll.compaction.summary_message import is_summary_or_notice
from plimsoll.compaction.view_message import Origins, ViewMessage
from plimsoll.dataclass import dataclass
from plimsoll.errors import FormatError
from plimsoll.formats.format import Format
from plimsoll.formats.intake import received
from plimsoll.message import Message
from plimsoll.records.compactions import compaction_at
from plimsoll.records.values import is_plain
from plimsoll.session.edit import Base, Edit, edit_draft, unbound_by
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.sync.alignment import Match, Saying, Side, align, saying_of
from plimsoll.session.sync.likeness import atoms
from plimsoll.session.sync.settling import Settled, Settling
from plimsoll.session.sync.snapshot import Watch, restored, snapshot

NEW_SHARE_MAX = 1 / 8
"""Where more of a list than this is new, it may be another than the host's last one."""

Stand = tuple[int, Any, str]
"""How far a session had come: messages, what its history is made of, and its format."""


class Mirror:
    """What a session remembers of the list that its host gave it last.

    Each item is kept as a snapshot, so that an item which the host has changed in place is found by comparison.
    """

    def __init__(self) -> None:
        self._given: list[Any] = []
        self._watch = Watch(())
        self._places: list[tuple[int, ...]] = []
        self._sayings: dict[int, Saying] = {}
        self._at: dict[int, int] = {}
        self._ours: list[int] = []
        self._stand: Stand | None = None
        self._bases: dict[int, Base | None] = {}
        """Compactions that edits have looked at, by the numbers of their records."""
        self._is_from_log = False
        self._is_said = True
        """Whether the list is the host's own, and not a view that it took over."""

    def take_in(self, recorder: SessionRecorder, messages: Sequence[Any], *, beside_changed: bool = False) -> None:
        """Make the history what the list is: append what is new, and record what has left or changed.

        All of it is one append, or nothing is done. `beside_changed` says that what is sent beside the messages is other than it
        was: thinking that was made for it leaves. Raises FormatError, LimitExceeded, StoreError.
        """
        given = list(messages)
        if self._stand != _stand(recorder):
            self._read(recorder)
        count = len(self._given)
        with self._watch:
            if self._given == given[:count]:
                self._append(recorder, given, count)
            else:
                self._settle(recorder, given)
        if beside_changed and unbound_by(recorder, Edit(), recorder.state.base):
            recorder.append([], edit=edit_draft(recorder, Edit(), self._bases))
        self._stand = _stand(recorder)

    def placed(self, view: View) -> View:
        """The same view of the session with its origins as positions in the list."""
        at, ours = self._at, [(index, self._given[index]) for index in self._ours]
        return View(view, lambda: _placed(view, at, ours))

    def _read(self, recorder: SessionRecorder) -> None:
        """Take the history for the host's list, where it is not known what the host holds."""
        records = list(recorder.state.history.messages())
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
        self._watch = Watch(given)
        self._sayings, self._is_from_log = {}, False
        self._at = {at: index for index, positions in enumerate(own or places) for at in positions}

    def _append(self, recorder: SessionRecorder, given: list[Any], start: int) -> None:
        """Take in what follows the items that are known."""
        new = given[start:]
        if not new:
            return
        snapshots = list(map(snapshot, new))
        for places in _appended(recorder, given, start, edit=None):
            self._at.update(dict.fromkeys(places, len(self._places)))
            self._places.append(places)
        self._given += snapshots
        self._watch.add(snapshots)

    def _settle(self, recorder: SessionRecorder, given: list[Any]) -> None:
        """Find out what the list has to do with the history, where it does not simply go on."""
        reading = _Reading(recorder, given)
        if reading.format is not recorder.meter.format:
            self._sayings.clear()
        mine = Known(
            side=Side(self._given, lambda index: (self._saying(reading.format, index),)),
            places=self._places,
            ours=frozenset(self._ours),
            is_said=self._is_said,
        )
        others = reading.others(is_said=self._is_said, is_first=self._is_from_log)
        chosen = reading.best(mine, others, is_first=self._is_from_log)
        snapshots = self._snapshots(given, chosen.matches if chosen.known is mine else [])
        edit = chosen.settled.edit
        draft = edit_draft(recorder, edit, self._bases, reading.behind(chosen.settled)) if edit else None
        new = _appended(recorder, given, chosen.settled.first_new, edit=draft)
        self._hold(snapshots, [*chosen.settled.places, *new], [*chosen.settled.own, *new], chosen.ours)
        self._is_said = chosen.known.is_said

    def _snapshots(self, given: Sequence[Any], matches: Sequence[Match]) -> list[Any]:
        """Snapshots of the items of a list; those of unchanged items are used again."""
        found: list[Any] = []
        for match in matches:
            found += map(snapshot, given[len(found) : match.given])
            if match.pairs:
                found += self._given[match.known : match.known_stop]
        return [*found, *map(snapshot, given[len(found) :])]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """What a host's list goes on from, and what is to be done so that the history is the list."""

    known: Known
    matches: Sequence[Match]
    settled: Settled

    @property
    def ours(self) -> list[int]:
        """Indexes of the items of the list that were made here."""
        pairs = (
            (match.given + step, match.known + step)
            for match in self.matches
            for step in range(match.known_stop - match.known if match.pairs else 1)
        )
        return (
            [at for at, known in pairs if known in self.known.ours and at < self.settled.first_new]
            if self.known.ours
            else []
        )


class _Reading:
    """A host's list, read in the session's format and held against what is known."""

    def __init__(self, recorder: SessionRecorder, given: Sequence[Any]) -> None:
        self._recorder = recorder
        self.format = recorder.kept.knowledge.format_of(given, recorder.meter.format)
        self._messages: dict[int, list[Message]] = {}
        self._given = Side(given, lambda index: (saying_of(self._read(index)),))

    def _read(self, index: int) -> list[Message]:
        if index not in self._messages:
            self._messages[index] = _messages(self.format, self._given.items[index], index)
        return self._messages[index]

    def best(self, mine: Known, others: Iterable[Known], *, is_first: bool) -> Understood:
        """That of which the list says most: the host's last list, or one of the others where it may be one of those."""
        best = self._understood(mine)
        if not best.settled.edit or not (is_first or self._may_be_another(best.settled)):
            return best
        for known in others:
            other = self._understood(known)
            sound = other.settled.is_in_order or not other.settled.edit
            if sound and self._worth(other.settled) > self._worth(best.settled):
                best = other
            if not other.settled.edit:
                break
        return best

    def _understood(self, known: Known) -> Understood:
        matches = align(self._given, known.side)
        settling = Settling(
            given=self._given,
            known=known.side,
            places=known.places,
            ours=known.ours,
            unseen=known.unseen,
            branch=self._recorder.state.history.branch,
            read=self._read,
        )
        return Understood(known=known, matches=matches, settled=settling.settled(matches))

    def _may_be_another(self, settled: Settled) -> bool:
        """Whether what is new in a list may be known elsewhere: much is new, or some of it is in words of ours."""
        new = self._new(settled)
        if len(new) > len(self._given) * NEW_SHARE_MAX or any(map(self._holds_summary, new)):
            return True
        pieces = (piece for piece in self._recorder.state.sendable() if not is_plain(piece))
        shown = {atom for piece in pieces for atom in atoms(piece.message)}
        texts = {atom[2] for atom in shown if atom[1] == "text"}
        said = [atom for index in new for atom in self._given.saying(index).atoms]
        return any(atom in shown or any(text in atom[2] for text in texts) for atom in said)

    def behind(self, settled: Settled) -> list[tuple[int, Message]]:
        """The new messages that stand behind what has changed, by the positions that they will have."""
        new = [
            (index, message) for index in range(settled.first_new, len(self._given)) for message in self._read(index)
        ]
        first = settled.behind or 0
        messages = self._recorder.log.messages
        return [(messages + number, message) for number, (index, message) in enumerate(new) if index >= first]

    def _new(self, settled: Settled) -> list[int]:
        """The items of the list that are not known as they are."""
        return [*settled.reworded, *range(settled.first_new, len(self._given))]

    def _worth(self, settled: Settled) -> tuple[int, int, bool]:
        """How well a list is understood: no summary of ours is taken for the host's, and most of it is known.

        Where two are equal, that one is right by which nothing has happened.
        """
        misread = sum(map(self._holds_summary, self._new(settled)))
        return -misread, settled.known_items, not settled.edit and settled.first_new == len(self._given)

    def others(self, *, is_said: bool, is_first: bool) -> Iterator[Known]:
        """What a list that does not go on from the host's last one may go on from: the history, the view, or an earlier view.

        Earlier views are read back only where it is not known what the host held last, or where a summary shows that it is one.
        """
        if not is_said:
            yield self._history()
        pieces = self._recorder.state.sendable()
        if len(pieces) != self._recorder.state.history.count or not all(map(is_plain, pieces)):
            yield self._view(pieces)
        if is_first or any(map(self._holds_summary, range(len(self._given)))):
            for seq in self._recorder.chain().in_force()[1:]:
                yield self._view_since(seq)

    def _view_since(self, seq: int) -> Known:
        """The view that a compaction led to, with every message since at its end."""
        recorder, count_message = self._recorder, self._recorder.meter.count_message
        record = compaction_at(recorder.log, seq)
        since = recorder.state.history.gathered([(record.position, recorder.log.messages)])
        added = [
            ViewMessage(message=said, count_message=count_message, position=at) for at, said in sorted(since.items())
        ]
        holds = recorder.state.history.branch.holds
        then = recorder.state.after(record).pieces
        return self._view([*(piece for piece in then if piece.position is None or holds(piece.position)), *added])

    def _holds_summary(self, index: int) -> bool:
        """Whether an item holds a summary that was made here, perhaps beside other words."""
        said = self._given.saying(index).atoms
        return any(atom[1] == "text" and is_summary_or_notice(atom[2]) for atom in said)

    def _history(self) -> Known:
        """The history, as the log has it."""
        records = list(self._recorder.state.history.messages())
        items = [record.data["m"] for record in records]
        return Known(
            side=Side([*map(snapshot, items)], lambda index: (saying_of(_messages(self.format, items[index], index)),)),
            places=[(record.position,) for record in records],
        )

    def _view(self, pieces: Sequence[ViewMessage]) -> Known:
        """A view, piece by piece: a message of the history as it is shown or as it was said, a summary for all that is not."""
        branch, log = self._recorder.state.history.branch, self._recorder.log
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
        side = Side([*map(snapshot, items)], read, optional=optional)
        return Known(side=side, places=places, ours=made, unseen=unseen, is_said=False)

    def _original(self, piece: ViewMessage) -> Message | None:
        """What was said where a piece shows it in another way."""
        if piece.position is None or piece.whole:
            return None
        return self._recorder.message_cache.find(piece.position)


def _placed(view: View, at: Mapping[int, int], ours: Sequence[tuple[int, Any]]) -> Origins:
    """Origins as positions in the host's list; a summary that the host holds has its place there."""
    found = view.origins
    placed = [tuple(sorted({at[position] for position in positions if position in at})) for positions in found]
    for index, item in ours:
        for number, message in enumerate(view):
            if not found[number] and message == item:
                placed[number] = (index,)
    return tuple(placed)


def _stand(recorder: SessionRecorder) -> Stand:
    return recorder.log.messages, recorder.state.history.branch, recorder.meter.format.name


def _appended(recorder: SessionRecorder, given: Sequence[Any], start: int, *, edit: Any) -> list[tuple[int, ...]]:
    """Append the items from an index on, after an edit; the positions of each."""
    new = given[start:]
    try:
        positions = recorder.append(new, edit=edit)
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
