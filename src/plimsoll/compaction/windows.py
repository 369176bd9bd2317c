"""Windows: the newest part of a conversation, limited by messages, turns, tokens or share, without gaps.

A cut is an index into a list of exchanges: `exchanges[cut:]` stays. System text is handled separately and not counted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from math import ceil

from plimsoll.compaction.shrink import Spot, cut_results, cut_spots, spots
from plimsoll.compaction.view_message import ViewExchange
from plimsoll.compaction.working_view import WorkingView
from plimsoll.errors import CannotFit
from plimsoll.formats.exchange import Exchange
from plimsoll.message import Media
from plimsoll.policy.budget import mark_tokens
from plimsoll.policy.policy import Policy
from plimsoll.truncation.marker import SHORTEST
from plimsoll.truncation.measure import fair_cap


def last_messages(exchanges: Sequence[Exchange], count: int) -> int:
    """The cut that keeps at most `count` messages."""
    sizes = (0 if exchange.is_system else len(exchange.messages) for exchange in reversed(exchanges))
    return len(exchanges) - _fitting(sizes, count)


def last_turns(exchanges: Sequence[Exchange], count: int) -> int:
    """The cut that keeps at most `count` turns. A turn is a user request and everything up to the next one."""
    requests = [index for index, exchange in enumerate(exchanges) if exchange.is_request]
    return requests[-count] if len(requests) > count else 0


def last_tokens(exchanges: Sequence[Exchange], newest_first: Iterable[int], room: int) -> int:
    """The cut that keeps at most `room` tokens, up to the first exchange that does not fit. No more sizes are read than needed."""
    sizes = zip(reversed(exchanges), newest_first, strict=True)
    return len(exchanges) - _fitting((0 if exchange.is_system else size for exchange, size in sizes), room)


def last_fraction(exchanges: Sequence[Exchange], fraction: float) -> int:
    """The cut that keeps at most this share of the messages, rounded up."""
    total = sum(len(exchange.messages) for exchange in exchanges if not exchange.is_system)
    return last_messages(exchanges, ceil(round(total * fraction, 6)))


def _fitting(sizes: Iterable[int], room: int) -> int:
    """How many of them fit, from the first on."""
    fitting = 0
    for size in sizes:
        room -= size
        if room < 0:
            break
        fitting += 1
    return fitting


def keep_from(
    exchanges: Sequence[Exchange],
    newest_first: Iterable[int],
    policy: Policy,
    *,
    budget_tokens: int | None = None,
    after_failure: bool = False,
) -> int:
    """The cut of the largest tail within all caps of a policy. The newest exchange stays regardless of them.

    `newest_first` are the tokens of the exchanges. A cap that is a share of the budget needs `budget_tokens`; without it only its
    absolute part applies. `after_failure` uses the fraction that the policy sets for a failed summariser.
    """
    cuts = [0]
    fraction = policy.keep_fraction
    if after_failure and policy.keep_fraction_after_failure is not None:
        fraction = policy.keep_fraction_after_failure
    if policy.keep_last_messages is not None:
        cuts.append(last_messages(exchanges, policy.keep_last_messages))
    if policy.keep_last_turns is not None:
        cuts.append(last_turns(exchanges, policy.keep_last_turns))
    if fraction is not None:
        cuts.append(last_fraction(exchanges, fraction))
    room = _token_cap(policy, budget_tokens)
    if room is not None:
        cuts.append(last_tokens(exchanges, newest_first, room))
    return min(max(cuts), _newest(exchanges), last_messages_at_least(exchanges, policy.keep_last_messages_min or 0))


def last_messages_at_least(exchanges: Sequence[Exchange], count: int) -> int:
    """The cut that keeps at least `count` messages, or all there are, in complete exchanges."""
    for at in range(len(exchanges) - 1, -1, -1):
        if count <= 0:
            return at + 1
        count -= 0 if exchanges[at].is_system else len(exchanges[at].messages)
    return 0


def _token_cap(policy: Policy, budget_tokens: int | None) -> int | None:
    match policy.keep_tokens:
        case None:
            return None
        case mark if budget_tokens is not None:
            return mark_tokens(mark, budget_tokens)
        case (_, absolute):
            return absolute
        case float():
            return None
        case absolute:
            return absolute


def _newest(exchanges: Sequence[Exchange]) -> int:
    """The index of the newest exchange that is not system text; the number of exchanges if there is none."""
    newest_first = (index for index in range(len(exchanges) - 1, -1, -1) if not exchanges[index].is_system)
    return next(newest_first, len(exchanges))


def keep_window(view: WorkingView, policy: Policy, budget_tokens: int, start: int = 0) -> None:
    """Reduce a view to its newest exchanges within a policy's caps and the budget, without a summary.

    Leading system text stays and is counted first. Exchanges that end before index `start` leave. Messages longer than the policy's
    `message_tokens_max` lose their middle, except the newest request, which stays even outside of the tail. If it and the newest
    exchange alone exceed the budget, they are cut.

    Raises CannotFit if system text and the framing of the newest messages exceed the budget.
    """
    system = list(takewhile(lambda exchange: exchange.original.is_system, view.exchanges))
    system_tokens = sum(exchange.tokens for exchange in system)
    budget = max(1, budget_tokens - view.reserve_tokens)
    after = [exchange for exchange in view.exchanges[len(system) :] if exchange.original.end > start]
    chosen = _chosen(view, after, policy, budget, budget - system_tokens)
    excess = _squeeze(view, chosen, budget - system_tokens)
    if excess > 0:
        part = "system text" if system_tokens > budget else "newest exchange"
        raise CannotFit(part=part, budget_tokens=budget_tokens, needed_tokens=view.reserve_tokens + budget + excess)
    view.exchanges = [*system, *chosen]


def _chosen(
    view: WorkingView, exchanges: Sequence[ViewExchange], policy: Policy, budget_tokens: int, room: int
) -> list[ViewExchange]:
    """The tail within caps and room, with long messages cut, and the newest request before it if the tail does not include it.

    That request is not cut, since it is being answered. Exchanges beyond caps in messages or turns are not counted.
    """
    originals = [exchange.original for exchange in exchanges]
    request = next((index for index in range(len(originals) - 1, -1, -1) if originals[index].is_request), None)
    reach = keep_from(originals, [0] * len(originals), policy)
    for index in range(reach, len(exchanges)):
        if index != request and not originals[index].is_system:
            _cut_long(view, exchanges[index], policy, budget_tokens)
    sizes = [exchange.tokens if index >= reach or index == request else 0 for index, exchange in enumerate(exchanges)]
    caps = keep_from(originals, reversed(sizes), policy, budget_tokens=budget_tokens)
    least = min(_newest(originals), last_messages_at_least(originals, policy.keep_last_messages_min or 0))
    cut = min(max(caps, last_tokens(originals, reversed(sizes), room)), least)
    if request is None or request >= cut:
        return list(exchanges[cut:])
    cut = min(max(caps, last_tokens(originals, reversed(sizes), room - sizes[request])), least)
    return list(exchanges[cut:]) if request >= cut else [exchanges[request], *exchanges[cut:]]


def _cut_long(view: WorkingView, exchange: ViewExchange, policy: Policy, budget_tokens: int) -> None:
    """Cut each tool result and each message to the policy's limits."""
    limit = policy.tool_result_limit(budget_tokens)
    if limit is not None:
        cut_results(view, exchange, limit)
    limit = policy.message_limit(budget_tokens)
    for number in range(len(exchange.entries) if limit is not None else 0):
        texts = [spot for spot in _texts(view, exchange) if spot.entry == number]
        cap = fair_cap([spot.tokens for spot in texts], limit or 0)
        cut_spots(view, exchange, [spot for spot in texts if spot.tokens > cap], cap, "longer than a message may be")


