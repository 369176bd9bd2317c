"""Carrying compactions out: planned for the view as it stands, recorded with whatever was said while a model wrote.

Most are generators, because a model may be asked: compaction/drive.py resumes them for sync and async callers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

from plimsoll.compaction import readers
from plimsoll.compaction.bound import unbound
from plimsoll.compaction.draft import Draft
from plimsoll.compaction.drive import drive
from plimsoll.compaction.engine import Compacting, compact, reworded
from plimsoll.compaction.join import origins, parted
from plimsoll.compaction.meter import Gauge
from plimsoll.compaction.piece import Piece
from plimsoll.compaction.plan import Outline
from plimsoll.compaction.references import reference_of
from plimsoll.compaction.repair import Arranger
from plimsoll.compaction.result import Fitted, Plan, Revision, View, Wish, report_of
from plimsoll.compaction.settle import without_placeholders
from plimsoll.compaction.tally import Tally
from plimsoll.compaction.task import SummaryReply, SummaryRequest, Task
from plimsoll.compaction.writing import written
from plimsoll.errors import PlanIsStale, SettingError
from plimsoll.policy.budget import Level
from plimsoll.policy.policy import PolicyChoice, policy_of
from plimsoll.records.values import Compaction
from plimsoll.session.recorder import Chronicle
from plimsoll.session.usage_reports import sent_now
from plimsoll.summary.language import language_of
from plimsoll.validation import integer, text_or_none

Result = TypeVar("Result")
Carrying: TypeAlias = Generator[SummaryRequest, SummaryReply, Result]


def kept_within(chronicle: Chronicle, query: str | None, *, asks_model: bool) -> Carrying[None]:
    """Compact the view while that is due, then hand it out.

    What is said meanwhile may make a compaction due again; nobody waits for a model a third time.
    """

    def plan(asks: bool) -> Compacting:  # noqa: FBT001 - as _recorded calls it
        return planning(chronicle, Wish(focus=text_or_none("query", query)), asked=False, asks_model=asks)

    for asks in (asks_model, asks_model, False):
        said = chronicle.log.messages
        found = chronicle.check()
        chronicle.tell_level(found)
        if found.should_compact:
            yield from _recorded(chronicle, "auto", plan, asks_model=asks)
        if chronicle.log.messages == said:
            break
    chronicle.sent = sent_now(chronicle.timeline, chronicle.log.messages)


def viewed(chronicle: Chronicle, query: str | None, *, asks_model: bool) -> Carrying[View]:
    """The view after the compactions that are due. Nothing can be appended between the last of them and the view."""
    yield from kept_within(chronicle, query, asks_model=asks_model)
    chronicle.requests.show(chronicle.timeline.event)
    return chronicle.written()


def compacted(
    chronicle: Chronicle, wish: Wish, trigger: str, *, asks_model: bool, actual: int | None = None
) -> Carrying[Compaction]:
    """Compact because somebody asked for it. `actual` is what the provider counted before."""

    def plan(asks: bool) -> Compacting:  # noqa: FBT001 - as _recorded calls it
        return planned(chronicle, wish, asks_model=asks)

    return _recorded(chronicle, trigger, plan, asks_model=asks_model, actual=actual)


def carried_out(  # noqa: PLR0913 - how a plan is carried out
    chronicle: Chronicle, plan: Plan, trigger: str, *, rebase: bool, asks_model: bool, actual: int | None = None
) -> Carrying[Compaction]:
    """Record a plan that was made before. When the session is no longer as it was for, a new one with its edited summary takes
    its place where `rebase` allows it; else PlanIsStale is raised.
    """
    if not isinstance(plan, Plan):
        raise SettingError("plan", f"a plan made by preview() is needed, not {type(plan).__name__}")
    now = chronicle.timeline.revision
    if plan.made_at == now:
        plans = partial(_known, plan.outline)
    elif rebase:
        plans = partial(_anew, chronicle, plan)
    else:
        raise PlanIsStale(planned_for=plan.made_at.messages, now=now.messages)
    return (yield from _recorded(chronicle, trigger, plans, asks_model=asks_model, actual=actual))


def wish_for(
    chronicle: Chronicle, focus: str | None, policy: PolicyChoice | None, target_tokens: int | None = None
) -> Wish:
    """A wish as it is given: a policy by name or as it is, or some of its fields in place of the session's. Raises SettingError."""
    return Wish(
        focus=text_or_none("focus", focus),
        policy=None if policy is None else policy_of(policy, chronicle.gauge.policy),
        target_tokens=None if target_tokens is None else integer("target_tokens", target_tokens, least=1),
    )


def _draft(chronicle: Chronicle, pieces: Sequence[Piece], gauge: Gauge | None = None) -> Draft:
    """Pieces to work on, with references into this session."""
    gauge = gauge or chronicle.gauge
    language = language_of((piece.message for piece in chronicle.timeline.pieces), gauge.policy.language)
    draft = gauge.draft(pieces, refer=partial(reference_of, read=chronicle.originals.find), language=language)
    draft.reserve_tokens += readers.reserve_tokens(chronicle.timeline.facts.reader, gauge.weigh)
    return draft


def task_for(
    chronicle: Chronicle,
    focus: str | None,
    *,
    asked: bool = False,
    asks_model: bool = False,
    gauge: Gauge | None = None,
) -> Task:
    """What to do about the view now. Asked for, it is done whatever the load: down to half of what there is."""
    total = chronicle.total()
    task = (gauge or chronicle.gauge).task(
        total,
        ledger=chronicle.ledger(chronicle.timeline.base),
        covers=chronicle.timeline.covers,
        pins=frozenset(chronicle.timeline.facts.pins),
        focus=focus,
        ask_model=asks_model,
        original=chronicle.originals.find,
        level=Level.aggressive if asked else None,
    )
    return task.asked_for(total) if asked else task


