"""The final cut: the view ends within the budget, or CannotFit names the part that does not fit.

Cuts in a fixed order, each with a marker: the oldest exchanges of the tail, the summary, pinned text and the first request,
the newest exchange, the newest user message, and last the system text.
"""

from __future__ import annotations

from plimsoll.compaction.held import held_room, held_tokens, hold_within
from plimsoll.compaction.keep import (
    ANSWERED,
    COMPACTED,
    FIRST_REQUEST,
    LAST_MESSAGES,
    NEWEST_EXCHANGE,
    NEWEST_MESSAGE,
    NEWEST_REQUEST,
    OPENING,
    PINNED,
    SYSTEM,
    open_with_user,
)
from plimsoll.compaction.levels import untouched_tokens_max
from plimsoll.compaction.losses import is_mark, mark_losses, shorten_marks
from plimsoll.compaction.reduce import reduce_to
from plimsoll.compaction.shrink import LEAST_TOKENS, shrink_to
from plimsoll.compaction.summary_message import shorten
from plimsoll.compaction.task import Task
from plimsoll.compaction.view_message import ViewExchange
from plimsoll.compaction.working_view import WorkingView
from plimsoll.errors import CannotFit

SUMMARY_LEAST_TOKENS = 120
"""Minimum size of a cut summary; a smaller one would say too little and is removed instead."""

REASON = "over the budget"

ROUNDS_MAX = 3
"""Removing exchanges can add an opening message or a notice that exceeds the budget again, so the cut is repeated."""


def prove(view: WorkingView, task: Task, covers: tuple[int, int] | None) -> bool:
    """Cut the view to the budget; True if anything had to be cut.

    If the task settles, exchanges that need not stay are removed down to the size that the policy leaves alone: a view between
    that and the budget would be compacted again when it comes back.
    `covers` are the positions that the summary in the view covers. Messages removed outside of it get an omission notice where
    one fits. Raises CannotFit if system text and the newest user message, cut to their markers, exceed the budget.
    """
    budget_tokens = task.budget_tokens
    mark_losses(view, task, covers)
    if view.total <= budget_tokens:
        return False
    if held_tokens(view) > budget_tokens:
        hold_within(view, held_room(view, budget_tokens), budget_tokens)
    rest_tokens = untouched_tokens_max(task.policy, budget_tokens) if task.settles else budget_tokens
    for _ in range(ROUNDS_MAX):
        _shed_tail(view, rest_tokens)
        _cut_summary(view, budget_tokens)
        for reason in (PINNED, ANSWERED, FIRST_REQUEST, LAST_MESSAGES, COMPACTED, NEWEST_EXCHANGE):
            _shrink_kept(view, budget_tokens, reason, may_leave=True)
        open_with_user(view)
        mark_losses(view, task, covers)
        if view.total <= (rest_tokens if view.movable() else budget_tokens):
            return True
    if view.total > budget_tokens:
        _cut_frame(view, budget_tokens)
    return True


def _cut_frame(view: WorkingView, budget_tokens: int) -> None:
    """Cut system text and the newest request, the request only if it takes more than half of the budget.

    An omission notice is shortened first. It is removed if system text and the newest request fit uncut without it and do not
    fit with it even at their smallest.
    """
    if _unmarked_tokens(view) <= budget_tokens:
        shorten_marks(view)
        if view.reserve_tokens + sum(_least_tokens(view, exchange) for exchange in view.exchanges) > budget_tokens:
            _remove_marks(view)
    for _ in range(2):
        _cut_request(view, budget_tokens)
        _shrink_kept(view, budget_tokens, SYSTEM, may_leave=False)
        if view.total <= budget_tokens:
            return
        shorten_marks(view)
    for reason in (NEWEST_REQUEST, NEWEST_MESSAGE):
        _shrink_kept(view, budget_tokens, reason, may_leave=False)
    open_with_user(view)
    if view.total > budget_tokens:
        _refuse(view, budget_tokens)


def _remove_marks(view: WorkingView) -> None:
    """Remove the omission notices, with a user opening where one served as that."""
    view.exchanges = [exchange for exchange in view.exchanges if not is_mark(exchange)]
    open_with_user(view)


def _unmarked_tokens(view: WorkingView) -> int:
    """Tokens of the view without omission notices."""
    put_back = view.checkpoint()
    _remove_marks(view)
    tokens = view.total
    put_back()
    return tokens


