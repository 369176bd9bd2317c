"""Cut the parts of an exchange to given sizes. The only place where the text of a kept message changes."""

from __future__ import annotations

from collections.abc import Sequence

from plimsoll.compaction.notes import is_note
from plimsoll.compaction.view_message import ViewExchange
from plimsoll.compaction.working_view import WorkingView
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.limits import CUT_TEXTS_MAX
from plimsoll.message import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from plimsoll.tokens.cache import LruCache
from plimsoll.truncation import cut_json
from plimsoll.truncation.marker import SHORTEST
from plimsoll.truncation.measure import fair_cap
from plimsoll.truncation.pointed import cut_said
from plimsoll.truncation.tool_results import shrink_result

LEAST_TOKENS = 24
"""Minimum size of a cut part: its beginning, its end and the marker between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A part that can be cut: part `part` of message `entry` of the exchange, and its tokens."""

    entry: int
    part: int
    tokens: int


def spots(view: WorkingView, exchange: ViewExchange) -> list[Spot]:
    """The parts whose text may be cut. Reasoning and opaque parts are excluded because providers verify them."""
    return [
        Spot(entry=number, part=index, tokens=part_tokens(view, entry.message, part))
        for number, entry in enumerate(exchange.entries)
        for index, part in enumerate(entry.message.parts)
        if isinstance(part, (Text, ToolCall, ToolResult, Media))
    ]


def part_tokens(view: WorkingView, message: Message, part: Part) -> int:
    """Tokens of a part: those of its text, or without text the difference it makes to the message."""
    match part:
        case Text():
            return view.counter.upper(part.text)
        case ToolCall():
            return view.counter.upper(part.arguments)
        case ToolResult() if not part.media:
            return view.counter.upper(part.content)
        case _:
            alone = Message(role=message.role, parts=(part,), format=message.format)
            return view.count_message(alone) - view.count_message(replace(alone, parts=()))


def shrink_to(view: WorkingView, exchange: ViewExchange, tokens_max: int, reason: str) -> None:
    """Cut an exchange to `tokens_max`, the largest parts the most and small parts not at all.

    The result exceeds `tokens_max` only if uncuttable parts and the markers of cut ones cost more.
    """
    if exchange.tokens <= tokens_max:
        return
    if not exchange.original.calls_tools:  # some providers require reasoning next to a call
        drop_reasoning(view, exchange)
    for _ in range(3):
        excess = exchange.tokens - tokens_max
        if excess <= 0:
            return
        found = spots(view, exchange)
        room = sum(spot.tokens for spot in found) - excess
        cap = max(fair_cap([spot.tokens for spot in found], room), LEAST_TOKENS)
        if not cut_spots(view, exchange, [spot for spot in found if spot.tokens > cap], cap, reason):
            break
    _drop_bulk(view, exchange, tokens_max)


def cut_spots(view: WorkingView, exchange: ViewExchange, chosen: Sequence[Spot], tokens_max: int, reason: str) -> bool:
    """Cut each chosen part to `tokens_max`, or to its marker: providers reject empty parts. True if anything became smaller.

    A part whose cut form would be larger, such as a small image, stays as it is. Each message is encoded and counted once.
    """
    before = exchange.tokens
    tokens_max = max(tokens_max, view.counter.upper(SHORTEST))
    by_entry: dict[int, list[Spot]] = {}
    for spot in chosen:
        by_entry.setdefault(spot.entry, []).append(spot)
    for number, found in by_entry.items():
        _cut_entry(view, exchange, number, found, tokens_max, reason)
    return exchange.tokens < before


def cut_results(view: WorkingView, exchange: ViewExchange, tokens_max: int) -> bool:
    """Cut tool results that exceed the policy's arrival limit; True if there were any."""
    large = [
        spot
        for spot in spots(view, exchange)
        if spot.tokens > tokens_max and isinstance(exchange.entries[spot.entry].message.parts[spot.part], ToolResult)
    ]
    return cut_spots(view, exchange, large, tokens_max, "over the limit for results on arrival")


