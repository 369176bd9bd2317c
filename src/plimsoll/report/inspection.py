"""What fills a window, and what would leave it: everything a report shows, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from plimsoll.compaction.meter import ContextMeter
from plimsoll.compaction.plan import Action
from plimsoll.compaction.result import Report
from plimsoll.light.brief import Fact, JsonReady, ShortRepr
from plimsoll.light.dataclass import dataclass
from plimsoll.records.usage import Usage
from plimsoll.report.figures import named
from plimsoll.report.measure import Measure, Subject, likely_counter, measured
from plimsoll.report.story import Mark, Story, points_of, strips_of


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


def inspection_of(
    subject: Subject,
    meter: ContextMeter,
    plan: Report,
    past: Callable[[], tuple[Iterable[Usage], Iterable[Mark]]],
    *,
    plans_history: bool = False,
) -> Inspection:
    """A conversation and the plan for it.

    `past` are the requests and compactions so far, asked for when the page is drawn. If `plans_history`, the plan names messages
    by their positions in the history, else by those in the view.
    """
    counter, places = likely_counter(subject, meter), subject.places
    lines, unseen = meter.lines, meter.budget.unseen_tokens
    marks = {"target": lines.target, "soft": lines.soft, "warn": lines.warn, "hard": lines.hard}
    inspection = Inspection(
        measure=measured(subject, meter),
        budget_tokens=meter.budget.tokens + unseen,
        level=str(meter.level(plan.tokens_before)),
        lines={name: tokens + unseen for name, tokens in marks.items()},
        plan=plan,
        places=() if plans_history else places,
    )

    def draw() -> str:
        from plimsoll.report.page import page  # noqa: PLC0415 - only needed to draw a page

        usages, marks = past()
        strips = strips_of(
            subject.messages, counter, plan.actions, names=places, places=places if plans_history else ()
        )
        return page(inspection, Story(strips=strips, points=points_of(usages), marks=tuple(marks)))

    return replace(inspection, draw=draw)


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
