"""A conversation on the scales: which counter, which window, and what is sent beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from plimsoll.compaction.meter import DEFAULT_MODEL, Gauge, gauge_for
from plimsoll.formats.registry import decode_all
from plimsoll.formats.system_text import system_message
from plimsoll.policy.policy import PolicyChoice
from plimsoll.report.measure import Base, Measure
from plimsoll.report.weights import weigh
from plimsoll.tokens.counter import message_counter_for
from plimsoll.tokens.registry import look_up, model_info

if TYPE_CHECKING:
    from plimsoll.cli.recorded import RecordedRequest
    from plimsoll.cli.source import Material
    from plimsoll.message import Message
    from plimsoll.tokens.framing import MessageCounter


def gauge_of(
    material: Material, *, model: str | None, max_tokens: int | None = None, policy: PolicyChoice = "fill"
) -> Gauge:
    """The gauge of a conversation, corrected by what was reported; another model than its own knows nothing of that."""
    if material.session is not None:
        return material.session.gauge
    recorded = material.recorded if model is None else None
    named = model or material.model
    known = named if model is not None or (named is not None and look_up(named).match != "unknown") else None
    format = decode_all((), material.format)[0]
    budget = max_tokens or (None if recorded is None else recorded.budget_tokens)
    gauge = gauge_for(format, model=known, max_tokens=budget, tools=material.tools or None, policy=policy)
    gauge = replace(gauge, system=material.system)
    return gauge if recorded is None else gauge.calibrated(recorded.calibration)


def measured(
    material: Material, gauge: Gauge, messages: list[Message], *, model: str | None, max_tokens: int | None = None
) -> Measure:
    """Weigh a conversation: by likely numbers where something was reported, else by safe ones."""
    recorded = material.recorded if model is None else None
    usage = None if recorded is None else recorded.usage
    likely = _likely(recorded, gauge)
    counter = likely.upper if usage is None else likely
    apart = None if material.system is None else system_message(material.system)
    weights = weigh(
        messages,
        counter,
        tools=material.tools,
        system=apart,
        places=material.places,
        unseen_tokens=0 if recorded is None else _unseen(recorded, gauge),
    )
    beside = [] if apart is None else [apart]
    base, base_tokens = _base(recorded, gauge.model, max_tokens)
    return Measure(
        label=material.label,
        format=material.format,
        model=model or material.model or DEFAULT_MODEL,
        counter=counter.name,
        exact=counter.exact,
        window_tokens=base_tokens if base == "window" else model_info(gauge.model).window_tokens,
        base=base,
        base_tokens=base_tokens,
        weights=weights,
        likely_tokens=likely.messages([*beside, *messages]) + likely.tools(material.tools),
        usage=usage,
        is_of_view=recorded is None or recorded.is_of_view,
    )


def likely_counter(material: Material, gauge: Gauge, *, model: str | None) -> MessageCounter:
    """Counts as close as can be, by what was reported where something was."""
    return _likely(material.recorded if model is None else None, gauge)


def _likely(recorded: RecordedRequest | None, gauge: Gauge) -> MessageCounter:
    calibration = recorded.calibration if recorded is not None and recorded.calibration.differences else None
    return message_counter_for(gauge.model, None if gauge.counter.exact else calibration, choice=gauge.choice)


def _unseen(recorded: RecordedRequest, gauge: Gauge) -> int:
    """Tokens of the newest request that are not counted here: system text and tools that its host keeps to itself.

    None where the request is not known: it may have been made of messages that have left since.
    """
    usage = recorded.usage
    if usage is None or usage.counted_tokens is None:
        return 0
    ratio = 1.0 if gauge.counter.exact else recorded.calibration.ratio
    return max(0, usage.prompt_tokens - round(usage.counted_tokens * ratio))


def _base(recorded: RecordedRequest | None, model: str, max_tokens: int | None) -> tuple[Base, int]:
    """What shares are shares of: the budget that the user has set, else the window."""
    if max_tokens is not None:
        return "budget", max_tokens
    if recorded is not None and recorded.is_set and recorded.budget_tokens is not None:
        return "budget", recorded.budget_tokens
    if recorded is not None and recorded.window_tokens is not None:
        return "window", recorded.window_tokens
    return "window", model_info(model).window_tokens