def _cut_entry(  # noqa: PLR0913, PLR0917 - what to cut, how far and why
    view: WorkingView, exchange: ViewExchange, number: int, found: Sequence[Spot], tokens_max: int, reason: str
) -> None:
    entry = exchange.entries[number]
    parts = list(entry.message.parts)
    references: list[str | None] = []
    for spot in found:
        reference = view.refer(entry, spot.part)
        smaller = _cut_part(view, parts[spot.part], tokens_max, reference if view.recall else None)
        if smaller is not parts[spot.part] and part_tokens(view, entry.message, smaller) < spot.tokens:
            parts[spot.part] = smaller
            references.append(reference)
    if not references:
        return
    view.edit(exchange, number, parts)
    if exchange.entries[number].tokens >= entry.tokens:
        exchange.entries[number] = entry
        return
    for reference in references:
        exchange.decide("offload" if reference else "shrink", reason, reference=reference)


def _cut_part(view: WorkingView, part: Part, tokens_max: int, reference: str | None) -> Part:
    """The part in at most `tokens_max`; the same object if it cannot be made smaller."""
    match part:
        case Text():
            text = _cut_note(view, part, tokens_max) or _cached_cut(view, part, part.text, tokens_max, reference)
            return part if text == part.text else replace(part, text=text)
        case ToolCall():
            arguments = _cached_cut(view, part, part.arguments, tokens_max, None)
            return part if arguments == part.arguments else replace(part, arguments=arguments)
        case ToolResult():
            shrunk = _cached_cut(view, part, part.content, tokens_max, reference)
            return part if shrunk == part.content and not part.media else replace(part, content=shrunk, media=())
        case Media():
            return Text(text=f"[{part.kind} left out]")
        case _:
            return part


def _cut_note(view: WorkingView, part: Text, tokens_max: int) -> str | None:
    """Cut a text under a plimsoll notice; None for any other. Without the notice a tool's output would count as a request."""
    notice, newline, rest = part.text.partition("\n")
    if not newline or not is_note(part):
        return None
    room = tokens_max - view.counter.upper(f"{notice}\n")
    if room >= view.counter.upper(SHORTEST):
        return f"{notice}\n{_cached_cut(view, part, rest, room, None)}"
    return notice if view.counter.upper(notice) <= tokens_max else SHORTEST


_CUTS: LruCache[str] = LruCache(CUT_TEXTS_MAX)


def _cached_cut(view: WorkingView, part: Part, text: str, tokens_max: int, reference: str | None) -> str:
    """Cut a part's text, with a cache: a caller without a session repeats the same cuts each turn."""
    name = part.name if isinstance(part, ToolResult) else None
    counting = (view.counter.name, getattr(view.counter, "serial", 0), view.counter.upper(_YARDSTICK))
    options = (tokens_max, reference, view.language, view.list_items_max)
    key = (type(part).__name__, name, len(text), hash(text), *counting, *options)
    return _CUTS.get(key, _cut, view, part, text, tokens_max, reference)


_YARDSTICK = "the quick brown fox " * 8
"""Cache key of a counter; counters of one name may have learnt different ratios."""


def _cut(view: WorkingView, part: Part, text: str, tokens_max: int, reference: str | None) -> str:
    counter, language = view.counter, view.language
    if isinstance(part, ToolCall):
        return cut_json(text, tokens_max=tokens_max, counter=counter, language=language).text
    if not isinstance(part, ToolResult):
        return cut_said(text, tokens_max=tokens_max, counter=counter, reference=reference, language=language)
    return shrink_result(
        part.name or "",
        text,
        tokens_max=tokens_max,
        counter=counter,
        reference=reference,
        items_max=view.list_items_max,
        language=language,
    ).text


def drop_reasoning(view: WorkingView, exchange: ViewExchange) -> None:
    """Remove reasoning from messages that hold other parts as well."""
    for number, entry in enumerate(exchange.entries):
        kept = [part for part in entry.message.parts if not isinstance(part, Reasoning)]
        if kept and len(kept) < len(entry.message.parts):
            view.edit(exchange, number, kept)
            exchange.decide("shrink", "reasoning left out")


def _drop_bulk(view: WorkingView, exchange: ViewExchange, tokens_max: int) -> None:
    """Last resort before removal: cut texts to their markers, the largest first, all of them if necessary.

    A result above `tokens_max` has the same size whatever was cut before.
    """
    least, reason = view.counter.upper(SHORTEST), "cut to its mark"
    while exchange.tokens > tokens_max:
        found = [spot for spot in spots(view, exchange) if spot.tokens > least]
        room = sum(spot.tokens for spot in found) - (exchange.tokens - tokens_max)
        cap = max(least, fair_cap([spot.tokens for spot in found], room))
        if not cut_spots(view, exchange, [spot for spot in found if spot.tokens > cap], cap, reason):
            cut_spots(view, exchange, found, least, reason)
            return
