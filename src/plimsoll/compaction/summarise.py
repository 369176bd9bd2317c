"""Older exchanges become the summary; a token-bounded tail and what must stay remain word for word."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from plimsoll.compaction.account import (
    PROSE_TOKENS_MIN,
    Account,
    Accounts,
    mark,
    unseen,
)
from plimsoll.compaction.draft import Draft
from plimsoll.compaction.losses import SLACK_SHARE, made_to_fit, messages_in
from plimsoll.compaction.notes import as_said, says_nothing
from plimsoll.compaction.piece import Block, blocks_of
from plimsoll.compaction.plan import Stage
from plimsoll.compaction.split import Split, split
from plimsoll.compaction.task import SummaryFailed, SummaryReply, SummaryRequest, Task
from plimsoll.dataclass import dataclass
from plimsoll.message import Message, Part, Reasoning, Text, ToolCall, ToolResult
from plimsoll.summary.ledger import Ledger, Reading
from plimsoll.summary.reread import recollected
from plimsoll.truncation.cache import ResultCache

MARK_TOKENS = 48
"""Room for the line that says how much left without a summary."""

SPARE_TOKENS, SPARE_SHARE = 8, 0.01
"""Less room than this, in tokens or of the goal, is not worth another rendering."""

READ_AGAIN_MESSAGES_MIN = 32
"""Fewer messages are read as fast as they are recognised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """What became of the past: the ledger with it, what is covered, which means spoke, and which failed."""

    ledger: Ledger
    covers: tuple[int, int] | None
    account: Account | None = None
    written: str | None = None
    """What a model wrote for it, whole."""
    stage: Stage = "steps"
    failure: str | None = None


def summarise(draft: Draft, task: Task) -> Generator[SummaryRequest, SummaryReply, Summed]:
    """Carry the step out. Yields requests when a model is there to write prose, and goes on with whatever comes back."""
    parted = split(draft, task)
    if not parted.leave:
        return Summed(ledger=task.ledger, covers=task.covers)
    summed = None
    if task.ask_model:
        parted = _with_boundary(draft, task, parted, parted.summary_tokens_max)
        if not parted.leave:
            return Summed(ledger=task.ledger, covers=task.covers)
        summed = yield from _by_model(draft, task, parted)
        if summed.failure is not None and task.policy.keep_fraction_after_failure is not None:
            parted = split(draft, task, after_failure=True)
            summed = _without_model(draft, task, parted, summed.failure)
    if summed is not None and summed.stage == "model":
        parted, summed = _given_back(draft, task, parted, summed)
    if summed is None or summed.stage == "rules":
        parted, summed = _tightened(draft, task, parted, summed or _by_rules(draft, task, parted))
    _rebuild(draft, parted, summed.account)
    return summed


def _given_back(draft: Draft, task: Task, parted: Split, summed: Summed) -> tuple[Split, Summed]:
    """Where the budget is to be filled, the room that prose does not need goes back to the tail, of which it tells as well."""
    account = summed.account
    if account is None or not (task.policy.fill and _slack(task, parted, summed)):
        return parted, summed
    smaller = _with_boundary(draft, task, split(draft, task, summary_tokens=account.tokens), account.tokens)
    if not smaller.leave:
        return parted, summed
    accounts = _accounts(draft, task, smaller)
    return smaller, replace(summed, covers=accounts.covers, account=accounts.reframed(account))


