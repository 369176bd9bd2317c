"""Replace older exchanges by a summary. The tail and everything that must stay remain verbatim."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from plimsoll.compaction.keep import FIRST_REQUEST
from plimsoll.compaction.losses import SLACK_SHARE, SLACK_TOKENS_MIN, made_to_fit, messages_in
from plimsoll.compaction.notes import is_filler
from plimsoll.compaction.plan import Stage
from plimsoll.compaction.reading import conversation_of, original_messages, part_words, read, staying_messages, words_of
from plimsoll.compaction.split import Split, split
from plimsoll.compaction.summary_message import (
    PROSE_TOKENS_MIN,
    SummaryMessage,
    SummaryWriter,
    omission_notice,
    unseen,
    with_cut_values,
)
from plimsoll.compaction.task import SummaryFailed, SummaryReply, SummaryRequest, Task
from plimsoll.compaction.view_message import ViewExchange, exchanges_of
from plimsoll.compaction.working_view import WorkingView
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.message import Message
from plimsoll.summary.ledger import Ledger
from plimsoll.summary.ledger.fact import author_in
from plimsoll.summary.reread import recollected

MARK_TOKENS = 48
"""Tokens reserved for an omission notice when there is no summary."""

SPARE_TOKENS, SPARE_SHARE = 8, 0.015
"""Minimum gain, in tokens and as a share of the goal, that justifies rendering the summary again."""

PASSES_MAX = 4
"""Times that the room is shared out between the tail and the rules' summary of the rest, the first by the split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOutcome:
    """The result of summarising: the extended ledger, the covered positions, the summary and the step that failed, if any."""

    ledger: Ledger
    covers: tuple[int, int] | None
    summary: SummaryMessage | None = None
    written: str | None = None
    """The model's answer, unchanged."""
    stage: Stage = "steps"
    failure: str | None = None


def summarise(view: WorkingView, task: Task) -> Generator[SummaryRequest, SummaryReply, SummaryOutcome]:
    """Summarise what leaves the view. Yields requests if a model may be asked, and is sent its answers or failures."""
    selection = split(view, task)
    if not selection.leave:
        return SummaryOutcome(ledger=task.ledger, covers=task.covers)
    outcome = None
    if task.ask_model:
        selection = _with_boundary(view, task, selection, selection.summary_tokens_max)
        if not selection.leave:
            return SummaryOutcome(ledger=task.ledger, covers=task.covers)
        outcome = yield from _by_model(view, task, selection)
        if outcome.failure is not None and task.policy.keep_fraction_after_failure is not None:
            selection = split(view, task, after_failure=True)
            outcome = _without_model(view, task, selection, outcome.failure)
    if outcome is not None and outcome.stage == "model":
        selection, outcome = _given_back(view, task, selection, outcome)
    if outcome is None or outcome.stage == "rules":
        selection, outcome = _tightened(view, task, selection, outcome or _by_rules(view, task, selection))
    _rebuild(view, selection, outcome.summary)
    return outcome


def _given_back(
    view: WorkingView, task: Task, selection: Split, outcome: SummaryOutcome
) -> tuple[Split, SummaryOutcome]:
    """Give the tail the room that the model's prose does not use, if the policy fills the budget. The prose covers it as well."""
    summary = outcome.summary
    if summary is None or not (task.policy.fill and _slack(task, selection, outcome)):
        return selection, outcome
    smaller = _with_boundary(view, task, split(view, task, summary_tokens=summary.tokens), summary.tokens)
    if not smaller.leave:
        return selection, outcome
    writer = _writer(view, task, smaller)
    return smaller, replace(outcome, covers=writer.covers, summary=writer.reframed(summary))


