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
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.usage_reports import sent_now
from plimsoll.summary.language import language_of
from plimsoll.validation import integer, text_or_none

Result = TypeVar("Result")
Carrying: TypeAlias = Generator[SummaryRequest, SummaryReply, Result]


def kept_within(recorder: SessionRecorder, query: str | None, *, asks_model: bool) -> Carrying[None]:
    """Compact the view while that is due, then hand it out.

    What is said meanwhile may make a compaction due again; nobody waits for a model a third time.
    """

    def plan(asks: bool) -> Compacting:  # noqa: FBT001 - as _recorded calls it
        return planning(recorder, Wish(focus=text_or_none("query", query)), asked=False, asks_model=asks)

    for asks in (asks_model, asks_model, False):
        said = recorder.log.messages
        found = recorder.check()
        recorder.tell_level(found)
        if found.should_compact:
            yield from _recorded(recorder, "auto", plan, asks_model=asks)
        if recorder.log.messages == said:
            break
    recorder.sent = sent_now(recorder.state, recorder.log.messages)


def viewed(recorder: SessionRecorder, query: str | None, *, asks_model: bool) -> Carrying[View]:
    """The view after the compactions that are due. Nothing can be appended between the last of them and the view."""
    yield from kept_within(recorder, query, asks_model=asks_model)
    recorder.requests.show(recorder.state.event)
    return recorder.written()


def compacted(
    recorder: SessionRecorder, wish: Wish, trigger: str, *, asks_model: bool, actual: int | None = None
) -> Carrying[Compaction]:
    """Compact because somebody asked for it. `actual` is what the provider counted before."""

    def plan(asks: bool) -> Compacting:  # noqa: FBT001 - as _recorded calls it
        return planned(recorder, wish, asks_model=asks)

    return _recorded(recorder, trigger, plan, asks_model=asks_model, actual=actual)


def carried_out(  # noqa: PLR0913 - how a plan is carried out
    recorder: SessionRecorder, plan: Plan, trigger: str, *, rebase: bool, asks_model: bool, actual: int | None = None
) -> Carrying[Compaction]:
    """Record a plan that was made before. When the session is no longer as it was for, a new one with its edited summary takes
    its place where `rebase` allows it; else PlanIsStale is raised.
    """
    if not isinstance(plan, Plan):
        raise SettingError("plan", f"a plan made by preview() is needed, not {type(plan).__name__}")
    now = recorder.state.revision
    if plan.made_at == now:
        plans = partial(_known, plan.outline)
    elif rebase:
        plans = partial(_anew, recorder, plan)
    else:
        raise PlanIsStale(planned_for=plan.made_at.messages, now=now.messages)
    return (yield from _recorded(recorder, trigger, plans, asks_model=asks_model, actual=actual))


def wish_for(
    recorder: SessionRecorder, focus: str | None, policy: PolicyChoice | None, target_tokens: int | None = None
) -> Wish:
    """A wish as it is given: a policy by name or as it is, or some of its fields in place of the session's. Raises SettingError."""
    return Wish(
        focus=text_or_none("focus", focus),
        policy=None if policy is None else policy_of(policy, recorder.gauge.policy),
        target_tokens=None if target_tokens is None else integer("target_tokens", target_tokens, least=1),
    )


def _draft(recorder: SessionRecorder, pieces: Sequence[Piece], gauge: Gauge | None = None) -> Draft:
    """Pieces to work on, with references into this session."""
    gauge = gauge or recorder.gauge
    language = language_of((piece.message for piece in recorder.state.pieces), gauge.policy.language)
    draft = gauge.draft(pieces, refer=partial(reference_of, read=recorder.message_cache.find), language=language)
    draft.reserve_tokens += readers.reserve_tokens(recorder.state.facts.reader, gauge.weigh)
    return draft


def task_for(
    recorder: SessionRecorder,
    focus: str | None,
    *,
    asked: bool = False,
    asks_model: bool = False,
    gauge: Gauge | None = None,
) -> Task:
    """What to do about the view now. Asked for, it is done whatever the load: down to half of what there is."""
    total = recorder.total()
    task = (gauge or recorder.gauge).task(
        total,
        ledger=recorder.ledger(recorder.state.base),
        covers=recorder.state.covers,
        pins=frozenset(recorder.state.facts.pins),
        focus=focus,
        ask_model=asks_model,
        original=recorder.message_cache.find,
        level=Level.aggressive if asked else None,
    )
    return task.asked_for(total) if asked else task


