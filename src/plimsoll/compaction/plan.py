"""The plan of a compaction: what stays, shrinks and leaves, and why. Plain data; applying it needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Literal, TypeAlias

from plimsoll.compaction.importance import reasons
from plimsoll.compaction.view_message import Decision, ViewExchange, ViewMessage, placed_at
from plimsoll.formats.words import words_of
from plimsoll.light.brief import JsonReady
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.message import Reasoning, Text, ToolCall, ToolResult
from plimsoll.policy.budget import Level
from plimsoll.summary.ledger import Ledger

Stage: TypeAlias = Literal["none", "steps", "rules", "model", "edited", "window", "fit", "import"]
"""How removed messages are represented."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action(JsonReady):
    """The decision for one exchange. `first` and `last` are message positions, both included: in the history of a session, or in
    the list that was given.
    """

    decision: Decision
    first: int
    last: int
    what: str
    """Roles and called tools, for display."""
    reason: str
    tokens_before: int
    tokens_after: int
    references: tuple[str, ...] = ()
    """References under which the cut or removed texts can be read back; empty without a store."""


def changes_between(
    before: Sequence[ViewMessage], after: Sequence[ViewMessage], *, by: str, summarised: bool
) -> tuple[Action, ...]:
    """Derive, by comparing two views, what another program did to a view: what it removed and what it cut."""
    kept = {entry.position: entry for entry in after}
    found: list[Action] = []
    for place, entry in sorted(
        ((entry.position, entry) for entry in before if entry.position is not None), key=itemgetter(0)
    ):
        now = kept.get(place)
        if now is not None and now.message.wire == entry.message.wire:
            continue
        gone: Decision = "summarise" if summarised else "drop"
        tokens = 0 if now is None else now.tokens
        decision, reason = (gone, f"compacted by {by}") if now is None else ("shrink", f"emptied by {by}")
        found.append(
            Action(
                decision=decision,
                first=place,
                last=place,
                what=entry.message.role,
                reason=reason,
                tokens_before=entry.tokens,
                tokens_after=tokens,
            )
        )
    return tuple(_joined(found))


def _joined(actions: Iterable[Action]) -> Iterator[Action]:
    """Merge equal actions on neighbouring exchanges."""
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
    """The result of planning. `entries` are the messages of the new view; `actions` explain it.

    `level` is the load level of the view. `stage` is how removed messages are represented: "none", "steps", "rules", "model",
    "window", or "fit" if the final cut was needed. `changed` is False if the run would have freed too little and was not made.
    Explanations are computed on first access, so a view costs time for what it keeps and not for what it removed.
    """

    entries: tuple[ViewMessage, ...]
    level: Level
    stage: Stage
    tokens_after: int
    budget_tokens: int
    goal_tokens: int
    ledger: Ledger
    covers: tuple[int, int] | None = None
    summary: str | None = None
    written: str | None = None
    """The summary as written by a model, a person or another tool; None if rules wrote it."""
    changed: bool = False
    arrived: bool = False
    """True if tool results over the policy's arrival limit were cut."""
    note: str | None = None
    """Why nothing was done, or which step failed, for display."""
    flushed_memories: int = 0
    """Number of memories kept of what leaves the view."""
    places: Sequence[int] | None = None
    """For each message the position it was given at, where several were given as one; None if these are the same."""
    count_before: Callable[[], int] = field(repr=False, compare=False)
    list_actions: Callable[[], tuple[Action, ...]] = field(repr=False, compare=False)

    @cached_property
    def tokens_before(self) -> int:
        """Tokens of the view before the compaction."""
        return self.count_before()

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """The decision for each exchange, in order."""
        return self.list_actions()

    @property
    def lost(self) -> tuple[Action, ...]:
        """The actions on exchanges whose text is no longer in the view."""
        return tuple(action for action in self.actions if action.decision in ("summarise", "drop"))

    def count_given(self, positions: Iterable[int]) -> int:
        """The number of messages, as they were given, that the messages at these positions come from."""
        return len(placed_at(positions, self.places))

    def placed(self, actions: tuple[Action, ...]) -> tuple[Action, ...]:
        """These actions by the positions that the messages were given at."""
        places = self.places
        if places is None:
            return actions
        return tuple(replace(each, first=places[each.first], last=places[each.last]) for each in actions)


NEWEST = "newest exchanges stay verbatim"


def describe(exchange: ViewExchange) -> str:
    """Short description of an exchange: its role, or the tools it calls."""
    calls = [call.name for call in exchange.original.calls]
    if calls:
        shown = ", ".join(dict.fromkeys(calls))
        return f"{len(calls)} tool call{'s' if len(calls) > 1 else ''} ({shown[:60]})"
    return f"{exchange.original.messages[0].role} message"


def actions_of(
    exchanges: Iterable[ViewExchange], gone: Iterable[ViewExchange], refer: Callable[[ViewMessage, int], str | None]
) -> tuple[Action, ...]:
    """One action for each exchange of the history, in order of position. `refer` names the text of a part."""
    left = {id(exchange) for exchange in gone}
    ordered = sorted(
        (exchange for exchange in exchanges if exchange.first is not None), key=lambda exchange: exchange.first or 0
    )
    why = reasons([exchange for exchange in ordered if id(exchange) not in left])
    return tuple(
        _action(
            exchange, refer if id(exchange) in left else None, "; ".join(filter(None, (NEWEST, why.get(id(exchange)))))
        )
        for exchange in ordered
    )


def _action(exchange: ViewExchange, refer: Callable[[ViewMessage, int], str | None] | None, why: str) -> Action:
    """The action of an exchange. `refer` is given if it was removed; `why` is why it stays where nothing demands it."""
    assert exchange.first is not None
    assert exchange.last is not None
    return Action(
        decision=exchange.decision,
        first=exchange.first,
        last=exchange.last,
        what=describe(exchange),
        reason="; ".join(exchange.reasons) or exchange.kept_as or why,
        tokens_before=exchange.tokens_before,
        tokens_after=0 if refer else exchange.tokens,
        references=tuple(
            exchange.references if refer is None else dict.fromkeys([*_names(exchange, refer), *exchange.references])
        ),
    )


def _names(exchange: ViewExchange, refer: Callable[[ViewMessage, int], str | None]) -> Iterator[str]:
    """The references of every text in an exchange; an empty one has none."""
    for entry in exchange.entries:
        for index, part in enumerate(entry.message.parts):
            has_words = isinstance(part, Text | Reasoning | ToolCall | ToolResult) and (
                words_of(part) or not entry.whole
            )
            if has_words and (name := refer(entry, index)) is not None:
                yield name
