"""Mark what must stay: system text, the user's first and newest requests, pins, the newest exchange."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import takewhile

from plimsoll.compaction.normalize import LABELLED
from plimsoll.compaction.notes import OPENER
from plimsoll.compaction.view_message import ViewExchange
from plimsoll.compaction.working_view import WorkingView
from plimsoll.message import text_message

SYSTEM = "system text"
NEWEST_REQUEST = "newest user message"
NEWEST_EXCHANGE = "newest exchange"
NEWEST_MESSAGE = "newest message"
"""The newest exchange of a history without a user message: a request cannot be empty."""
FIRST_REQUEST = "first user message"
PINNED = "pinned text"
LAST_MESSAGES = "newest messages"
"""The newest messages that the policy keeps regardless of its caps and the goal."""
OPENING = "opening"
"""An inserted message without which the provider rejects the first one."""

MARK = "mark"
"""The omission notice for what left in this compaction."""

_LATER_SYSTEM_SHARE = 0.2
"""Share of the goal up to which system messages in mid-conversation stay, newest first."""


def open_with_user(view: WorkingView) -> None:
    """Insert a user opening where the provider requires the first message to be the user's."""
    if not view.format.rules.user_first:
        return
    speaking = [block for block in view.blocks if not block.exchange.is_system]
    view.blocks = [block for block in view.blocks if block.kept_as != OPENING]
    _label_leading_system(view)
    spoken = [block for block in speaking if block.kept_as != OPENING]
    if spoken and spoken[0].pieces[0].message.role == "assistant":
        opener = next((block for block in speaking if block.kept_as == OPENING), None) or view.made(
            text_message("user", OPENER)
        )
        opener.kept_as = OPENING
        view.blocks.insert(view.blocks.index(spoken[0]), opener)


def _label_leading_system(view: WorkingView) -> None:
    """Convert system text that was between messages and now comes first to labelled text in the user's role."""
    for block in takewhile(lambda block: block.exchange.is_system, view.blocks):
        piece = block.pieces[0]
        message = view.format.labelled(piece.message)
        if message is not None:
            block.pieces = [replace(piece, message=message, count_message=view.count_message, whole=False)]
            block.decide("repair", LABELLED)


def mark_kept(view: WorkingView, pins: Collection[int], goal_tokens: int, *, last_messages: int = 0) -> None:
    """Set `kept_as` of each exchange that must stay. The first reason in order of protection wins.

    The newest `last_messages` messages of the history must stay.
    """
    for block in view.blocks:
        block.kept_as = None
    _mark(_leading_system(view.blocks), SYSTEM)
    requests = [block for block in view.blocks if block.is_request]
    _mark(requests[-1:], NEWEST_REQUEST)
    _mark(_newest(view.blocks), NEWEST_EXCHANGE if requests else NEWEST_MESSAGE)
    _mark(_last(view.blocks, last_messages), LAST_MESSAGES)
    _mark(requests[:1], FIRST_REQUEST)
    _mark((block for block in view.blocks if _is_pinned(block, pins)), PINNED)
    _mark(_later_system(view.blocks, int(goal_tokens * _LATER_SYSTEM_SHARE)), PINNED)
    _mark(_openers(view.blocks), OPENING)


def _mark(blocks: Iterable[ViewExchange], reason: str) -> None:
    for block in blocks:
        block.kept_as = block.kept_as or reason


def _leading_system(blocks: list[ViewExchange]) -> Iterable[ViewExchange]:
    for block in blocks:
        if not block.exchange.is_system:
            return
        if not block.is_summary_or_notice:
            yield block


def _newest(blocks: list[ViewExchange]) -> list[ViewExchange]:
    """The newest exchange of the history, finished or not; it may be a summary that came back in the input."""
    in_history = [block for block in blocks if block.first is not None]
    return in_history[-1:]


def _last(blocks: list[ViewExchange], count: int) -> Iterable[ViewExchange]:
    """The newest exchanges that hold at least `count` messages of the history."""
    for block in reversed(blocks):
        if count > 0 and block.first is not None and not block.is_summary and not block.exchange.is_system:
            count -= len(block.pieces)
            yield block


def _is_pinned(block: ViewExchange, pins: Collection[int]) -> bool:
    return any(piece.position in pins for piece in block.pieces if piece.position is not None)


def _later_system(blocks: list[ViewExchange], room_tokens: int) -> Iterable[ViewExchange]:
    for block in reversed(blocks):
        if block.exchange.is_system and block.kept_as is None and not block.is_summary:
            room_tokens -= block.tokens
            if room_tokens < 0:
                return
            yield block


def _openers(blocks: list[ViewExchange]) -> Iterable[ViewExchange]:
    """Inserted messages outside of any exchange that the provider requires, also those found in an input history."""
    made = (block for block in blocks if block.pieces[0].origin == "made")
    return (block for block in made if block.first is None or block.pieces[0].message.text == OPENER)
