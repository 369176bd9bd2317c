"""What a conversation says, for the check of a summary that a model wrote of a part of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from plimsoll.compaction.reading import part_words
from plimsoll.compaction.split import Split
from plimsoll.compaction.working_view import WorkingView
from plimsoll.message import Message
from plimsoll.summary.ledger import Ledger

if TYPE_CHECKING:
    from plimsoll.summary.grounding import Grounds


def conversation_of(messages: Sequence[Message], shown: Sequence[Message], ledger: Ledger, *others: str) -> Grounds:
    """Everything that a summary of these messages may speak of."""
    from plimsoll.summary.grounding import Grounds  # noqa: PLC0415 - only where a model is asked

    facts = [fact for found in ledger.facts.values() for fact in found]
    everything = (*messages, *shown)
    return Grounds(
        [*others, ledger.words, *words_of(everything), *(f"{fact.text}\n{fact.note}" for fact in facts)],
        [*others, ledger.words, *(message.text for message in everything if message.role != "tool")]
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
