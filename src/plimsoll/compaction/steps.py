"""The reversible steps of level normal: collapse repeated results, and replace old bulk by references with previews.

Both work in one batch from the oldest exchange and stop at the goal, so that the prompt cache is invalidated once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from plimsoll.compaction.keep import NEWEST_EXCHANGE
from plimsoll.compaction.rereads import REPEAT_CHARS_MIN, CallKey, call_of, is_changed_since, results_of
from plimsoll.compaction.shrink import Spot, cut_spots, spots
from plimsoll.compaction.view_message import ViewExchange, ViewMessage
from plimsoll.compaction.working_view import WorkingView
from plimsoll.formats.provenance import notice, verified_notice
from plimsoll.light.dataclass import replace
from plimsoll.message import Message, ToolCall, ToolResult

REPEATED = {"en": "The same content as in a later result of this conversation", "zh": "与本对话中较后的结果内容相同"}
"""Replacement text of a collapsed repeated result, by language."""

TAIL_SHARE = 0.4
"""Share of the goal up to which the newest exchanges keep their results uncut."""

PREVIEWED_MAX, PREVIEWED_SHARE = 6, 0.1
"""Results that become previews, and the share of the view that this frees, above which a summary says more of them."""

BULK_FACTOR = 1.5
"""A part is worth cutting if it is larger than this many previews."""

_REFERENCE = {"en": ", reference {}", "zh": "，引用 {}"}


def collapse_repeats(view: WorkingView, goal_tokens: int) -> None:
    """Replace tool results whose content is repeated by a later result with a pointer to it.

    Exchanges that must stay are skipped: they may outlive the later result.
    """
    newest: set[str] = set()
    repeats: list[tuple[ViewExchange, int, int]] = []
    for exchange, number, index, result in results_of(view):
        if len(result.content) < REPEAT_CHARS_MIN or result.media:
            continue
        if result.content in newest and exchange.kept_as in (None, NEWEST_EXCHANGE):
            repeats.append((exchange, number, index))
        newest.add(result.content)
    excess = view.excess(goal_tokens, at_most=1 + sum(exchange.tokens for exchange, _, _ in repeats))
    for exchange, number, indexes in _by_entry(reversed(repeats)):
        done = 0
        while done < len(indexes) and excess > 0:
            chosen = _enough(view, exchange, number, indexes[done:], excess)
            excess -= _point_to_newest(view, exchange, number, chosen)
            done += len(chosen)


def _by_entry(places: Iterable[tuple[ViewExchange, int, int]]) -> Iterator[tuple[ViewExchange, int, list[int]]]:
    """Group parts by message, so that a message is edited and counted once."""
    for _, group in groupby(places, key=lambda place: (id(place[0]), place[1])):
        found = list(group)
        yield found[0][0], found[0][1], [index for _, _, index in found]


def _enough(view: WorkingView, exchange: ViewExchange, number: int, indexes: Sequence[int], excess: int) -> list[int]:
    """Choose as many repeats of one message as needed, by the tokens of their contents."""
    parts = exchange.entries[number].message.parts
    chosen: list[int] = []
    for index in indexes:
        if excess <= 0:
            break
        part = parts[index]
        excess -= view.counter.upper(part.content) if isinstance(part, ToolResult) else 0
        chosen.append(index)
    return chosen


def _point_to_newest(view: WorkingView, exchange: ViewExchange, number: int, indexes: Iterable[int]) -> int:
    """Replace repeated results of one message by pointers; returns the tokens saved."""
    before = exchange.tokens
    entry = exchange.entries[number]
    parts = list(entry.message.parts)
    for index in indexes:
        part = parts[index]
        assert isinstance(part, ToolResult)
        reference = view.refer(entry, index)
        where = _REFERENCE[view.language].format(reference) if reference and view.recall else ""
        parts[index] = replace(part, content=notice(f"{REPEATED[view.language]}{where}"))
        exchange.decide(
            "offload" if reference else "shrink", "a later result has the same content", reference=reference
        )
    view.edit(exchange, number, parts)
    return before - exchange.tokens


def restore_repeats(view: WorkingView, preview_tokens: int, original: Callable[[int], Message | None] | None) -> None:
    """Restore a collapsed result as a preview if the later result it points to is no longer in the view."""
    found = list(results_of(view))
    if not any(_is_collapsed(result) or is_changed_since(result) for *_, result in found):
        return
    later: set[str] = set()
    later_calls: set[CallKey | None] = set()
    for exchange, number, index, result in found:
        content, call = _content_before(exchange, exchange.entries[number], result, original), call_of(exchange, result)
        is_alone = content not in later if _is_collapsed(result) else call not in later_calls
        if content is not None and is_alone and (_is_collapsed(result) or is_changed_since(result)):
            parts = list(exchange.entries[number].message.parts)
            parts[index] = replace(result, content=content)
            view.edit(exchange, number, parts)
            large = [spot for spot in spots(view, exchange) if (spot.entry, spot.part) == (number, index)]
            cut_spots(view, exchange, large, preview_tokens, "the later result that it pointed to was removed")
        later.add(result.content if content is None else content)
        if not is_changed_since(result):
            later_calls.add(call)


def _is_collapsed(result: ToolResult) -> bool:
    words = verified_notice(result.content) if len(result.content) < 2 * REPEAT_CHARS_MIN else None
    return words is not None and words.startswith(tuple(REPEATED.values()))


def _content_before(
    exchange: ViewExchange, entry: ViewMessage, result: ToolResult, original: Callable[[int], Message | None] | None
) -> str | None:
    """The original content of a cut result; None if it is not known for certain."""
    if entry.whole or entry.position is None:
        return None
    before = original(entry.position) if original else None
    if before is None:
        before = next((other.message for other in exchange.entries_before if other.position == entry.position), None)
    found = [other for other in before.results if other.call_id == result.call_id] if before else []
    return found[0].content if len(found) == 1 else None


def offload_bulk(  # noqa: PLR0913 - what to cut, how far, and what may come after
    view: WorkingView,
    goal_tokens: int,
    preview_tokens: int,
    *,
    later_tokens: int,
    tail_share: float = TAIL_SHARE,
    for_facts: bool = False,
) -> None:
    """Replace large results and arguments outside the newest `tail_share` of the goal by a reference and a preview, oldest first.

    The last one keeps as much as the goal leaves room for. If the goal is not reached, but would be with half of that tail, the
    tail is halved, so that a large result in it does not displace messages. Otherwise exchanges too old to stay even then are
    skipped: later steps remove them, and their summary needs `later_tokens`. With `for_facts`, nothing is replaced where many
    results would be, for a large part of the view: a summary of the oldest exchanges keeps more of what the results say.
    """
    tail_tokens = int(goal_tokens * tail_share)
    found, enough = _within_reach(view, goal_tokens, preview_tokens, tail_tokens)
    if not enough:
        found, enough = _within_reach(view, goal_tokens, preview_tokens, tail_tokens // 2)
    if not enough:
        found, _ = _within_reach(view, goal_tokens - later_tokens, preview_tokens, tail_tokens)
    excess = view.excess(goal_tokens, at_most=1 + sum(spot.tokens for _, spot in found))
    if enough and for_facts and excess > PREVIEWED_SHARE * (goal_tokens + excess):
        count = _cut_whole([spot for _, spot in reversed(found)], preview_tokens, excess)
        if count >= PREVIEWED_MAX:
            return
    for _, group in groupby(reversed(found), key=lambda place: (id(place[0]), place[1].entry)):
        places = list(group)
        exchange, bulk = places[0][0], [spot for _, spot in places]
        while bulk and excess > 0:
            before = exchange.tokens
            whole = _cut_whole(bulk, preview_tokens, excess)
            cap = preview_tokens if whole > 1 else max(preview_tokens, bulk[0].tokens - excess)
            cut_spots(view, exchange, bulk[: max(1, whole)], cap, "old and large")
            bulk = bulk[max(1, whole) :]
            excess -= before - exchange.tokens


def _cut_whole(bulk: Sequence[Spot], preview_tokens: int, excess: int) -> int:
    """Number of parts, in order, that have to become previews to free the excess."""
    count = 0
    for spot in bulk:
        excess -= spot.tokens - preview_tokens
        if excess <= 0:
            break
        count += 1
    return count


def _within_reach(
    view: WorkingView, goal_tokens: int, preview_tokens: int, tail_tokens: int
) -> tuple[list[tuple[ViewExchange, Spot]], bool]:
    """The bulk, newest first, of exchanges that fit under a goal with all bulk cut; and whether all exchanges fit."""
    old = {id(exchange) for exchange in old_exchanges(view, tail_tokens)}
    room = goal_tokens - view.reserve_tokens
    found: list[tuple[ViewExchange, Spot]] = []
    for exchange in reversed(view.exchanges):
        bulk = _bulk(view, exchange, preview_tokens) if id(exchange) in old else []
        room -= exchange.tokens - sum(spot.tokens - preview_tokens for spot in bulk)
        if room < 0:
            return found, False
        found.extend((exchange, spot) for spot in bulk)
    return found, True


def _bulk(view: WorkingView, exchange: ViewExchange, preview_tokens: int) -> list[Spot]:
    """The results and arguments of an exchange that are worth offloading."""
    least = int(preview_tokens * BULK_FACTOR)
    if exchange.tokens <= least:
        return []
    return [
        spot
        for spot in spots(view, exchange)
        if spot.tokens > least
        and isinstance(exchange.entries[spot.entry].message.parts[spot.part], (ToolResult, ToolCall))
    ]


def old_exchanges(view: WorkingView, tail_tokens: int) -> list[ViewExchange]:
    """Exchanges with tool calls outside the newest `tail_tokens`, oldest first, without the newest exchange."""
    exchanges = view.exchanges
    end = max(0, len(exchanges) - 1)
    room = tail_tokens - sum(exchange.tokens for exchange in exchanges[end:])
    while end > 0 and room > 0:
        end -= 1
        room -= exchanges[end].tokens
    return [exchange for exchange in exchanges[:end] if exchange.original.calls_tools]