def _tightened(draft: Draft, task: Task, parted: Split, summed: Summed) -> tuple[Split, Summed]:
    """Give the room that the rules' summary does not need back to the tail, and to the newest exchange that leaves, cut to fit.

    What no exchange fits into goes to the summary.
    """
    if _slack(task, parted, summed):
        assert summed.account is not None
        parted = split(draft, task, summary_tokens=summed.account.tokens)
        if not parted.leave:
            return parted, Summed(ledger=task.ledger, covers=task.covers, failure=summed.failure)
        summed = replace(_by_rules(draft, task, parted), failure=summed.failure)
    used = parted.summary_tokens_max if summed.account is None else summed.account.tokens
    whole = [(block, block.pieces, block.decision, block.reasons, block.references) for block in parted.leave]
    for is_first in (True, False):
        smaller = _with_boundary(draft, task, parted, used)
        if not smaller.leave:
            return smaller, _resumed(draft, task, smaller, summed.failure)
        room = used if task.policy.caps_tail else min(_room_beside(draft, task, smaller), task.summary_tokens_max)
        if is_first and smaller is parted and room <= used + max(SPARE_TOKENS, int(task.goal_tokens * SPARE_SHARE)):
            return parted, summed
        smaller = replace(smaller, summary_tokens_max=max(room, used))
        summed = _resumed(draft, task, smaller, summed.failure)
        if not is_first or summed.account is None or 2 * summed.account.tokens > used:
            break
        # Most of the summary was about what stays after all: that gets the room.
        used = summed.account.tokens
        for block, pieces, decision, reasons, references in whole:
            block.pieces, block.decision, block.reasons, block.references = pieces, decision, reasons, references
    return smaller, summed


def _resumed(draft: Draft, task: Task, parted: Split, failure: str | None) -> Summed:
    """The summary of what leaves still; none where nothing does."""
    if not parted.leave:
        return Summed(ledger=task.ledger, covers=task.covers, failure=failure)
    return replace(_by_rules(draft, task, parted), failure=failure)


def _room_beside(draft: Draft, task: Task, parted: Split) -> int:
    """What the exchanges that stay leave of the goal."""
    gone = {id(block) for block in parted.leave}
    staying = sum(block.tokens for block in draft.blocks if id(block) not in gone and not block.is_summary)
    return task.goal_tokens - draft.reserve_tokens - staying


def window(draft: Draft, task: Task) -> Summed:
    """Older exchanges leave without a summary; a mark says so. The ledger is kept all the same, for a later summary."""
    parted = split(draft, task, summary_tokens=MARK_TOKENS)
    if not parted.leave:
        return Summed(ledger=task.ledger, covers=task.covers)
    parted = _with_boundary(draft, task, parted, MARK_TOKENS)
    if not parted.leave:
        return Summed(ledger=task.ledger, covers=task.covers)
    covers = _covers(task, parted)
    account = _mark(draft, task, parted)
    _rebuild(draft, parted, account)
    return Summed(ledger=_extended(draft, task, parted), covers=covers, account=account, stage="window")


def _by_rules(draft: Draft, task: Task, parted: Split) -> Summed:
    """The ledger with what leaves, and its account within the summary's room; a mark where that is too little for any."""
    ledger, accounts = _extended(draft, task, parted), _accounts(draft, task, parted)
    account = accounts.by_rules(ledger, gone=parted.leave, shown=_shown(draft, parted))
    if account is None:
        return Summed(ledger=ledger, covers=accounts.covers, account=_mark(draft, task, parted), stage="window")
    return Summed(ledger=ledger, covers=accounts.covers, account=account, stage="rules")


def _accounts(draft: Draft, task: Task, parted: Split) -> Accounts:
    """What makes the message that speaks for what leaves."""
    return Accounts(draft=draft, task=task, covers=_covers(task, parted), tokens_max=parted.summary_tokens_max)


def _by_model(draft: Draft, task: Task, parted: Split) -> Generator[SummaryRequest, SummaryReply, Summed]:
    """The model's prose with the facts it left out; the rules where it fails, or only a mark where the policy says so."""
    ruled, accounts = _by_rules(draft, task, parted), _accounts(draft, task, parted)
    if accounts.room < PROSE_TOKENS_MIN:
        return replace(ruled, failure=f"{parted.summary_tokens_max} tokens are too few for a model's summary")
    visible = unseen(ruled.ledger, _shown(draft, parted), parted.leave)
    made = yield from _written(accounts, visible, parted)
    if isinstance(made, SummaryFailed):
        return _without_model(draft, task, parted, made.reason)
    ledger = ruled.ledger.in_words(made.words or "")
    return replace(ruled, ledger=ledger, account=made, written=made.written, stage="model")


