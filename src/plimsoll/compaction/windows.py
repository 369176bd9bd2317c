"""Windows: the newest part of a conversation, limited by messages, turns, tokens or share, without gaps.

A cut is an index into a list of exchanges: `exchanges[cut:]` stays. System text is handled separately and not counted here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import ceil

from plimsoll.dataclass import dataclass
from plimsoll.errors import CannotFit
from plimsoll.formats.exchange import Exchange, group
from plimsoll.message import Message, Part, Text, ToolCall, ToolResult
from plimsoll.policy.budget import mark_tokens
from plimsoll.policy.policy import Policy
from plimsoll.protocols import TokenCounter
from plimsoll.truncation import cut_json, cut_text
from plimsoll.truncation.marker import SHORTEST
from plimsoll.truncation.measure import fair_cap
from plimsoll.truncation.tool_results import shrink_result
from plimsoll.validation import integer


def last_messages(exchanges: Sequence[Exchange], count: int) -> int:
    """The cut that keeps at most `count` messages."""
    sizes = (0 if exchange.is_system else len(exchange.messages) for exchange in reversed(exchanges))
    return len(exchanges) - _fitting(sizes, count)


def last_turns(exchanges: Sequence[Exchange], count: int) -> int:
    """The cut that keeps at most `count` turns. A turn is a user request and everything up to the next one."""
    requests = [index for index, exchange in enumerate(exchanges) if exchange.is_request]
    return requests[-count] if len(requests) > count else 0


def last_tokens(exchanges: Sequence[Exchange], tokens: Sequence[int], room: int) -> int:
    """The cut that keeps at most `room` tokens, up to the first exchange that does not fit."""
    newest_first = range(len(exchanges) - 1, -1, -1)
    return len(exchanges) - _fitting((0 if exchanges[at].is_system else tokens[at] for at in newest_first), room)


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
    tokens: Sequence[int],
    policy: Policy,
    *,
    budget_tokens: int | None = None,
    after_failure: bool = False,
) -> int:
    """The cut of the largest tail within all caps of a policy. The newest exchange stays regardless of them.

    `tokens` are the sizes of the exchanges. A cap that is a share of the budget needs `budget_tokens`; without it only its
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
        cuts.append(last_tokens(exchanges, tokens, room))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowResult:
    """A window over messages, and which messages it does not cover. Positions are indexes into the given messages.

    `covered_count` messages before `start_seq` are covered by a summary. `excluded_count` are neither covered nor in the window;
    `holes` are their half-open position ranges.
    """

    messages: tuple[Message, ...]
    positions: tuple[int, ...]
    tokens: int
    truncated_count: int
    excluded_count: int
    covered_count: int
    first_included: int | None
    last_included: int | None
    holes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """The settings of a window."""

    policy: Policy
    budget_tokens: int
    counter: TokenCounter
    count_message: Callable[[Message], int]

    @property
    def least(self) -> int:
        """Minimum size of a cut text: its marker. Providers reject empty texts."""
        return self.counter.upper(SHORTEST)

    def size(self, exchange: Exchange) -> int:
        return sum(map(self.count_message, exchange.messages))


def apply_window(  # noqa: PLR0913 - one call with its options
    messages: Sequence[Message],
    *,
    policy: Policy,
    counter: TokenCounter,
    count_message: Callable[[Message], int],
    start_seq: int = 0,
    budget_override: int | None = None,
) -> WindowResult:
    """The newest messages within a policy's caps and budget, without a summary or a store.

    Leading system text stays and is counted first. Messages before `start_seq` belong to a summary. Messages longer than the
    policy's `message_tokens_max` lose their middle, except the newest request. The newest request stays even outside of the tail.
    If it and the newest exchange alone exceed the budget, they are cut.

    `count_message` counts a message with its framing, `counter` bare text; both are upper bounds. `budget_override` replaces the
    policy's budget, in tokens. Raises CannotFit if system text and the framing of the newest messages exceed the budget.
    """
    integer("start_seq", start_seq)
    budget = policy.budget().tokens if budget_override is None else integer("budget_override", budget_override, least=1)
    frame = _Frame(policy=policy, budget_tokens=budget, counter=counter, count_message=count_message)
    exchanges = group(messages)
    head = next((index for index, exchange in enumerate(exchanges) if not exchange.is_system), len(exchanges))
    system = exchanges[:head]
    room = budget - sum(map(frame.size, system))
    after = [exchange for exchange in exchanges[head:] if exchange.end > start_seq]
    chosen = _squeezed(_chosen(after, room, frame), room, frame)
    return _result(messages, [*system, *chosen], start_seq, frame)


def _chosen(exchanges: list[Exchange], room: int, frame: _Frame) -> list[Exchange]:
    """The tail within caps and room, with long messages cut, and the newest request before it if the tail does not include it.

    That request is not cut, since it is being answered. Exchanges beyond caps in messages or turns are not counted.
    """
    request = next((index for index in range(len(exchanges) - 1, -1, -1) if exchanges[index].is_request), None)
    reach = keep_from(exchanges, [0] * len(exchanges), frame.policy)
    tail = [_clipped(other, frame) if at >= reach and at != request else other for at, other in enumerate(exchanges)]
    sizes = [frame.size(other) if at >= reach or at == request else 0 for at, other in enumerate(tail)]
    caps = keep_from(tail, sizes, frame.policy, budget_tokens=frame.budget_tokens)
    least = min(_newest(tail), last_messages_at_least(tail, frame.policy.keep_last_messages_min or 0))
    cut = min(max(caps, last_tokens(tail, sizes, room)), least)
    if request is None or request >= cut:
        return tail[cut:]
    cut = min(max(caps, last_tokens(tail, sizes, room - sizes[request])), least)
    return tail[cut:] if request >= cut else [tail[request], *tail[cut:]]


