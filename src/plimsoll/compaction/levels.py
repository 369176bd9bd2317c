"""Decide whether an automatic compaction is due, by load line, policy and tokens added since the last one."""

from __future__ import annotations

from plimsoll.light.dataclass import replace
from plimsoll.policy.budget import Check, Level, ResolvedLines, check_of, recommend
from plimsoll.policy.policy import Policy


def check_view(tokens: int, policy: Policy, budget_tokens: int, *, new_tokens: int | None = None) -> Check:
    """The check of a view of this size under a policy.

    A policy that fills the budget compacts only above the budget. Others compact from their `act_at` line on, if a step is
    allowed there and `new_tokens` (added since the last compaction, None without one) are at least `clear_at_least` of the
    budget, so that the provider's prompt cache is not invalidated for little gain. Above the hard line that minimum is ignored.
    """
    check = check_of(tokens, policy.lines.resolve(budget_tokens), act_at=policy.act_at)
    due = policy.acts_at(tokens, budget_tokens) and (
        check.level >= Level.emergency or _worth_it(policy, budget_tokens, new_tokens)
    )
    threshold = budget_tokens if policy.fill else check.threshold
    return replace(check, should_compact=due, threshold=threshold)


def _worth_it(policy: Policy, budget_tokens: int, new_tokens: int | None) -> bool:
    return new_tokens is None or new_tokens >= policy.clear_at_least * budget_tokens


def untouched_tokens_max(policy: Policy, budget_tokens: int) -> int:
    """The largest view that fits and that a policy leaves alone. A cut to more than this would be followed by another one."""
    lines = policy.lines.resolve(budget_tokens)
    acting = (line for line in (lines.soft, lines.warn, lines.hard) if policy.acts_at(line, budget_tokens))
    return min(budget_tokens, next(acting, budget_tokens + 1) - 1)


def with_unseen(check: Check, lines: ResolvedLines, unseen: int) -> Check:
    """The check with the provider's overhead added to each size. The level does not change."""
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