def _least_tokens(view: WorkingView, exchange: ViewExchange) -> int:
    """Tokens of an exchange with every text in it cut to its marker."""
    if is_mark(exchange):
        return exchange.tokens
    copy = ViewExchange(
        entries=list(exchange.entries), original=exchange.original, entries_before=exchange.entries_before
    )
    reduce_to(view, copy, 0, REASON, to_line=False)
    return min(copy.tokens, exchange.tokens)


def _cut_request(view: WorkingView, budget_tokens: int) -> None:
    """Cut a newest request that takes more than half of the budget, but not below half."""
    for exchange in [exchange for exchange in view.exchanges if exchange.kept_as in (NEWEST_REQUEST, NEWEST_MESSAGE)]:
        excess = view.total - budget_tokens
        if excess > 0:
            reduce_to(view, exchange, max(budget_tokens // 2, exchange.tokens - excess), REASON, to_line=False)


def _shed_tail(view: WorkingView, budget_tokens: int) -> None:
    """Remove the oldest removable exchanges until the view fits; cut the last one instead if that is enough."""
    total, gone = view.total, []
    for exchange in view.movable():
        if total <= budget_tokens:
            break
        if exchange.is_summary:
            continue
        room = exchange.tokens - (total - budget_tokens)
        if room >= SUMMARY_LEAST_TOKENS and exchange.original.calls_tools:
            before = exchange.tokens
            reduce_to(view, exchange, room, REASON)
            total -= before - exchange.tokens
        if total > budget_tokens:
            total -= exchange.tokens
            gone.append(exchange)
    view.leave(gone, "drop", REASON)


def _cut_summary(view: WorkingView, budget_tokens: int) -> None:
    """Cut the summary, or remove it if little would remain."""
    for exchange in [exchange for exchange in view.exchanges if exchange.is_summary and not is_mark(exchange)]:
        room = exchange.tokens - (view.total - budget_tokens)
        if room >= exchange.tokens:
            return
        if room >= SUMMARY_LEAST_TOKENS and not shorten(view, exchange, room):
            shrink_to(view, exchange, room, REASON)
        if room < SUMMARY_LEAST_TOKENS or view.total > budget_tokens:
            view.leave([exchange], "drop", REASON)


def _shrink_kept(view: WorkingView, budget_tokens: int, kept_as: str, *, may_leave: bool) -> None:
    """Cut the exchanges kept for one reason, oldest first, by the excess; remove those that cutting does not make small enough."""
    for exchange in [exchange for exchange in view.exchanges if exchange.kept_as == kept_as]:
        excess = view.total - budget_tokens
        if excess <= 0:
            return
        if not may_leave:
            reduce_to(view, exchange, max(LEAST_TOKENS, exchange.tokens - excess), REASON, to_line=False)
        elif not reduce_to(view, exchange, max(0, exchange.tokens - excess), REASON):
            view.leave([exchange], "drop", REASON)


def _refuse(view: WorkingView, budget_tokens: int) -> None:
    """Cut opening, system text (last first) and newest request below a readable size.

    Drop the notice only if that is not enough, and if the view is smaller with a cut opening in its place.

    Raises CannotFit if they exceed the budget with every text at its marker.
    """
    _cut_to_least(view, budget_tokens)
    open_with_user(view)
    if view.total > budget_tokens:
        marked_tokens, put_back = view.total, view.checkpoint()
        _remove_marks(view)
        _cut_to_least(view, budget_tokens)
        if view.total >= marked_tokens:
            put_back()
    if view.total <= budget_tokens:
        return
    largest = max(_frame(view) or view.exchanges, key=lambda exchange: exchange.tokens, default=None)
    raise CannotFit(
        part=(largest.kept_as if largest else None) or "the messages",
        budget_tokens=budget_tokens,
        needed_tokens=view.total,
    )


def _frame(view: WorkingView) -> list[ViewExchange]:
    """The exchanges that must stay, in the order in which they are cut."""
    frame = [exchange for exchange in view.exchanges if exchange.kept_as == OPENING]
    frame += [exchange for exchange in reversed(view.exchanges) if exchange.kept_as == SYSTEM]
    return frame + [exchange for exchange in view.exchanges if exchange.kept_as in (NEWEST_REQUEST, NEWEST_MESSAGE)]


def _cut_to_least(view: WorkingView, budget_tokens: int) -> None:
    """Cut what must stay, exchange by exchange, until the view fits or every text is at its marker."""
    for exchange in _frame(view):
        excess = view.total - budget_tokens
        if excess <= 0:
            return
        reduce_to(view, exchange, max(0, exchange.tokens - excess), REASON, to_line=False)
