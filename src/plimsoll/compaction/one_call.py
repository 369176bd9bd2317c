"""Normalize, measure and compact a conversation without a session."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

from plimsoll.compaction.drive import drive
from plimsoll.compaction.engine import compact, is_futile, reworded, untouched
from plimsoll.compaction.join import as_one, entry_of, origins, runs, split_joined
from plimsoll.compaction.levels import untouched_tokens_max
from plimsoll.compaction.meter import ContextMeter
from plimsoll.compaction.normalize import fed, placed
from plimsoll.compaction.plan import Outline
from plimsoll.compaction.result import Fitted, Plan, Report, Revision, report_of
from plimsoll.compaction.settle import as_ordered, ordered
from plimsoll.compaction.task import SummaryReply, SummaryRequest, Task
from plimsoll.compaction.view_message import ViewMessage, placed_at
from plimsoll.compaction.writing import finished, written
from plimsoll.errors import CannotFit
from plimsoll.formats.format import SystemText
from plimsoll.formats.system_text import system_message, system_text
from plimsoll.formats.wire import copied_value
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.message import Message
from plimsoll.summary.frame import Language
from plimsoll.summary.language import language_of
from plimsoll.summary.reread import span_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredConversation:
    """One conversation, normalized for the provider."""

    meter: ContextMeter
    entries: list[ViewMessage]
    in_input_order: list[ViewMessage]
    """The same messages in their input order, where the provider accepts that order."""
    language: Language
    system: SystemText
    made_at: int
    note: str | None
    """An extra note for the report."""
    places: Sequence[int] | None = None
    """For each message the position it was given at; None if these are the same."""

    def planned(self, query: str | None, *, asks: bool) -> Generator[SummaryRequest, SummaryReply, Outline]:
        """Plan the compaction. `asks` is whether a model may be asked for a summary."""
        meter, tokens = self.meter, self.meter.count_from_newest(self.in_input_order)
        task = meter.task(tokens, query=query, ask_model=asks)
        if not (tokens > meter.budget.tokens or meter.policy.acts_at(tokens, meter.budget.tokens)):
            return untouched(self.in_input_order, task, tokens)
        # A model is asked once: what it wrote is not asked for again after a second look.
        outline = yield from self.compacted(replace(task, settles=asks), tokens)
        if asks or not outline.changed or not self._acts_on(outline):
            return outline
        if outline.stage == "fit":
            return (yield from self.compacted(task, tokens))
        left_alone = untouched_tokens_max(meter.policy, meter.budget.tokens)
        with suppress(CannotFit):
            outline = yield from self.compacted(replace(task, budget_tokens=left_alone), tokens)
        return replace(outline, budget_tokens=task.budget_tokens)

    def _acts_on(self, outline: Outline) -> bool:
        """Whether the policy would change what it has just made, if it came back: a cut between its load line and the budget."""
        meter = self.meter
        if outline.tokens_after <= untouched_tokens_max(meter.policy, meter.budget.tokens):
            return False
        messages = [entry.message for entry in outline.entries]
        system = None if self.system is None else system_text(messages.pop(0), self.system)
        again = conversation(meter, messages, system, None)
        task = meter.task(outline.tokens_after)
        return drive(again.compacted(replace(task, settles=False), outline.tokens_after), None).changed

    def compacted(self, task: Task, tokens: int) -> Generator[SummaryRequest, SummaryReply, Outline]:
        """Compact to the task's budget; unchanged if the messages fit and too little would be gained."""
        meter = self.meter
        entries = split_joined(self.entries, meter.format)
        task = _recollected(task, entries)
        view = meter.working_view(entries, language=self.language)
        fits = tokens <= task.budget_tokens
        # Split messages cost more than joined ones: do not cut a view that fits only because its split form does not.
        room = max(task.budget_tokens, view.total) if fits else task.budget_tokens
        outline = yield from compact(view, replace(task, budget_tokens=room))
        if fits and (not outline.changed or (is_futile(task, tokens, outline.tokens_after) and not outline.arrived)):
            return replace(untouched(self.in_input_order, task, tokens), note=outline.note)
        if outline.tokens_after > task.budget_tokens:
            outline = yield from compact(meter.working_view(entries, language=self.language), task)
        outline = replace(outline, budget_tokens=task.budget_tokens)
        return outline if self.in_input_order is self.entries else replace(outline, entries=as_ordered(outline.entries))

    def plan_of(self, outline: Outline) -> Plan[Any]:
        """The plan, which can be shown, edited and applied."""
        outline = self._as_sent(outline)
        note = "; ".join(note for note in (outline.note, self.note) if note) or None
        outline = replace(outline, note=note, places=self.places)
        return Plan(
            outline=outline,
            made_at=Revision("", 0, 0, self.made_at, None, self.meter.format.name),
            _write=self._written,
            _reword=self._reworded,
        )

    def _reworded(self, outline: Outline, text: str) -> Outline:
        task = self.meter.task(outline.tokens_before)
        return self._as_sent(reworded(outline, text, self.meter.working_view((), language=self.language), task))

    def _as_sent(self, outline: Outline) -> Outline:
        """The outline with the size of the messages as they are sent: neighbours of one role merged, the last one trimmed."""
        meter = self.meter
        if not meter.format.rules.joins_roles:
            return outline
        saved = 0
        groups = list(runs(outline.entries, meter.format))
        for number, run in enumerate(groups, 1):
            message = as_one(run, meter.format)
            sent = finished(message, meter.format.rules) if number == len(groups) else message
            if len(run) > 1 or sent is not message:
                saved += sum(entry.tokens for entry in run) - meter.count_message(sent)
        return replace(outline, tokens_after=outline.tokens_after - saved) if saved else outline

    def _written(self, outline: Outline) -> Fitted[Any]:
        entries, system, format = list(outline.entries), self.system, self.meter.format
        if system is not None:
            system = system_text(entries.pop(0).message, system)
        if not format.rules.results_anywhere:
            entries = ordered(
                entries, format
            )  # The messages between results may have been removed or converted to text.
        return Fitted(
            messages=written(entries, format, replace(self.meter, system=system).leading_marks),
            origins=tuple(tuple(placed_at(found, self.places)) for found in origins(entries, format)),
            system=copied_value(system),
            report=cast("Report", partial(self._report, outline)),
        )

    def _report(self, outline: Outline) -> Report:
        """The report. Counts deferred while computing the view are made now."""
        self.meter.messages.prime([entry.message for entry in self.entries])
        return report_of(outline)


