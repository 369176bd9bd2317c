"""Limit what must stay, so that one oversized exchange or pin does not push the whole history out of the view.

Oversized parts are cut; exchanges that are still too large are reduced.
"""

from __future__ import annotations

from collections.abc import Sequence

from plimsoll.compaction.keep import (
    ANSWERED,
    COMPACTED,
    FIRST_REQUEST,
    LAST_MESSAGES,
    NEWEST_EXCHANGE,
    NEWEST_MESSAGE,
    NEWEST_REQUEST,
    PINNED,
    SYSTEM,
)
from plimsoll.compaction.reduce import CALLS_REASON, OPAQUE_REASON, is_stubborn, reduce_to, sealed_tokens
from plimsoll.compaction.settle import is_placeholder
from plimsoll.compaction.shrink import LEAST_TOKENS, Spot, cut_spots, shrink_to, spots
from plimsoll.compaction.split import history_tokens
from plimsoll.compaction.task import Task
from plimsoll.compaction.view_message import ViewExchange
from plimsoll.compaction.working_view import WorkingView
from plimsoll.message import Text, ToolCall, ToolResult
from plimsoll.policy.budget import Level
from plimsoll.truncation.measure import fair_cap

OVERSIZED_SHARE = 0.5
"""Share of the goal that one tool result or pinned text may take in an emergency."""

ARGUMENTS_SHARE = 0.05
"""Share of the goal for the arguments of answered calls: the next step needs their results rather than the arguments."""

HELD_SHARE, HELD_SHARE_MIN = 0.6, 0.25
"""Share that kept exchanges may take of the goal after system text and the newest request. If these two alone exceed the
budget, they are cut to this share of it. In little room the share is smaller: facts in a summary say more than cut messages."""

HELD_TOKENS_MIN, HELD_TOKENS = 200, 1_000
"""Up to the first the share is the smaller one, from the second on the larger one."""

ANSWER_SHARE = 0.1
"""Least share of the goal for the newest answer in words alone. People rarely ask again for all that it says."""

TALK_REQUESTS_MIN = 8
"""Messages of a user from which on a talk is about more than its first message."""

REASON = "over the limit for content that must stay"

_FOR_ROOM = frozenset({REASON, OPAQUE_REASON, CALLS_REASON})
"""Reasons of cuts that only make room for other exchanges."""

_REDUCIBLE = (NEWEST_EXCHANGE, NEWEST_MESSAGE, ANSWERED, LAST_MESSAGES, FIRST_REQUEST, PINNED, COMPACTED)


