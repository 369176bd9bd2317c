"""A conversation without a session: arranged, weighed, compacted where it is over its budget, and written down."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from plimsoll.compaction.engine import compact, is_futile, reworded, untouched
from plimsoll.compaction.join import origins, parted
from plimsoll.compaction.meter import Gauge
from plimsoll.compaction.piece import Piece
from plimsoll.compaction.plan import Outline
from plimsoll.compaction.repair import Arranged, fed, placed
from plimsoll.compaction.result import Fitted, Plan, Report, Revision, report_of
from plimsoll.compaction.settle import as_ordered, ordered
from plimsoll.compaction.task import SummaryReply, SummaryRequest, Task
from plimsoll.compaction.writing import written
from plimsoll.dataclass import dataclass
from plimsoll.formats.format import Format, SystemText
from plimsoll.formats.system_text import system_message, system_text
from plimsoll.message import Message
from plimsoll.summary.frame import Language
from plimsoll.summary.language import language_of
from plimsoll.summary.reread import span_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One conversation, arranged as the provider takes it."""

    gauge: Gauge
    pieces: list[Piece]
    as_said: list[Piece]
    """The same in the order in which the messages came, where the provider takes that order."""
    language: Language
    system: SystemText
    made_at: int
    note: str | None
    """What the report has to say besides what was done."""

    def planned(self, query: str | None, *, asks: bool) -> Generator[SummaryRequest, SummaryReply, Outline]:
        """What is done about it. `asks` says whether a model may be asked for a summary's prose."""
        gauge, tokens = self.gauge, self.gauge.load(self.as_said)
        task = gauge.task(tokens, focus=query, ask_model=asks)
        if not (tokens > gauge.budget.tokens or gauge.policy.acts_at(tokens, gauge.budget.tokens)):
            return untouched(self.as_said, task, tokens)
        pieces = parted(self.pieces, gauge.format)
        task = _recollected(task, pieces)
        draft = gauge.draft(pieces, language=self.language)
        fits = tokens <= task.budget_tokens
        # Pieces that went out joined cost more apart: a view that fits must not be cut because these do not.
        room = max(task.budget_tokens, draft.total) if fits else task.budget_tokens
        outline = yield from compact(draft, replace(task, budget_tokens=room))
        if fits and (not outline.changed or (is_futile(task, tokens, outline.tokens_after) and not outline.arrived)):
            return replace(untouched(self.as_said, task, tokens), note=outline.note)
        if outline.tokens_after > task.budget_tokens:
            outline = yield from compact(gauge.draft(pieces, language=self.language), task)
        outline = replace(outline, budget_tokens=task.budget_tokens)
        return outline if self.as_said is self.pieces else replace(outline, pieces=as_ordered(outline.pieces))

    def plan_of(self, outline: Outline) -> Plan[Any]:
        """The plan to show, change and apply."""
        outline = replace(outline, note="; ".join(note for note in (outline.note, self.note) if note) or None)
        return Plan(
            outline=outline,
            made_at=Revision("", 0, self.made_at, None, self.gauge.format.name),
            _write=self._written,
            _reword=self._reworded,
        )

    def _reworded(self, outline: Outline, text: str) -> Outline:
        task = self.gauge.task(outline.tokens_before)
        return reworded(outline, text, self.gauge.draft((), language=self.language), task)

    def _written(self, outline: Outline) -> Fitted[Any]:
        pieces, system, format = list(outline.pieces), self.system, self.gauge.format
        if system is not None:
            system = system_text(pieces.pop(0).message, system)
        if not format.rules.results_anywhere:
            pieces = ordered(pieces, format)  # what stood between results may have left, or become words
        return Fitted(
            messages=written(pieces, format, replace(self.gauge, system=system).marks_beside),
            origins=origins(pieces, format),
            system=system,
            make_report=partial(self._report, outline),
        )

    def _report(self, outline: Outline) -> Report:
        """The report; what was not counted for the view is counted for it, all at once."""
        self.gauge.messages.prime([piece.message for piece in self.pieces])
        return report_of(outline)


def conversation(gauge: Gauge, messages: Sequence[Message], system: SystemText, note: str | None) -> Conversation:
    """The conversation that these messages are, with the system text that is sent apart."""
    items = fed(messages, gauge.format)
    arranged = placed(items, gauge.format, moves=True)
    beside = [] if system is None else [Piece(message=system_message(system), weigh=gauge.messages.message)]
    pieces = beside + [gauge.piece(item) for item in arranged]
    as_said = _as_said(items, arranged, messages, gauge.format)
    return Conversation(
        gauge=gauge,
        pieces=pieces,
        as_said=pieces if as_said is arranged else beside + [gauge.piece(item) for item in as_said],
        language=language_of(messages, gauge.policy.language),
        system=system,
        made_at=len(messages),
        note=note,
    )


def _as_said(
    items: Sequence[Arranged], arranged: list[Arranged], decoded: Sequence[Message], format: Format
) -> list[Arranged]:
    """The messages in the order they came in where the provider takes that; else `arranged` itself."""
    messages = [item.message for item in arranged]
    if messages == decoded:
        return arranged
    if format.rules.results_anywhere:
        found = placed(items, format, moves=False)
        return arranged if [item.message for item in found] == messages else found
    if format.validate([said.wire or {} for said in decoded]):
        return arranged
    return [Arranged(message=said, position=at) for at, said in enumerate(decoded)]


def _recollected(task: Task, pieces: Sequence[Piece]) -> Task:
    """The task with what earlier summaries among the messages cover: here nothing else is known of what left before.

    Messages are numbered on from them: where one stands for thirty, the next is the thirty-first after it.
    """
    start, end, shift = 0, 0, 0
    for at, piece in enumerate(pieces):
        if piece.origin != "summary" or piece.position is None:
            continue
        place = piece.position + shift
        first, last = span_of(piece.message.text, place)
        start, end = min(start or first, first), max(end, last)
        beside = sum(other.position == piece.position for other in pieces[at + 1 : at + 2])
        shift += last + beside - place - 1
    return replace(task, covers=(start, end), shift=shift) if end else task
