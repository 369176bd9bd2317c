"""The last list that a host passed to `sync`, and the changes that a new list makes to the session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from plimsoll.compaction.result import View
from plimsoll.compaction.summary_message import is_summary_or_notice
from plimsoll.compaction.view_message import Origins, ViewMessage
from plimsoll.errors import FormatError
from plimsoll.formats.format import Format
from plimsoll.formats.intake import decode_received, received
from plimsoll.formats.wire import readable
from plimsoll.light.dataclass import dataclass
from plimsoll.message import Message
from plimsoll.records.compactions import compaction_at
from plimsoll.session.edit import Base, Edit, edit_draft, unbound_by
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.sync.alignment import Content, Match, Side, align, atoms, content_of
from plimsoll.session.sync.list_changes import ChangeFinder, ListChanges
from plimsoll.session.sync.snapshot import Watch, restored, snapshot

NEW_SHARE_MAX = 1 / 8
"""If a larger share of a list is new, it may be based on something other than the host's last list."""

Fingerprint = tuple[int, Any, str]
"""Identifies the state of a session: number of messages, branch of the history, and format."""


class Mirror:
    """A session's copy of the host's last list.

    Items are stored as snapshots, so that comparison also finds items that the host changed in place.
    """

    def __init__(self) -> None:
        self._given: list[Any] = []
        self._watch = Watch(())
        self._places: list[tuple[int, ...]] = []
        self._contents: dict[int, Content] = {}
        self._at: dict[int, int] = {}
        self._generated: list[int] = []
        self._fingerprint: Fingerprint | None = None
        self._bases: dict[int, Base | None] = {}
        """Compactions examined by edits, by record number."""
        self._is_from_log = False
        self._is_original = True
        """True if the list is the host's own, not a view that it took over."""

    def update(self, recorder: SessionRecorder, messages: Sequence[Any], *, beside_changed: bool = False) -> None:
        """Update the history to match the list: append new messages, and record removed and changed ones.

        This is a single append, done completely or not at all. `beside_changed` is True if the system text or tools have
        changed, which invalidates thinking bound to them. Raises FormatError, LimitExceeded, StoreError.
        """
        given = list(messages)
        if self._fingerprint != _fingerprint(recorder) and not self._read_on(recorder):
            self._read(recorder)
        count = len(self._given)
        with self._watch:
            if self._is_same(given[:count]):
                self._append(recorder, given, count)
            else:
                self._compare(recorder, given)
        if beside_changed and unbound_by(recorder, Edit(), recorder.state.base):
            recorder.append([], edit=edit_draft(recorder, Edit(), self._bases))
        self._fingerprint = _fingerprint(recorder)

    def _is_same(self, known: list[Any]) -> bool:
        """True if the host's list begins as it was. Its own objects are asked, and may fail: raises FormatError."""
        return readable(lambda: self._watch.are(known) or self._given == known, "messages that cannot be compared")

    def placed(self, view: View) -> View:
        """The same view with origins as positions in the list."""
        at, generated = self._at, [(index, self._given[index]) for index in self._generated]
        return View(view, lambda: _placed(view, at, generated))

    def _read_on(self, recorder: SessionRecorder) -> bool:
        """Take what was appended to the session since as the end of the host's list; False if more than that has happened."""
        messages, *rest = _fingerprint(recorder)
        if self._fingerprint is None or [*self._fingerprint[1:]] != rest or not self._is_original or self._generated:
            return False
        added = list(recorder.state.history.messages(self._fingerprint[0]))
        if len(added) != messages - self._fingerprint[0]:
            return False
        snapshots = [snapshot(record.data["m"]) for record in added]
        for record in added:
            self._at[record.position] = len(self._places)
            self._places.append((record.position,))
        self._given += snapshots
        self._watch.add(snapshots)
        return True

    def _read(self, recorder: SessionRecorder) -> None:
        """Take the history as the host's list if it is unknown what the host holds."""
        records = list(recorder.state.history.messages())
        self._hold([snapshot(record.data["m"]) for record in records], [(record.position,) for record in records])
        self._is_from_log = self._is_original = True

    def _hold(
        self,
        given: list[Any],
        places: list[tuple[int, ...]],
        own: list[tuple[int, ...]] | None = None,
        generated: Sequence[int] = (),
    ) -> None:
        self._given, self._places, self._generated = given, places, list(generated)
        self._watch = Watch(given)
        self._contents, self._is_from_log = {}, False
        self._at = {at: index for index, positions in enumerate(own or places) for at in positions}

    def _append(self, recorder: SessionRecorder, given: list[Any], start: int) -> None:
        """Append the items after the known ones."""
        new = given[start:]
        if not new:
            return
        snapshots = list(map(snapshot, new))
        for places in _appended(recorder, given, start, edit=None):
            self._at.update(dict.fromkeys(places, len(self._places)))
            self._places.append(places)
        self._given += snapshots
        self._watch.add(snapshots)

    def _compare(self, recorder: SessionRecorder, given: list[Any]) -> None:
        """Compare a list that does not simply extend the last one with the history."""
        reading = _Reading(recorder, given)
        if reading.format is not recorder.meter.format:
            self._contents.clear()
        mine = Baseline(
            side=Side(self._given, lambda index: (self._content_at(reading.format, index),)),
            places=self._places,
            generated=frozenset(self._generated),
            is_original=self._is_original,
        )
        others = reading.others(is_original=self._is_original, is_first=self._is_from_log)
        chosen = reading.best(mine, others, is_first=self._is_from_log)
        snapshots = self._snapshots(given, chosen.matches if chosen.known is mine else [])
        edit = chosen.changes.edit
        draft = edit_draft(recorder, edit, self._bases, reading.behind(chosen.changes)) if edit else None
        new = _appended(recorder, given, chosen.changes.first_new, edit=draft)
        self._hold(snapshots, [*chosen.changes.places, *new], [*chosen.changes.own, *new], chosen.generated)
        self._is_original = chosen.known.is_original

    def _snapshots(self, given: Sequence[Any], matches: Sequence[Match]) -> list[Any]:
        """Snapshots of the items of a list, reusing those of unchanged items."""
        found: list[Any] = []
        for match in matches:
            found += map(snapshot, given[len(found) : match.given])
            if match.pairs:
                found += self._given[match.known : match.known_stop]
        return [*found, *map(snapshot, given[len(found) :])]

    def _content_at(self, format: Format, index: int) -> Content:
        if index not in self._contents:
            self._contents[index] = content_of(_messages(format, restored(self._given[index]), index))
        return self._contents[index]


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A list on which a host's list may be based: its last list, the history, or a view of this session."""

    side: Side
    places: Sequence[tuple[int, ...]]
    """The positions in the history that each item represents."""
    generated: frozenset[int] = frozenset()
    """Indexes of items generated by this library."""
    unseen: Sequence[int] = ()
    """Positions that no item represents."""
    is_original: bool = True
    """True if every item is an original message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpretation:
    """The list that a host's list is based on, and the changes that turn the history into the list."""

    known: Baseline
    matches: Sequence[Match]
    changes: ListChanges

    @property
    def generated(self) -> list[int]:
        """Indexes in the list of items generated by this library."""
        pairs = (
            (match.given + step, match.known + step)
            for match in self.matches
            for step in range(match.known_stop - match.known if match.pairs else 1)
        )
        return (
            [at for at, known in pairs if known in self.known.generated and at < self.changes.first_new]
            if self.known.generated
            else []
        )


