"""Run the steps that a level allows, cheapest first, until the view reaches its goal, then cut to the budget.

`compact` is a generator because a step may need a model's prose: it yields a SummaryRequest and receives the text or the
failure. drive.py runs it for sync and async callers.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import TypeAlias, assert_never

from plimsoll.compaction.bound import leave_thinking
from plimsoll.compaction.drive import drive
from plimsoll.compaction.fit import prove
from plimsoll.compaction.held import cut_frame, cut_oversized_kept, restore_kept
from plimsoll.compaction.keep import SYSTEM, keep_thinking_first, mark_kept, open_with_user
from plimsoll.compaction.losses import is_mark, refill, replaced_count
from plimsoll.compaction.plan import Outline, actions_of
from plimsoll.compaction.rereads import collapse_rereads
from plimsoll.compaction.shrink import cut_results, shrink_to
from plimsoll.compaction.steps import TAIL_SHARE, collapse_repeats, offload_bulk, restore_repeats
from plimsoll.compaction.summarise import SummaryOutcome, summarise, window
from plimsoll.compaction.summary_message import SummaryMessage, SummaryWriter, edited_ledger
from plimsoll.compaction.task import MIN_PROGRESS, MIN_PROGRESS_TOKENS, SummaryReply, SummaryRequest, Task
from plimsoll.compaction.view_message import ViewMessage, exchanges_of
from plimsoll.compaction.working_view import WorkingView, no_reference
from plimsoll.errors import SettingError
from plimsoll.light.brief import pluralize
from plimsoll.light.dataclass import replace
from plimsoll.policy.budget import Level
from plimsoll.policy.presets import Step
from plimsoll.summary.frame import omitted, unwrapped

NEARLY = 1.02
"""A view within this factor of its goal is close enough: dropping its whole tail would gain little."""

_SUMMARISING: tuple[Step, ...] = ("summarise", "window")
"""The steps that remove exchanges older than the tail."""

Compacting: TypeAlias = Generator[SummaryRequest, SummaryReply, Outline]


def compact(view: WorkingView, task: Task) -> Compacting:
    """Reduce a view to its goal. The outline describes what was done; its `changed` is False if the run would free too little.

    Raises CannotFit if the budget is smaller than system text and the newest request at their smallest.
    """
    everything, reserve_tokens = list(view.exchanges), view.reserve_tokens
    as_it_was = [entry for exchange in everything for entry in exchange.entries]
    over = view.passes(task.budget_tokens)
    leave_thinking(view)
    mark_kept(
        view,
        task.pins,
        task.goal_tokens,
        last_messages=task.policy.keep_last_messages_min or 0,
        answered=task.policy.fill and not task.policy.caps_tail,
    )
    view.replaced_count = replaced_count(view.exchanges)
    arrived = _cut_arrivals(view, task)
    cut = over and cut_frame(view, task.budget_tokens)
    outcome = SummaryOutcome(ledger=task.ledger, covers=task.covers)
    for step in task.steps:
        if not view.passes(task.goal_tokens) and not (task.forced and step in _SUMMARISING):
            continue
        outcome = (yield from _run(step, view, task, outcome)) or outcome
    _repeat_reversible(view, task)
    restore_repeats(view, task.preview_tokens, task.original)
    open_with_user(view)
    if prove(view, task, outcome.covers):
        cut = True
        refill(view, task, outcome.covers)
    restore_kept(view, min(task.goal_tokens, task.budget_tokens))
    keep_thinking_first(view)
    after = view.total
    if not over:
        before = _cost(as_it_was, reserve_tokens)
        if is_futile(task, before, after) and not arrived:
            return untouched(as_it_was, task, before, note="it would free too little")
        over = after < before
    return Outline(
        entries=tuple(view.entries()),
        level=_level(task, view, cut=cut),
        stage="fit" if cut else outcome.stage,
        tokens_after=after,
        budget_tokens=task.budget_tokens,
        goal_tokens=task.goal_tokens,
        ledger=outcome.ledger,
        covers=outcome.covers,
        summary=_summary(view, outcome.summary, cut=cut),
        written=outcome.written,
        changed=over,
        arrived=arrived,
        note=_note(outcome.failure, view),
        count_before=lambda: _cost(as_it_was, reserve_tokens),
        list_actions=lambda: actions_of(everything, view.left, view.refer),
    )


def _cut_arrivals(view: WorkingView, task: Task) -> bool:
    """Cut tool results that exceed the policy's arrival limit; True if any did. Exchanges too old to stay are skipped."""
    limit = task.policy.tool_result_limit(task.budget_tokens)
    room, found = task.budget_tokens, False
    for exchange in reversed(view.exchanges if limit is not None else ()):
        if room < 0 and exchange.kept_as is None:
            continue
        if limit is not None and exchange.tokens > limit:
            found = cut_results(view, exchange, limit) or found
        room -= exchange.tokens
    return found


