"""A plan: what stays, shrinks and leaves, and why. Plain data; carrying it out needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, field, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from plimsoll.compaction.view_message import Decision, ViewExchange, ViewMessage
from plimsoll.dataclass import dataclass
from plimsoll.message import Reasoning, Text, ToolCall, ToolResult
from plimsoll.policy.budget import Level
from plimsoll.summary.ledger import Ledger

Stage: TypeAlias = Literal["none", "steps", "rules", "model", "edited", "window", "fit", "import"]
"""Which means spoke for the past."""


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
    """Names of the texts that are no longer whole in the view, by which they can be read back; none without a store."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "references": list(self.references)}


def changes_between(
    before: Sequence[ViewMessage], after: Sequence[ViewMessage], *, by: str, summarised: bool
) -> tuple[Action, ...]:
    """What another program did to a view, as far as the two views say it: what left, and what is no longer whole."""
    kept = {piece.position: piece for piece in after}
    found: list[Action] = []
    for place, piece in sorted(
        ((piece.position, piece) for piece in before if piece.position is not None), key=itemgetter(0)
    ):
        now = kept.get(place)
        if now is not None and now.message.wire == piece.message.wire:
            continue
        gone: Decision = "summarise" if summarised else "drop"
        tokens = 0 if now is None else now.tokens
        decision, reason = (gone, f"compacted by {by}") if now is None else ("shrink", f"emptied by {by}")
        found.append(
            Action(
                decision=decision,
                first=place,
                last=place,
                what=piece.message.role,
                reason=reason,
                tokens_before=piece.tokens,
                tokens_after=tokens,
            )
        )
    return tuple(_joined(found))


def _joined(actions: Iterable[Action]) -> Iterator[Action]:
    """Actions on neighbours that say the same, as one."""
    last: Action | None = None
    for action in actions:
        if last is not None and (last.decision, last.reason, last.last + 1) == (
            action.decision,
            action.reason,
            action.first,
        ):
            last = replace(
                last,
                last=action.last,
                what=f"{action.last - last.first + 1} messages",
                tokens_before=last.tokens_before + action.tokens_before,
                tokens_after=last.tokens_after + action.tokens_after,
            )
            continue
        if last is not None:
            yield last
        last = action
    if last is not None:
        yield last


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The result of planning, in the core's terms. `pieces` are the view to be; `actions` explain it.

    What explains is made when it is first asked for, so that a view costs what it holds and not what left it.

    `level` is how loaded the view was, `stage` which means spoke for the past: "none", "steps", "rules", "model", "window"
    or "fit" when the proof had to cut. `changed` is False when the run would not make enough progress and was not made.
    """

    pieces: tuple[ViewMessage, ...]
    level: Level
    stage: Stage
    tokens_after: int
    budget_tokens: int
    goal_tokens: int
    ledger: Ledger
    covers: tuple[int, int] | None = None
    summary: str | None = None
    written: str | None = None
    """What a model, a person or another tool wrote for the summary, whole; None where the rules made it."""
    changed: bool = False
    arrived: bool = False
    """Whether tool results were cut that are larger than the policy lets them come in."""
    note: str | None = None
    """Why nothing was done, or which means failed, for people."""
    count_before: Callable[[], int] = field(repr=False, compare=False)
    list_actions: Callable[[], tuple[Action, ...]] = field(repr=False, compare=False)

    @cached_property
    def tokens_before(self) -> int:
        """Tokens of the view before."""
        return self.count_before()

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """What happens to each exchange, in order."""
        return self.list_actions()

    @property
    def lost(self) -> tuple[Action, ...]:
        """The actions whose words are no longer in the view."""
        return tuple(action for action in self.actions if action.decision in ("summarise", "drop"))


def describe(block: ViewExchange) -> str:
    """Who speaks in a block and which tools it calls, in a few words."""
    calls = [call.name for call in block.exchange.calls]
    if calls:
        shown = ", ".join(dict.fromkeys(calls))
        return f"{len(calls)} tool call{'s' if len(calls) > 1 else ''} ({shown[:60]})"
    return f"{block.exchange.messages[0].role} message"


def actions_of(
    blocks: Iterable[ViewExchange], gone: Iterable[ViewExchange], refer: Callable[[ViewMessage, int], str | None]
) -> tuple[Action, ...]:
    """One action a block that was said in the history, in order of position. `refer` names what was said in a part."""
    left = {id(block) for block in gone}
    return tuple(
        _action(block, refer if id(block) in left else None)
        for block in sorted(blocks, key=lambda block: -1 if block.first is None else block.first)
        if block.first is not None
    )


def _action(block: ViewExchange, refer: Callable[[ViewMessage, int], str | None] | None) -> Action:
    """What happens to a block; `refer` where it has left."""
    assert block.first is not None
    assert block.last is not None
    return Action(
        decision=block.decision,
        first=block.first,
        last=block.last,
        what=describe(block),
        reason="; ".join(block.reasons) or block.kept_as or "newest exchanges stay word for word",
        tokens_before=block.tokens_before,
        tokens_after=0 if refer else block.tokens,
        references=tuple(
            block.references if refer is None else dict.fromkeys([*_names(block, refer), *block.references])
        ),
    )


def _names(block: ViewExchange, refer: Callable[[ViewMessage, int], str | None]) -> Iterator[str]:
    """The references of every text of a block."""
    for piece in block.pieces:
        for index, part in enumerate(piece.message.parts):
            if isinstance(part, Text | Reasoning | ToolCall | ToolResult) and (name := refer(piece, index)) is not None:
                yield name
