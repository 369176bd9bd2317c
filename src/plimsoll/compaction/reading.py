"""Read the messages of exchanges into a ledger: uncut, in the order of the history, each once.

And what a conversation says, for the check of a summary that a model wrote of a part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from plimsoll.compaction.notes import restore_results
from plimsoll.compaction.split import Split
from plimsoll.compaction.task import Task
from plimsoll.compaction.view_message import ViewExchange
from plimsoll.compaction.working_view import WorkingView
from plimsoll.message import Message, Part, Reasoning, Text, ToolCall, ToolResult
from plimsoll.summary.ledger import Ledger, Reading
from plimsoll.tokens.cache import LruCache

READ_AGAIN_MESSAGES_MIN = 32
"""For fewer messages, reading them again is as fast as checking whether they were read."""


def read(view: WorkingView, task: Task, ledger: Ledger, exchanges: Sequence[ViewExchange]) -> Ledger:
    """Extend a ledger by the original messages of exchanges."""
    for messages, start in _runs(task, exchanges):
        ledger = _read(view, ledger, messages, start)
    return ledger


_LEDGERS: LruCache[Ledger] = LruCache(4)


def _read(view: WorkingView, ledger: Ledger, messages: list[Message], start: int) -> Ledger:
    """Extend the ledger by these messages. Readings are kept, so that applying a plan does not read the messages again,
    nor rendering again for fewer messages.
    """
    if not ledger.is_empty or len(messages) < READ_AGAIN_MESSAGES_MIN:
        return _read_anew(view, ledger, messages, start)
    words = hash(tuple((message.role, part_words(part)) for message in messages for part in message.parts))
    return _LEDGERS.get((start, len(messages), words), _read_anew, view, ledger, messages, start)


def _read_anew(view: WorkingView, ledger: Ledger, messages: list[Message], start: int) -> Ledger:
    known = view.reading.ledger_of(messages, start) if view.reading and view.reading.base is ledger else None
    if known is None:
        view.reading = Reading(ledger, messages, start)
        known = view.reading.ledger
    return known


def part_words(part: Part) -> tuple[object, ...]:
    """All text of a part that a ledger may read."""
    match part:
        case Text() | Reasoning():
            return (part.text,)
        case ToolCall():
            return (part.id, part.name, part.arguments)
        case ToolResult():
            return (part.call_id, part.content, part.is_error)
        case _:
            return ()


def _runs(task: Task, exchanges: Sequence[ViewExchange]) -> list[tuple[list[Message], int]]:
    """The messages of exchanges as runs of consecutive positions, each with its first position.

    Parts that were split off next to a summary are joined to one message again.
    """
    runs: list[tuple[list[Message], int]] = []
    for position, message in sorted(
        (pair for exchange in exchanges for pair in original_messages(exchange, task)), key=lambda pair: pair[0]
    ):
        if runs and runs[-1][1] + len(runs[-1][0]) == position + 1:
            runs[-1][0][-1] = runs[-1][0][-1].with_parts((*runs[-1][0][-1].parts, *message.parts))
            continue
        if not runs or runs[-1][1] + len(runs[-1][0]) != position:
            runs.append(([], position))
        runs[-1][0].append(message)
    return runs


def original_messages(exchange: ViewExchange, task: Task) -> list[tuple[int, Message]]:
    """The original, uncut messages of an exchange with their positions."""
    messages = []
    for message, entry in zip(exchange.original.messages, exchange.entries_before, strict=True):
        if entry.position is not None:
            cut = task.original is not None and not entry.whole
            original = task.original(entry.position) if cut and task.original else None
            messages.append((entry.position, restore_results(original or message)))
    return messages


if TYPE_CHECKING:
    from plimsoll.summary.grounds import Grounds


def conversation_of(view: WorkingView, task: Task, ledger: Ledger, *others: str) -> Grounds:
    """Everything that a summary may speak of: what leaves, and what stays, as it was before anything was cut from it."""
    from plimsoll.summary.grounds import Grounds  # noqa: PLC0415 - only where a model is asked

    facts = [fact for found in ledger.facts.values() for fact in found]
    everything = [message for exchange in view.exchanges for _, message in original_messages(exchange, task)]
    return Grounds(
        [*others, ledger.words, *words_of(everything), *(f"{fact.text}\n{fact.note}" for fact in facts)],
        [*others, ledger.words, *(message.text for message in everything if message.role in ("user", "assistant"))]
        + [fact.text for fact in facts if fact.origin != "tool"],
    )


def words_of(messages: Iterable[Message]) -> Iterator[str]:
    """All text of messages, part by part."""
    return (str(words) for message in messages for part in message.parts for words in part_words(part))


def staying_messages(view: WorkingView, selection: Split) -> list[Message]:
    """The messages that stay in the view, but no summaries and no system text."""
    gone = {id(exchange) for exchange in selection.leave}
    return [
        entry.message
        for exchange in view.exchanges
        if id(exchange) not in gone and not exchange.is_summary and not exchange.original.is_system
        for entry in exchange.entries
    ]
