"""The view during a compaction: its exchanges, their token counts, and the operations that change them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from plimsoll.compaction.view_message import CountMessage, Decision, ViewExchange, ViewMessage, blocks_of
from plimsoll.dataclass import dataclass
from plimsoll.formats.format import Format
from plimsoll.message import Message, Part
from plimsoll.protocols import TokenCounter
from plimsoll.summary.frame import Language
from plimsoll.summary.ledger import Reading

Referrer: TypeAlias = Callable[[ViewMessage, int], str | None]
"""(message, part index) -> the reference under which the part's original text can be read back, if any."""


def never(message: Message) -> bool:  # noqa: ARG001 - a condition on messages
    """False for every message."""
    return False


def no_reference(piece: ViewMessage, index: int) -> str | None:  # noqa: ARG001 - the shape of a Referrer
    """A referrer for a view without a store: None for every part."""
    return None


@dataclass(slots=True, kw_only=True)
class WorkingView:
    """The exchanges of a view, in order, with the means to count, cut and reference them.

    `reserve_tokens` is the fixed overhead of every view (the reply's priming).
    """

    blocks: list[ViewExchange]
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
        return self.reserve_tokens + sum(block.tokens for block in self.blocks)

    def excess(self, goal_tokens: int, *, at_most: int) -> int:
        """Tokens above a goal, counted only up to `at_most`.

        Counting starts at the newest exchange and stops when the answer is known, so old parts of a long history are not counted.
        """
        excess = self.reserve_tokens - goal_tokens
        for block in reversed(self.blocks):
            if excess >= at_most:
                return at_most
            excess += block.tokens
        return min(max(excess, 0), at_most)

    def passes(self, goal_tokens: int) -> bool:
        """True if the view exceeds a goal."""
        return self.excess(goal_tokens, at_most=1) > 0

    def movable(self) -> list[ViewExchange]:
        """Exchanges that may be removed, oldest first, without earlier summaries."""
        return [block for block in self.blocks if block.kept_as is None and not block.is_summary]

    def summaries(self) -> list[ViewExchange]:
        """The earlier summaries, oldest first."""
        return [block for block in self.blocks if block.is_summary]

    def leave(self, blocks: Iterable[ViewExchange], decision: Decision, reason: str) -> None:
        """Remove exchanges from the view."""
        going = {id(block): block for block in blocks}
        for block in going.values():
            block.decide(decision, reason)
        self.blocks = [block for block in self.blocks if id(block) not in going]
        self.left.extend(going.values())

    def insert(self, block: ViewExchange, after: int) -> None:
        """Insert an exchange after everything up to position `after` of the history."""
        later = (at for at, other in enumerate(self.blocks) if other.first is not None and other.first > after)
        self.blocks.insert(next(later, len(self.blocks)), block)

    def insert_summary(self, block: ViewExchange, after: int) -> None:
        """Insert a summary or notice after a position of the history, but never last: a view ends with a message of the history."""
        self.insert(block, after)
        if len(self.blocks) > 1 and self.blocks[-1] is block:
            self.blocks[-2:] = [block, self.blocks[-2]]

    def edit(self, block: ViewExchange, number: int, parts: Sequence[Part]) -> None:
        """Replace the parts of one message of an exchange and count it again."""
        piece = block.pieces[number]
        message = piece.message.with_parts(tuple(parts))
        changed = list(block.pieces)
        changed[number] = replace(piece, message=message, count_message=self.count_message, whole=False)
        block.pieces = changed

    def made(self, message: Message) -> ViewExchange:
        """An exchange with one inserted message."""
        return blocks_of([ViewMessage(message=message, count_message=self.count_message, origin="made", whole=False)])[
            0
        ]

    def summary_piece(self, message: Message) -> ViewMessage:
        """A view message with a summary."""
        return ViewMessage(message=message, count_message=self.count_message, origin="summary")

    def pieces(self) -> Iterator[ViewMessage]:
        """Every message of the view, in order."""
        for block in self.blocks:
            yield from block.pieces
