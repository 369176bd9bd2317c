"""The reversible steps of level normal: collapse repeats onto the newest, and take old bulk out of the view.

Both work in one batch from the oldest on and stop at the goal, so that a provider's prompt cache is broken once, not often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from plimsoll.compaction.keep import NEWEST_EXCHANGE
from plimsoll.compaction.shrink import Spot, cut_spots, spots
from plimsoll.compaction.view_message import ViewExchange, ViewMessage
from plimsoll.compaction.working_view import WorkingView
from plimsoll.message import Message, ToolCall, ToolResult
from plimsoll.provenance import notice, verified_notice

REPEAT_CHARS_MIN = 200
"""Shorter results cost less than the words that would stand for them."""

REPEATED = {"en": "The same content as in a later result of this conversation", "zh": "与本对话中较后的结果内容相同"}
"""What a repeated result says once it has been collapsed, by language."""

TAIL_SHARE = 0.4
"""The newest exchanges that together cost this share of the goal keep their results whole."""

BULK_FACTOR = 1.5
"""A part is worth cutting when it costs more than this many previews."""

_REFERENCE = {"en": ", reference {}", "zh": "，引用 {}"}


def collapse_repeats(view: WorkingView, goal_tokens: int, preview_tokens: int) -> None:  # noqa: ARG001
    """Tool results whose very content comes again later leave a line that says so.

    Those of exchanges that must stay do not: they may stay longer than the later result.
    """
    newest: set[str] = set()
    repeats: list[tuple[ViewExchange, int, int]] = []
    for block, number, index, result in _results(view):
        if len(result.content) < REPEAT_CHARS_MIN or result.media:
            continue
        if result.content in newest and block.kept_as in (None, NEWEST_EXCHANGE):
            repeats.append((block, number, index))
        newest.add(result.content)
    excess = view.excess(goal_tokens, at_most=1 + sum(block.tokens for block, _, _ in repeats))
    for block, number, indexes in _by_piece(reversed(repeats)):
        done = 0
        while done < len(indexes) and excess > 0:
            chosen = _enough(view, block, number, indexes[done:], excess)
            excess -= _point_to_newest(view, block, number, chosen)
            done += len(chosen)


def _by_piece(places: Iterable[tuple[ViewExchange, int, int]]) -> Iterator[tuple[ViewExchange, int, list[int]]]:
    """Parts by the piece they are in: a message is edited and weighed once for all of them."""
    for _, group in groupby(places, key=lambda place: (id(place[0]), place[1])):
        found = list(group)
        yield found[0][0], found[0][1], [index for _, _, index in found]


def _enough(view: WorkingView, block: ViewExchange, number: int, indexes: Sequence[int], excess: int) -> list[int]:
    """As many of the repeats of one piece as it takes, by what their contents cost."""
    parts = block.pieces[number].message.parts
    chosen: list[int] = []
    for index in indexes:
        if excess <= 0:
            break
        part = parts[index]
        excess -= view.counter.upper(part.content) if isinstance(part, ToolResult) else 0
        chosen.append(index)
    return chosen


def _results(view: WorkingView) -> Iterator[tuple[ViewExchange, int, int, ToolResult]]:
    """Results, newest first."""
    for block in reversed(view.blocks):
        for number in range(len(block.pieces) - 1, -1, -1):
            for index, part in reversed(list(enumerate(block.pieces[number].message.parts))):
                if isinstance(part, ToolResult):
                    yield block, number, index, part


def _point_to_newest(view: WorkingView, block: ViewExchange, number: int, indexes: Iterable[int]) -> int:
    """Replace repeated results of one piece by their pointers; the tokens that saved."""
    before = block.tokens
    piece = block.pieces[number]
    parts = list(piece.message.parts)
    for index in indexes:
        part = parts[index]
        assert isinstance(part, ToolResult)
        reference = view.refer(piece, index)
        where = _REFERENCE[view.language].format(reference) if reference and view.recall else ""
        parts[index] = replace(part, content=notice(f"{REPEATED[view.language]}{where}"))
        block.decide("offload" if reference else "shrink", "the same content is read again later", reference=reference)
    view.edit(block, number, parts)
    return before - block.tokens


def restore_repeats(view: WorkingView, preview_tokens: int, original: Callable[[int], Message | None] | None) -> None:
    """Give a collapsed result its content back, cut to a preview, where the later result it points to is no longer in the view."""
    found = list(_results(view))
    if not any(_is_collapsed(result) for *_, result in found):
        return
    later: set[str] = set()
    for block, number, index, result in found:
        content = _content_before(block, block.pieces[number], result, original)
        if _is_collapsed(result) and content is not None and content not in later:
            parts = list(block.pieces[number].message.parts)
            parts[index] = replace(result, content=content)
            view.edit(block, number, parts)
            large = [spot for spot in spots(view, block) if (spot.piece, spot.part) == (number, index)]
            cut_spots(view, block, large, preview_tokens, "the later result with the same content left")
        later.add(result.content if content is None else content)


def _is_collapsed(result: ToolResult) -> bool:
    words = verified_notice(result.content) if len(result.content) < 2 * REPEAT_CHARS_MIN else None
    return words is not None and words.startswith(tuple(REPEATED.values()))


def _content_before(
    block: ViewExchange, piece: ViewMessage, result: ToolResult, original: Callable[[int], Message | None] | None
) -> str | None:
    """What a result said that is no longer whole; None where that is not known for certain."""
    if piece.whole or piece.position is None:
        return None
    before = original(piece.position) if original else None
    if before is None:
        before = next((other.message for other in block.pieces_before if other.position == piece.position), None)
    found = [other for other in before.results if other.call_id == result.call_id] if before else []
    return found[0].content if len(found) == 1 else None


def offload_bulk(
    view: WorkingView, goal_tokens: int, preview_tokens: int, *, later_tokens: int, tail_share: float = TAIL_SHARE
) -> None:
    """Large tool results and arguments outside the newest `tail_share` of the goal become a reference and a preview, oldest first.

    The last one cut keeps as much as the goal leaves room for. Where that is not enough to reach the goal, but would be with half
    of that tail, it is halved: a large result that a larger goal takes into the tail must not cost messages. Else exchanges too old
    to stay even so are left to the steps after this one, whose summary takes `later_tokens`: cutting them is lost work.
    """
    tail_tokens = int(goal_tokens * tail_share)
    found, enough = _within_reach(view, goal_tokens, preview_tokens, tail_tokens)
    if not enough:
        found, enough = _within_reach(view, goal_tokens, preview_tokens, tail_tokens // 2)
    if not enough:
        found, _ = _within_reach(view, goal_tokens - later_tokens, preview_tokens, tail_tokens)
    excess = view.excess(goal_tokens, at_most=1 + sum(spot.tokens for _, spot in found))
    for _, group in groupby(reversed(found), key=lambda place: (id(place[0]), place[1].piece)):
        places = list(group)
        block, bulk = places[0][0], [spot for _, spot in places]
        while bulk and excess > 0:
            before = block.tokens
            whole = _cut_whole(bulk, preview_tokens, excess)
            cap = preview_tokens if whole > 1 else max(preview_tokens, bulk[0].tokens - excess)
            cut_spots(view, block, bulk[: max(1, whole)], cap, "old and large")
            bulk = bulk[max(1, whole) :]
            excess -= before - block.tokens


def _cut_whole(bulk: Sequence[Spot], preview_tokens: int, excess: int) -> int:
    """How many parts, in order, surely have to come down to a preview before the excess is gone."""
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
    """The bulk, newest first, of the exchanges that fit under a goal once all bulk is cut; and whether all of them do."""
    old = {id(block) for block in old_blocks(view, tail_tokens)}
    room = goal_tokens - view.reserve_tokens
    found: list[tuple[ViewExchange, Spot]] = []
    for block in reversed(view.blocks):
        bulk = _bulk(view, block, preview_tokens) if id(block) in old else []
        room -= block.tokens - sum(spot.tokens - preview_tokens for spot in bulk)
        if room < 0:
            return found, False
        found.extend((block, spot) for spot in bulk)
    return found, True


def _bulk(view: WorkingView, block: ViewExchange, preview_tokens: int) -> list[Spot]:
    """The results and arguments of a block that are worth offloading."""
    least = int(preview_tokens * BULK_FACTOR)
    if block.tokens <= least:
        return []
    return [
        spot
        for spot in spots(view, block)
        if spot.tokens > least and isinstance(block.pieces[spot.piece].message.parts[spot.part], (ToolResult, ToolCall))
    ]


def old_blocks(view: WorkingView, tail_tokens: int) -> list[ViewExchange]:
    """The blocks that call tools outside the newest `tail_tokens`, oldest first; the newest exchange is never among them."""
    blocks = view.blocks
    end = max(0, len(blocks) - 1)
    room = tail_tokens - sum(block.tokens for block in blocks[end:])
    while end > 0 and room > 0:
        end -= 1
        room -= blocks[end].tokens
    return [block for block in blocks[:end] if block.exchange.calls_tools]