def _written(
    accounts: Accounts, ledger: Ledger, parted: Split
) -> Generator[SummaryRequest, SummaryReply, Account | SummaryFailed]:
    """The model's prose in its frame, asked for in as many requests as what leaves needs; the reason where one fails.

    Each goes on from the answer to the one before, so every message is read once; what a later answer does not say again of an
    earlier one is carried with it.
    """
    from plimsoll.summary.prompt import lines_of, portions  # noqa: PLC0415 - only where a model is asked

    draft, task = accounts.draft, accounts.task
    messages = [pair for block in parted.leave for pair in said(block, task)]
    earlier, policy = draft.summaries(), task.policy
    numbered = [(at + (task.shift if _is_after(earlier, at) else 0), message) for at, message in messages]
    shared = portions(
        lines_of(numbered),
        input_tokens_max=policy.summarizer_input_tokens_max,
        tokens_max=accounts.tokens_max,
        requests_max=policy.summarizer_requests_max,
        counter=draft.counter,
    )
    replaced_tokens = sum(block.tokens_before for block in parted.leave)
    previous = earlier[-1].pieces[0].message.text if earlier else None
    made: Account | SummaryFailed = SummaryFailed(reason="")
    for portion in shared:
        left_out = shared[0].start if portion is shared[0] else 0
        asked = [message for _, message in messages[portion.start : portion.stop]]
        request = accounts.request(asked, portion.lines, previous, left_out=left_out)
        for _ in range(policy.summarizer_attempts):
            reply = yield request
            made = (
                reply
                if isinstance(reply, SummaryFailed)
                else accounts.by_model(reply, ledger, replaced_tokens=replaced_tokens)
            )
            if isinstance(made, Account):
                break
        if isinstance(made, SummaryFailed):
            return made
        previous, ledger = made.written, ledger if made.words is None else ledger.in_words(made.words)
    return made


def _is_after(summaries: Sequence[Block], position: int) -> bool:
    return any(block.first is not None and block.first <= position for block in summaries)


def _without_model(draft: Draft, task: Task, parted: Split, failure: str) -> Summed:
    """What the policy wants in the place of prose that failed: the rules' account, or a mark."""
    ruled = replace(_by_rules(draft, task, parted), failure=failure)
    if task.policy.summarizer_fallback:
        return ruled
    return replace(ruled, account=_mark(draft, task, parted), stage="window")


def _mark(draft: Draft, task: Task, parted: Split) -> Account | None:
    """A mark for what leaves, and for what earlier summaries stood for."""
    return mark(draft, task, task.budget_tokens, draft.spoken_for + messages_in(parted.leave))


def _slack(task: Task, parted: Split, summed: Summed) -> bool:
    """Whether the summary needs so much less than its room that more exchanges can stay."""
    account = summed.account
    return account is not None and parted.summary_tokens_max - account.tokens > task.goal_tokens * SLACK_SHARE


def _covers(task: Task, parted: Split) -> tuple[int, int]:
    """The positions `[start, end)` that a summary of what leaves speaks for, earlier summaries included."""
    start, end = parted.covers(None)
    if task.covers is None:
        return start, end
    return min(start, task.covers[0]), max(end + task.shift, task.covers[1])


def _extended(draft: Draft, task: Task, parted: Split) -> Ledger:
    """The ledger with what earlier summaries in the view say, and the facts of everything up to the newest message that leaves.

    Messages are read as in the history. Those that stay are read too: the ledger continues from a position, so they would
    be missed when they leave later. A summary made in this session is in the ledger already, one in the input is not.
    """
    end = parted.covers(None)[1]
    ledger = task.ledger
    for block in draft.summaries():
        if block.first is not None or task.ledger.is_empty:
            ledger = recollected(ledger, block.pieces[0].message.text)
    for messages, start in _runs(task, [block for block in draft.blocks if _before(block, end)]):
        ledger = _read(draft, ledger, messages, start)
    return ledger


_LEDGERS: ResultCache[Ledger] = ResultCache(4)


