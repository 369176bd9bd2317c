"""A plan: what stays, shrinks and leaves, and why. Plain data; carrying it out needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from plimsoll.budget import Level
from plimsoll.compaction.piece import Block, Decision, Piece
from plimsoll.summary.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What happens to one exchange. `first` and `last` are positions of messages in the history, both included."""

    decision: Decision
    first: int
    last: int
    what: str
    """Who speaks and which tools are called, for people."""
    reason: str
    tokens_before: int
    tokens_after: int
    references: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "references": list(self.references)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The result of planning, in the core's terms. `pieces` are the view to be; `actions` explain it.

    `level` is how loaded the view was, `stage` which means spoke for the past: "none", "steps", "rules", "model", "window"
    or "fit" when the proof had to cut. `changed` is False when the run would not make enough progress and was not made.
    """

    pieces: tuple[Piece, ...]
    actions: tuple[Action, ...]
    level: Level
    stage: str
    tokens_before: int
    tokens_after: int
    budget_tokens: int
    goal_tokens: int
    ledger: Ledger
    covers: tuple[int, int] | None = None
    summary: str | None = None
    changed: bool = False
    note: str | None = None
    """Why nothing was done, or which means failed, for people."""
    lost: tuple[Action, ...] = field(default=())
    """The actions whose words are no longer in the view."""


def describe(block: Block) -> str:
    """Who speaks in a block and which tools it calls, in a few words."""
    calls = [call.name for call in block.exchange.calls]
    if calls:
        shown = ", ".join(dict.fromkeys(calls))
        return f"{len(calls)} tool call{'s' if len(calls) > 1 else ''} ({shown[:60]})"
    return f"{block.exchange.messages[0].role} message"


def actions_of(blocks: Iterable[Block], gone: Iterable[Block]) -> tuple[Action, ...]:
    """One action a block that was said in the history, in order of position."""
    left = {id(block) for block in gone}
    return tuple(
        _action(block, left=id(block) in left)
        for block in sorted(blocks, key=lambda block: -1 if block.first is None else block.first)
        if block.first is not None
    )


def _action(block: Block, *, left: bool) -> Action:
    assert block.first is not None
    assert block.last is not None
    return Action(
        decision=block.decision,
        first=block.first,
        last=block.last,
        what=describe(block),
        reason="; ".join(block.reasons) or block.kept_as or "newest exchanges stay word for word",
        tokens_before=block.tokens_before,
        tokens_after=0 if left else block.tokens,
        references=tuple(block.references),
    )
