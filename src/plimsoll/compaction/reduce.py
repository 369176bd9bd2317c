"""Reduce an exchange below what cutting its texts achieves: remove uncuttable parts and the oldest calls.

shrink.py cannot reduce exchanges with opaque or very many parts. Here such parts are replaced by markers one by one. As the
last resort the whole exchange becomes one line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeAlias

from plimsoll.compaction.calls import Place, call_units, without_calls
from plimsoll.compaction.keep import NEWEST_REQUEST
from plimsoll.compaction.notes import note_of
from plimsoll.compaction.shrink import LEAST_TOKENS, cut_spots, drop_reasoning, part_tokens, shrink_to, spots
from plimsoll.compaction.view_message import ViewExchange, ViewMessage
from plimsoll.compaction.working_view import WorkingView
from plimsoll.formats.exchange import speaks
from plimsoll.formats.rules import RULES
from plimsoll.formats.server_tools import served_answer, served_call
from plimsoll.formats.wire import json_text
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.message import Message, Opaque, Part, Text, ToolResult, Wire, text_message
from plimsoll.truncation import cut_json
from plimsoll.truncation.marker import omission_marker

OPAQUE_REASON = "removed parts that cannot be cut"

CALLS_REASON = "its earlier calls left out"

PREVIEWS = 16
"""Size of a preview as a share of the exchange's room: a few readable previews instead of many bare markers."""

PREVIEW_TOKENS_MAX = 125

MARKED_TOKENS_MIN = 48
"""An opaque part below this size costs little more than its marker."""


def reduce_to(view: WorkingView, exchange: ViewExchange, tokens_max: int, reason: str, *, to_line: bool = True) -> bool:
    """Reduce an exchange to at most `tokens_max`, keeping its newest parts longest; True on success.

    If cutting to previews is not enough, reasoning is removed from exchanges older than the newest request, where no provider
    requires it. Then opaque parts are replaced by markers, the largest first, and the oldest calls are removed with their
    results. Calls without a result stay, because it may still arrive. If that is not enough, one line replaces the whole
    exchange, with as much of its results as there is room for, unless `to_line` is False.
    """
    if exchange.tokens <= tokens_max:
        return True
    whole = list(exchange.entries)
    room = _Room(view=view, exchange=exchange, tokens_max=tokens_max, preview_tokens=_preview_tokens(tokens_max))
    if room.is_short(exchange.entries) and _may_lose_reasoning(view, exchange):
        drop_reasoning(view, exchange)
    if room.is_short(exchange.entries):
        _mark_opaque_parts(room)
    if room.is_short(exchange.entries):
        _leave_calls(room)
    shrink_to(view, exchange, tokens_max, reason)
    if exchange.tokens > tokens_max and exchange.is_request and exchange.original.calls_tools:
        _keep_user_text(view, exchange, whole, tokens_max, reason)
    if to_line and exchange.tokens > tokens_max:
        _become_one_line(view, exchange, whole, tokens_max, reason)
    return exchange.tokens <= tokens_max


def _may_lose_reasoning(view: WorkingView, exchange: ViewExchange) -> bool:
    """True if the exchange is older than the newest request, and not of UI messages: their calls may name reasoning by its id."""
    if view.format.rules.keeps_message_fields:
        return False
    newest = next((other.first for other in view.exchanges if other.kept_as == NEWEST_REQUEST), None)
    return newest is not None and exchange.last is not None and exchange.last < newest


def is_stubborn(view: WorkingView, exchange: ViewExchange, tokens_max: int) -> bool:
    """True if cutting texts to previews does not bring an exchange to `tokens_max`."""
    return _Room(
        view=view, exchange=exchange, tokens_max=tokens_max, preview_tokens=_preview_tokens(tokens_max)
    ).is_short(exchange.entries)


def sealed_tokens(view: WorkingView, exchange: ViewExchange) -> int:
    """Tokens of the parts that cannot be cut and that a marker can replace."""
    return sum(tokens for tokens, _ in _opaque_groups(view, exchange))