def _read(draft: Draft, ledger: Ledger, messages: list[Message], start: int) -> Ledger:
    """The ledger with these messages. What a plan has read from the beginning, carrying it out need not read again; nor what was
    read for a summary that turned out so short that some of the messages stay.
    """
    if not ledger.is_empty or len(messages) < READ_AGAIN_MESSAGES_MIN:
        return _read_anew(draft, ledger, messages, start)
    words = hash(tuple((message.role, part_words(part)) for message in messages for part in message.parts))
    return _LEDGERS.get((start, len(messages), words), lambda: _read_anew(draft, ledger, messages, start))


def _read_anew(draft: Draft, ledger: Ledger, messages: list[Message], start: int) -> Ledger:
    known = draft.reading.ledger_of(messages, start) if draft.reading and draft.reading.base is ledger else None
    if known is None:
        draft.reading = Reading(ledger, messages, start)
        known = draft.reading.ledger
    return known


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
    return not block.is_account and block.first is not None and block.first < end


def _shown(draft: Draft, parted: Split) -> list[Block]:
    """Blocks that the ledger has read and the view shows all the same."""
    end = parted.covers(None)[1]
    gone = {id(block) for block in parted.leave}
    return [block for block in draft.blocks if _before(block, end) and id(block) not in gone]


def _runs(task: Task, blocks: Sequence[Block]) -> list[tuple[list[Message], int]]:
    """The messages of blocks as runs of consecutive positions, each with its first position.

    What was taken apart where a summary stood in a message is one message again.
    """
    runs: list[tuple[list[Message], int]] = []
    for position, message in sorted((pair for block in blocks for pair in said(block, task)), key=lambda pair: pair[0]):
        if runs and runs[-1][1] + len(runs[-1][0]) == position + 1:
            runs[-1][0][-1] = runs[-1][0][-1].with_parts((*runs[-1][0][-1].parts, *message.parts))
            continue
        if not runs or runs[-1][1] + len(runs[-1][0]) != position:
            runs.append(([], position))
        runs[-1][0].append(message)
    return runs


def said(block: Block, task: Task) -> list[tuple[int, Message]]:
    """The messages of a block with their positions, as in the history, not as they were cut since."""
    messages = []
    for message, piece in zip(block.exchange.messages, block.pieces_before, strict=True):
        if piece.position is not None:
            cut = task.original is not None and not piece.whole
            original = task.original(piece.position) if cut and task.original else None
            messages.append((piece.position, as_said(original or message)))
    return messages


def _rebuild(draft: Draft, parted: Split, account: Account | None) -> None:
    """Put the summary where the past ends, and let the rest leave."""
    if not parted.leave:
        return
    covers = parted.covers(None)
    draft.blocks = [block for block in draft.blocks if not block.is_summary]
    if account is None:
        draft.leave(parted.leave, "drop", "no room for a summary")
    else:
        draft.leave(parted.leave, "summarise" if account.facts else "drop", account.reason)
        draft.speak_for(blocks_of([draft.summary_piece(account.message)])[0], covers[1] - 1)


def _with_boundary(draft: Draft, task: Task, parted: Split, summary_tokens: int) -> Split:
    """The split with the newest exchanges that leave staying, the last of them cut to the room left; not against a cap.

    Where none is left to leave, the summary there is stays as it is.
    """
    if task.policy.caps_tail:
        return parted
    free = _room_beside(draft, task, parted)
    leave, blank, back = list(parted.leave), list[Block](), list[Block]()
    while leave:
        if says_nothing(leave[-1].pieces[0].message):
            blank.append(leave.pop())
            continue
        last = len(leave) + len(blank) == 1
        taken = sum(block.tokens for block in draft.summaries()) if last else summary_tokens
        if not made_to_fit(draft, leave[-1], free - taken, task.goal_tokens):
            break
        back.append(leave.pop())
        free -= back[-1].tokens
    if not back:
        return parted
    return replace(parted, stay=(*parted.stay, *reversed(back)), leave=(*leave, *reversed(blank)))
