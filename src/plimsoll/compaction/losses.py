"""After removals: insert omission notices where no summary covers them, and restore exchanges into free room."""

from __future__ import annotations

from collections.abc import Iterable

from plimsoll.compaction.keep import MARK, NEWEST_REQUEST, open_with_user
from plimsoll.compaction.notes import is_filler
from plimsoll.compaction.reduce import reduce_to
from plimsoll.compaction.summary_message import omission_notice
from plimsoll.compaction.task import Task
from plimsoll.compaction.view_message import ViewExchange, exchanges_of
from plimsoll.compaction.working_view import WorkingView
from plimsoll.light.dataclass import replace
from plimsoll.message import Text
from plimsoll.summary.frame import omitted, short_omission, unwrapped

SLACK_TOKENS_MIN = 32
"""What a summary may leave of its room because no further statement fits."""

SLACK_SHARE = 0.02
"""Minimum free share of the goal that justifies another pass or a cut exchange."""

LINE_SHARE = 0.2
"""Above this free share of the goal, an exchange that cannot be cut becomes one line, so that older ones can follow."""

COUNT_TOKENS = 2
"""Tokens by which a notice may grow or shrink when its count changes."""

BOUNDARY_TOKENS_MIN = 160
"""Minimum size of a cut exchange; a smaller one says too little, unless the goal is small."""

BOUNDARY_SHARE = 0.1
"""For a small goal, the minimum size of a cut exchange as a share of the goal: better than unused room."""


def is_mark(exchange: ViewExchange) -> bool:
    """True if an exchange is an omission notice."""
    return exchange.kept_as == MARK or (exchange.is_summary and omitted(exchange.entries[0].message.text) is not None)


def mark_losses(view: WorkingView, task: Task, covers: tuple[int, int] | None) -> None:
    """Insert an omission notice where removed exchanges are not covered by a summary, replacing earlier notices.

    `covers` are the positions `[start, end)` that the summary covers, if there is one.
    """
    view.exchanges = [exchange for exchange in view.exchanges if exchange.kept_as != MARK]
    summaries = view.summaries()
    has_words = not all(map(is_mark, summaries))
    gone = [
        exchange
        for exchange in view.left
        if not (has_words and _is_covered(exchange, covers)) and exchange.first is not None
    ]
    count = messages_in(gone) + (0 if has_words else view.replaced_count)
    if not count or (summaries and not gone):
        return
    made = exchanges_of([view.summary_entry(omission_notice(view, task, count).message)])[0]
    made.kept_as = MARK
    view.exchanges = [exchange for exchange in view.exchanges if not is_mark(exchange)]
    spoken_up_to = (task.covers or (0, 1))[1] - 1
    view.insert_summary(made, max((exchange.last or 0 for exchange in gone), default=spoken_up_to))
    _keep_request_apart(view, made)
    open_with_user(view)


def shorten_marks(view: WorkingView) -> None:
    """Replace the omission notices by the shortest one."""
    for exchange in filter(is_mark, view.exchanges):
        part = exchange.entries[0].message.parts[0]
        view.edit(
            exchange, 0, [replace(part, text=short_omission(view.language))] if isinstance(part, Text) else [part]
        )


def _keep_request_apart(view: WorkingView, made: ViewExchange) -> None:
    """Where neighbours of one role are merged, do not append a notice to the newest request."""
    at = view.exchanges.index(made)
    if view.format.rules.user_first and at and view.exchanges[at - 1].kept_as == NEWEST_REQUEST:
        view.exchanges[at - 1 : at + 1] = [made, view.exchanges[at - 1]]


def messages_in(exchanges: Iterable[ViewExchange]) -> int:
    """Number of history messages in these exchanges."""
    return sum(entry.position is not None for exchange in exchanges for entry in exchange.entries_before)


def replaced_count(exchanges: Iterable[ViewExchange]) -> int:
    """Number of messages that summaries and notices among these exchanges stand for, as far as they state it."""
    texts = [exchange.entries[0].message.text for exchange in exchanges if exchange.is_summary]
    spans = [unwrapped(text) for text in texts]
    return sum((span.count or 0) if span else (omitted(text) or 0) for span, text in zip(spans, texts, strict=True))


def _is_covered(exchange: ViewExchange, covers: tuple[int, int] | None) -> bool:
    if covers is None or exchange.first is None or exchange.last is None:
        return False
    return covers[0] <= exchange.first <= exchange.last < covers[1]


def refill(view: WorkingView, task: Task, covers: tuple[int, int] | None) -> None:
    """Restore the newest removed exchanges if the final cut freed more than necessary and all of the view fits."""
    put_back, left = view.checkpoint(), list(view.left)
    gone = [exchange for exchange in view.left if exchange.first is not None]
    _mark_where_it_fits(view, task, covers)
    narrower = replace(task, goal_tokens=min(task.goal_tokens, task.budget_tokens - COUNT_TOKENS))
    take_back(view, narrower, sorted(gone, key=lambda exchange: -(exchange.first or 0)))
    _mark_where_it_fits(view, task, covers)
    open_with_user(view)  # a notice that is no longer needed may have been the opening
    if view.total > task.budget_tokens:
        put_back()
        view.left = left


def _mark_where_it_fits(view: WorkingView, task: Task, covers: tuple[int, int] | None) -> None:
    mark_losses(view, task, covers)
    if view.total > task.budget_tokens:
        shorten_marks(view)
    if view.total > task.budget_tokens:
        view.exchanges = [exchange for exchange in view.exchanges if not is_mark(exchange)]
        open_with_user(view)


def take_back(view: WorkingView, task: Task, gone: Iterable[ViewExchange]) -> None:
    """Fill the free room with the newest removed exchanges, within the policy's caps. The last one is cut to fit.

    `gone` are the candidates, newest first. Stops at the first that does not fit, so that the tail has no holes.
    """
    if task.policy.caps_tail:
        return
    blank: list[ViewExchange] = []
    for exchange in gone:
        if is_filler(exchange.entries[0].message):
            blank.append(exchange)
        elif made_to_fit(view, exchange, task.goal_tokens - view.total, task.goal_tokens):
            _return(view, exchange)
        else:
            return
    if sum(exchange.tokens for exchange in blank) <= task.goal_tokens - view.total:
        for exchange in blank:
            _return(view, exchange)


def _return(view: WorkingView, exchange: ViewExchange) -> None:
    """Put a removed exchange back in its place."""
    if exchange.first is not None:
        view.left = [other for other in view.left if other is not exchange]
        view.insert(exchange, exchange.first)


def made_to_fit(view: WorkingView, exchange: ViewExchange, room_tokens: int, goal_tokens: int) -> bool:
    """True if an exchange fits into the room, cut if enough of it remains to be worth showing."""
    exchange_tokens = sum(entry.tokens for entry in exchange.entries)
    if exchange_tokens > room_tokens and room_tokens < least_cut(goal_tokens):
        return False
    kept = ViewExchange(
        entries=list(exchange.entries), original=exchange.original, entries_before=exchange.entries_before
    )
    to_line = room_tokens > goal_tokens * LINE_SHARE
    if not reduce_to(view, kept, room_tokens, "cut to the room left", to_line=to_line):
        return False
    exchange.entries, exchange.decision, exchange.reasons = kept.entries, kept.decision, kept.reasons
    exchange.references = kept.references
    return True


def least_cut(goal_tokens: int) -> int:
    """The least room that an exchange is cut to."""
    return max(min(BOUNDARY_TOKENS_MIN, int(goal_tokens * BOUNDARY_SHARE)), int(goal_tokens * SLACK_SHARE))
