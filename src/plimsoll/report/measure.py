"""What a conversation weighs, held against what its provider counted and what may be sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from plimsoll.compaction.meter import ContextMeter
from plimsoll.formats.system_text import system_message
from plimsoll.light.brief import Fact, ShortRepr, pluralize
from plimsoll.light.dataclass import dataclass, field
from plimsoll.message import FormatName, Message
from plimsoll.records.usage import Usage
from plimsoll.report.figures import number, share, when
from plimsoll.report.weights import WeightTables, weigh
from plimsoll.tokens.calibrate import Calibrator
from plimsoll.tokens.counter import message_counter_for
from plimsoll.tokens.framing import MessageCounter
from plimsoll.tokens.registry import model_info

Base: TypeAlias = Literal["window", "budget"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Measure(ShortRepr):
    """One conversation by one counter. All shares are of `base_tokens`: the window, or the budget that the user has set."""

    label: str
    format: str
    model: str
    counter: str
    exact: bool
    window_tokens: int
    base: Base
    base_tokens: int
    weights: WeightTables
    likely_tokens: int
    """What `weights` are likely to be; they are that themselves where the counter is exact, or corrected by usage."""
    usage: Usage | None = None
    """The newest request as its provider counted it."""
    is_of_view: bool = True
    """Whether that request was made of what is measured, and not before its newest compaction."""

    def _facts(self) -> Iterable[Fact]:
        yield "size", self.heading
        yield "messages", pluralize(self.weights.messages, "message")

    @property
    def heading(self) -> str:
        """In one line: how large it is, and what share of what."""
        total = self.weights.total_tokens
        return f"{self.label}: {number(total)} tokens, {share(total, self.base_tokens)} of {self.whole}"

    @property
    def whole(self) -> str:
        """What shares are shares of."""
        return f"the {self.base} of {number(self.base_tokens)}"

    @property
    def counted(self) -> str:
        """How it was counted."""
        likely = f"an upper bound; about {number(self.likely_tokens)} are likely"
        how = (
            "exact"
            if self.exact
            else likely
            if self.likely_tokens < self.weights.tokens
            else "by what the provider reported"
        )
        return f"{self.format}, {self.model}, counted with {self.counter}: {how}"

    @property
    def reported(self) -> str | None:
        """The newest request as the provider counted it, and how much of it is not in the file."""
        usage, unseen = self.usage, self.weights.unseen_tokens
        if usage is None:
            return None
        size = f"{number(usage.prompt_tokens)} tokens ({share(usage.prompt_tokens, self.base_tokens)})"
        cached = f", {number(usage.cached_tokens)} of them from its cache" if usage.cached_tokens else ""
        answer = f"; its answer {usage.id}: {pluralize(usage.completion_tokens, 'token')}" if usage.id else ""
        about = "" if self.exact else "about "
        beyond = f"; {about}{number(unseen)} of it are not in this file (system text, tools)" if unseen else ""
        before = "" if self.is_of_view else "; before the newest compaction"
        at = "" if usage.at_ms is None else f", {when(usage.at_ms)}"
        return f"newest request as the provider counted it{at}: {size}{cached}{answer}{beyond}{before}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "label": self.label,
            "format": self.format,
            "model": self.model,
            "window_tokens": self.window_tokens,
            "base": self.base,
            "base_tokens": self.base_tokens,
            "counter": self.counter,
            "exact": self.exact,
            "estimate": self.likely_tokens,
            "usage": None if self.usage is None else self.usage.to_dict(),
            **self.weights.to_dict(),
        }


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
