"""A view under construction: its blocks, what they cost, and the only ways to change them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from plimsoll.compaction.view_message import Decision, ViewExchange, ViewMessage, Weigh, blocks_of
from plimsoll.dataclass import dataclass
from plimsoll.formats.format import Format
from plimsoll.message import Message, Part
from plimsoll.protocols import TokenCounter
from plimsoll.summary.frame import Language
from plimsoll.summary.ledger import Reading

Referrer: TypeAlias = Callable[[ViewMessage, int], str | None]
"""(a piece, the index of one of its parts) -> the reference under which what was said there can be read back, if it can."""


def never(message: Message) -> bool:  # noqa: ARG001 - a condition on messages
    """No message."""
    return False


def no_reference(piece: ViewMessage, index: int) -> str | None:  # noqa: ARG001 - the shape of a Referrer
    """A referrer for a view without a store: nothing can be read back."""
    return None


@dataclass(slots=True, kw_only=True)
class WorkingView:
    """The blocks of a view, in order, with the means to weigh, cut and name them.

    `reserve_tokens` is what every view pays besides its messages (the reply's priming).
    """

    blocks: list[ViewExchange]
    format: Format
    weigh: Weigh
    counter: TokenCounter
    reserve_tokens: int
    language: Language = "en"
    refer: Referrer = no_reference
    recall: str | None = None
    """The tool by which the reader of the view can search what left it; None where there is none, and nothing reads it back."""
    binds: Callable[[Message], bool] = never
    """Whether a message's thinking is good only behind what it was made for."""
    list_items_max: int = 20
    """Items of a list that stay in a shrunk tool result."""
    spoken_for: int = 0
    """Number of messages that the summaries and marks in the view replaced before this run."""
    left: list[ViewExchange] = field(default_factory=list)
    """Blocks that are no longer in the view."""
    reading: Reading | None = None
    """What was last read into a ledger."""

    @property
    def total(self) -> int:
        """Tokens of the current view, upper bound."""
        return self.reserve_tokens + sum(block.tokens for block in self.blocks)

    def excess(self, goal_tokens: int, *, at_most: int) -> int:
        """How far the view is above a goal, told only up to `at_most`: counting begins at the newest and ends where that is known.

        Of a history far over its goal nothing older needs to be counted.
        """
        excess = self.reserve_tokens - goal_tokens
        for block in reversed(self.blocks):
            if excess >= at_most:
                return at_most
            excess += block.tokens
        return min(max(excess, 0), at_most)

    def passes(self, goal_tokens: int) -> bool:
        """Whether the view costs more than a goal."""
        return self.excess(goal_tokens, at_most=1) > 0

    def movable(self) -> list[ViewExchange]:
        """Blocks that may leave, oldest first; earlier summaries are not among them."""
        return [block for block in self.blocks if block.kept_as is None and not block.is_summary]

    def summaries(self) -> list[ViewExchange]:
        """The blocks that hold earlier summaries, oldest first."""
        return [block for block in self.blocks if block.is_summary]

    def leave(self, blocks: Iterable[ViewExchange], decision: Decision, reason: str) -> None:
        """Take blocks out of the view."""
        going = {id(block): block for block in blocks}
        for block in going.values():
            block.decide(decision, reason)
        self.blocks = [block for block in self.blocks if id(block) not in going]
        self.left.extend(going.values())

    def insert(self, block: ViewExchange, after: int) -> None:
        """Put a block behind everything that was said up to position `after`."""
        later = (at for at, other in enumerate(self.blocks) if other.first is not None and other.first > after)
        self.blocks.insert(next(later, len(self.blocks)), block)

    def speak_for(self, block: ViewExchange, after: int) -> None:
        """Put a summary or a mark behind what was said up to a position, but never last: the view ends with what was said."""
        self.insert(block, after)
        if len(self.blocks) > 1 and self.blocks[-1] is block:
            self.blocks[-2:] = [block, self.blocks[-2]]

    def edit(self, block: ViewExchange, number: int, parts: Sequence[Part]) -> None:
        """Let one piece of a block say something else, and weigh it again."""
        piece = block.pieces[number]
        message = piece.message.with_parts(tuple(parts))
        changed = list(block.pieces)
        changed[number] = replace(piece, message=message, weigh=self.weigh, whole=False)
        block.pieces = changed

    def made(self, message: Message) -> ViewExchange:
        """A block that holds a message made here."""
        return blocks_of([ViewMessage(message=message, weigh=self.weigh, origin="made", whole=False)])[0]

    def summary_piece(self, message: Message) -> ViewMessage:
        """A piece that holds a summary."""
        return ViewMessage(message=message, weigh=self.weigh, origin="summary")

    def pieces(self) -> Iterator[ViewMessage]:
        """Every piece of the view, in order."""
        for block in self.blocks:
            yield from block.pieces
