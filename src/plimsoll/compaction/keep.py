"""Mark what must stay: system text, the user's first and newest requests, pins, the newest exchange."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice, pairwise, takewhile

from plimsoll.compaction.normalize import LABELLED
from plimsoll.compaction.notes import OPENER
from plimsoll.compaction.view_message import ViewExchange, ViewMessage
from plimsoll.compaction.working_view import WorkingView
from plimsoll.formats.exchange import speaks
from plimsoll.light.dataclass import replace
from plimsoll.message import Opaque, Reasoning, text_message
from plimsoll.summary.ledger.turns import turns

SYSTEM = "system text"
NEWEST_REQUEST = "newest user message"
NEWEST_EXCHANGE = "newest exchange"
NEWEST_MESSAGE = "newest message"
"""The newest exchange of a history without a user message: a request cannot be empty."""
ANSWERED = "answer before the newest user message"
"""What the newest request is about as a rule ("change the second one"). It may be cut, but leaves no view before older words."""
FIRST_REQUEST = "first user message"
PINNED = "pinned text"
COMPACTED = "the provider's own compaction"
"""The item or block in which the provider holds what its own compaction replaced: nothing else says it."""
LAST_MESSAGES = "newest messages"
"""The newest messages that the policy keeps regardless of its caps and the goal."""
OPENING = "opening"
"""An inserted message without which the provider rejects the first one."""

MARK = "mark"
"""The omission notice for what left in this compaction."""

_PEOPLE_MESSAGES_MIN, _PEOPLE_MESSAGES_MAX, _PEOPLE_CHARS = 4, 12, 600
"""So many messages of a history tell whether people talk among themselves, each by its first characters."""

_LATER_SYSTEM_SHARE = 0.2
"""Share of the goal up to which system messages in mid-conversation stay, newest first."""


def open_with_user(view: WorkingView) -> None:
    """Insert a user opening where the provider requires the first message to be the user's."""
    if not view.format.rules.user_first:
        return
    speaking = [exchange for exchange in view.exchanges if not exchange.original.is_system]
    view.exchanges = [exchange for exchange in view.exchanges if exchange.kept_as != OPENING]
    _label_leading_system(view)
    spoken = [exchange for exchange in speaking if exchange.kept_as != OPENING]
    if spoken and spoken[0].entries[0].message.role == "assistant":
        opener = next((exchange for exchange in speaking if exchange.kept_as == OPENING), None) or view.made(
            text_message("user", OPENER)
        )
        opener.kept_as = OPENING
        view.exchanges.insert(view.exchanges.index(spoken[0]), opener)


def _label_leading_system(view: WorkingView) -> None:
    """Convert system text that was between messages and now comes first to labelled text in the user's role."""
    for exchange in takewhile(lambda exchange: exchange.original.is_system, view.exchanges):
        entry = exchange.entries[0]
        message = view.format.labelled(entry.message)
        if message is not None:
            exchange.entries = [replace(entry, shown=message, count_message=view.count_message, whole=False)]
            exchange.decide("repair", LABELLED)


def keep_thinking_first(view: WorkingView) -> None:
    """Give a summary in the agent's role to the user where it would be merged with thinking: that must begin its message."""
    if not view.format.rules.joins_roles:
        return
    for exchange, following in pairwise(view.exchanges):
        message, parts = exchange.entries[0].message, following.entries[0].message.parts
        if exchange.is_summary_or_notice and message.role == "assistant" and parts and isinstance(parts[0], Reasoning):
            changed = replace(
                exchange.entries[0], shown=replace(message, role="user"), count_message=view.count_message
            )
            exchange.entries = [changed, *exchange.entries[1:]]


def mark_kept(
    view: WorkingView, pins: Collection[int], goal_tokens: int, *, last_messages: int = 0, answered: bool = False
) -> None:
    """Set `kept_as` of each exchange that must stay. The first reason in order of protection wins.

    The newest `last_messages` messages of the history must stay, and with `answered` what the newest request follows.
    """
    for exchange in view.exchanges:
        exchange.kept_as = None
    _mark(_leading_system(view.exchanges), SYSTEM)
    requests = _first_and_newest_request(view.exchanges)
    _mark((exchange for exchange in requests[-1:] if exchange.is_request), NEWEST_REQUEST)
    _mark(_newest(view.exchanges), NEWEST_EXCHANGE if requests else NEWEST_MESSAGE)
    _mark(_last(view.exchanges, last_messages), LAST_MESSAGES)
    _mark(_answered(view.exchanges) if answered else [], ANSWERED)
    _mark([] if _are_people(view.exchanges) else requests[:1], FIRST_REQUEST)
    _mark((exchange for exchange in view.exchanges if _is_pinned(exchange, pins)), PINNED)
    _mark(_compacted(view.exchanges), COMPACTED)
    _mark(_later_system(view.exchanges, int(goal_tokens * _LATER_SYSTEM_SHARE)), PINNED)
    _mark(_openers(view.exchanges), OPENING)


