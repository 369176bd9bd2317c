"""What fills a window, and what would leave it: everything a report shows, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plimsoll.compaction.plan import Action
from plimsoll.fitted import Report
from plimsoll.formats.format import SystemText
from plimsoll.gauge import Gauge
from plimsoll.message import Message
from plimsoll.report.weights import Weights, weigh
from plimsoll.systemtext import system_message


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionGroup:
    """Actions of one kind for one reason. Sizes in tokens."""

    decision: str
    reason: str
    exchanges: int
    tokens_before: int
    tokens_after: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """One conversation under one budget. `budget_tokens` is what messages may use; `window_tokens` what the model has.

    `lines` are the load lines in tokens. `plan` is the report of the plan for it.
    """

    label: str
    format: str
    model: str
    counter: str
    exact: bool
    window_tokens: int
    budget_tokens: int
    level: str
    lines: Mapping[str, int]
    weights: Weights
    plan: Report

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "label": self.label,
            "format": self.format,
            "model": self.model,
            "counter": self.counter,
            "exact": self.exact,
            "window_tokens": self.window_tokens,
            "budget_tokens": self.budget_tokens,
            "level": self.level,
            "lines": dict(self.lines),
            **self.weights.to_dict(),
            "plan": self.plan.to_dict(),
            "groups": [group.to_dict() for group in grouped(self.plan.actions)],
        }


def inspect(  # noqa: PLR0913 - what there is to know of a conversation
    messages: Sequence[Message],
    gauge: Gauge,
    plan: Report,
    *,
    label: str,
    model: str,
    tools: Sequence[Mapping[str, Any]] = (),
    system: SystemText = None,
) -> Inspection:
    """Weigh a conversation and put the plan for it beside that."""
    from plimsoll.tokens.registry import look_up  # noqa: PLC0415 - the table is read only where it is shown

    apart = None if system is None else system_message(system)
    weights = weigh(messages, gauge.messages, tools=tools, system=apart)
    lines = gauge.lines
    return Inspection(
        label=label,
        format=gauge.format.name,
        model=model,
        counter=gauge.counter.name,
        exact=gauge.counter.exact,
        window_tokens=look_up(model).window_tokens,
        budget_tokens=gauge.budget.tokens,
        level=str(plan.level),
        lines={"target": lines.target, "soft": lines.soft, "warn": lines.warn, "hard": lines.hard},
        weights=weights,
        plan=plan,
    )


def grouped(actions: Sequence[Action]) -> list[ActionGroup]:
    """Actions by decision and reason, those that free the most first, those that keep everything last."""
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
        )
        for (decision, reason), members in groups.items()
    ]
    return sorted(found, key=lambda group: (group.decision == "keep", group.tokens_after - group.tokens_before))
