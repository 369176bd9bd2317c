"""Compaction of a session's view: planned for the current view, recorded together with messages appended while a model writes.

Most functions are generators, since they may ask a model; compaction/drive.py runs them for sync and async callers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from plimsoll.compaction import readers
from plimsoll.compaction.bound import unbound
from plimsoll.compaction.drive import drive
from plimsoll.compaction.engine import Compacting, compact, reworded
from plimsoll.compaction.join import origins, split_joined
from plimsoll.compaction.meter import ContextMeter
from plimsoll.compaction.normalize import HistoryNormalizer
from plimsoll.compaction.notes_shown import with_notes
from plimsoll.compaction.plan import Outline
from plimsoll.compaction.references import reference_of
from plimsoll.compaction.result import CompactionOptions, Fitted, Plan, Report, Revision, View, report_of
from plimsoll.compaction.settle import without_placeholders
from plimsoll.compaction.tally import Tally
from plimsoll.compaction.task import SummaryReply, SummaryRequest, Task
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.compaction.working_view import WorkingView
from plimsoll.compaction.writing import written
from plimsoll.errors import PlanIsStale, SettingError
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.policy.budget import Level
from plimsoll.policy.policy import PolicyChoice, policy_of
from plimsoll.policy.validation import integer, text_or_none
from plimsoll.records.values import Compaction
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.remembering import flushed
from plimsoll.session.usage_reports import sent_now
from plimsoll.summary.language import language_of

Result = TypeVar("Result")
Carrying: TypeAlias = Generator[SummaryRequest, SummaryReply, Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPlan:
    """A plan for the view at `made_at`, made before it is due. Messages appended since follow it."""

    outline: Outline
    made_at: Revision
    waiting: Mapping[str, Any]
    conditions: Hashable
    """What else the plan depends on: pins, policy and budget."""


class PlansAhead(Protocol):
    """What has prepared a plan, perhaps."""

    def take(self, recorder: SessionRecorder) -> PreparedPlan | None:
        """The plan, once, if it is for the current view or an earlier part of it."""
        ...


def kept_within(
    recorder: SessionRecorder, query: str | None, *, asks_model: bool, ahead: PlansAhead | None = None
) -> Carrying[None]:
    """Compact until no compaction is due, then mark the view as handed out. A plan that was made ahead is used first, and the model
    is only asked for it ahead.

    Messages appended during a compaction may make another one due. The third run uses rules only, so that a caller waits for at
    most two model calls.
    """

    def plan(asks: bool) -> Compacting:  # noqa: FBT001 - as _recorded calls it
        return planning(recorder, CompactionOptions(query=text_or_none("query", query)), asked=False, asks_model=asks)

    asks_model = asks_model and ahead is None
    for asks in (asks_model, asks_model, False):
        count = recorder.log.messages
        recorder.state.tally.wake()
        found = recorder.due()
        if found is None:
            break
        recorder.tell_level(found)
        prepared = None if ahead is None or not found.should_compact else ahead.take(recorder)
        if prepared is not None:
            outline = yield from flushed(recorder, prepared.outline, asks_model=False)
            _commit(recorder, outline, prepared.made_at, prepared.waiting, "auto")
            continue  # what was appended since may be too much beside it
        if found.should_compact:
            yield from _recorded(recorder, "auto", plan, asks_model=asks)
        if recorder.log.messages == count:
            break
    recorder.sent = sent_now(recorder.state, recorder.log.messages)


def viewed(
    recorder: SessionRecorder, query: str | None, *, asks_model: bool, ahead: PlansAhead | None = None
) -> Carrying[View]:
    """The view after the compactions that are due. Nothing can be appended between the last of them and the view."""
    yield from kept_within(recorder, query, asks_model=asks_model, ahead=ahead)
    recorder.requests.show(recorder.state.event)
    view = recorder.written()
    recorder.state.rest()
    return view


def compacted(
    recorder: SessionRecorder, options: CompactionOptions, trigger: str, *, asks_model: bool, actual: int | None = None
) -> Carrying[Compaction]:
    """Compact on request. `actual` is the provider's token count before the compaction."""

    def plan(asks: bool) -> Compacting:  # noqa: FBT001 - as _recorded calls it
        return planned(recorder, options, asks_model=asks)

    return _recorded(recorder, trigger, plan, asks_model=asks_model, actual=actual)


