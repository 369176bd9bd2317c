"""What left the view: a mark where no summary speaks for it, and back into the room that is still free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from plimsoll.compaction.account import mark
from plimsoll.compaction.draft import Draft
from plimsoll.compaction.keep import MARK, NEWEST_REQUEST, open_with_user
from plimsoll.compaction.notes import says_nothing
from plimsoll.compaction.piece import Block, blocks_of
from plimsoll.compaction.reduce import reduce_to
from plimsoll.compaction.task import Task
from plimsoll.message import Text
from plimsoll.summary.frame import omitted, short_omission, unwrapped

SLACK_SHARE = 0.02
"""Room under this share of the goal is not worth another pass, nor a cut exchange."""

LINE_SHARE = 0.2
"""With more room than this share of the goal, an exchange that cannot be cut becomes a line, so that older ones follow."""

COUNT_TOKENS = 2
"""By so much a mark may grow or shrink when it counts others."""

BOUNDARY_TOKENS_MIN = 160
"""An exchange cut to less than this says little, unless the goal is small."""

BOUNDARY_SHARE = 0.1
"""Of a small goal an exchange cut to this share is better than room that nobody uses."""


def is_mark(block: Block) -> bool:
    """Whether a block is a line that stands for what left."""
    return block.kept_as == MARK or (block.is_summary and omitted(block.pieces[0].message.text) is not None)


def mark_losses(draft: Draft, task: Task, covers: tuple[int, int] | None) -> None:
    """Put a mark where exchanges left that no summary in the view speaks for, in place of the marks there were.

    `covers` are the positions `[start, end)` that the summary speaks for, where there is one.
    """
    draft.blocks = [block for block in draft.blocks if block.kept_as != MARK]
    summaries = draft.summaries()
    has_words = not all(map(is_mark, summaries))
    gone = [block for block in draft.left if not (has_words and _is_covered(block, covers)) and block.first is not None]
    count = messages_in(gone) + (0 if has_words else draft.spoken_for)
    if not count or (summaries and not gone):
        return
    account = mark(draft, task, task.budget_tokens, count)
    if account is None:
        return
    made = blocks_of([draft.summary_piece(account.message)])[0]
    made.kept_as = MARK
    draft.blocks = [block for block in draft.blocks if not is_mark(block)]
    spoken_up_to = (task.covers or (0, 1))[1] - 1
    draft.speak_for(made, max((block.last or 0 for block in gone), default=spoken_up_to))
    _keep_request_apart(draft, made)
    open_with_user(draft)


def shorten_marks(draft: Draft) -> None:
    """Put the shortest mark in the place of those there are."""
    for block in filter(is_mark, draft.blocks):
        part = block.pieces[0].message.parts[0]
        draft.edit(block, 0, [replace(part, text=short_omission(draft.language))] if isinstance(part, Text) else [part])


def _keep_request_apart(draft: Draft, made: Block) -> None:
    """Where neighbours of one role go out as one message, a mark is not put to the end of the newest request."""
    at = draft.blocks.index(made)
    if draft.format.rules.user_first and at and draft.blocks[at - 1].kept_as == NEWEST_REQUEST:
        draft.blocks[at - 1 : at + 1] = [made, draft.blocks[at - 1]]


def messages_in(blocks: Iterable[Block]) -> int:
    """How many messages of the history are in blocks."""
    return sum(piece.position is not None for block in blocks for piece in block.pieces_before)


def spoken_for(blocks: Iterable[Block]) -> int:
    """How many messages the summaries and marks among blocks stand for, as far as they say."""
    texts = [block.pieces[0].message.text for block in blocks if block.is_summary]
    spans = [unwrapped(text) for text in texts]
    return sum((span.count or 0) if span else (omitted(text) or 0) for span, text in zip(spans, texts, strict=True))


def _is_covered(block: Block, covers: tuple[int, int] | None) -> bool:
    if covers is None or block.first is None or block.last is None:
        return False
    return covers[0] <= block.first <= block.last < covers[1]


def refill(draft: Draft, task: Task, covers: tuple[int, int] | None) -> None:
    """Use the room that the proof has freed more of than it had to: the newest that left comes back, where all fits then."""
    blocks, left = list(draft.blocks), list(draft.left)
    gone = [block for block in draft.left if block.first is not None]
    _mark_where_it_fits(draft, task, covers)
    narrower = replace(task, goal_tokens=min(task.goal_tokens, task.budget_tokens - COUNT_TOKENS))
    take_back(draft, narrower, sorted(gone, key=lambda block: -(block.first or 0)))
    open_with_user(draft)
    _mark_where_it_fits(draft, task, covers)
    if draft.total > task.budget_tokens:
        draft.blocks, draft.left = blocks, left


def _mark_where_it_fits(draft: Draft, task: Task, covers: tuple[int, int] | None) -> None:
    mark_losses(draft, task, covers)
    if draft.total > task.budget_tokens:
        shorten_marks(draft)
    if draft.total > task.budget_tokens:
        draft.blocks = [block for block in draft.blocks if not is_mark(block)]
        open_with_user(draft)


def take_back(draft: Draft, task: Task, gone: Iterable[Block]) -> None:
    """Fill the room that is left with the newest exchanges that left, the last of them cut to fit; not against a cap.

    `gone` are those that may come back, newest first. The first that cannot be made to fit ends it: there are no holes.
    """
    if task.policy.caps_tail:
        return
    for block in gone:
        if says_nothing(block.pieces[0].message):
            continue
        room = task.goal_tokens - draft.total
        if block.first is None or not made_to_fit(draft, block, room, task.goal_tokens):
            return
        draft.left = [other for other in draft.left if other is not block]
        draft.insert(block, block.first)


def made_to_fit(draft: Draft, block: Block, room_tokens: int, goal_tokens: int) -> bool:
    """Whether a block fits into a room, cut where that leaves enough of it to be worth showing."""
    block_tokens = sum(piece.tokens for piece in block.pieces)
    if block_tokens > room_tokens:
        least = max(min(BOUNDARY_TOKENS_MIN, int(goal_tokens * BOUNDARY_SHARE)), int(goal_tokens * SLACK_SHARE))
        if room_tokens < least:
            return False
    kept = Block(pieces=list(block.pieces), exchange=block.exchange, pieces_before=block.pieces_before)
    to_line = room_tokens > goal_tokens * LINE_SHARE
    if not reduce_to(draft, kept, room_tokens, "cut to the room left", to_line=to_line):
        return False
    block.pieces, block.decision, block.reasons = kept.pieces, kept.decision, kept.reasons
    block.references = kept.references
    return True