def _first_and_newest_request(exchanges: list[ViewExchange]) -> list[ViewExchange]:
    """The requests of the user at both ends. The first words in the user's role are one, also where they look like an output."""
    for index, exchange in enumerate(exchanges):
        if exchange.entries[0].origin == "history" and any(map(speaks, exchange.original.messages)):
            later = (later for later in reversed(exchanges[index + 1 :]) if later.is_request)
            return [exchange, *islice(later, 1)]
    return []


def _are_people(exchanges: list[ViewExchange]) -> bool:
    """Whether a history begins with messages of several people and none of an assistant, as mails or a transcript.

    Four of five or more begin with the name of who speaks, and most names come again. None asks the model for anything.
    """
    said = (exchange for exchange in exchanges if exchange.entries[0].origin == "history" and not exchange.is_summary)
    spoken = (exchange.original.messages[0] for exchange in said if not exchange.original.is_system)
    first = islice(takewhile(lambda message: message.role == "user", spoken), _PEOPLE_MESSAGES_MAX)
    names = [turns(message.text[:_PEOPLE_CHARS])[0].name for message in first]
    found = [name for name in names if name]
    if len(found) < _PEOPLE_MESSAGES_MIN or not names[0] or 5 * len(found) < 4 * len(names):
        return False
    return 1 < len(set(found)) <= len(found) / 2


def _mark(exchanges: Iterable[ViewExchange], reason: str) -> None:
    for exchange in exchanges:
        exchange.kept_as = exchange.kept_as or reason


def _leading_system(exchanges: list[ViewExchange]) -> Iterable[ViewExchange]:
    for exchange in exchanges:
        if not exchange.original.is_system:
            return
        if not exchange.is_summary_or_notice:
            yield exchange


def _newest(exchanges: list[ViewExchange]) -> list[ViewExchange]:
    """The newest exchange of the history, finished or not; it may be a summary that came back in the input."""
    in_history = [exchange for exchange in exchanges if exchange.first is not None]
    return in_history[-1:]


def _answered(exchanges: list[ViewExchange]) -> list[ViewExchange]:
    """The assistant's answer in words alone that the newest messages of the user follow."""
    asks = False
    for exchange in reversed(exchanges):
        if exchange.is_request:
            asks = True
        elif exchange.first is not None:
            return [exchange] if asks and exchange.original.is_answer and not exchange.is_summary else []
    return []


def _last(exchanges: list[ViewExchange], count: int) -> Iterable[ViewExchange]:
    """The newest exchanges that hold at least `count` messages of the history."""
    for exchange in reversed(exchanges):
        if count > 0 and exchange.first is not None and not exchange.is_summary and not exchange.original.is_system:
            count -= len(exchange.entries)
            yield exchange


def _is_pinned(exchange: ViewExchange, pins: Collection[int]) -> bool:
    return any(entry.position in pins for entry in exchange.entries if entry.position is not None)


def _compacted(exchanges: list[ViewExchange]) -> list[ViewExchange]:
    """The newest exchange with a compaction of the provider, which stands for those before it."""
    found = (exchange for exchange in reversed(exchanges) if any(map(_holds_compaction, exchange.entries)))
    return list(islice(found, 1))


def _holds_compaction(entry: ViewMessage) -> bool:
    return any(isinstance(part, Opaque) and part.wire.get("type") == "compaction" for part in entry.message.parts)


def _later_system(exchanges: list[ViewExchange], room_tokens: int) -> Iterable[ViewExchange]:
    for exchange in reversed(exchanges):
        if exchange.original.is_system and exchange.kept_as is None and not exchange.is_summary:
            room_tokens -= exchange.tokens
            if room_tokens < 0:
                return
            yield exchange


def _openers(exchanges: list[ViewExchange]) -> Iterable[ViewExchange]:
    """Inserted messages outside of any exchange that the provider requires, also those found in an input history."""
    made = (exchange for exchange in exchanges if exchange.entries[0].origin == "made")
    return (exchange for exchange in made if exchange.first is None or exchange.entries[0].message.text == OPENER)
