"""What stays through everything: system text, the user's first and newest requests, pins, the newest exchange."""

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
"""The newest exchange where no user speaks at all: something has to be sent."""
FIRST_REQUEST = "first user message"
PINNED = "pinned text"
LAST_MESSAGES = "newest messages"
"""The newest messages that the policy keeps whatever its caps and the target say."""
OPENING = "opening"
"""A message made here without which the provider refuses the first one."""

MARK = "mark"
"""The omission notice for what left in this compaction."""

_LATER_SYSTEM_SHARE = 0.2
"""System messages in mid-conversation stay while together they cost less than this share of the goal; newest first."""


def open_with_user(view: WorkingView) -> None:
    """See to it that a view that must begin with the user does, whatever has left it."""
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
    """System text that stood between messages and is now the first goes out under a label, in the user's role."""
    for block in takewhile(lambda block: block.exchange.is_system, view.blocks):
        piece = block.pieces[0]
        message = view.format.labelled(piece.message)
        if message is not None:
            block.pieces = [replace(piece, message=message, weigh=view.weigh, whole=False)]
            block.decide("repair", LABELLED)


def mark_kept(view: WorkingView, pins: Collection[int], goal_tokens: int, *, last_messages: int = 0) -> None:
    """Say of each block that must stay why it must. A block has one reason, the one that protects it longest.

    The newest `last_messages` messages are among them.
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
    """The newest exchange of the history: the last one, an unfinished one included; a summary that came back, too."""
    in_history = [block for block in blocks if block.first is not None]
    return in_history[-1:]


def _last(blocks: list[ViewExchange], count: int) -> Iterable[ViewExchange]:
    """The newest blocks that hold at least `count` messages of the history."""
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
    """Messages made here that are no part of an exchange: without them the provider refuses what follows. Ours come back, too."""
    made = (block for block in blocks if block.pieces[0].origin == "made")
    return (block for block in made if block.first is None or block.pieces[0].message.text == OPENER)