def _summary(view: WorkingView, summary: SummaryMessage | None, *, cut: bool) -> str | None:
    """Text of the summary made in this run as the view holds it: the final cut may have shortened or removed it."""
    made = view.summaries()
    made = [exchange for exchange in made if not is_mark(exchange)] or made
    if summary is None or not made:
        return None
    text = made[-1].entries[0].message.text
    if omitted(text) is not None:
        return text
    span = unwrapped(text) if cut else None
    return summary.text if span is None else span.body


def _note(failure: str | None, view: WorkingView) -> str | None:
    """What a caller would want to know who looks at nothing else: why no model wrote, and that instructions were cut."""
    reasons = [] if failure is None else [f"summarizer: {failure}"]
    system = [exchange for exchange in view.exchanges if exchange.kept_as == SYSTEM]
    was, now = sum(exchange.tokens_before for exchange in system), sum(exchange.tokens for exchange in system)
    if now < was:
        reasons.append(f"the system text was cut from {was:,} to {now:,} tokens")
    return "; ".join(reasons) or None


def _level(task: Task, view: WorkingView, *, cut: bool) -> Level:
    """Load level of the view. Policies that fill the budget ignore load lines: the level of the strongest step taken."""
    if not task.policy.fill:
        return task.load
    if cut:
        return Level.emergency
    return Level.aggressive if view.left else Level.normal


def _cost(entries: Iterable[ViewMessage], reserve_tokens: int) -> int:
    return reserve_tokens + sum(entry.tokens for entry in entries)


def untouched(entries: Sequence[ViewMessage], task: Task, tokens: int, *, note: str | None = None) -> Outline:
    """The outline of a run that changes nothing."""
    return Outline(
        entries=tuple(entries),
        level=task.load,
        stage="none",
        tokens_after=tokens,
        budget_tokens=task.budget_tokens,
        goal_tokens=task.goal_tokens,
        ledger=task.ledger,
        covers=task.covers,
        note=note,
        count_before=lambda: tokens,
        list_actions=lambda: actions_of(exchanges_of(list(entries)), (), no_reference),
    )


def reworded(outline: Outline, text: str, view: WorkingView, task: Task) -> Outline:
    """The outline with the caller's summary text in place of the generated one, cut to the available room.

    If there is no room, the view keeps its summary and only the ledger and the record hold the text. Raises SettingError if the
    outline has no summary.
    """
    if outline.summary is None or outline.covers is None:
        raise SettingError("summary", "nothing is summarised here, so there is no summary to change")
    ours = [entry for entry in outline.entries if _is_new_summary(entry)]
    worded = next((entry for entry in reversed(ours) if omitted(entry.message.text) is None), ours[-1])
    others = [entry for entry in outline.entries if entry is not worded]
    room = task.budget_tokens - view.reserve_tokens - sum(entry.tokens for entry in others)
    summary = SummaryWriter(view=view, task=task, covers=outline.covers, tokens_max=room).by_person(text)
    ledger = edited_ledger(outline.ledger, outline.summary, text)
    edited = replace(outline, written=text, ledger=ledger, stage="edited")
    if summary is None:
        return replace(edited, note=f"no room for the summary: {pluralize(room, 'token')} available")
    entry = view.summary_entry(summary.message)
    entries = tuple(entry if old is worded else old for old in outline.entries)
    after = view.reserve_tokens + sum(entry.tokens for entry in entries)
    return replace(edited, entries=entries, summary=summary.text, tokens_after=after)