def carried_out(  # noqa: PLR0913 - how a plan is carried out
    recorder: SessionRecorder, plan: Plan, trigger: str, *, rebase: bool, asks_model: bool, actual: int | None = None
) -> Carrying[Compaction]:
    """Record a plan made earlier. If the session has changed since, a new plan with the edited summary replaces it if `rebase` is
    True; otherwise PlanIsStale is raised.
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


def options_for(
    recorder: SessionRecorder, focus: str | None, policy: PolicyChoice | None, target_tokens: int | None = None
) -> CompactionOptions:
    """Validated options: the policy may be a name, a Policy, or fields that replace the session's own. Raises SettingError."""
    return CompactionOptions(
        query=text_or_none("focus", focus),
        policy=None if policy is None else policy_of(policy, recorder.meter.policy),
        target_tokens=None if target_tokens is None else integer("target_tokens", target_tokens, least=1),
    )


def _working_view(
    recorder: SessionRecorder,
    entries: Sequence[ViewMessage],
    shown: Sequence[ViewMessage],
    meter: ContextMeter | None = None,
) -> WorkingView:
    """A working view of entries, with references into this session, in the language of the messages that are shown."""
    meter = meter or recorder.meter
    language = language_of((entry.message for entry in shown), meter.policy.language)
    view = meter.working_view(entries, refer=partial(reference_of, read=recorder.message_cache.find), language=language)
    view.reserve_tokens += readers.reserve_tokens(recorder.state.facts.reader, meter.count_message)
    return view


def task_for(
    recorder: SessionRecorder,
    query: str | None,
    *,
    asked: bool = False,
    asks_model: bool = False,
    meter: ContextMeter | None = None,
) -> Task:
    """The compaction task for the current view. If `asked` for, it compacts at any load, to half of the view at most."""
    total = recorder.total()
    task = (meter or recorder.meter).task(
        total,
        ledger=recorder.ledger(recorder.state.base),
        covers=recorder.state.covers,
        pins=frozenset(recorder.state.facts.pins),
        query=query,
        ask_model=asks_model,
        original=recorder.message_cache.find,
        level=Level.aggressive if asked else None,
    )
    return task.asked_for(total) if asked else task


def planning(recorder: SessionRecorder, options: CompactionOptions, *, asked: bool, asks_model: bool) -> Compacting:
    """Plan a compaction of the current view with the given options."""
    meter = recorder.meter if options.policy is None else recorder.meter.with_policy(options.policy)
    task = task_for(recorder, options.query, asked=asked, asks_model=asks_model, meter=meter)
    if options.target_tokens is not None:
        task = replace(task, goal_tokens=min(options.target_tokens, task.budget_tokens), forced=False)
    awake = [entry.awake() for entry in recorder.state.entries]
    settled, reader = recorder.state.sending.settled(awake, moves=True), recorder.state.facts.reader
    entries = split_joined(settled, meter.format)
    view = _working_view(recorder, readers.bare(entries, reader), awake, meter)
    reserve, before = recorder.meter.reserve_tokens, recorder.total()
    planning = readers.planned(compact(view, task), reader, entries, reserve_tokens=reserve, before=before)
    outline = yield from planning
    return replace(outline, entries=without_placeholders(outline.entries))


def planned(recorder: SessionRecorder, options: CompactionOptions, *, asks_model: bool) -> Compacting:
    """Plan a compaction that was asked for, at any load."""
    return planning(recorder, options, asked=True, asks_model=asks_model)


