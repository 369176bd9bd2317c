"""The view during a compaction: its exchanges, their token counts, and the operations that change them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from plimsoll.compaction.view_message import CountMessage, Decision, ViewExchange, ViewMessage, exchanges_of
from plimsoll.formats.format import Format
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.message import Message, Part
from plimsoll.protocols import TokenCounter
from plimsoll.summary.frame import Language
from plimsoll.summary.ledger import Reading

Referrer: TypeAlias = Callable[[ViewMessage, int], str | None]
"""(message, part index) -> the reference under which the part's original text can be read back, if any."""


def never(message: Message) -> bool:  # noqa: ARG001 - a condition on messages
    """False for every message."""
    return False


def no_reference(entry: ViewMessage, index: int) -> str | None:  # noqa: ARG001 - the shape of a Referrer
    """A referrer for a view without a store: None for every part."""
    return None


@dataclass(slots=True, kw_only=True)
class WorkingView:
    """The exchanges of a view, in order, with the means to count, cut and reference them.

    `reserve_tokens` is the fixed overhead of every view (the reply's priming).
    """

    exchanges: list[ViewExchange]
    format: Format
    count_message: CountMessage
    counter: TokenCounter
    reserve_tokens: int
    language: Language = "en"
    refer: Referrer = no_reference
    recall: str | None = None
    """Name of the tool with which the model can search removed messages; None if it has none."""
    binds: Callable[[Message], bool] = never
    """True for messages whose thinking is valid only with the messages before it unchanged."""
    list_items_max: int = 20
    """Items that a list keeps in a shrunk tool result."""
    replaced_count: int = 0
    """Number of messages that the view's summaries and notices replaced before this run."""
    left: list[ViewExchange] = field(default_factory=list)
    """Exchanges that were removed from the view."""
    reading: Reading | None = None
    """The last reading of messages into a ledger."""

    @property
    def total(self) -> int:
        """Tokens of the current view, upper bound."""
        return self.reserve_tokens + sum(exchange.tokens for exchange in self.exchanges)

    def excess(self, goal_tokens: int, *, at_most: int) -> int:
        """Tokens above a goal, counted only up to `at_most`.

        Counting starts at the newest exchange and stops when the answer is known, so old parts of a long history are not counted.
        """
        excess = self.reserve_tokens - goal_tokens
        for exchange in reversed(self.exchanges):
            if excess >= at_most:
                return at_most
            excess += exchange.tokens
        return min(max(excess, 0), at_most)

    def passes(self, goal_tokens: int) -> bool:
        """True if the view exceeds a goal."""
        return self.excess(goal_tokens, at_most=1) > 0

    def movable(self) -> list[ViewExchange]:
        """Exchanges that may be removed, oldest first, without earlier summaries."""
        return [exchange for exchange in self.exchanges if exchange.kept_as is None and not exchange.is_summary]

    def summaries(self) -> list[ViewExchange]:
        """The earlier summaries, oldest first."""
        return [exchange for exchange in self.exchanges if exchange.is_summary]

    def leave(self, exchanges: Iterable[ViewExchange], decision: Decision, reason: str) -> None:
        """Remove exchanges from the view."""
        going = {id(exchange): exchange for exchange in exchanges}
        for exchange in going.values():
            exchange.decide(decision, reason)
        self.exchanges = [exchange for exchange in self.exchanges if id(exchange) not in going]
        self.left.extend(going.values())

    def checkpoint(self) -> Callable[[], None]:
        """A function that puts the exchanges back as they are now, and what was decided for them, after changes on trial."""
        exchanges, put_back = list(self.exchanges), [exchange.checkpoint() for exchange in self.exchanges]

        def restore() -> None:
            self.exchanges = list(exchanges)
            for put in put_back:
                put()

        return restore

    def insert(self, exchange: ViewExchange, after: int) -> None:
        """Insert an exchange after everything up to position `after` of the history."""
        later = (at for at, other in enumerate(self.exchanges) if other.first is not None and other.first > after)
        self.exchanges.insert(next(later, len(self.exchanges)), exchange)

    def insert_summary(self, exchange: ViewExchange, after: int) -> None:
        """Insert a summary or notice after a position of the history, but never last: a view ends with a message of the history."""
        self.insert(exchange, after)
        if len(self.exchanges) > 1 and self.exchanges[-1] is exchange:
            self.exchanges[-2:] = [exchange, self.exchanges[-2]]

    def edit(self, exchange: ViewExchange, number: int, parts: Sequence[Part]) -> None:
        """Replace the parts of one message of an exchange and count it again."""
        entry = exchange.entries[number]
        message = entry.message.with_parts(tuple(parts))
        changed = list(exchange.entries)
        changed[number] = replace(entry, shown=message, count_message=self.count_message, whole=False)
        exchange.entries = changed

    def made(self, message: Message) -> ViewExchange:
        """An exchange with one inserted message."""
        return exchanges_of([ViewMessage(shown=message, count_message=self.count_message, origin="made", whole=False)])[
            0
        ]

    def summary_entry(self, message: Message) -> ViewMessage:
        """A view message with a summary."""
        return ViewMessage(shown=message, count_message=self.count_message, origin="summary")

    def entries(self) -> Iterator[ViewMessage]:
        """Every message of the view, in order."""
        for exchange in self.exchanges:
            yield from exchange.entries