def _is_new_summary(entry: ViewMessage) -> bool:
    """True if this is the summary made in this run. A summary that came back in an input history and stayed has a position."""
    return entry.origin == "summary" and entry.position is None


def _run(
    step: Step, view: WorkingView, task: Task, outcome: SummaryOutcome
) -> Generator[SummaryRequest, SummaryReply, SummaryOutcome | None]:
    """Run one step. Only the step that summarises yields requests."""
    match step:
        case "collapse":
            collapse_repeats(view, task.goal_tokens)
            collapse_rereads(view, task.goal_tokens)
        case "offload":
            later = task.summary_tokens_max if "summarise" in task.steps else 0
            tells = later > 0 and task.policy.fill
            offload_bulk(view, task.goal_tokens, task.preview_tokens, later_tokens=later, for_facts=tells)
        case "clip":
            _clip(view, task)
        case "summarise":
            cut_oversized_kept(view, task)
            if not view.passes(task.goal_tokens) and not task.forced:
                return None
            return (yield from summarise(view, task))
        case "window":
            cut_oversized_kept(view, task)
            return window(view, task) if view.passes(task.goal_tokens) or task.forced else None
        case "ledger":
            return _summary_only(view, task, outcome) if view.passes(int(task.goal_tokens * NEARLY)) else None
        case _:
            assert_never(step)
    return None


def _repeat_reversible(view: WorkingView, task: Task) -> None:
    """Repeat the reversible steps while they free tokens: exchanges that left the tail are now within their reach.

    Once exchanges have been removed, only the newest one keeps its results uncut.
    """
    tail_share = 0 if view.left else TAIL_SHARE
    while view.passes(task.goal_tokens):
        before = view.total
        if "collapse" in task.steps:
            collapse_repeats(view, task.goal_tokens)
            collapse_rereads(view, task.goal_tokens)
        if "offload" in task.steps:
            offload_bulk(view, task.goal_tokens, task.preview_tokens, later_tokens=0, tail_share=tail_share)
        if view.total >= before:
            return


def _clip(view: WorkingView, task: Task) -> None:
    """Cut the middle out of messages over the policy's limit, oldest first, except the newest request."""
    limit = task.policy.message_limit(task.budget_tokens)
    if limit is None:
        return
    for exchange in view.movable():
        if not view.passes(task.goal_tokens):
            return
        if exchange.tokens > limit and not exchange.original.calls_tools and not exchange.is_summary:
            shrink_to(view, exchange, limit, "longer than a message may be")


def _summary_only(view: WorkingView, task: Task, outcome: SummaryOutcome) -> SummaryOutcome | None:
    """Replace everything that need not stay by a summary of the ledger."""
    policy = replace(task.policy, keep_last_messages=1)
    bare = replace(task, ledger=outcome.ledger, covers=outcome.covers, ask_model=False, policy=policy, query=None)
    found = drive(summarise(view, bare), None)
    return found if found.summary else None


def is_futile(task: Task, before: int, after: int) -> bool:
    """True if a run on a view that already fits frees too little to be worth invalidating the prompt cache.

    Level normal uses only reversible steps; unless they reach the goal, the next level would soon repeat the work.
    """
    if task.asked:
        return after >= before
    if task.level <= Level.normal:
        return after > task.goal_tokens
    return before - after < max(task.budget_tokens * MIN_PROGRESS, MIN_PROGRESS_TOKENS)