def _tightened(
    view: WorkingView, task: Task, selection: Split, outcome: SummaryOutcome
) -> tuple[Split, SummaryOutcome]:
    """Give the room that the rules' summary does not use to the tail, and to the newest leaving exchange, cut to fit.

    Room too small for an exchange goes to the summary.
    """
    failure, used = outcome.failure, _used(task, selection, outcome)
    made: SummaryOutcome | None = outcome
    if _slack(task, selection, outcome):
        # Hardly less leaves now, so its summary is taken to be as long as this one. It is made if nothing more can stay.
        selection, made = split(view, task, summary_tokens=used), None
        if not selection.leave:
            return selection, _resumed(view, task, selection, failure)
    restores = [exchange.checkpoint() for exchange in selection.leave]
    smaller = _moved(view, task, selection, used)
    if smaller is None and made is None:
        made = _resumed(view, task, selection, failure)
        used = _used(task, selection, made)
        smaller = _moved(view, task, selection, used)
    if smaller is None:
        return selection, made or outcome
    smaller = _with_room(view, task, smaller, used)
    for passes_left in range(PASSES_MAX - (made is not None), -1, -1):
        outcome = _resumed(view, task, smaller, failure)
        if not passes_left or outcome.summary is None:
            break
        if 2 * outcome.summary.tokens > used and not _slack(task, smaller, outcome):
            break
        # Much of the summary was about exchanges that now stay, so they get the room.
        used = _used(task, smaller, outcome)
        for restore in restores:
            restore()
        before, smaller = smaller, _with_room(view, task, _with_boundary(view, task, selection, used), used)
        if (len(smaller.leave), smaller.summary_tokens_max) == (len(before.leave), before.summary_tokens_max):
            break
    return smaller, outcome


def _moved(view: WorkingView, task: Task, selection: Split, used: int) -> Split | None:
    """The selection with its boundary moved beside a summary of `used` tokens; None if rendering that again gains too little.

    The gain is told by the tokens of the summary as it is, and by the room that it was given.
    """
    spare = int(task.goal_tokens * SPARE_SHARE)
    used_nearly = used + max(SPARE_TOKENS, spare)
    if not task.policy.caps_tail and _room_beside(view, task, selection) <= used_nearly:
        return None
    smaller = _with_boundary(view, task, selection, used)
    given_nearly = max(used_nearly, selection.summary_tokens_max + spare)
    return None if smaller is selection and _room_of_summary(view, task, smaller, used) <= given_nearly else smaller


def _with_room(view: WorkingView, task: Task, selection: Split, used: int) -> Split:
    """The selection with all room beside what stays for the summary."""
    return replace(selection, summary_tokens_max=max(used, _room_of_summary(view, task, selection, used)))


def _room_of_summary(view: WorkingView, task: Task, selection: Split, used: int) -> int:
    """The tokens that the summary may have beside what stays."""
    return used if task.policy.caps_tail else min(_room_beside(view, task, selection), task.summary_tokens_max)


def _resumed(view: WorkingView, task: Task, selection: Split, failure: str | None) -> SummaryOutcome:
    """The summary of the exchanges that still leave; no summary if none does."""
    if not selection.leave:
        return SummaryOutcome(ledger=task.ledger, covers=task.covers, failure=failure)
    return replace(_by_rules(view, task, selection), failure=failure)


def _room_beside(view: WorkingView, task: Task, selection: Split) -> int:
    """Tokens of the goal that the staying exchanges do not use."""
    gone = {id(exchange) for exchange in selection.leave}
    staying = sum(
        exchange.tokens for exchange in view.exchanges if id(exchange) not in gone and not exchange.is_summary
    )
    return task.goal_tokens - view.reserve_tokens - staying


def window(view: WorkingView, task: Task) -> SummaryOutcome:
    """Remove older exchanges without a summary, leaving an omission notice. The ledger is still extended, for a later summary."""
    selection = split(view, task, summary_tokens=MARK_TOKENS)
    if not selection.leave:
        return SummaryOutcome(ledger=task.ledger, covers=task.covers)
    selection = _with_boundary(view, task, selection, MARK_TOKENS)
    if not selection.leave:
        return SummaryOutcome(ledger=task.ledger, covers=task.covers)
    covers = _covers(task, selection)
    summary = _notice(view, task, selection)
    _rebuild(view, selection, summary)
    return SummaryOutcome(ledger=_extended(view, task, selection), covers=covers, summary=summary, stage="window")


def _by_rules(view: WorkingView, task: Task, selection: Split) -> SummaryOutcome:
    """Extend the ledger by what leaves and summarise it by rules; an omission notice if the room is too small."""
    ledger, writer = _extended(view, task, selection), _writer(view, task, selection)
    is_goal_shown = any(exchange.kept_as == FIRST_REQUEST for exchange in view.exchanges)
    summary = writer.by_rules(_visible(view, task, selection, ledger), goal_is_shown=is_goal_shown)
    outcome = SummaryOutcome(ledger=ledger, covers=writer.covers, summary=summary, stage="rules")
    if summary is None:
        return replace(outcome, summary=_notice(view, task, selection), stage="window")
    return outcome