def _squeezed(exchanges: list[Exchange], room: int, frame: _Frame) -> list[Exchange]:
    """The same exchanges within the room: the longest parts are cut, small ones stay, none becomes empty."""
    total = sum(map(frame.size, exchanges))
    if total <= room:
        return exchanges
    messages = [message for exchange in exchanges for message in exchange.messages]
    sizes = [size for message in messages for size in _text_sizes(message, frame) if size]
    spare = sum(sizes) - (total - room)
    while True:
        cap = max(frame.least, fair_cap(sizes, max(0, spare)))
        cut = [_capped(message, cap, frame) for message in messages]
        excess = sum(map(frame.count_message, cut)) - room
        if excess <= 0:
            return _refilled(exchanges, cut)
        if cap == frame.least:
            part, budget = "system text" if room < 0 else "newest exchange", frame.budget_tokens
            raise CannotFit(part=part, budget_tokens=budget, needed_tokens=budget + excess)
        spare -= max(excess, spare // 8)


def _refilled(exchanges: list[Exchange], messages: list[Message]) -> list[Exchange]:
    filled = []
    for exchange in exchanges:
        count = len(exchange.messages)
        filled.append(replace(exchange, messages=tuple(messages[:count])))
        messages = messages[count:]
    return filled


def _clipped(exchange: Exchange, frame: _Frame) -> Exchange:
    """The exchange with each tool result and each message within the policy's limits."""
    if exchange.is_system:
        return exchange
    limit = frame.policy.message_limit(frame.budget_tokens)
    results = frame.policy.tool_result_limit(frame.budget_tokens)
    messages = exchange.messages
    if results is not None:
        messages = tuple(_cut_results(message, results, frame) for message in messages)
    if limit is not None:
        messages = tuple(_cut_message(message, limit, frame) for message in messages)
    return exchange if messages == exchange.messages else replace(exchange, messages=messages)


def _cut_results(message: Message, tokens_max: int, frame: _Frame) -> Message:
    """The message with each tool result within `tokens_max`; the same object if unchanged."""
    parts = tuple(_shrunk(part, tokens_max, frame) if isinstance(part, ToolResult) else part for part in message.parts)
    return message if parts == message.parts else message.with_parts(parts)


def _shrunk(result: ToolResult, tokens_max: int, frame: _Frame) -> ToolResult:
    if frame.counter.upper(result.content) <= tokens_max:
        return result
    made = shrink_result(
        result.name or "",
        result.content,
        tokens_max=max(tokens_max, frame.least),
        counter=frame.counter,
        items_max=frame.policy.result_list_items_max,
    )
    return replace(result, content=made.text)


def _cut_message(message: Message, tokens_max: int, frame: _Frame) -> Message:
    """The message with its texts within `tokens_max` together; the same object if unchanged."""
    sizes = _text_sizes(message, frame)
    if sum(sizes) <= tokens_max:
        return message
    return _capped(message, max(frame.least, fair_cap(sizes, tokens_max)), frame)


def _capped(message: Message, cap: int, frame: _Frame) -> Message:
    """The message with no text above `cap`; the same object if unchanged."""
    sized = list(zip(message.parts, _text_sizes(message, frame), strict=True))
    if all(size <= cap for _, size in sized):
        return message
    return message.with_parts(tuple(_cut_part(part, cap, frame) if size > cap else part for part, size in sized))


def _cut_part(part: Part, tokens_max: int, frame: _Frame) -> Part:
    match part:
        case Text():
            cut = cut_text(part.text, tokens_max=tokens_max, counter=frame.counter, keep="both")
            return replace(part, text=cut.text)
        case ToolResult():
            cut = cut_text(part.content, tokens_max=tokens_max, counter=frame.counter, keep="both")
            return replace(part, content=cut.text)
        case ToolCall():
            return replace(part, arguments=cut_json(part.arguments, tokens_max=tokens_max, counter=frame.counter).text)
        case _:
            return part


def _text_of(part: Part) -> str:
    """The text of a part that may be cut. Reasoning, media and opaque parts may not."""
    match part:
        case Text():
            return part.text
        case ToolResult():
            return part.content
        case ToolCall():
            return part.arguments
        case _:
            return ""


def _text_sizes(message: Message, frame: _Frame) -> list[int]:
    return [frame.counter.upper(_text_of(part)) for part in message.parts]


def _result(messages: Sequence[Message], chosen: list[Exchange], start_seq: int, frame: _Frame) -> WindowResult:
    positions = [exchange.start + index for exchange in chosen for index in range(len(exchange.messages))]
    kept = [message for exchange in chosen for message in exchange.messages]
    covered = min(start_seq, len(messages))
    holes = holes_between([at for at in positions if at >= covered], covered, len(messages))
    return WindowResult(
        messages=tuple(kept),
        positions=tuple(positions),
        tokens=sum(map(frame.count_message, kept)),
        truncated_count=sum(message is not messages[at] for message, at in zip(kept, positions, strict=True)),
        excluded_count=sum(end - start for start, end in holes),
        covered_count=covered - sum(at < covered for at in positions),
        first_included=min(positions, default=None),
        last_included=max(positions, default=None),
        holes=holes,
    )


def holes_between(positions: Sequence[int], start: int, end: int) -> tuple[tuple[int, int], ...]:
    """The ranges of `[start, end)` between ascending positions."""
    holes = []
    for position in (*positions, end):
        if position > start:
            holes.append((start, position))
        start = position + 1
    return tuple(holes)
