"""An inspection of a conversation and the plan for it, with the page that is drawn of it when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from plimsoll.compaction.meter import ContextMeter
from plimsoll.compaction.result import Report
from plimsoll.light.dataclass import replace
from plimsoll.records.usage import Usage
from plimsoll.report.inspection import Inspection
from plimsoll.report.measure import Subject, likely_counter, measured
from plimsoll.report.story import Mark, Story, points_of, strips_of


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