def _preview_tokens(tokens_max: int) -> int:
    return max(LEAST_TOKENS, min(PREVIEW_TOKENS_MAX, tokens_max // PREVIEWS))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Room:
    """Room for one exchange, and the size of its previews."""

    view: WorkingView
    exchange: ViewExchange
    tokens_max: int
    preview_tokens: int

    def is_short(self, entries: list[ViewMessage]) -> bool:
        """True if these messages do not fit even with every text cut to a preview."""
        return self._previewed(entries) > self.tokens_max

    def fewest(self, count: int, without: Callable[[int], list[ViewMessage]]) -> int:
        """The smallest number of `count` things to remove so that the rest fits with previews; `count` if none is enough."""
        return bisect_left(range(count), -self.tokens_max, lo=1, key=lambda number: -self._previewed(without(number)))

    def _previewed(self, entries: list[ViewMessage]) -> int:
        exchange = ViewExchange(entries=entries, original=self.exchange.original, entries_before=())
        return exchange.tokens - sum(max(0, spot.tokens - self.preview_tokens) for spot in spots(self.view, exchange))


# --- parts that cannot be cut

_Group: TypeAlias = tuple[int, tuple[Place, ...]]
"""Tokens and places of opaque parts that belong together."""


def _mark_opaque_parts(room: _Room) -> None:
    """Replace opaque parts by markers, the largest first, until the rest fits. A provider's call and its result go together."""
    view, exchange = room.view, room.exchange
    groups = _opaque_groups(view, exchange)
    if not groups:
        return

    def without(number: int) -> list[ViewMessage]:
        return _with_marks(room, groups[:number])

    exchange.entries = without(room.fewest(len(groups), without))
    exchange.decide("shrink", OPAQUE_REASON)


def _opaque_groups(view: WorkingView, exchange: ViewExchange) -> list[_Group]:
    """The groups of opaque parts worth replacing by a marker, the largest first. Calls that wait for their result are none."""
    places: dict[str | Place, list[Place]] = {}
    for number, entry in enumerate(exchange.entries):
        for index, part in enumerate(entry.message.parts if entry.message.role in ("user", "assistant") else ()):
            if isinstance(part, Opaque):
                key = served_answer(part) or part.wire.get("approval_request_id") or part.wire.get("id")
                places.setdefault(key if isinstance(key, str) else (number, index), []).append((number, index))
    groups = [
        (sum(_tokens_at(view, exchange, place) for place in found), tuple(found))
        for found in places.values()
        if not _waits(exchange, found)
    ]
    return sorted((group for group in groups if group[0] >= MARKED_TOKENS_MIN), key=lambda group: (-group[0], group[1]))


def _waits(exchange: ViewExchange, places: Sequence[Place]) -> bool:
    """True for a call that the provider runs itself and that has no result: the provider goes on with it as it is."""
    parts = [exchange.entries[number].message.parts[index] for number, index in places]
    return len(parts) == 1 and served_call(parts[0]) is not None


def _tokens_at(view: WorkingView, exchange: ViewExchange, place: Place) -> int:
    message = exchange.entries[place[0]].message
    return part_tokens(view, message, message.parts[place[1]])


def _with_marks(room: _Room, groups: Sequence[_Group]) -> list[ViewMessage]:
    """Replace the last part of each group by a marker and remove the other parts."""
    view, entries = room.view, room.exchange.entries
    marks: dict[Place, Part | None] = {}
    for tokens, places in groups:
        marks |= dict.fromkeys(places)
        marks[places[-1]] = Text(text=_opaque_mark(room, tokens, places[-1]))
    kept = []
    for number, entry in enumerate(entries):
        parts = [marks.get((number, index), part) for index, part in enumerate(entry.message.parts)]
        stay = tuple(part for part in parts if part is not None)
        if len(stay) == len(parts) and all(old is new for old, new in zip(entry.message.parts, stay, strict=True)):
            kept.append(entry)
        elif stay:
            kept.append(
                replace(entry, shown=entry.message.with_parts(stay), count_message=view.count_message, whole=False)
            )
    return kept


def _opaque_mark(room: _Room, tokens: int, place: Place) -> str:
    """The marker, with a preview of the part's text such as a title or a source."""
    view, entry = room.view, room.exchange.entries[place[0]]
    part = entry.message.parts[place[1]]
    assert isinstance(part, Opaque)
    kind = str(part.wire.get("type") or next(iter(part.wire), "part"))
    reference = view.refer(entry, place[1]) if view.recall else None
    words = omission_marker(kind, tokens, reference=reference, language=view.language)
    if part.wire.get("type") == "compaction" and "encrypted_content" in part.wire:
        return words
    shown = cut_json(json_text(part.wire), tokens_max=room.preview_tokens, counter=view.counter, language=view.language)
    return f"{words}\n{shown.text}"


# --- calls


def _leave_calls(room: _Room) -> None:
    """Remove the oldest calls with their results until the rest fits; the newest call stays."""
    view, exchange = room.view, room.exchange
    units = call_units(exchange.entries)
    if len(units) <= 1:
        return

    def without(number: int) -> list[ViewMessage]:
        return without_calls(exchange.entries, units[:number], view.count_message, view.language)

    number = room.fewest(len(units) - 1, without)
    references = [view.refer(exchange.entries[at], index) for unit in units[:number] for at, index in unit]
    exchange.entries = without(number)
    for reference in references:
        exchange.decide("offload" if reference else "shrink", CALLS_REASON, reference=reference)


# --- the whole exchange


def _become_one_line(
    view: WorkingView, exchange: ViewExchange, whole: Sequence[ViewMessage], tokens_max: int, reason: str
) -> None:
    """Replace the exchange by one line if that is smaller, and by as much of its results as there is room for.

    A tool result remains recognisable as one.
    """
    references = [view.refer(entry, index) for entry in exchange.entries for index in range(len(entry.message.parts))]
    entry = _line(view, exchange)
    if entry.tokens >= exchange.tokens:
        return
    exchange.entries = [_with_results(view, exchange, entry, whole, tokens_max, reason)]
    for reference in references:
        exchange.decide("offload" if reference else "shrink", reason, reference=reference)


def _with_results(  # noqa: PLR0913, PLR0917 - what to show, where, and how much of it
    view: WorkingView,
    exchange: ViewExchange,
    line: ViewMessage,
    whole: Sequence[ViewMessage],
    tokens_max: int,
    reason: str,
) -> ViewMessage:
    """The line of an exchange with its results below, cut to the room; the line alone if the room shows little of them."""
    contents = [result.content for entry in whole for result in entry.message.results if result.content]
    text = line.message.parts[0]
    if line.origin != "made" or not contents or not isinstance(text, Text):
        return line
    message = text_message("user", "\n".join((text.text, *contents)))
    entry = replace(line, shown=message, count_message=view.count_message)
    bare = ViewExchange(entries=[entry], original=exchange.original, entries_before=exchange.entries_before)
    shrink_to(view, bare, tokens_max, reason)
    return bare.entries[0] if line.tokens + LEAST_TOKENS < bare.tokens <= tokens_max else line


def _keep_user_text(
    view: WorkingView, exchange: ViewExchange, whole: Sequence[ViewMessage], tokens_max: int, reason: str
) -> None:
    """Keep only the user's text of a message with tool results, if that is smaller, with one line for the calls."""
    entry = next(entry for entry in whole if speaks(entry.message))
    words = tuple(part for part in entry.message.parts if not isinstance(part, ToolResult))
    others = sum(entry.tokens for entry in whole) - view.count_message(entry.message.with_parts(words))
    line = Text(text=omission_marker(_named(exchange), max(0, others), language=view.language))
    shortened = replace(
        entry, shown=entry.message.with_parts((line, *words)), count_message=view.count_message, whole=False
    )
    bare = ViewExchange(entries=[shortened], original=exchange.original, entries_before=exchange.entries_before)
    excess = bare.tokens - tokens_max
    if excess > 0:
        found = [spot for spot in spots(view, bare) if spot.part == 0]
        cut_spots(view, bare, found, max(0, found[0].tokens - excess), reason)
    shrink_to(view, bare, tokens_max, reason)
    if bare.tokens < exchange.tokens:
        exchange.entries = bare.entries
        exchange.decide("shrink", reason)


def _named(exchange: ViewExchange) -> str:
    names = ", ".join(dict.fromkeys(call.name for call in exchange.original.calls))
    return f"{len(exchange.original.calls)} tool calls ({names[:60]})" if names else "message"


def _line(view: WorkingView, exchange: ViewExchange) -> ViewMessage:
    """The line, in the role of the exchange's last message."""
    last = exchange.entries[-1]
    names = ", ".join(dict.fromkeys(call.name for call in exchange.original.calls))
    words = omission_marker(_named(exchange), exchange.tokens, language=view.language)
    if last.message.results and last.message.role != "assistant":
        message = text_message("user", note_of(ToolResult(call_id="", content=words, name=names[:60] or None)))
        return replace(last, shown=message, count_message=view.count_message, whole=False, origin="made")
    message = replace(last.message.with_parts((Text(text=words),)), wire=_wire_kept(last.message))
    return replace(last, shown=message, count_message=view.count_message, whole=False)


def _wire_kept(message: Message) -> Wire | None:
    """UI messages keep their ids. In other formats the remaining fields describe removed content and are dropped."""
    keeps = message.format is not None and RULES[message.format].keeps_message_fields
    return message.wire if keeps else None