class _Reading:
    """A host's list, decoded in the session's format and compared with known lists."""

    def __init__(self, recorder: SessionRecorder, given: Sequence[Any]) -> None:
        self._recorder = recorder
        self.format = recorder.kept.knowledge.format_of(given, recorder.meter.format)
        self._messages: dict[int, list[Message]] = {}
        self._given = Side(given, lambda index: (content_of(self._read(index)),))

    def _read(self, index: int) -> list[Message]:
        if index not in self._messages:
            self._messages[index] = decode_received(received([self._given.items[index]]), self.format, index)
        return self._messages[index]

    def best(self, mine: Baseline, others: Iterable[Baseline], *, is_first: bool) -> Interpretation:
        """The best interpretation: based on the host's last list or, if that is doubtful, on one of the others."""
        best = self._interpret(mine)
        if not best.changes.edit or not (is_first or self._may_be_another(best.changes)):
            return best
        for known in others:
            other = self._interpret(known)
            sound = other.changes.is_in_order or not other.changes.edit
            if sound and self._worth(other.changes) > self._worth(best.changes):
                best = other
            if not other.changes.edit:
                break
        return best

    def _interpret(self, known: Baseline) -> Interpretation:
        matches = align(self._given, known.side)
        finder = ChangeFinder(
            given=self._given,
            known=known.side,
            places=known.places,
            generated=known.generated,
            unseen=known.unseen,
            branch=self._recorder.state.history.branch,
            read=self._read,
        )
        return Interpretation(known=known, matches=matches, changes=finder.changes(matches))

    def _may_be_another(self, changes: ListChanges) -> bool:
        """True if the new items may be known elsewhere: there are many, or some contain text generated by this library."""
        new = self._new(changes)
        if len(new) > len(self._given) * NEW_SHARE_MAX or any(map(self._holds_summary, new)):
            return True
        entries = (entry for entry in self._recorder.state.sendable() if not entry.is_plain)
        shown = {atom for entry in entries for atom in atoms(entry.message)}
        texts = {atom[2] for atom in shown if atom[1] == "text"}
        found = [atom for index in new for atom in self._given.content(index).atoms]
        return any(atom in shown or any(text in atom[2] for text in texts) for atom in found)

    def behind(self, changes: ListChanges) -> list[tuple[int, Message]]:
        """The new messages that follow a change, with the positions that they will get."""
        new = [
            (index, message) for index in range(changes.first_new, len(self._given)) for message in self._read(index)
        ]
        first = changes.behind or 0
        messages = self._recorder.log.messages
        return [(messages + number, message) for number, (index, message) in enumerate(new) if index >= first]

    def _new(self, changes: ListChanges) -> list[int]:
        """The new or changed items of the list."""
        return [*changes.reworded, *range(changes.first_new, len(self._given))]

    def _worth(self, changes: ListChanges) -> tuple[int, int, bool]:
        """A sort key for interpretations: fewest generated summaries taken for the host's messages, then most known items.

        Among equals, one without any change is preferred.
        """
        misread = sum(map(self._holds_summary, self._new(changes)))
        return -misread, changes.known_items, not changes.edit and changes.first_new == len(self._given)

    def others(self, *, is_original: bool, is_first: bool) -> Iterator[Baseline]:
        """Alternatives to the host's last list: the history, the current view, and earlier views.

        Earlier views are only read if it is unknown what the host held last, or if a summary shows that the list contains one.
        """
        if not is_original:
            yield self._history()
        entries = self._recorder.state.sendable()
        if len(entries) != self._recorder.state.history.count or not all(entry.is_plain for entry in entries):
            yield self._view(entries)
        if is_first or any(map(self._holds_summary, range(len(self._given)))):
            for seq in self._recorder.chain().in_force()[1:]:
                yield self._view_since(seq)

    def _view_since(self, seq: int) -> Baseline:
        """The view after a compaction, followed by the messages appended since."""
        recorder, count_message = self._recorder, self._recorder.meter.count_message
        record = compaction_at(recorder.log, seq)
        since = recorder.state.history.gathered([(record.position, recorder.log.messages)])
        added = [
            ViewMessage(shown=message, count_message=count_message, position=at)
            for at, message in sorted(since.items())
        ]
        holds = recorder.state.history.branch.holds
        then = recorder.state.after(record).entries
        return self._view([*(entry for entry in then if entry.position is None or holds(entry.position)), *added])

    def _holds_summary(self, index: int) -> bool:
        """True if an item contains a summary generated by this library."""
        found = self._given.content(index).atoms
        return any(atom[1] == "text" and is_summary_or_notice(atom[2]) for atom in found)

    def _history(self) -> Baseline:
        """The history as a list."""
        records = list(self._recorder.state.history.messages())
        items = [record.data["m"] for record in records]
        return Baseline(
            side=Side(
                [*map(snapshot, items)], lambda index: (content_of(_messages(self.format, items[index], index)),)
            ),
            places=[(record.position,) for record in records],
        )

    def _view(self, entries: Sequence[ViewMessage]) -> Baseline:
        """A view as a list: a message matches in its shown or original form, and a summary represents everything not shown."""
        branch, log = self._recorder.state.history.branch, self._recorder.log
        held = [position for run in branch.runs(0, log.messages) for position in range(*run)]
        items = [self.format.encode(entry.message) for entry in entries]
        made = frozenset(index for index, entry in enumerate(entries) if entry.position is None)
        optional = frozenset(index for index in made if entries[index].origin == "made")

        def read(index: int) -> list[Content]:
            shown = content_of(_messages(self.format, items[index], index))
            original = self._original(entries[index])
            return [shown] if original is None else [shown, content_of([original])]

        shown = {entry.position for entry in entries}
        hidden = [position for position in held if position not in shown]
        speaks = next((index for index, entry in enumerate(entries) if entry.origin == "summary"), None)
        places = [
            tuple(hidden) if index == speaks else () if entry.position is None else (entry.position,)
            for index, entry in enumerate(entries)
        ]
        unseen = hidden if speaks is None else ()
        side = Side([*map(snapshot, items)], read, optional=optional)
        return Baseline(side=side, places=places, generated=made, unseen=unseen, is_original=False)

    def _original(self, entry: ViewMessage) -> Message | None:
        """The original message of an entry that shows it differently."""
        if entry.position is None or entry.whole:
            return None
        return self._recorder.message_cache.find(entry.position)


def _placed(view: View, at: Mapping[int, int], generated: Sequence[tuple[int, Any]]) -> Origins:
    """Origins as positions in the host's list, including those of summaries that the host holds."""
    found = view.origins
    placed = [tuple(sorted({at[position] for position in positions if position in at})) for positions in found]
    for index, item in generated:
        for number, message in enumerate(view):
            if not found[number] and message == item:
                placed[number] = (index,)
    return tuple(placed)


def _fingerprint(recorder: SessionRecorder) -> Fingerprint:
    return recorder.log.messages, recorder.state.history.branch, recorder.meter.format.name


def _appended(recorder: SessionRecorder, given: Sequence[Any], start: int, *, edit: Any) -> list[tuple[int, ...]]:
    """Append the items from `start` on, after an edit; returns the positions of each."""
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