def _squeeze(view: WorkingView, exchanges: Sequence[ViewExchange], room: int) -> int:
    """Cut the longest texts of exchanges to fit the room, small ones not at all. Returns the tokens that are still over it."""
    whole = [exchange.entries for exchange in exchanges]
    sizes = [spot.tokens for exchange in exchanges for spot in _texts(view, exchange)]
    least, cap = view.counter.upper(SHORTEST), -1
    excess = sum(exchange.tokens for exchange in exchanges) - room
    spare = sum(sizes) - excess
    while excess > 0 and cap != least:
        cap = max(least, fair_cap(sizes, max(0, spare)))
        for exchange, entries in zip(exchanges, whole, strict=True):
            exchange.entries = entries
            cut_spots(
                view, exchange, [spot for spot in _texts(view, exchange) if spot.tokens > cap], cap, "over the budget"
            )
        excess = sum(exchange.tokens for exchange in exchanges) - room
        spare -= max(excess, spare // 8)
    return excess


def _texts(view: WorkingView, exchange: ViewExchange) -> list[Spot]:
    """The parts of an exchange that may be cut, except media."""
    parts = (entry.message.parts for entry in exchange.entries)
    media = {
        (at, index) for at, found in enumerate(parts) for index, part in enumerate(found) if isinstance(part, Media)
    }
    return [spot for spot in spots(view, exchange) if (spot.entry, spot.part) not in media]
