"""What fills a window, and what would leave it: everything a report shows, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from plimsoll.compaction.plan import Action
from plimsoll.light.brief import Fact, JsonReady, ShortRepr
from plimsoll.light.dataclass import dataclass, field, fields
from plimsoll.report.figures import named

if TYPE_CHECKING:
    from plimsoll.compaction.result import Report
    from plimsoll.report.measure import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionGroup(JsonReady):
    """Actions of one kind for one reason. Sizes in tokens."""

    decision: str
    reason: str
    exchanges: int
    tokens_before: int
    tokens_after: int
    messages: str = ""
    """Which messages, by their names: `m3, m5-m8`."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Inspection(ShortRepr):
    """One conversation under one budget. Sizes are of whole requests, in tokens, with what is not in the file.

    `level` is how full it is, `lines` where the load lines are. `plan` is the report of the plan for it; its sizes are of the
    view alone.
    """

    measure: Measure
    budget_tokens: int
    level: str
    lines: Mapping[str, int]
    plan: Report
    places: Sequence[tuple[int, ...]] = ()
    """The positions in the history that the plan's positions mean; empty where they are the same."""
    draw: Callable[[], str] = field(default=str, compare=False)
    """Draws the page."""

    def _facts(self) -> Iterable[Fact]:
        yield "size", self.measure.heading
        yield "level", f"level {self.level}"
        yield "plan", repr(self.plan)

    @property
    def groups(self) -> list[ActionGroup]:
        """The plan's actions by what they do and why."""
        return grouped(self.plan.actions, self.places)

    def html(self) -> str:
        """All of it as one page of HTML without scripts. That of a session is drawn while the session is open."""
        return self.draw()

    def __getstate__(self) -> list[Any]:
        """Copy and pickle with the drawn page."""
        return [partial(str, self.html()) if each.name == "draw" else getattr(self, each.name) for each in fields(self)]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            **self.measure.to_dict(),
            "budget_tokens": self.budget_tokens,
            "level": self.level,
            "lines": dict(self.lines),
            "plan": self.plan.to_dict(),
            "groups": [group.to_dict() for group in self.groups],
        }


def grouped(actions: Sequence[Action], places: Sequence[tuple[int, ...]] = ()) -> list[ActionGroup]:
    """Actions by decision and reason, those that free the most first, those that keep everything last.

    `places` are the positions in the history that the actions' positions mean, where they are not the same.
    """
    groups: dict[tuple[str, str], list[Action]] = {}
    for action in actions:
        groups.setdefault((action.decision, action.reason), []).append(action)
    found = [
        ActionGroup(
            decision=decision,
            reason=reason,
            exchanges=len(members),
            tokens_before=sum(action.tokens_before for action in members),
            tokens_after=sum(action.tokens_after for action in members),
            messages=named(_places(members, places)),
        )
        for (decision, reason), members in groups.items()
    ]
    return sorted(found, key=lambda group: (group.decision == "keep", group.tokens_after - group.tokens_before))


def _places(actions: Sequence[Action], places: Sequence[tuple[int, ...]]) -> set[int]:
    """The positions in the history of the messages that actions are about."""
    found = (place for action in actions for place in range(action.first, action.last + 1))
    return {position for place in found for position in (places[place] if places else (place,))}