def planning(recorder: SessionRecorder, wish: Wish, *, asked: bool, asks_model: bool) -> Compacting:
    """The steps to a compaction of the view as it stands, as it is wished."""
    gauge = recorder.gauge if wish.policy is None else recorder.gauge.with_policy(wish.policy)
    task = task_for(recorder, wish.focus, asked=asked, asks_model=asks_model, gauge=gauge)
    if wish.target_tokens is not None:
        task = replace(task, goal_tokens=min(wish.target_tokens, task.budget_tokens), forced=False)
    settled, reader = (
        recorder.state.sending.settled(recorder.state.pieces, moves=True),
        recorder.state.facts.reader,
    )
    pieces = parted(settled, gauge.format)
    draft = _draft(recorder, readers.bare(pieces, reader), gauge)
    reserve, before = recorder.gauge.reserve_tokens, recorder.total()
    planning = readers.planned(compact(draft, task), reader, pieces, reserve_tokens=reserve, before=before)
    outline = yield from planning
    return replace(outline, pieces=without_placeholders(outline.pieces))


def planned(recorder: SessionRecorder, wish: Wish, *, asks_model: bool) -> Compacting:
    """The steps to a plan that somebody asked for, whatever the load."""
    return planning(recorder, wish, asked=True, asks_model=asks_model)


def _recorded(
    recorder: SessionRecorder,
    trigger: str,
    plans: Callable[[bool], Compacting],
    *,
    asks_model: bool,
    actual: int | None = None,
) -> Carrying[Compaction]:
    """Plan and record. When the view went on from another compaction meanwhile, that is done again, without the model."""
    while True:
        made_at, waiting = recorder.state.revision, recorder.state.arranger.to_dict()
        outline = yield from plans(asks_model)
        if recorder.state.revision.follows(made_at):
            done = recorder.commit(*_followed(recorder, outline, made_at, waiting), trigger, actual)
            recorder.tell_level(recorder.check())
            return done
        asks_model = False


def _followed(
    recorder: SessionRecorder, outline: Outline, made_at: Revision, waiting: Mapping[str, Any]
) -> tuple[Outline, Arranger]:
    """The outline with everything at the end of its view that was said since it was begun."""
    state, gauge = recorder.state, recorder.gauge
    if made_at.messages == recorder.log.messages or not outline.changed:
        return outline, state.arranger
    line = state.followed(outline.pieces, made_at, waiting)
    line.tally = Tally([*outline.pieces, *unbound(line.pieces[len(outline.pieces) :], gauge.binds)])
    after = gauge.reserve_tokens + line.missing_tokens + line.tokens
    before = recorder.total()
    followed = replace(outline, pieces=tuple(line.pieces), tokens_after=after, count_before=lambda: before)
    return followed, line.arranger


def _known(outline: Outline, _asks_model: bool) -> Compacting:  # noqa: FBT001 - as _recorded calls it
    yield from ()
    return outline


def _anew(recorder: SessionRecorder, plan: Plan, asks_model: bool) -> Compacting:  # noqa: FBT001 - as above
    fresh = yield from planned(recorder, plan.wish, asks_model=asks_model)
    if plan.outline.stage != "edited" or plan.summary is None or fresh.summary is None:
        return fresh
    return _reworded(recorder, fresh, plan.summary)


def upcoming(recorder: SessionRecorder) -> list[dict[str, Any]]:
    """The view that the next request is made of: compacted by rules where that is due. Records nothing."""
    if not recorder.check().should_compact:
        return recorder.written()
    return drive(previewed(recorder, Wish(), asked=False, asks_model=False), None).apply().messages


def previewed(recorder: SessionRecorder, wish: Wish, *, asked: bool = True, asks_model: bool) -> Carrying[Plan]:
    """A plan to look at, to edit, and to carry out while the session is as it is now."""
    made_at, hold = recorder.state.revision, recorder.held()  # a plan can be applied when its session was dropped
    outline = yield from planning(recorder, wish, asked=asked, asks_model=asks_model)

    def reword(outline: Outline, text: str) -> Outline:
        return _reworded(hold.recorder, outline, text)

    def write(outline: Outline) -> Fitted:
        recorder = hold.recorder
        pieces, format = recorder.state.sending.settled(outline.pieces), recorder.gauge.format
        return Fitted(
            messages=written(pieces, format, recorder.gauge.marks_beside),
            origins=origins(pieces, format),
            make_report=partial(report_of, outline),
        )

    return Plan(outline=outline, made_at=made_at, _write=write, _reword=reword, wish=wish)


def _reworded(recorder: SessionRecorder, outline: Outline, text: str) -> Outline:
    reader = recorder.state.facts.reader
    settled = recorder.state.sending.settled(outline.pieces)
    bare = replace(outline, pieces=tuple(readers.bare(settled, reader)))
    made = reworded(bare, text, _draft(recorder, ()), task_for(recorder, None))
    found = readers.as_read(made, reader, reserve_tokens=recorder.gauge.reserve_tokens)
    return replace(found, pieces=without_placeholders(found.pieces))