def conversation(
    meter: ContextMeter,
    messages: Sequence[Message],
    system: SystemText,
    note: str | None,
    places: Sequence[int] | None = None,
) -> MeasuredConversation:
    """The conversation of these messages, with the system text that is sent apart."""
    items = fed(messages, meter.format, meter.count_message)
    normalized = placed(items, meter.format, meter.count_message, moves=True)
    leading = []
    if system is not None:
        leading = [ViewMessage(shown=system_message(system), count_message=meter.messages.message)]
    entries = leading + normalized
    ordered = _in_input_order(items, normalized, messages, meter)
    return MeasuredConversation(
        meter=meter,
        entries=entries,
        in_input_order=entries if ordered is normalized else leading + ordered,
        language=language_of(messages, meter.policy.language),
        system=system,
        made_at=len(messages),
        note=note,
        places=places,
    )


def _in_input_order(
    items: Sequence[ViewMessage], normalized: list[ViewMessage], decoded: Sequence[Message], meter: ContextMeter
) -> list[ViewMessage]:
    """The messages in input order if the provider accepts it, else `normalized` itself."""
    format, count_message = meter.format, meter.count_message
    messages = [item.message for item in normalized]
    if messages == decoded:
        return normalized
    if format.rules.results_anywhere:
        found = placed(items, format, count_message, moves=False)
        return normalized if [item.message for item in found] == messages else found
    if format.validate([message.wire or {} for message in decoded]):
        return normalized
    return [entry_of(message, at, count_message) for at, message in enumerate(decoded)]


def _recollected(task: Task, entries: Sequence[ViewMessage]) -> Task:
    """The task, with what earlier summaries among the messages cover.

    Positions continue after them: if a summary stands for thirty messages, the next message is number thirty-one.
    """
    start, end, shift = 0, 0, 0
    for at, entry in enumerate(entries):
        if entry.origin != "summary" or entry.position is None:
            continue
        place = entry.position + shift
        first, last = span_of(entry.message.text, place)
        start, end = min(start or first, first), max(end, last)
        joined = sum(other.position == entry.position for other in entries[at + 1 : at + 2])
        shift += last + joined - place - 1
    return replace(task, covers=(start, end), shift=shift) if end else task