def _recorded(
    recorder: SessionRecorder,
    trigger: str,
    plans: Callable[[bool], Compacting],
    *,
    asks_model: bool,
    actual: int | None = None,
) -> Carrying[Compaction]:
    """Plan and record. If the view is based on another compaction by then, plan again without the model."""
    while True:
        made_at, waiting = recorder.state.revision, recorder.state.normalizer.to_dict()
        outline = yield from plans(asks_model)
        outline = yield from flushed(recorder, outline, asks_model=asks_model)
        if recorder.state.revision.follows(made_at):
            return _commit(recorder, outline, made_at, waiting, trigger, actual)
        asks_model = False


def _commit(  # noqa: PLR0913, PLR0917 - what a record says
    recorder: SessionRecorder,
    outline: Outline,
    made_at: Revision,
    waiting: Mapping[str, Any],
    trigger: str,
    actual: int | None = None,
) -> Compaction:
    """Record a plan for the view at `made_at`, with the messages appended since."""
    done = recorder.commit(*_followed(recorder, outline, made_at, waiting), trigger, actual)
    recorder.tell_level(recorder.check())
    return done


def _followed(
    recorder: SessionRecorder, outline: Outline, made_at: Revision, waiting: Mapping[str, Any]
) -> tuple[Outline, HistoryNormalizer]:
    """The outline with the messages appended since planning began."""
    state, meter = recorder.state, recorder.meter
    if made_at.messages == recorder.log.messages or not outline.changed:
        return outline, state.normalizer
    line = state.followed(outline.entries, made_at, waiting)
    line.tally = Tally([*outline.entries, *unbound(line.entries[len(outline.entries) :], meter.binds)])
    after = meter.reserve_tokens + line.missing_tokens + line.tokens
    before = recorder.total()
    followed = replace(outline, entries=tuple(line.entries), tokens_after=after, count_before=lambda: before)
    return followed, line.normalizer


def _known(outline: Outline, _asks_model: bool) -> Compacting:  # noqa: FBT001 - as _recorded calls it
    yield from ()
    return outline


def _anew(recorder: SessionRecorder, plan: Plan, asks_model: bool) -> Compacting:  # noqa: FBT001 - as above
    fresh = yield from planned(recorder, plan.options, asks_model=asks_model)
    if plan.outline.stage != "edited" or plan.summary is None or fresh.summary is None:
        return fresh
    return _reworded(recorder, fresh, plan.summary)


def upcoming(recorder: SessionRecorder) -> list[dict[str, Any]]:
    """The view for the next request, compacted by rules if that is due. Records nothing."""
    if not recorder.check().should_compact:
        return recorder.written()
    return drive(previewed(recorder, CompactionOptions(), asked=False, asks_model=False), None).apply().messages


def previewed(
    recorder: SessionRecorder, options: CompactionOptions, *, asked: bool = True, asks_model: bool
) -> Carrying[Plan]:
    """A plan to inspect, edit and apply while the session stays as it is."""
    made_at, hold = recorder.state.revision, recorder.held()  # the plan must work after its session was dropped
    outline = yield from planning(recorder, options, asked=asked, asks_model=asks_model)

    def reword(outline: Outline, text: str) -> Outline:
        return _reworded(hold.recorder, outline, text)

    def write(outline: Outline) -> Fitted:
        recorder = hold.recorder
        settled, format = recorder.state.sending.settled(outline.entries), recorder.meter.format
        entries = with_notes(settled, recorder.meter.notes, recorder.meter.count_message)
        return Fitted(
            messages=written(entries, format, recorder.meter.leading_marks),
            origins=origins(entries, format),
            report=cast("Report", partial(report_of, outline)),
        )

    return Plan(outline=outline, made_at=made_at, _write=write, _reword=reword, options=options)


def _reworded(recorder: SessionRecorder, outline: Outline, text: str) -> Outline:
    reader = recorder.state.facts.reader
    settled = recorder.state.sending.settled(outline.entries)
    bare = replace(outline, entries=tuple(readers.bare(settled, reader)))
    made = reworded(bare, text, _working_view(recorder, (), recorder.state.entries), task_for(recorder, None))
    found = readers.as_read(made, reader, reserve_tokens=recorder.meter.reserve_tokens)
    return replace(found, entries=without_placeholders(found.entries))
