"""Older exchanges become the summary; a token-bounded tail and what must stay remain word for word."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from plimsoll.compaction.account import Account, mark, prose_account, request_for, rules_account
from plimsoll.compaction.draft import Draft
from plimsoll.compaction.piece import Block, blocks_of
from plimsoll.compaction.repair import as_said
from plimsoll.compaction.shrink import shrink_to
from plimsoll.compaction.split import Split, split
from plimsoll.compaction.task import SummaryFailed, SummaryReply, SummaryRequest, Task
from plimsoll.cutting.remembered import Remembered
from plimsoll.message import Message, Part, Reasoning, Text, ToolCall, ToolResult
from plimsoll.summary.ledger import Ledger, extend

MARK_TOKENS = 48
"""Room for the line that says how much left without a summary."""

SLACK_SHARE = 0.02
"""Room under this share of the goal is not worth another pass, nor a cut exchange."""

READ_AGAIN_MESSAGES_MIN = 32
"""Fewer messages are read as fast as they are recognised."""

BOUNDARY_TOKENS_MIN = 160
"""An exchange cut to less than this says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """What became of the past: the ledger with it, what is covered, which means spoke, and which failed."""

    ledger: Ledger
    covers: tuple[int, int] | None
    account: Account | None = None
    stage: str = "steps"
    failure: str | None = None


def summarise(draft: Draft, task: Task) -> Generator[SummaryRequest, SummaryReply, Summed]:
    """Carry the step out. Yields one request when a model is there to write prose, and goes on with whatever comes back."""
    parted = split(draft, task)
    if not parted.leave:
        return Summed(ledger=task.ledger, covers=task.covers)
    summed = _by_rules(draft, task, parted)
    if task.ask_model:
        summed = yield from _by_model(draft, task, parted, summed)
        if summed.failure is not None and task.policy.keep_fraction_after_failure is not None:
            parted = split(draft, task, after_failure=True)
            summed = _without_model(draft, task, parted, _by_rules(draft, task, parted), summed.failure)
    if _slack(task, parted, summed):
        parted, summed = _tightened(draft, task, parted, summed)
    _rebuild(draft, task, parted, summed.account)
    return summed


def _tightened(draft: Draft, task: Task, parted: Split, summed: Summed) -> tuple[Split, Summed]:
    """Give the room a summary does not need back to the tail. A model is not asked twice: its prose may say a little more."""
    assert summed.account is not None
    smaller = split(draft, task, summary_tokens=summed.account.tokens)
    if not smaller.leave:
        return (
            (parted, summed) if summed.stage == "model" else (smaller, Summed(ledger=task.ledger, covers=task.covers))
        )
    if summed.stage != "rules":
        return smaller, summed
    return smaller, replace(_by_rules(draft, task, smaller), failure=summed.failure)


def window(draft: Draft, task: Task) -> Summed:
    """Older exchanges leave without a summary; a mark says so. The ledger is kept all the same, for a later summary."""
    parted = split(draft, task, summary_tokens=MARK_TOKENS)
    if not parted.leave:
        return Summed(ledger=task.ledger, covers=task.covers)
    covers = parted.covers(task.covers)
    account = mark(draft, task, parted.summary_tokens_max, covers)
    _rebuild(draft, task, parted, account)
    return Summed(ledger=_extended(draft, task, parted), covers=covers, account=account, stage="window")


def _by_rules(draft: Draft, task: Task, parted: Split) -> Summed:
    """The ledger with what leaves, and its account within the summary's room."""
    ledger, covers = _extended(draft, task, parted), parted.covers(task.covers)
    shown = _shown(draft, parted)
    account = rules_account(ledger, draft, task, parted.summary_tokens_max, covers, shown=shown)
    return Summed(ledger=ledger, covers=covers, account=account, stage="rules")


def _by_model(
    draft: Draft, task: Task, parted: Split, ruled: Summed
) -> Generator[SummaryRequest, SummaryReply, Summed]:
    """The model's prose with the facts it left out; the rules where it fails, or only a mark where the policy says so."""
    covers = ruled.covers or (0, 0)
    messages = [message for block in parted.leave for _, message in said(block, task)]
    request, failure = request_for(messages, draft, task, parted.summary_tokens_max), ""
    for _ in range(task.policy.summarizer_attempts):
        reply = yield request
        if not isinstance(reply, SummaryFailed):
            leaving = sum(block.tokens_before for block in parted.leave)
            made = prose_account(
                reply, ruled.ledger, draft, task, parted.summary_tokens_max, covers, replaced_tokens=leaving
            )
            if isinstance(made, Account):
                return replace(ruled, account=made, stage="model")
            reply = made
        failure = reply.reason
    return _without_model(draft, task, parted, ruled, failure)


