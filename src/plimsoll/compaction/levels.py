"""When a view is due for a compaction nobody asked for: its line, its policy, and what is new since the last one."""

from __future__ import annotations

from dataclasses import replace

from plimsoll.policy.budget import Check, Level, ResolvedLines, check_of, recommend
from plimsoll.policy.policy import Policy


def check_view(tokens: int, policy: Policy, budget_tokens: int, *, new_tokens: int | None = None) -> Check:
    """The check of a view of that size under a policy.

    A policy that fills is due only when the view is over the budget, whatever line it passed. Any other is due from
    its `act_at` on, if a step is allowed there and `new_tokens` (those since the last compaction, None without one)
    are `clear_at_least` of the budget: a provider's prompt cache is not broken for little. Past hard nothing
    waits.
    """
    check = check_of(tokens, policy.lines.resolve(budget_tokens), act_at=policy.act_at)
    due = policy.acts_at(tokens, budget_tokens) and (
        check.level >= Level.emergency or _worth_it(policy, budget_tokens, new_tokens)
    )
    threshold = budget_tokens if policy.fill else check.threshold
    return replace(check, should_compact=due, threshold=threshold)


def _worth_it(policy: Policy, budget_tokens: int, new_tokens: int | None) -> bool:
    return new_tokens is None or new_tokens >= policy.clear_at_least * budget_tokens


def with_unseen(check: Check, lines: ResolvedLines, unseen: int) -> Check:
    """The check with what the provider counts beyond the view added to each size. The level stays as it is."""
    if not unseen:
        return check
    return replace(
        check,
        current_tokens=check.current_tokens + unseen,
        max_tokens=check.max_tokens + unseen,
        threshold=check.threshold + unseen,
        recommendation=recommend(check.current_tokens, lines, unseen=unseen),
        unseen_tokens=unseen,
    )