def planning(chronicle: Chronicle, wish: Wish, *, asked: bool, asks_model: bool) -> Compacting:
    """The steps to a compaction of the view as it stands, as it is wished."""
    gauge = chronicle.gauge if wish.policy is None else chronicle.gauge.with_policy(wish.policy)
    task = task_for(chronicle, wish.focus, asked=asked, asks_model=asks_model, gauge=gauge)
    if wish.target_tokens is not None:
        task = replace(task, goal_tokens=min(wish.target_tokens, task.budget_tokens), forced=False)
    settled, reader = (
        chronicle.timeline.sending.settled(chronicle.timeline.pieces, moves=True),
        chronicle.timeline.facts.reader,
    )
    pieces = parted(settled, gauge.format)
    draft = _draft(chronicle, readers.bare(pieces, reader), gauge)
    reserve, before = chronicle.gauge.reserve_tokens, chronicle.total()
    planning = readers.planned(compact(draft, task), reader, pieces, reserve_tokens=reserve, before=before)
    outline = yield from planning
    return replace(outline, pieces=without_placeholders(outline.pieces))


def planned(chronicle: Chronicle, wish: Wish, *, asks_model: bool) -> Compacting:
    """The steps to a plan that somebody asked for, whatever the load."""
    return planning(chronicle, wish, asked=True, asks_model=asks_model)


def _recorded(
    chronicle: Chronicle,
    trigger: str,
    plans: Callable[[bool], Compacting],
    *,
    asks_model: bool,
    actual: int | None = None,
) -> Carrying[Compaction]:
    """Plan and record. When the view went on from another compaction meanwhile, that is done again, without the model."""
    while True:
        made_at, waiting = chronicle.timeline.revision, chronicle.timeline.arranger.to_dict()
        outline = yield from plans(asks_model)
        if chronicle.timeline.revision.follows(made_at):
            done = chronicle.commit(*_followed(chronicle, outline, made_at, waiting), trigger, actual)
            chronicle.tell_level(chronicle.check())
            return done
        asks_model = False


def _followed(
    chronicle: Chronicle, outline: Outline, made_at: Revision, waiting: Mapping[str, Any]
) -> tuple[Outline, Arranger]:
    """The outline with everything at the end of its view that was said since it was begun."""
    timeline, gauge = chronicle.timeline, chronicle.gauge
    if made_at.messages == chronicle.log.messages or not outline.changed:
        return outline, timeline.arranger
    line = timeline.followed(outline.pieces, made_at, waiting)
    line.tally = Tally([*outline.pieces, *unbound(line.pieces[len(outline.pieces) :], gauge.binds)])
    after = gauge.reserve_tokens + line.missing_tokens + line.tokens
    before = chronicle.total()
    followed = replace(outline, pieces=tuple(line.pieces), tokens_after=after, count_before=lambda: before)
    return followed, line.arranger


def _known(outline: Outline, _asks_model: bool) -> Compacting:  # noqa: FBT001 - as _recorded calls it
    yield from ()
    return outline


def _anew(chronicle: Chronicle, plan: Plan, asks_model: bool) -> Compacting:  # noqa: FBT001 - as above
    fresh = yield from planned(chronicle, plan.wish, asks_model=asks_model)
    if plan.outline.stage != "edited" or plan.summary is None or fresh.summary is None:
        return fresh
    return _reworded(chronicle, fresh, plan.summary)


def upcoming(chronicle: Chronicle) -> list[dict[str, Any]]:
    """The view that the next request is made of: compacted by rules where that is due. Records nothing."""
    if not chronicle.check().should_compact:
        return chronicle.written()
    return drive(previewed(chronicle, Wish(), asked=False, asks_model=False), None).apply().messages


def previewed(chronicle: Chronicle, wish: Wish, *, asked: bool = True, asks_model: bool) -> Carrying[Plan]:
    """A plan to look at, to edit, and to carry out while the session is as it is now."""
    made_at, hold = chronicle.timeline.revision, chronicle.held()  # a plan can be applied when its session was dropped
    outline = yield from planning(chronicle, wish, asked=asked, asks_model=asks_model)

    def reword(outline: Outline, text: str) -> Outline:
        return _reworded(hold.chronicle, outline, text)

    def write(outline: Outline) -> Fitted:
        chronicle = hold.chronicle
        pieces, format = chronicle.timeline.sending.settled(outline.pieces), chronicle.gauge.format
        return Fitted(
            messages=written(pieces, format, chronicle.gauge.marks_beside),
            origins=origins(pieces, format),
            make_report=partial(report_of, outline),
        )

    return Plan(outline=outline, made_at=made_at, _write=write, _reword=reword, wish=wish)


def _reworded(chronicle: Chronicle, outline: Outline, text: str) -> Outline:
    reader = chronicle.timeline.facts.reader
    settled = chronicle.timeline.sending.settled(outline.pieces)
    bare = replace(outline, pieces=tuple(readers.bare(settled, reader)))
    made = reworded(bare, text, _draft(chronicle, ()), task_for(chronicle, None))
    found = readers.as_read(made, reader, reserve_tokens=chronicle.gauge.reserve_tokens)
    return replace(found, pieces=without_placeholders(found.pieces))
