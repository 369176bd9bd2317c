"""What a session's log means: the state of the view after each record. Live use and resuming run the same code.

A session changes only by appending a record and letting the state take it in; so what is computed when the log is read back
is what was computed when it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import field, replace
from typing import Any, NamedTuple

from plimsoll.compaction.bound import unbound_at
from plimsoll.compaction.join import piece_of
from plimsoll.compaction.normalize import HistoryNormalizer, NormalizedMessage
from plimsoll.compaction.result import Revision
from plimsoll.compaction.settle import Sending, is_ready, unanswered
from plimsoll.compaction.tally import Tally
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.dataclass import dataclass
from plimsoll.formats.format import Format
from plimsoll.message import Message, Wire
from plimsoll.policy.budget import Level
from plimsoll.protocols import Record, SessionLog
from plimsoll.records.compactions import last_readable_compaction
from plimsoll.records.edited import items_left, may_replace, tied
from plimsoll.records.facts import Facts
from plimsoll.records.history import Branch, History
from plimsoll.records.packing import unpacked
from plimsoll.records.values import is_plain, pieces_of, positions_in
from plimsoll.tokens.calibrate import is_plausible

RETRY_GROWTH_SHARE = 0.05
"""A run that could make no progress is tried again when the view has grown by this share of the budget."""

_CHANGING = frozenset({"message", "compaction", "rollback", "edit", "pin"})
"""Kinds of records that change the view, or what the next one may show."""

_BEGINNING = frozenset({"compaction", "rollback"})
"""Kinds of records that a reader may start at."""

_NOWHERE = -1
"""Stands for the position of what is no message of the history, while it is normalized. Never written down."""


class Arrival(NamedTuple):
    """A message that came, and what it becomes in the view."""

    message: Message
    normalized: Sequence[NormalizedMessage]


@dataclass(slots=True, kw_only=True)
class ViewState:
    """The state of a session: its view, and what the next compaction goes on from. Sizes in tokens."""

    format: Format
    weigh: Callable[[Message], int]
    log: SessionLog
    normalizer: HistoryNormalizer
    tally: Tally = field(default_factory=Tally)
    """The view since the last compaction or rollback, and what it costs."""
    base: int | None = None
    """Number of the compaction's record that the view goes on from; None for the beginning."""
    event: int | None = None
    """Number of the last compaction or rollback record."""
    changed: int = 0
    """How many records there were up to the newest that changed the view."""
    covers: tuple[int, int] | None = None
    facts: Facts = field(default_factory=Facts)
    format_fixed: bool = False
    """Whether a message, or an option, has said which format the session is in."""
    told_at: int = 0
    """Number of the record that says which format the session is in: messages before it were normalized for another, perhaps."""
    has_gaps: bool = False
    """Whether messages were lost."""
    no_progress_at: tuple[Level, int] | None = None
    """Level, and number of pieces of the view, when a run made no progress, or was taken back."""
    anchor: tuple[int, int] | None = None
    """A request that the view as it stands begins with: how many pieces of it, and what the provider counted."""
    _sending: Sending | None = None
    history: History = field(init=False)
    """The messages of the log as its edits have left them."""

    def __post_init__(self) -> None:
        self.history = History(self.log, self.format)

    @property
    def pieces(self) -> Sequence[ViewMessage]:
        """The view."""
        return self.tally.pieces

    @property
    def tokens(self) -> int:
        """Of the pieces, without what every view pays besides."""
        return self.tally.tokens

    @classmethod
    def of(
        cls,
        log: SessionLog,
        format: Format,
        weigh: Callable[[Message], int],
        *,
        known: bool = True,
        newest: Sequence[Record] | None = None,
    ) -> ViewState:
        """The state a log has come to. Reads back to the newest compaction and no further.

        `known` is False where the log does not say which format it is in: then its messages were normalized for another, perhaps.
        `newest` are its `newest_records`, where they have been read already.
        Where records cannot be read, what ties the others to each other is looked at again: a result may have lost its call.
        """
        line = cls(format=format, weigh=weigh, log=log, normalizer=HistoryNormalizer(format))
        line.told_at = 0 if known else log.length
        newer = list(newest_records(log) if newest is None else newest)
        notes = (record for record in newer if record.kind == "note" and record.data.get("what") == "format")
        line.told_at = min((note.seq for note in notes), default=line.told_at)
        if newer and newer[-1].kind in _BEGINNING:
            line.take(newer.pop())
        is_damaged = any(found.kind != "torn" for found in log.damage)
        line.has_gaps = line.has_gaps or is_damaged or any(map(_stands_for_lost, newer))
        for record in reversed(newer):
            if record.kind == "message" and line.has_gaps:
                line.changed = record.seq + 1
                line._say(record, again=True)
            else:
                line.take(record)
        return line

    def take(self, record: Record, arrival: Arrival | None = None) -> None:
        """Let a record have its effect. Kinds that say nothing of the view have none.

        `arrival` is the message of the record, where it has been decoded and normalized already.
        """
        if record.kind in _CHANGING:
            self.changed = record.seq + 1
        if record.kind == "message":
            self._say(record, arrival)
            return
        self.facts.take(record)
        match record.kind:
            case "compaction":
                self._compacted(record)
            case "rollback":
                self._rolled_back(record)
            case "edit":
                self._edited(record)
            case "usage":
                self._reported(record.data)
            case _:
                pass

    def edited(self, record: Record) -> ViewState:
        """The state that an edit leads to, beside this one, which stays as it is."""
        line = copy(self)
        line.history, line.tally, line.facts = copy(self.history), self.tally.copied(), self.facts.copied()
        line.take(record)
        return line

    def then(self, record: Record) -> ViewState:
        """The state that a compaction led to."""
        line = ViewState(format=self.format, weigh=self.weigh, log=self.log, normalizer=HistoryNormalizer(self.format))
        line.take(record)
        return line

    def originals(self, pieces: Iterable[ViewMessage], held: Callable[[int], Message | None]) -> dict[int, Wire]:
        """What was said where these pieces of a view come from, as far as they show it in another way."""
        places = [piece.position for piece in pieces if piece.position is not None and not is_plain(piece)]
        known = {place: message for place in places if (message := held(place)) is not None}
        found = self.history.gathered([(place, place + 1) for place in places], known)
        return {place: message.wire for place, message in found.items() if message.wire is not None}

    def reweigh(self, weigh: Callable[[Message], int]) -> None:
        """Count the view again, by a counter that knows better."""
        self.weigh = weigh
        self.tally = self.tally.reweighed(weigh)
        self._sending = None

    @property
    def sending(self) -> Sending:
        """What puts pieces in the order in which they are sent."""
        if self._sending is None:
            self._sending = Sending(self.format, self.weigh)
        return self._sending

    def sendable(self) -> Sequence[ViewMessage]:
        """The view as it is sent: each result behind its call, and something in the place of those that are missing."""
        return self.pieces if self.normalizer.is_settled else self.sending.view(self.tally)

    @property
    def missing_tokens(self) -> int:
        """What stands in for missing results costs."""
        return 0 if self.normalizer.is_settled else self.sending.tokens(self.tally) - self.tokens

    @property
    def revision(self) -> Revision:
        """What the session has come to."""
        where = f"{self.log.where} {id(self.log)}"
        return Revision(where, self.changed, self.log.messages, self.event, self.format.name)

    def followed(self, pieces: Sequence[ViewMessage], made_at: Revision, waiting: Mapping[str, Any]) -> ViewState:
        """A view that was planned at an earlier revision, with every message said since then at its end.

        `waiting` is the state of the normalizer then.
        """
        held = [(position, position + 1) for position in waiting["held"]]
        normalizer = self._normalizer(waiting, pieces, self.history.gathered(held))
        line = ViewState(format=self.format, weigh=self.weigh, log=self.log, normalizer=normalizer)
        line.tally.pieces += pieces
        line.history = self.history
        for record in self.history.messages(made_at.messages):
            line._say(record, again=True)
        return line

    def snapshot(self) -> dict[str, Any]:
        """What a reader who starts at this record cannot read from the view."""
        return {
            "format": self.format.name if self.format_fixed else None,
            **self.facts.to_data(),
            "open": self.normalizer.to_dict(),
            **({} if self.history.branch == Branch() else {"branch": self.history.branch.to_data()}),
        }

    def is_stuck(self, level: Level, budget_tokens: int) -> bool:
        """Whether a run at that level would only repeat one that made no progress, or was taken back."""
        if self.no_progress_at is None or level > self.no_progress_at[0]:
            return False
        return self.tally.tokens_since(self.no_progress_at[1]) < budget_tokens * RETRY_GROWTH_SHARE

    def _reported(self, data: Mapping[str, Any]) -> None:
        """A report on the view as it stands says what its beginning costs."""
        if data.get("event", -1) != self.event or not is_plausible(data.get("counted", 0), data["prompt"]):
            return
        stop, answer = len(self.pieces), data.get("position", 0)
        while stop > 0 and (self.pieces[stop - 1].position or -1) >= answer:
            stop -= 1
        self.anchor = (stop, data["prompt"])

    def _say(self, record: Record, arrival: Arrival | None = None, *, again: bool = False) -> None:
        """Let a message have its effect: as its record says that the view shows it, else as the rules of the format have it.

        Said `again`, to another view than the one it came to, what it answers may be gone, or be there again: where the record
        ties it to other messages than there are, the rules decide.
        """
        if arrival is None:
            message = self.format.decode(record.data["m"], record.position)
            arrival = Arrival(message, self.normalizer.add(message, record.position))
        message, normalized = arrival
        is_told = "shown" in record.data and record.seq >= self.told_at
        pieces = self._recorded(record, message) if is_told else None
        if pieces is not None and again:
            ties = tied([piece.message for piece in pieces]) == tied([found.message for found in normalized])
            pieces = pieces if ties else None
        shown = [self._piece(found, message) for found in normalized] if pieces is None else pieces
        bound = self.history.branch.unbound
        self.tally.pieces += unbound_at(shown, bound) if bound else shown

    def _recorded(self, record: Record, message: Message) -> Sequence[ViewMessage]:
        """How the view shows a message by what its record says."""
        items = record.data["shown"]
        history = self.history.gathered(positions_in(items), {record.position: message})
        return pieces_of(items, self.format, self.weigh, history)

    def _piece(self, normalized: NormalizedMessage, came: Message) -> ViewMessage:
        plain = ViewMessage(message=came, weigh=self.weigh, position=normalized.position)
        return plain if normalized.message is came else piece_of(normalized, self.weigh)

    def _compacted(self, record: Record) -> None:
        self._restore(record.data["state"])
        self._view_of(record, self._known())
        self.base = self.event = record.seq
        self.no_progress_at = (Level.emergency, len(self.pieces)) if record.data["trigger"] == "import" else None

    def _rolled_back(self, record: Record) -> None:
        """Go on from another compaction: its view, and every message since."""
        self._restore(record.data["state"])
        self._go_on_from(record, self._known())
        self.tally = Tally(unbound_at(self.pieces, record.data.get("unbound", ())))
        self.no_progress_at = (Level.emergency, len(self.pieces))

    def _edited(self, record: Record) -> None:
        """Messages have left the history or read otherwise: go on from a compaction that does not speak of them."""
        self.history.take(record)
        if not self._patched(record):
            changed = dict(record.data["changed"])
            self._go_on_from(record, {at: message for at, message in self._known().items() if at not in changed})
        self.event, self.no_progress_at, self.anchor, self._sending = record.seq, None, None, None

    def _patched(self, record: Record) -> bool:
        """Put changed messages in the place of those the view shows, where nothing else of it depends on what they say."""
        unbound = set(record.data.get("unbound", ()))
        if record.data["left"] or record.data["base"] != self.base or any(p.position in unbound for p in self.pieces):
            return False
        found: list[tuple[int, Message]] = []
        for position, wire in record.data["changed"]:
            place, message = self.tally.place_of(position), self.format.decode(wire, position)
            if place is None or not may_replace(self.pieces[place], message, self.format):
                return False
            found.append((place, message))
        for place, message in found:
            self.tally.put(place, replace(self.pieces[place], message=message, weigh=self.weigh))
        return True

    def _known(self) -> dict[int, Message]:
        """Messages of the history that need not be read, by position."""
        holds = self.history.branch.holds
        whole = ((piece.position, piece.message) for piece in self.pieces if piece.whole)
        return {position: message for position, message in whole if position is not None and holds(position)}

    def _go_on_from(self, record: Record, known: Mapping[int, Message]) -> None:
        """The view that the compaction in a record's `base` led to, with every message since."""
        base = last_readable_compaction(self.log, record.data["base"])
        self.tally, self.covers = Tally(), None
        self.normalizer = HistoryNormalizer(self.format)
        if base is not None:
            self._view_of(base, known)
        since, start = (0, 0) if base is None else (base.seq + 1, base.position)
        self.told_at = self.told_at or _told_at(self.log.read(since), before=record.seq)
        for earlier in self.history.messages(start, record.position):
            self._say(earlier, again=True)
        self.base, self.event = None if base is None else base.seq, record.seq

    def _view_of(self, record: Record, known: Mapping[int, Message]) -> None:
        """The view and the open exchange as a compaction left them, without what has left the history since."""
        data = unpacked(record.data)
        items = items_left(data, self.history.branch, since=record.seq)
        state = data["state"]["open"]
        held = [(position, position + 1) for position in state["held"]]
        wanted = [*positions_in(items), *held]
        history = self.history.gathered(wanted, known)
        pieces = pieces_of(items, self.format, self.weigh, history, summary=data["summary"])
        self.normalizer = self._normalizer(state, pieces, history)
        missing = [position for run in wanted for position in range(*run) if position not in history]
        since = {at for at, seq in self.history.branch.changed.items() if seq > record.seq}
        is_other = bool(missing) or items != data["view"] or not since.isdisjoint(history)
        if is_other or data["state"]["format"] is None:
            pieces = self._normalized_again(pieces)
        self.has_gaps = self.has_gaps or any(map(self.history.branch.holds, missing))
        self.tally = Tally(unbound_at(pieces, self.history.branch.unbound))
        covers = record.data["covers"]
        self.covers = None if covers is None else (covers[0], covers[1])

    def _normalizer(
        self, state: Mapping[str, Any], pieces: Sequence[ViewMessage], history: Mapping[int, Message]
    ) -> HistoryNormalizer:
        """The normalizer of a view with these pieces, as its `state` was written down."""
        return HistoryNormalizer.of_dict(
            self.format,
            {**state, "held": [position for position in state["held"] if position in history]},
            seen_ids=(call.id for piece in pieces for call in piece.message.calls),
            unanswered=unanswered(pieces, self.format),
            is_ready=is_ready(pieces, self.format),
            read=history.__getitem__,
        )

    def _normalized_again(self, pieces: Iterable[ViewMessage]) -> list[ViewMessage]:
        """A view some of whose messages are lost, or were said before the format was known, such that a provider takes it."""
        held, self.normalizer = self.normalizer.held, HistoryNormalizer(self.format)
        normalized: list[ViewMessage] = []
        for piece in pieces:
            found = self.normalizer.add(piece.message, _NOWHERE if piece.position is None else piece.position)
            same = len(found) == 1 and found[0].message is piece.message
            normalized += [piece] if same else [_renormalized(one, piece) for one in found]
        self.normalizer.held += held
        return normalized

    def _restore(self, data: Mapping[str, Any]) -> None:
        self.anchor = None
        self.history.go_back(Branch.of_data(data.get("branch", {})))


def newest_records(log: SessionLog) -> list[Record]:
    """The records from the newest back to a compaction or rollback, which says all that those before it say of the state."""
    found: list[Record] = []
    for record in log.read_back():
        found.append(record)
        if record.kind in _BEGINNING:
            break
    return found


def _told_at(records: Iterable[Record], *, before: int) -> int:
    """The number of the first of these records that says which format the session is in; 0 where none does."""
    notes = (record for record in records if record.kind == "note" and record.data.get("what") == "format")
    found = next(notes, None)
    return found.seq if found is not None and found.seq < before else 0


def _stands_for_lost(record: Record) -> bool:
    """Whether a repaired copy has it in the place of a record that was lost."""
    return record.kind == "note" and "lost" in record.data


def _renormalized(normalized: NormalizedMessage, piece: ViewMessage) -> ViewMessage:
    """A piece of a view that was normalized again. One that is of no message of the history stays what it was."""
    if normalized.position != _NOWHERE:
        return piece_of(normalized, piece.weigh)
    return replace(piece, message=normalized.message, whole=False, repairs=normalized.repairs)
