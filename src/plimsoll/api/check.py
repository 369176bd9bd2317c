"""How full a view of some messages is, without a session: `check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll.compaction.levels import check_view
from plimsoll.compaction.meter import meter_for
from plimsoll.formats.detect import RequestContext
from plimsoll.formats.format import SystemText
from plimsoll.formats.registry import decode_all
from plimsoll.light.dataclass import replace
from plimsoll.message import FormatName, MessageLike
from plimsoll.policy.budget import Check
from plimsoll.policy.policy import PolicyChoice, policy_of
from plimsoll.tokens.counter import CounterChoice


def check(  # noqa: PLR0913 - the options of fit
    messages: Sequence[MessageLike],
    *,
    max_tokens: int | None = None,
    model: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    policy: PolicyChoice = "ladder",
    format: FormatName | None = None,
    system: SystemText = None,
    counter: CounterChoice = None,
) -> Check:
    """Whether these messages are due for a compaction under a policy, how urgently, and at which line. Changes nothing.

    Takes the options of `fit`, but `policy` defaults to that of sessions: `fit` leaves messages that fit alone, a session
    compacts from the soft line on. A session's own `check()` also requires enough new content since the last compaction.
    Raises CounterError, FormatError, SettingError.
    """
    found, decoded = decode_all(messages, format, RequestContext(model=model, system=system, tools=tools))
    meter = meter_for(
        found, model=model, max_tokens=max_tokens, tools=tools, policy=policy_of(policy, "ladder"), counter=counter
    )
    budget, reserve_tokens = meter.budget.tokens, replace(meter, system=system).reserve_tokens
    tokens = reserve_tokens + sum(map(meter.messages.message, decoded))
    checked = check_view(tokens, meter.policy, budget)
    return replace(checked, should_compact=checked.should_compact or tokens > budget)
