"""The state of an open session and its log. This is the only module that writes records.

Every change is first written as a record and then applied, so a failed write changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from threading import RLock
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar
from weakref import ReferenceType, finalize, ref

from plimsoll.compaction.join import origins
from plimsoll.compaction.levels import check_view, with_unseen
from plimsoll.compaction.meter import ContextMeter
from plimsoll.compaction.normalize import HistoryNormalizer
from plimsoll.compaction.plan import Outline
from plimsoll.compaction.references import position_named
from plimsoll.compaction.result import View
from plimsoll.compaction.writing import ViewWriter, written
from plimsoll.errors import ReferenceNotFound, SessionClosed, SessionDamaged, SettingError
from plimsoll.formats.intake import decode_received, received
from plimsoll.formats.wire import copied
from plimsoll.light.dataclass import replace
from plimsoll.message import Message, MessageLike
from plimsoll.policy.budget import Check, Level
from plimsoll.policy.validation import boolean, short_repr
from plimsoll.protocols import Record, RecordDraft, SessionLog
from plimsoll.records.arrival import FIXED, Arrivals, Requests, as_stored
from plimsoll.records.checks import record_problem
from plimsoll.records.compactions import IMPORT, CompactionChain, record_at, totals_at, turned_at
from plimsoll.records.ledgers import Ledgers, ledger_data
from plimsoll.records.packing import packed
from plimsoll.records.replay import ViewState
from plimsoll.records.usage import Usage, newest_usage, usage_data
from plimsoll.records.values import Compaction, compaction_data, compaction_of, seq_of, view_items
from plimsoll.session.level_log import log_level_change
from plimsoll.session.message_cache import MessageCache
from plimsoll.session.reading import LogReader
from plimsoll.session.settings import Kept
from plimsoll.session.usage_reports import Estimates, Sent, warn_of_excess
from plimsoll.store.copying import fork
from plimsoll.store.log import wall_clock_ms
from plimsoll.summary.ledger import Ledger


class HasRecorder(Protocol):
    """An object that works on a recorder."""

    _recorder: SessionRecorder


P = ParamSpec("P")
Result = TypeVar("Result")
Own = TypeVar("Own", bound=HasRecorder)


def locked(method: Callable[Concatenate[Own, P], Result]) -> Callable[Concatenate[Own, P], Result]:
    """Run a session's method with exclusive access to the session. Raises SessionClosed if it is closed."""

    @wraps(method)
    def alone(self: Own, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        recorder = self._recorder
        with recorder.lock:
            recorder.check_open()
            return method(self, *args, **kwargs)

    return alone


class Hold:
    """Keeps a recorder open: the log is closed once the last reference to this object is gone."""

    def __init__(self, recorder: SessionRecorder) -> None:
        self.recorder = recorder


class SessionRecorder:
    """An open session: its log, its state, and the meter that counts its view."""

    def __init__(
        self, log: SessionLog, meter: ContextMeter, kept: Kept, newest: Sequence[Record] | None = None
    ) -> None:
        """`newest` is the result of `newest_records(log)`, if the caller has it already."""
        self.log = log
        self.lock = RLock()
        """Guards the state below. Not held while a model is asked."""
        self._hold: ReferenceType[Hold] | None = None
        self.is_closed = False
        self.meter = meter
        self.kept = kept
        self._level = Level.none
        self.sent: Sent | None = None
        self.requests, self.estimates = Requests(), Estimates()
        self._writer = ViewWriter()
        known = kept.knowledge
        self.state = ViewState.of(log, meter.format, meter.count_message, known=known.is_recorded, newest=newest)
        self.state.format_fixed = known.is_fixed
        reader = LogReader(self)
        self.message_cache = MessageCache(reader.messages, kept.storage)
        self._ledgers = Ledgers(reader.ledger, reader.ledger_anew)
        self.calibrate()

    # --- reading

    def total(self) -> int:
        """Upper bound of the tokens of the current view."""
        return self.reserve() + self.state.tokens

    def check(self) -> Check:
        """Whether a compaction is due: always above the budget, and above a load line if it can make progress."""
        meter, state, total = self.meter, self.state, self.total()
        fresh = None if state.base is None else state.tally.fresh_tokens
        found = check_view(total, meter.policy, meter.budget.tokens, new_tokens=fresh)
        stuck = state.is_stuck(found.level, meter.budget.tokens)
        due = total > meter.budget.tokens or (found.should_compact and not stuck)
        return replace(with_unseen(found, meter.lines, meter.budget.unseen_tokens), should_compact=due)

    def due(self) -> Check | None:
        """The check, if a compaction may be due or the level has changed; None for a view that is below every line, as before."""
        if self._level == Level.none and self.total() < self.meter.lines.soft:
            return None
        return self.check()

    def tell_level(self, found: Check) -> None:
        """Log the level if it has changed since the last call."""
        self._level = log_level_change(self.log.name, self._level, found)

    def written(self) -> View:
        """The current view in the session's format."""
        entries, format = self.state.sendable(), self.meter.format
        count = len(entries)  # the list may grow later
        wires = self._writer.write(entries, format, self.meter.leading_marks)
        return View(wires, lambda: origins(entries[:count], format))

    def history(self, *, all: bool = False) -> list[dict[str, Any]]:
        """Every message of the history in full, or with `all` every message ever appended."""
        records = self.log.read_messages() if boolean("all", all) else self.state.history.messages()
        return [copied(record.data["m"]) for record in records]

    def message(self, position: int, reference: str) -> Message:
        """A message of the history. Raises ReferenceNotFound if there is none, SessionDamaged if it cannot be read."""
        if (found := self.message_cache.find(position)) is not None:
            return found
        if position < self.log.messages:
            raise SessionDamaged(self.log.name, detail=f"message {position} cannot be read")
        newest = f"the newest message is m{self.log.messages - 1}" if self.log.messages else "there are no messages"
        raise ReferenceNotFound(reference, newest)

    def cost(self, message: MessageLike) -> int:
        """Tokens that a message would add to the view. Raises FormatError."""
        format = self.kept.knowledge.format_of([message], self.meter.format)
        return sum(self.meter.count_message(format.decode(wire, 0)) for wire in received([message]).wires)

    def compaction(self, compaction_id: str) -> Record:
        """The record of a compaction. Raises SettingError."""
        seq = seq_of(compaction_id)
        record = record_at(self.log, seq) if 0 <= seq < self.log.length else None
        if record is not None and record.kind == "compaction":
            return record
        raise SettingError("compaction_id", f"{short_repr(compaction_id)} is not a compaction of this session")

    def view_after(self, compaction_id: str) -> View:
        """The view after a compaction. Raises SettingError."""
        entries, format = self.state.after(self.compaction(compaction_id)).sendable(), self.meter.format
        return View(written(entries, format, self.meter.leading_marks), lambda: origins(entries, format))

    # --- messages

    def append(
        self,
        messages: Sequence[MessageLike],
        times_ms: Sequence[int | None] = (),
        edit: RecordDraft | None = None,
        *,
        read: Sequence[Message] = (),
    ) -> Sequence[int]:
        """Append messages, all or none, after an optional edit of earlier ones. Returns positions. Raises as `Session.extend`.

        `read` are messages already decoded in the session's format, instead of `messages`. They stay decoded: their caller holds
        them too, and looks at them next.
        """
        taken = received(messages)
        new_format = self.kept.knowledge.newly_known(taken, self.meter.format)
        format = new_format or self.meter.format
        decoded = read or decode_received(taken, format)
        added = [as_stored(message, format, index) for index, message in enumerate(decoded)]
        if not added and edit is None:
            return range(0)
        if times_ms and len(times_ms) != len(added):
            raise SettingError("times_ms", f"{len(times_ms)} times for {len(added)} messages")
        first, is_late = self.log.messages, self.requests.are_of_other_than(self.state.event)
        arrivals = Arrivals(
            self.meter, self.state, new_format=new_format, limit_tokens=self._result_limit, edit=edit, is_late=is_late
        )
        has_answer = False
        for index, (message, text) in enumerate(added):
            arrivals.add(message, first + index, times_ms[index] if times_ms else None, text)
            has_answer = has_answer or message.role == "assistant"
        arrivals.take(self.log.append(arrivals.drafts))
        self.meter, self.state = arrivals.meter, arrivals.state
        if not read:
            self.state.rest()
        if has_answer:
            self.requests.answer()
        if edit is not None:
            self.message_cache.clear()
        self.kept = self.kept if new_format is None else replace(self.kept, knowledge=FIXED)
        return range(first, first + len(added))

    # --- compaction

    def commit(
        self,
        outline: Outline,
        normalizer: HistoryNormalizer,
        trigger: str,
        actual: int | None = None,
        at_ms: int | None = None,
    ) -> Compaction:
        """Record and apply a compaction. One that changes nothing is only noted in memory, so that it is not repeated.

        `normalizer` is the state of the normalizer at the end of the outline's view.
        """
        data = compaction_data(outline, trigger, actual or self.state.facts.reported)
        if outline.changed:
            data |= self._state_data(outline, normalizer)
        self._ledgers.rest()
        if outline.changed:
            return compaction_of(self._write("compaction", data, at_ms))
        self.state.no_progress_at = (outline.level, len(self.state.entries))
        nothing = Record(seq=0, position=0, kind="compaction", at_ms=wall_clock_ms(), data={**data, "view": []})
        return replace(compaction_of(nothing), id=None)

    def _state_data(self, outline: Outline, normalizer: HistoryNormalizer) -> dict[str, Any]:
        """The view and the whole state after a compaction, since replay starts at its record."""
        state = self.state
        before, chars = self._ledgers.at(state.base)
        stats = state.facts.stats
        if self.kept.stats and outline.stage != IMPORT:
            stats = stats.after(
                tokens_before=outline.tokens_before, tokens_after=outline.tokens_after, level=outline.level
            )
        entries, history = outline.entries, state.originals(outline.entries, self.message_cache.held)
        return {
            "view": view_items(entries, self.meter.format, history, summary=outline.summary),
            "state": {**state.snapshot(), "stats": stats.totals(), "open": normalizer.to_dict()},
            "ledger": ledger_data(before, outline.ledger, state.base, chars),
            "base": state.base,
            "prev": state.event,
        }

    def ledger(self, seq: int | None) -> Ledger:
        """The ledger after a compaction; None: at the beginning."""
        return self._ledgers.at(seq)[0]

    def note(self, data: Mapping[str, Any]) -> None:
        """Append a note; `data["what"]` is its kind."""
        self._write("note", data)

    def notes(self, what: str) -> list[Mapping[str, Any]]:
        """The notes of one kind, oldest first. Reads the whole log."""
        return [record.data for record in self.log.read() if record.kind == "note" and record.data.get("what") == what]

    def rollback(self, compaction_id: str | None) -> Compaction:
        """Undo a compaction in force and those after it."""
        chain = self.chain()
        seq = chain.to_undo(compaction_id)
        return self._go_on_from(chain.before(seq), seq, record_at(self.log, seq).data["prev"])

    def reapply(self, compaction_id: str | None) -> Compaction:
        """Redo a compaction that was undone."""
        seq = self.chain().to_redo(compaction_id)
        return self._go_on_from(seq, seq, seq)

    def _go_on_from(self, base: int | None, about: int, event: int | None) -> Compaction:
        """Go back to the view that `event` began. What the provider counted for it holds again."""
        state = self.state
        undone = {**state.snapshot(), "stats": totals_at(self.log, base)}
        bound = self.meter.bound(state.history.decoded(turned_at(self.log, base), self.log.messages))
        data = {"about": about, "base": base, "prev": state.event, "unbound": bound, "state": undone}
        self._write("rollback", {**data, "usage": newest_usage(self.log, event)})
        self.calibrate()
        return compaction_of(record_at(self.log, about), undone=about not in self.chain().in_force())

    # --- pins, usage, forks

    def pin(self, message_id: str | int, *, pinned: bool) -> None:
        """Pin or unpin a message. Pinned messages stay in every view."""
        self._write("pin", {"position": self.position(message_id), "pinned": pinned})

    def record_usage(self, usages: Sequence[Usage], event: int | None) -> None:
        """Record usage reported for requests of the view based on `event`, and calibrate by it.

        The next report belongs to another request.
        """
        drafts = [RecordDraft(kind="usage", data=usage_data(one, event), at_ms=one.at_ms) for one in usages]
        for record in self.log.append(drafts):
            self.state.take(record)
        self.sent = None
        self.calibrate()

    def calibrate(self) -> None:
        """Count by the usage reported so far."""
        self.meter, before = self.meter.calibrated(self.state.facts.calibration), self.meter
        self._result_limit = self.meter.policy.tool_result_limit(self.meter.budget.tokens)
        if self.meter.counter is not before.counter:
            self.state.recount(self.meter.count_message)
        if self.state.anchor is not None and not self.meter.counter.exact:
            entries, reported = self.state.anchor
            self.state.tally.know(entries, self.meter.reported_view(reported))
        warn_of_excess(self.log.name, before, self.meter)

    def fork(self, at: str | int | None, name: str | None, edit: Callable[[SessionRecorder], None]) -> SessionRecorder:
        """A new session whose log is a copy of this one's, up to and including message `at`, after `edit` has changed it."""
        about = {**record_at(self.log, 0).data, "forked_from": self.log.name, "forked_at": None}
        stop = None
        if at is not None:
            position = self.position(at)
            about["forked_at"] = f"m{position}"
            stop = next((record.seq for record in self.log.read_messages(position, position + 1)), None)
            if stop is None:
                raise SessionDamaged(self.log.name, detail=f"message {position} cannot be read")
        branch, store = self.state.history.branch, self.kept.store
        is_edited = stop is not None and (branch.left or branch.changed)
        change = (lambda log: edit(self._forked(log))) if is_edited else None
        chosen = fork(self.log, store, about, stop=stop, name=name, now_ms=wall_clock_ms(), edit=change)
        return self._forked(store.open(chosen))

    def _forked(self, log: SessionLog) -> SessionRecorder:
        log.set_check(record_problem)
        return SessionRecorder(log, self.meter, self.kept)

    @contextmanager
    def access(self) -> Iterator[None]:
        """Exclusive access to the session. Raises SessionClosed."""
        with self.lock:
            self.check_open()
            yield

    def check_open(self) -> None:
        """Raise SessionClosed if it is closed."""
        if self.is_closed:
            raise SessionClosed(self.log.name, path=self.log.where)

    def held(self) -> Hold:
        """A handle that keeps the log open as long as it is referenced."""
        hold = None if self._hold is None else self._hold()
        if hold is None:
            hold = Hold(self)
            self._hold = ref(hold)
            finalize(hold, self.close)
        return hold

    def close(self) -> None:
        """Close the log and its store. Idempotent."""
        if not self.is_closed:
            self.is_closed = True
            self.log.close()
            self.kept.store.close()

    def position(self, message_id: str | int) -> int:
        """The position of a message. Raises SettingError if the id is not in the history."""
        found = position_named(message_id)
        if found is None or found >= self.log.messages:
            raise SettingError("message_id", f"{short_repr(message_id)} is not a message of this session")
        return found

    # --- records

    def reserve(self) -> int:
        """Tokens of a request apart from the view's messages, placeholders for missing results included."""
        return self.meter.reserve_tokens + self.state.missing_tokens

    def _write(self, kind: str, data: Mapping[str, Any], at_ms: int | None = None) -> Record:
        """Append and apply one record."""
        written = packed(data, compresses=self.kept.storage.compress) if kind == "compaction" else data
        (record,) = self.log.append([RecordDraft(kind=kind, data=written, at_ms=at_ms)])
        if kind == "compaction" and ("z" in written or "y" in written):
            record = record._replace(data=data)  # saves inflating the fields that were just packed
        self.state.take(record)
        return record

    def chain(self) -> CompactionChain:
        """The compactions, rollbacks and edits of the session."""
        return CompactionChain(self.log, newest=self.state.event, base=self.state.base)
