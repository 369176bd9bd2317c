"""Measuring a conversation: which counter, which window, and what is sent with the messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from plimsoll.compaction.meter import ContextMeter
from plimsoll.dataclass import dataclass
from plimsoll.formats.system_text import system_message
from plimsoll.message import FormatName, Message
from plimsoll.records.usage import Usage
from plimsoll.report.measure import Base, Measure
from plimsoll.report.weights import weigh
from plimsoll.tokens.calibrate import Calibrator
from plimsoll.tokens.counter import message_counter_for
from plimsoll.tokens.framing import MessageCounter
from plimsoll.tokens.registry import model_info


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """The newest request as it was counted there and here, and what may be sent. Sizes in tokens."""

    usage: Usage | None
    calibration: Calibrator
    window_tokens: int | None
    """The window that it was sent to; None where only the model's is known."""
    budget_tokens: int | None
    """What a request may have of it, or what the user has set; None: what the model's window leaves."""
    is_set: bool = False
    """Whether the user has set the budget."""
    is_of_view: bool = True
    """Whether the usage is of the present view, and not of one before the newest compaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A conversation to measure, wherever it comes from."""

    label: str
    format: FormatName
    model: str
    messages: Sequence[Message] = field(repr=False)
    system: Any = None
    tools: Sequence[Mapping[str, Any]] = ()
    places: Sequence[tuple[int, ...]] = ()
    """For each message the positions in the history that it comes from; empty where they are the messages themselves."""
    recorded: RecordedRequest | None = None
    """What the provider counted, where that was recorded for this model."""
    budget_tokens: int | None = None
    """The budget that the user has set, of which shares are shown."""


def measured(subject: Subject, meter: ContextMeter) -> Measure:
    """The measure of a conversation: by likely numbers where something was reported, else by safe ones."""
    recorded = subject.recorded
    usage = None if recorded is None else recorded.usage
    likely = likely_counter(subject, meter)
    counter = likely.upper if usage is None else likely
    apart = None if subject.system is None else system_message(subject.system)
    weights = weigh(
        subject.messages,
        counter,
        tools=subject.tools,
        system=apart,
        places=subject.places,
        unseen_tokens=0 if recorded is None else _unseen(recorded, meter),
    )
    extra = [] if apart is None else [apart]
    base, base_tokens = _base(subject, meter.model)
    return Measure(
        label=subject.label,
        format=subject.format,
        model=subject.model,
        counter=counter.name,
        exact=counter.exact,
        window_tokens=base_tokens if base == "window" else model_info(meter.model).window_tokens,
        base=base,
        base_tokens=base_tokens,
        weights=weights,
        likely_tokens=likely.messages([*extra, *subject.messages]) + likely.tools(subject.tools),
        usage=usage,
        is_of_view=recorded is None or recorded.is_of_view,
    )


def likely_counter(subject: Subject, meter: ContextMeter) -> MessageCounter:
    """Counts as close as can be, corrected by what was reported where something was."""
    recorded = subject.recorded
    calibration = recorded.calibration if recorded is not None and recorded.calibration.differences else None
    return message_counter_for(meter.model, None if meter.counter.exact else calibration, choice=meter.choice)


def _unseen(recorded: RecordedRequest, meter: ContextMeter) -> int:
    """Tokens of the newest request that are not counted here: system text and tools that its host keeps to itself.

    None where the request is not known: it may have been made of messages that have left since.
    """
    usage = recorded.usage
    if usage is None or usage.counted_tokens is None:
        return 0
    ratio = 1.0 if meter.counter.exact else recorded.calibration.ratio
    return max(0, usage.prompt_tokens - round(usage.counted_tokens * ratio))


def _base(subject: Subject, model: str) -> tuple[Base, int]:
    """What shares are shares of: the budget that the user has set, else the window."""
    recorded = subject.recorded
    if subject.budget_tokens is not None:
        return "budget", subject.budget_tokens
    if recorded is not None and recorded.is_set and recorded.budget_tokens is not None:
        return "budget", recorded.budget_tokens
    if recorded is not None and recorded.window_tokens is not None:
        return "window", recorded.window_tokens
    return "window", model_info(model).window_tokens
