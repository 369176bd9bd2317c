"""Pieces: the messages of a view while it is being made, each with its cost and where it came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Literal, TypeAlias

from plimsoll.dataclass import dataclass
from plimsoll.formats.cache_marks import marks_of
from plimsoll.formats.exchange import Exchange, group
from plimsoll.message import Message

Origin: TypeAlias = Literal["history", "summary", "made"]
"""`history`: said in the session, perhaps cut. `summary`: ours. `made`: put in so that the provider accepts the rest."""

Origins: TypeAlias = tuple[tuple[int, ...], ...]
"""For each message of a view the positions of the messages it came from: none for one that was made, several for a joined one."""

Decision: TypeAlias = Literal["keep", "repair", "shrink", "offload", "summarise", "drop"]
"""What happens to a message or an exchange."""


Weigh: TypeAlias = Callable[[Message], int]
"""Tokens of one message as it goes out, framing included, upper bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewMessage:
    """One message of a view. `position` is its index in the history, None when made here."""

    message: Message
    weigh: Weigh = field(repr=False, compare=False)
    position: int | None = None
    origin: Origin = "history"
    whole: bool = True
    """Whether the message is as in the history: neither cut nor repaired."""
    apart: bool = False
    """Whether it goes out as a message of its own even next to one of the same role, as another tool sent it."""
    joined: bool = False
    """Whether it goes out in one message with the piece before it, as another tool sent it, neighbours in the history too."""
    repairs: tuple[str, ...] = ()
    """What was changed so that the provider accepts it, in words."""

    _marks: int | None = field(default=None, init=False, repr=False, compare=False)
    _tokens: int | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def marks(self) -> int:
        """How many marks for a provider's cache it may go out with."""
        if self._marks is None:
            object.__setattr__(self, "_marks", marks_of(self.message))
        return self._marks or 0

    @property
    def tokens(self) -> int:
        """What it costs. Counted when first asked for: of a history far over its budget most never is."""
        if self._tokens is None:
            object.__setattr__(self, "_tokens", self.weigh(self.message))
        return self._tokens or 0


@dataclass(slots=True, kw_only=True)
class ViewExchange:
    """One exchange of a view under construction: the pieces that stay or leave together, and what was decided for them."""

    pieces: list[ViewMessage]
    exchange: Exchange
    kept_as: str | None = None
    """Why it must stay ("system text", "newest user message", ...); None when it may leave."""
    pieces_before: tuple[ViewMessage, ...]
    decision: Decision = "keep"
    reasons: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    first: int | None = field(init=False)
    """Position of its first message in the history, None when none of it was said there."""
    last: int | None = field(init=False)
    """The same of its last message."""

    def __post_init__(self) -> None:
        positions = [piece.position for piece in self.pieces if piece.position is not None]
        # Not in order: a result may be older in the history than what precedes it here.
        self.first, self.last = min(positions, default=None), max(positions, default=None)

    @property
    def tokens(self) -> int:
        """What it costs now."""
        return sum(piece.tokens for piece in self.pieces)

    @property
    def tokens_before(self) -> int:
        """What it cost before anything was done to it."""
        return sum(piece.tokens for piece in self.pieces_before)

    @property
    def is_summary(self) -> bool:
        """Whether it is an earlier summary, which the next one replaces. One that must stay is a message like any other."""
        return self.kept_as is None and self.is_summary_or_notice

    @property
    def is_summary_or_notice(self) -> bool:
        """Whether it is a summary or an omission notice, not a message of the history."""
        return self.pieces[0].origin == "summary"

    @property
    def is_request(self) -> bool:
        """Whether a user speaks in it (and not plimsoll in the user's role)."""
        return self.pieces[0].origin == "history" and self.exchange.is_request

    def decide(self, decision: Decision, reason: str, *, reference: str | None = None) -> None:
        """Record what happens to it and why. The strongest decision stays."""
        if _STRENGTH[decision] >= _STRENGTH[self.decision]:
            self.decision = decision
        if reason not in self.reasons:
            self.reasons.append(reason)
        if reference and reference not in self.references:
            self.references.append(reference)


_STRENGTH: dict[Decision, int] = {"keep": 0, "repair": 1, "shrink": 2, "offload": 3, "summarise": 4, "drop": 5}


def blocks_of(pieces: list[ViewMessage]) -> list[ViewExchange]:
    """Group pieces into blocks, one an exchange, in order. A summary is always a block of its own."""
    blocks: list[ViewExchange] = []
    for exchange in group([piece.message for piece in pieces]):
        chosen = pieces[exchange.start : exchange.end]
        block = ViewExchange(pieces=chosen, exchange=exchange, pieces_before=tuple(chosen))
        for repair in (repair for piece in chosen for repair in piece.repairs):
            block.decide("repair", repair)
        blocks.append(block)
    return blocks