def _visible(view: WorkingView, task: Task, selection: Split, ledger: Ledger) -> Ledger:
    """What of the ledger the view does not show once the selected exchanges have left."""
    visible = unseen(ledger, _shown(view, selection), selection.leave)
    visible = with_cut_values(visible, _cut_results(view, task, selection))
    messages = (entry.message for entry in view.entries())
    return replace(
        visible, beside=frozenset((message.role, author_in(message)) for message in messages if message.name)
    )


def _writer(view: WorkingView, task: Task, selection: Split) -> SummaryWriter:
    """The writer of the summary of what leaves."""
    return SummaryWriter(view=view, task=task, covers=_covers(task, selection), tokens_max=selection.summary_tokens_max)


def _by_model(
    view: WorkingView, task: Task, selection: Split
) -> Generator[SummaryRequest, SummaryReply, SummaryOutcome]:
    """The model's prose with the facts it omits. If it fails, the rules' summary, or only a notice if the policy says so."""
    ruled, writer = _by_rules(view, task, selection), _writer(view, task, selection)
    if writer.room < PROSE_TOKENS_MIN:
        return replace(ruled, failure=f"{selection.summary_tokens_max} tokens are too few for a model's summary")
    visible = unseen(ruled.ledger, _shown(view, selection), selection.leave)
    made = yield from _written(writer, visible, selection)
    if isinstance(made, SummaryFailed):
        return _without_model(view, task, selection, made.reason)
    ledger = ruled.ledger.in_words(made.words or "")
    return replace(ruled, ledger=ledger, summary=made, written=made.written, stage="model")


def _written(
    writer: SummaryWriter, ledger: Ledger, selection: Split
) -> Generator[SummaryRequest, SummaryReply, SummaryMessage | SummaryFailed]:
    """Ask for the model's prose, in as many requests as the leaving messages need. Returns the summary, or the reason of a failure.

    Each request extends the answer to the one before, so that every message is read once. Content of an earlier answer that a
    later one omits is carried along.
    """
    from plimsoll.summary.prompt import lines_of, portions  # noqa: PLC0415 - only where a model is asked

    view, task = writer.view, writer.task
    messages = [pair for exchange in selection.leave for pair in original_messages(exchange, task)]
    earlier, policy = view.summaries(), task.policy
    numbered = [(at + (task.shift if _is_after(earlier, at) else 0), message) for at, message in messages]
    shared = portions(
        lines_of(numbered),
        input_tokens_max=policy.summarizer_input_tokens_max,
        tokens_max=writer.answer_tokens_max,
        requests_max=policy.summarizer_requests_max,
        counter=view.counter,
    )
    replaced_tokens = sum(exchange.tokens_before for exchange in selection.leave)
    previous = earlier[-1].entries[0].message.text if earlier else None
    shown = "\n".join(words_of(staying_messages(view, selection)))
    conversation = conversation_of(view, task, ledger, previous or "", task.query or "")
    made: SummaryMessage | SummaryFailed = SummaryFailed(reason="")
    for portion in shared:
        left_out = shared[0].start if portion is shared[0] else 0
        asked = [message for _, message in messages[portion.start : portion.stop]]
        request = writer.request(asked, portion.lines, previous, left_out=left_out)
        for _ in range(policy.summarizer_attempts):
            reply = yield request
            made = (
                reply
                if isinstance(reply, SummaryFailed)
                else writer.by_model(
                    reply, ledger, replaced_tokens=replaced_tokens, conversation=conversation, shown=shown
                )
            )
            if isinstance(made, SummaryMessage):
                break
        if isinstance(made, SummaryFailed):
            return made
        previous, ledger = made.prose, ledger if made.words is None else ledger.in_words(made.words)
    return made


def _is_after(summaries: Sequence[ViewExchange], position: int) -> bool:
    return any(exchange.first is not None and exchange.first <= position for exchange in summaries)


def _without_model(view: WorkingView, task: Task, selection: Split, failure: str) -> SummaryOutcome:
    """The policy's replacement for failed prose: the rules' summary, or a notice."""
    ruled = replace(_by_rules(view, task, selection), failure=failure)
    if task.policy.summarizer_fallback:
        return ruled
    return replace(ruled, summary=_notice(view, task, selection), stage="window")


def _notice(view: WorkingView, task: Task, selection: Split) -> SummaryMessage:
    """An omission notice for what leaves and for what earlier summaries covered."""
    return omission_notice(view, task, view.replaced_count + messages_in(selection.leave))


def _used(task: Task, selection: Split, outcome: SummaryOutcome) -> int:
    """The tokens of a summary that needs less than its room, else its room: one statement more may need what is left."""
    summary = outcome.summary
    return summary.tokens if summary is not None and _slack(task, selection, outcome) else selection.summary_tokens_max


