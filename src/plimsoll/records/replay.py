"""Replaying a log: the state of the session's view after each record.

A session changes only by appending a record and applying it, and resuming applies the same records with the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any

from plimsoll.compaction.bound import unbound_at
from plimsoll.compaction.entries import Entries
from plimsoll.compaction.normalize import HistoryNormalizer
from plimsoll.compaction.notes_shown import with_notes
from plimsoll.compaction.result import Revision
from plimsoll.compaction.settle import Sending, is_ready, unanswered
from plimsoll.compaction.tally import RESTING_MESSAGES, Tally
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.formats.format import Format
from plimsoll.formats.server_tools import served_ids
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.message import Message, Wire
from plimsoll.policy.budget import Level
from plimsoll.protocols import Record, SessionLog
from plimsoll.records.compactions import BEGINNINGS, last_readable_compaction, newest_records
from plimsoll.records.facts import Facts
from plimsoll.records.history import Branch, History, items_left, may_replace, tied
from plimsoll.records.packing import unpacked
from plimsoll.records.values import entries_of, positions_in
from plimsoll.tokens.calibrate import is_plausible

RETRY_GROWTH_SHARE = 0.05
"""After a compaction without progress, the view must grow by this share of the budget before the next attempt."""

_CHANGING = frozenset({"compaction", "rollback", "edit", "pin"})
"""Kinds of records that change the current or the next view, apart from messages."""

_NOWHERE = -1
"""Placeholder position for messages that are not part of the history, during normalisation. Never stored."""


@dataclass(slots=True, kw_only=True)
class ViewState:
    """The state of a session: its view and what the next compaction needs. Sizes in tokens."""

    format: Format
    count_message: Callable[[Message], int]
    log: SessionLog
    tally: Tally = field(default_factory=Tally)
    """The view, with token counts in total and since the last compaction or rollback."""
    base: int | None = None
    """Number of the compaction record that the view is based on; None at the beginning."""
    event: int | None = None
    """Number of the last compaction, rollback or edit record."""
    changed: int = 0
    """Number of records up to the newest that changed the view."""
    changed_at_ms: int = 0
    covers: tuple[int, int] | None = None
    facts: Facts = field(default_factory=Facts)
    format_fixed: bool = False
    """True if a message or an option determined the format."""
    format_seq: int = 0
    """Number of the record that determined the format. Earlier messages may have been normalized for another one."""
    has_gaps: bool = False
    """True if messages were lost."""
    no_progress_at: tuple[Level, int] | None = None
    """Level, and number of entries in the view, at the last compaction that made no progress or was rolled back."""
    anchor: tuple[int, int] | None = None
    """The last request measured by the provider: the number of leading entries that it consisted of, and its token count."""
    _sending: Sending | None = None
    history: History = field(init=False)
    """The messages of the log as edited."""
    normalizer: HistoryNormalizer = field(init=False)

    def __post_init__(self) -> None:
        self.history = History(self.log, self.format)
        self.normalizer = HistoryNormalizer(self.format, self.count_message)

    @property
    def entries(self) -> Entries:
        """The view."""
        return self.tally.entries

    @property
    def tokens(self) -> int:
        """Tokens of the entries, without the fixed cost of every request."""
        return self.tally.tokens

    @classmethod
    def of(
        cls,
        log: SessionLog,
        format: Format,
        count_message: Callable[[Message], int],
        *,
        known: bool = True,
        newest: Sequence[Record] | None = None,
    ) -> ViewState:
        """The state at the end of a log. Reads back to the newest compaction or rollback.

        `known` is False if the log does not contain the format; its messages may then have been normalized for another one.
        `newest` is the result of `newest_records`, if known. If records are missing, calls and results are paired again.
        """
        state = cls(format=format, count_message=count_message, log=log)
        newer = list(newest_records(log) if newest is None else newest)
        notes = (record for record in newer if record.kind == "note" and record.data.get("what") == "format")
        state.format_seq = min((note.seq for note in notes), default=0 if known else log.length)
        if newer and newer[-1].kind in BEGINNINGS:
            state.take(newer.pop())
        is_damaged = any(found.kind != "torn" for found in log.damage)
        state.has_gaps = state.has_gaps or is_damaged or any(map(_is_loss_note, newer))
        for record in reversed(newer):
            if record.kind == "message":
                state._append(record, replayed=state.has_gaps)
            else:
                state.take(record)
        return state

    def take(self, record: Record) -> None:
        """Apply a record. Kinds that do not concern the view have no effect."""
        if record.kind == "message":
            self._append(record)
            return
        if record.kind in _CHANGING:
            self.changed, self.changed_at_ms = record.seq + 1, record.at_ms
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
        """The state after an edit record. Does not change this one."""
        state = copy(self)
        state.history, state.tally, state.facts = copy(self.history), self.tally.copied(), self.facts.copied()
        state.take(record)
        return state

    def after(self, record: Record) -> ViewState:
        """The state after a compaction record."""
        state = ViewState(format=self.format, count_message=self.count_message, log=self.log)
        state.take(record)
        return state

    def originals(self, entries: Iterable[ViewMessage], held: Callable[[int], Message | None]) -> dict[int, Wire]:
        """The original wire messages, by position, of the entries that are not shown unchanged."""
        places = [entry.position for entry in entries if entry.position is not None and not entry.is_plain]
        known = {place: message for place in places if (message := held(place)) is not None}
        found = self.history.gathered([(place, place + 1) for place in places], known)
        return {place: message.wire for place, message in found.items() if message.wire is not None}

    def rest(self) -> None:
        """Let messages rest that nobody has looked at for some time, several at once."""
        if len(self.tally.entries.rows) - self.tally.resting > RESTING_MESSAGES:
            self.tally.rest()

    def recount(self, count_message: Callable[[Message], int]) -> None:
        """Count the view again with a better counter."""
        self.count_message = self.normalizer.count_message = count_message
        self.tally = self.tally.recounted(count_message)
        self._sending = None

    @property
    def sending(self) -> Sending:
        """Orders entries as they are sent."""
        if self._sending is None:
            self._sending = Sending(self.format, self.count_message)
        return self._sending

    def sendable(self) -> Sequence[ViewMessage]:
        """The view as it is sent: each result follows its call, and placeholders stand for missing results."""
        entries = self.entries if self.normalizer.is_settled else self.sending.view(self.tally)
        return with_notes(entries, self.facts.notes, self.count_message)

    @property
    def missing_tokens(self) -> int:
        """Tokens of the placeholders for missing results."""
        return 0 if self.normalizer.is_settled else self.sending.tokens(self.tally) - self.tokens

    @property
    def revision(self) -> Revision:
        """Identifies the current state of the session."""
        changed = self.changed, self.changed_at_ms
        return Revision(self.log.where, *changed, self.log.messages, self.event, self.format.name)

    def followed(self, entries: Sequence[ViewMessage], made_at: Revision, waiting: Mapping[str, Any]) -> ViewState:
        """A view planned at an earlier revision, with the messages appended since then.

        `waiting` is the serialised normalizer at that revision.
        """
        held = [(position, position + 1) for position in waiting["held"]]
        state = ViewState(format=self.format, count_message=self.count_message, log=self.log)
        state.normalizer = self._normalizer(waiting, entries, self.history.gathered(held))
        state.tally.entries += entries
        state.history = self.history
        for record in self.history.messages(made_at.messages):
            state._append(record, replayed=True)
        return state

    def snapshot(self) -> dict[str, Any]:
        """The state that replay needs when it starts at this record, apart from the view."""
        return {
            "format": self.format.name if self.format_fixed else None,
            **self.facts.to_data(),
            "open": self.normalizer.to_dict(),
            **({} if self.history.branch == Branch() else {"branch": self.history.branch.to_data()}),
        }

    def is_stuck(self, level: Level, budget_tokens: int) -> bool:
        """True if a compaction at that level would repeat one that made no progress or was rolled back."""
        if self.no_progress_at is None or level > self.no_progress_at[0]:
            return False
        return self.tally.tokens_since(self.no_progress_at[1]) < budget_tokens * RETRY_GROWTH_SHARE

    def _reported(self, data: Mapping[str, Any]) -> None:
        """Take over the provider's token count if it was reported for the current view."""
        if data.get("event", -1) != self.event or not is_plausible(data.get("counted", 0), data["prompt"]):
            return
        stop, answer = len(self.entries), data.get("position", 0)
        while stop > 0 and (self.entries[stop - 1].position or -1) >= answer:
            stop -= 1
        self.anchor = (stop, data["prompt"])

    def _append(self, record: Record, *, replayed: bool = False) -> None:
        """Append the message of a record to the view."""
        message = self.format.decode(record.data["m"], record.position)
        self.append(record, message, self.normalizer.add(message, record.position), replayed=replayed)

    def append(
        self, record: Record, message: Message, normalized: Sequence[ViewMessage], *, replayed: bool = False
    ) -> None:
        """Append a message to the view: as its record shows it, else as it is `normalized` by the rules of the format.

        If `replayed` onto a different base view, its tool call or result may be missing there: the recorded form is then only used
        if it has the same calls and results as the normalized one.
        """
        self.changed, self.changed_at_ms = record.seq + 1, record.at_ms
        shown = normalized
        if "shown" in record.data and record.seq >= self.format_seq:
            shown = self._recorded(record, message)
            if replayed and tied([entry.message for entry in shown]) != tied([entry.message for entry in normalized]):
                shown = normalized
        bound = self.history.branch.unbound
        self.tally.entries.rows += unbound_at(shown, bound) if bound else shown

    def _recorded(self, record: Record, message: Message) -> Sequence[ViewMessage]:
        """The entries of a message as stored in its record."""
        items = record.data["shown"]
        history = self.history.gathered(positions_in(items), {record.position: message})
        return entries_of(items, self.format, self.count_message, history)

    def _compacted(self, record: Record) -> None:
        self._restore(record.data["state"])
        self._restore_view(record, self._known())
        self.base = self.event = record.seq
        self.no_progress_at = (Level.emergency, len(self.entries)) if record.data["trigger"] == "import" else None

    def _rolled_back(self, record: Record) -> None:
        """Return to an earlier compaction: its view, and the messages since then."""
        self._restore(record.data["state"])
        self._rebuild(record, self._known())
        self.tally = Tally(unbound_at(self.entries, record.data.get("unbound", ())))
        self.no_progress_at = (Level.emergency, len(self.entries))
        if (usage := record.data.get("usage")) is not None:
            self._reported({**usage, "event": self.event})

    def _edited(self, record: Record) -> None:
        """Apply removed and changed messages: patch the view, or rebuild it from a compaction that does not cover them."""
        self.history.take(record)
        if not self._patched(record):
            changed = dict(record.data["changed"])
            self._rebuild(record, {at: message for at, message in self._known().items() if at not in changed})
        self.event, self.no_progress_at, self.anchor, self._sending = record.seq, None, None, None

    def _patched(self, record: Record) -> bool:
        """Replace changed messages in the view if nothing else depends on their content; returns False if something does."""
        unbound = set(record.data.get("unbound", ()))
        if record.data["left"] or record.data["base"] != self.base or any(p.position in unbound for p in self.entries):
            return False
        found: list[tuple[int, Message]] = []
        for position, wire in record.data["changed"]:
            place, message = self.tally.place_of(position), self.format.decode(wire, position)
            if place is None or not may_replace(self.entries[place], message, self.format):
                return False
            found.append((place, message))
        for place, message in found:
            self.tally.put(place, replace(self.entries[place], shown=message, count_message=self.count_message))
        return True

    def _known(self) -> dict[int, Message]:
        """Decoded messages of the history by position, which need not be read again."""
        holds = self.history.branch.holds
        whole = ((entry.position, entry.message) for entry in self.entries if entry.whole)
        return {position: message for position, message in whole if position is not None and holds(position)}

    def _rebuild(self, record: Record, known: Mapping[int, Message]) -> None:
        """Rebuild the view from the compaction `base` of a record and the messages after it."""
        base = last_readable_compaction(self.log, record.data["base"])
        self.tally, self.covers = Tally(), None
        self.normalizer = HistoryNormalizer(self.format, self.count_message)
        if base is not None:
            self._restore_view(base, known)
        since, start = (0, 0) if base is None else (base.seq + 1, base.position)
        self.format_seq = self.format_seq or _format_record_seq(self.log.read(since), before=record.seq)
        for earlier in self.history.messages(start, record.position):
            self._append(earlier, replayed=True)
        self.base, self.event = None if base is None else base.seq, record.seq

    def _restore_view(self, record: Record, known: Mapping[int, Message]) -> None:
        """Restore the view and open tool calls stored by a compaction, without messages that were removed since."""
        data = unpacked(record.data)
        items = items_left(data, self.history.branch, since=record.seq)
        state = data["state"]["open"]
        held = [(position, position + 1) for position in state["held"]]
        wanted = [*positions_in(items), *held]
        history = self.history.gathered(wanted, known)
        entries = entries_of(items, self.format, self.count_message, history, summary=data["summary"])
        self.normalizer = self._normalizer(state, entries, history)
        missing = [position for run in wanted for position in range(*run) if position not in history]
        since = {at for at, seq in self.history.branch.changed.items() if seq > record.seq}
        is_other = bool(missing) or items != data["view"] or not since.isdisjoint(history)
        if is_other or data["state"]["format"] is None:
            entries = self._normalized_again(entries)
        self.has_gaps = self.has_gaps or any(map(self.history.branch.holds, missing))
        self.tally = Tally(unbound_at(entries, self.history.branch.unbound))
        covers = record.data["covers"]
        self.covers = None if covers is None else (covers[0], covers[1])

    def _normalizer(
        self, state: Mapping[str, Any], entries: Sequence[ViewMessage], history: Mapping[int, Message]
    ) -> HistoryNormalizer:
        """Restore the normalizer that was stored with a view."""
        served = served_ids(entry.message for entry in entries)
        waiting = {id: number for id, number in state.get("served", {}).items() if id in served}
        return HistoryNormalizer.of_dict(
            self.format,
            self.count_message,
            {**state, "held": [position for position in state["held"] if position in history], "served": waiting},
            seen_ids=(call.id for entry in entries for call in entry.message.calls),
            unanswered=unanswered(entries, self.format),
            is_ready=is_ready(entries, self.format),
            read=history.__getitem__,
        )

    def _normalized_again(self, entries: Iterable[ViewMessage]) -> list[ViewMessage]:
        """Normalise a view again, after messages were lost or the format became known, so that the provider accepts it."""
        held, self.normalizer = self.normalizer.held, HistoryNormalizer(self.format, self.count_message)
        normalized: list[ViewMessage] = []
        for entry in entries:
            message = entry.message
            found = self.normalizer.add(message, _NOWHERE if entry.position is None else entry.position)
            normalized += [entry if one.shown is message else _renormalized(one, entry) for one in found]
        self.normalizer.held += held
        return normalized

    def _restore(self, data: Mapping[str, Any]) -> None:
        self.anchor = None
        self.history.go_back(Branch.of_data(data.get("branch", {})))


def _format_record_seq(records: Iterable[Record], *, before: int) -> int:
    """The number of the first record that determines the format, if it is below `before`; else 0."""
    notes = (record for record in records if record.kind == "note" and record.data.get("what") == "format")
    found = next(notes, None)
    return found.seq if found is not None and found.seq < before else 0


def _is_loss_note(record: Record) -> bool:
    """True for a note that takes the place of a lost record in a repaired copy."""
    return record.kind == "note" and "lost" in record.data


def _renormalized(normalized: ViewMessage, entry: ViewMessage) -> ViewMessage:
    """The normalized form of an entry. An entry outside the history keeps its other attributes."""
    if normalized.position != _NOWHERE:
        return normalized
    return replace(entry, shown=normalized.message, whole=False, repairs=normalized.repairs)