def cut_frame(view: WorkingView, budget_tokens: int) -> bool:
    """Cut system text and the newest request if they alone exceed the budget, leaving room for the rest; True if they did.

    The request is cut first, to half of the budget at the least, then the system text.
    """
    requests = [exchange for exchange in view.exchanges if exchange.kept_as == NEWEST_REQUEST]
    system = [exchange for exchange in view.exchanges if exchange.kept_as == SYSTEM]
    frame = view.reserve_tokens + sum(exchange.tokens for exchange in (*requests, *system))
    if frame <= budget_tokens:
        return False
    others = _tokens_of_others(view, int(budget_tokens * (1 - held_share(budget_tokens))))
    excess = frame - (budget_tokens - others)
    for exchange in requests:
        before = exchange.tokens
        reduce_to(view, exchange, max(budget_tokens // 2, before - excess), REASON, to_line=False)
        excess -= before - exchange.tokens
    for exchange in system:
        before = exchange.tokens
        if excess > 0:
            shrink_to(view, exchange, max(LEAST_TOKENS, before - excess), REASON)
        excess -= before - exchange.tokens
    return True


def held_share(tokens: int) -> float:
    """The share that kept exchanges may take of a room."""
    grown = (tokens - HELD_TOKENS_MIN) / (HELD_TOKENS - HELD_TOKENS_MIN)
    return HELD_SHARE_MIN + (HELD_SHARE - HELD_SHARE_MIN) * min(1.0, max(0.0, grown))


def _tokens_of_others(view: WorkingView, at_most: int) -> int:
    """Tokens of everything except system text and the newest request, counted only up to `at_most`."""
    tokens = 0
    for exchange in reversed(view.exchanges):
        if tokens < at_most and exchange.kept_as not in (SYSTEM, NEWEST_REQUEST):
            tokens += exchange.tokens
    return min(tokens, at_most)


def cut_oversized_kept(view: WorkingView, task: Task) -> None:
    """Cut oversized parts of exchanges that must stay: results and arguments in the newest exchange, pins, the first request."""
    _cap_kept(view, task)
    _cut_answered(view, task)
    room = held_room(view, task.goal_tokens)
    _reduce_stubborn(view, room, task.budget_tokens)
    found = [(exchange, _relievable(view, exchange)) for exchange in view.exchanges]
    sizes = [spot.tokens for _, chosen in found for spot in chosen]
    cap = min(_fair_share(view, task, sizes), _held_share(view, task, sizes))
    for exchange, chosen in found:
        large = [spot for spot in chosen if spot.tokens > cap]
        if large:
            cut_spots(view, exchange, large, cap, REASON)
    if task.policy.fill:
        _cut_spoken(view, task.goal_tokens)
    hold_within(view, room, task.budget_tokens)
    _unseal_tail(view, task.goal_tokens)


def _cap_kept(view: WorkingView, task: Task) -> None:
    """In an emergency, cut kept messages to the policy's limit, except the newest request."""
    limit = task.policy.kept_message_limit(task.budget_tokens)
    if limit is None or task.level < Level.emergency:
        return
    for exchange in view.exchanges:
        if (
            exchange.kept_as not in (None, NEWEST_REQUEST)
            and not exchange.original.calls_tools
            and exchange.tokens > limit
        ):
            shrink_to(view, exchange, limit, REASON)


def _cut_answered(view: WorkingView, task: Task) -> None:
    """Replace large arguments of answered calls in the newest exchange by previews."""
    cap = max(task.preview_tokens, int(task.goal_tokens * ARGUMENTS_SHARE))
    for exchange in view.exchanges:
        if exchange.kept_as not in (NEWEST_EXCHANGE, NEWEST_MESSAGE):
            continue
        if not (exchange.original.pending or any(is_placeholder(entry.message) for entry in exchange.entries)):
            calls = [spot for spot in spots(view, exchange) if _is_call(exchange, spot) and spot.tokens > cap]
            cut_spots(view, exchange, calls, cap, REASON)


def _is_call(exchange: ViewExchange, spot: Spot) -> bool:
    return isinstance(exchange.entries[spot.entry].message.parts[spot.part], ToolCall)


def _cut_spoken(view: WorkingView, goal_tokens: int) -> None:
    """Cut what was only said: the newest answer that calls no tool, and how a talk began.

    Each may take of the goal what the goal is of the history, or its least share.
    """
    is_talk = _is_talk(view)
    for exchange in view.exchanges:
        least = _spoken_share(exchange, is_talk=is_talk)
        if least is not None:
            share = max(least, goal_tokens / max(1, history_tokens(view, goal_tokens)))
            reduce_to(view, exchange, int(goal_tokens * share), REASON, to_line=False)


def _spoken_share(exchange: ViewExchange, *, is_talk: bool) -> float | None:
    """The least share of the goal for words that must stay; None if they are not cut for room."""
    if exchange.kept_as == FIRST_REQUEST and is_talk:
        return HELD_SHARE_MIN
    return ANSWER_SHARE if exchange.kept_as in (NEWEST_EXCHANGE, ANSWERED) and exchange.original.is_answer else None


def _is_talk(view: WorkingView) -> bool:
    """Whether no tool is called and the user says so much that the first message is hardly the task of all."""
    said = sum(exchange.is_request for exchange in view.exchanges)
    return said >= TALK_REQUESTS_MIN and not any(exchange.original.calls_tools for exchange in view.exchanges)


def _unseal_tail(view: WorkingView, goal_tokens: int) -> None:
    """Remove parts that cannot be cut from the newest exchanges if they would push the other exchanges out of the view."""
    room = goal_tokens - held_tokens(view)
    for exchange in reversed(view.movable()):
        if exchange.tokens > room and sealed_tokens(view, exchange) > room // 2:
            reduce_to(view, exchange, room, OPAQUE_REASON, to_line=False)
        room -= exchange.tokens
        if room <= 0:
            return


def restore_kept(view: WorkingView, goal_tokens: int) -> None:
    """Show cut exchanges that must stay whole again, newest first, where the other steps left room for them."""
    cut = [exchange for exchange in view.exchanges if exchange.kept_as is not None and _is_cut_for_room(exchange)]
    room = goal_tokens - view.total if cut else 0
    for exchange in reversed(cut):
        added = exchange.tokens_before - exchange.tokens
        if added <= room:
            exchange.restore()
            room -= added


def _is_cut_for_room(exchange: ViewExchange) -> bool:
    return exchange.decision in ("shrink", "offload") and _FOR_ROOM.issuperset(exchange.reasons_of_cuts)


def held_room(view: WorkingView, goal_tokens: int) -> int:
    """Tokens that kept exchanges may take: their share of the goal plus what the rest of the view does not use."""
    frame = sum(exchange.tokens for exchange in view.exchanges if exchange.kept_as in (SYSTEM, NEWEST_REQUEST))
    frame = min(frame + view.reserve_tokens, goal_tokens)
    room = frame + int((goal_tokens - frame) * held_share(goal_tokens - frame))
    for exchange in reversed(view.exchanges):
        if room < goal_tokens and exchange.kept_as is None:
            goal_tokens -= exchange.tokens
    return max(room, goal_tokens)


def held_tokens(view: WorkingView) -> int:
    """Tokens of the fixed overhead and of all kept exchanges."""
    return view.reserve_tokens + sum(exchange.tokens for exchange in view.exchanges if exchange.kept_as is not None)


def hold_within(view: WorkingView, room_tokens: int, budget_tokens: int) -> None:
    """Reduce kept exchanges to `room_tokens`, the largest the most. System text and the newest request are not changed.

    If those two leave less, the others share half of the rest of the budget. An exchange that cannot be reduced to its share may
    be removed; the summary covers it.
    """
    _reduce_stubborn(view, room_tokens, budget_tokens)
    for exchange in sorted(_reducible(view), key=lambda exchange: -exchange.tokens):
        cap = _fair_cap(view, room_tokens, budget_tokens)
        if cap is not None and exchange.tokens > cap:
            _reduce(view, exchange, cap)


def _reduce_stubborn(view: WorkingView, room_tokens: int, budget_tokens: int) -> None:
    """Reduce first the exchanges for which cutting texts is not enough: what they free, the others can keep."""
    for exchange in sorted(_reducible(view), key=lambda exchange: -exchange.tokens):
        cap = _fair_cap(view, room_tokens, budget_tokens)
        if cap is not None and exchange.tokens > cap and is_stubborn(view, exchange, cap):
            _reduce(view, exchange, cap)


def _reduce(view: WorkingView, exchange: ViewExchange, cap_tokens: int) -> None:
    if not reduce_to(view, exchange, cap_tokens, REASON) and exchange.kept_as != NEWEST_MESSAGE:
        exchange.kept_as = None


def _reducible(view: WorkingView) -> list[ViewExchange]:
    return [exchange for exchange in view.exchanges if exchange.kept_as in _REDUCIBLE]


def _fair_cap(view: WorkingView, room_tokens: int, budget_tokens: int) -> int | None:
    """Maximum size per exchange that brings all kept exchanges within the room; None if they already are."""
    held = held_tokens(view)
    if held <= room_tokens:
        return None
    sizes = [exchange.tokens for exchange in _reducible(view)]
    fixed = held - sum(sizes)
    return fair_cap(sizes, max(room_tokens - fixed, (budget_tokens - fixed) // 2))


def _fair_share(view: WorkingView, task: Task, sizes: Sequence[int]) -> int:
    """Maximum size of one part: in an emergency half of the goal or the free room, whichever is larger; otherwise unlimited."""
    if task.level < Level.emergency:
        return task.budget_tokens
    share = int(task.goal_tokens * OVERSIZED_SHARE)
    large = [size for size in sizes if size > share]
    return max(share, fair_cap(large, sum(large) - view.excess(task.goal_tokens, at_most=sum(large))))


def _held_share(view: WorkingView, task: Task, sizes: Sequence[int]) -> int:
    """Maximum size of a part such that all kept exchanges leave room for the rest of the view."""
    held, room = held_tokens(view), held_room(view, task.goal_tokens)
    if held <= room:
        return task.budget_tokens
    return max(task.preview_tokens, fair_cap(sizes, room - (held - sum(sizes))))


def _relievable(view: WorkingView, exchange: ViewExchange) -> list[Spot]:
    """The parts of a kept exchange that may be cut. Request texts in the newest exchange may not."""
    if exchange.kept_as not in _REDUCIBLE:
        return []
    newest = exchange.kept_as in (NEWEST_EXCHANGE, NEWEST_MESSAGE)
    words = (ToolResult, ToolCall) if newest else (ToolResult, ToolCall, Text)
    return [
        spot
        for spot in spots(view, exchange)
        if isinstance(exchange.entries[spot.entry].message.parts[spot.part], words)
    ]