def _without_model(draft: Draft, task: Task, parted: Split, ruled: Summed, failure: str) -> Summed:
    """What the policy wants in the place of prose that failed: the rules' account, or a mark."""
    if task.policy.summarizer_fallback:
        return replace(ruled, failure=failure)
    account = mark(draft, task, parted.summary_tokens_max, ruled.covers or (0, 0))
    return replace(ruled, account=account, stage="window", failure=failure)


def _slack(task: Task, parted: Split, summed: Summed) -> bool:
    """Whether the summary needs so much less than its room that more exchanges can stay."""
    account = summed.account
    return account is not None and parted.summary_tokens_max - account.tokens > task.goal_tokens * SLACK_SHARE


def _extended(draft: Draft, task: Task, parted: Split) -> Ledger:
    """The ledger with the facts of everything up to the newest message that leaves, as it was said.

    What stays among it is read too: the ledger goes on from a position, and when that leaves later nobody reads it again.
    """
    end = parted.covers(None)[1]
    ledger = task.ledger
    for messages, start in _runs(task, [block for block in draft.blocks if _before(block, end)]):
        ledger = _read(ledger, messages, start)
    return ledger


_LEDGERS: Remembered[Ledger] = Remembered(4)


def _read(ledger: Ledger, messages: list[Message], start: int) -> Ledger:
    """The ledger with these messages. What a plan has read from the beginning, carrying it out need not read again."""
    if ledger.counts.messages or len(messages) < READ_AGAIN_MESSAGES_MIN:
        return extend(ledger, messages, start)
    words = hash(tuple((message.role, part_words(part)) for message in messages for part in message.parts))
    return _LEDGERS.get((start, len(messages), words), lambda: extend(ledger, messages, start))


def part_words(part: Part) -> tuple[object, ...]:
    """Everything in a part that a ledger may read."""
    match part:
        case Text() | Reasoning():
            return (part.text,)
        case ToolCall():
            return (part.id, part.name, part.arguments)
        case ToolResult():
            return (part.call_id, part.content, part.is_error)
        case _:
            return ()


def _before(block: Block, end: int) -> bool:
    return not block.is_summary and block.first is not None and block.first < end


def _shown(draft: Draft, parted: Split) -> frozenset[int]:
    """Positions that the ledger has read and the view shows all the same."""
    end = parted.covers(None)[1]
    gone = {id(block) for block in parted.leave}
    staying = (block for block in draft.blocks if _before(block, end) and id(block) not in gone)
    return frozenset(piece.position for block in staying for piece in block.pieces if piece.position is not None)


def _runs(task: Task, blocks: Sequence[Block]) -> list[tuple[list[Message], int]]:
    """The messages of blocks as runs of consecutive positions, each with its first position."""
    runs: list[tuple[list[Message], int]] = []
    for position, message in sorted((pair for block in blocks for pair in said(block, task)), key=lambda pair: pair[0]):
        if not runs or runs[-1][1] + len(runs[-1][0]) != position:
            runs.append(([], position))
        runs[-1][0].append(message)
    return runs


def said(block: Block, task: Task) -> list[tuple[int, Message]]:
    """The messages of a block with their positions, as they stand in the history, not as they were cut since."""
    messages = []
    for message, piece in zip(block.exchange.messages, block.pieces, strict=True):
        if piece.position is not None:
            cut = task.original is not None and not piece.whole
            original = task.original(piece.position) if cut and task.original else None
            messages.append((piece.position, as_said(original or message)))
    return messages


def _rebuild(draft: Draft, task: Task, parted: Split, account: Account | None) -> None:
    """Put the summary where the past ends, let the rest leave, and fill what is still free."""
    if not parted.leave:
        return
    newest_gone = parted.covers(None)[1] - 1
    draft.blocks = [block for block in draft.blocks if not block.is_summary]
    if account is None:
        draft.leave(parted.leave, "drop", "no room for a summary")
    else:
        draft.leave(parted.leave, "summarise" if account.facts else "drop", account.reason)
        draft.insert(blocks_of([draft.summary_piece(account.message)])[0], newest_gone)
    _take_back(draft, task, parted.leave[-1])


def _take_back(draft: Draft, task: Task, block: Block) -> None:
    """Fill the room that is left with the newest exchange that left, cut to fit; not against a cap of the policy."""
    room = task.goal_tokens - draft.total
    if room < max(BOUNDARY_TOKENS_MIN, task.goal_tokens * SLACK_SHARE) or task.policy.caps_tail:
        return
    kept = Block(pieces=list(block.pieces), exchange=block.exchange, pieces_before=block.pieces_before)
    shrink_to(draft, kept, room, "cut to the room left")
    if kept.tokens <= room and block.first is not None:
        draft.left = [other for other in draft.left if other is not block]
        block.pieces, block.decision, block.reasons = kept.pieces, kept.decision, kept.reasons
        block.references = kept.references
        draft.insert(block, block.first)