def _slack(task: Task, selection: Split, outcome: SummaryOutcome) -> bool:
    """True if the summary uses so much less than its room that more exchanges can stay."""
    summary = outcome.summary
    least = max(SLACK_TOKENS_MIN, task.goal_tokens * SLACK_SHARE)
    return summary is not None and selection.summary_tokens_max - summary.tokens > least


def _covers(task: Task, selection: Split) -> tuple[int, int]:
    """The positions `[start, end)` that a summary of what leaves covers, earlier summaries included."""
    start, end = selection.covers
    if task.covers is None:
        return start, end
    return min(start, task.covers[0]), max(end + task.shift, task.covers[1])


def _extended(view: WorkingView, task: Task, selection: Split) -> Ledger:
    """The ledger with the earlier summaries in the view and the facts of all messages up to the newest that leaves.

    Messages are read uncut. Those that stay are read too: the ledger continues from a position, so they would be missed when they
    leave later. A summary made in this session is already in the ledger, one from the input is not.
    """
    end = selection.covers[1]
    ledger = task.ledger
    for exchange in view.summaries():
        if exchange.first is not None or task.ledger.is_empty:
            ledger = recollected(ledger, exchange.entries[0].message.text)
    ledger = read(view, task, ledger, [exchange for exchange in view.exchanges if _before(exchange, end)])
    return ledger.without_headings(min((exchange.first or 0 for exchange in view.summaries()), default=0))


def _before(exchange: ViewExchange, end: int) -> bool:
    return not exchange.is_summary_or_notice and exchange.first is not None and exchange.first < end


def _shown(view: WorkingView, selection: Split) -> list[ViewExchange]:
    """Exchanges that the ledger has read and that are still in the view."""
    end = selection.covers[1]
    gone = {id(exchange) for exchange in selection.leave}
    return [exchange for exchange in view.exchanges if _before(exchange, end) and id(exchange) not in gone]


def _cut_results(view: WorkingView, task: Task, selection: Split) -> Iterator[tuple[str, list[Message], int]]:
    """What stays of each exchange that keeps its place with cut results, its original messages and its first position."""
    gone = {id(exchange) for exchange in selection.leave}
    for exchange in view.exchanges:
        if id(exchange) in gone or not exchange.original.calls_tools or all(entry.whole for entry in exchange.entries):
            continue
        originals = original_messages(exchange, task)
        if originals:
            shown = "\n".join(
                str(words) for entry in exchange.entries for part in entry.message.parts for words in part_words(part)
            )
            yield shown, [message for _, message in originals], originals[0][0]


def _rebuild(view: WorkingView, selection: Split, summary: SummaryMessage | None) -> None:
    """Insert the summary at the end of what it covers and remove the rest."""
    if not selection.leave:
        return
    covers = selection.covers
    view.exchanges = [exchange for exchange in view.exchanges if not exchange.is_summary]
    if summary is None:
        view.leave(selection.leave, "drop", "no room for a summary")
    else:
        view.leave(selection.leave, "summarise" if summary.facts else "drop", summary.reason)
        view.insert_summary(exchanges_of([view.summary_entry(summary.message)])[0], covers[1] - 1)


def _with_boundary(view: WorkingView, task: Task, selection: Split, summary_tokens: int) -> Split:
    """Move the newest leaving exchanges to those that stay, the last one cut to the room left, within the policy's caps.

    If no exchange is left to remove, the existing summary stays unchanged.
    """
    if task.policy.caps_tail:
        return selection
    free = _room_beside(view, task, selection)
    leave, blank, back = list(selection.leave), list[ViewExchange](), list[ViewExchange]()
    while leave:
        if is_filler(leave[-1].entries[0].message):
            blank.append(leave.pop())
            continue
        last = len(leave) + len(blank) == 1
        taken = sum(exchange.tokens for exchange in view.summaries()) if last else summary_tokens
        if not made_to_fit(view, leave[-1], free - taken, task.goal_tokens):
            break
        back.append(leave.pop())
        free -= back[-1].tokens
    if not back:
        return selection
    if not leave and sum(exchange.tokens for exchange in (*blank, *view.summaries())) <= free:
        # A summary of messages that say nothing would cost more than they do.
        back, blank = [*back, *blank], []
    return replace(selection, stay=(*selection.stay, *reversed(back)), leave=(*leave, *reversed(blank)))
