"""What fills the context window of a file or a list of messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from plimsoll.api.fit import plan
from plimsoll.compaction.meter import ContextMeter, checked_tools, meter_for
from plimsoll.formats.intake import received
from plimsoll.formats.registry import decode_all, format_named, format_of
from plimsoll.light.dataclass import replace
from plimsoll.message import FormatName, MessageLike
from plimsoll.policy.policy import PolicyChoice
from plimsoll.policy.validation import integer, text_or_none
from plimsoll.protocols import TokenCounter
from plimsoll.records.usage import Usage
from plimsoll.report.inspecting import inspection_of
from plimsoll.report.inspection import Inspection
from plimsoll.report.measure import Measure, RecordedRequest, Subject, measured
from plimsoll.report.story import Mark
from plimsoll.session.transfer.recorded_usage import recorded
from plimsoll.tokens.counter import counter_for
from plimsoll.tokens.registry import DEFAULT_MODEL, look_up
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.values import Conversation, Transcript
from plimsoll.transcripts.writing import time_ms

Inspectable: TypeAlias = "str | PathLike[str] | bytes | Transcript | Conversation | Sequence[MessageLike]"
"""A file's path or bytes, the result of `load_file`, or a list of messages."""


def token_counter(model: str = DEFAULT_MODEL) -> TokenCounter:
    """The text counter that `count_tokens` uses for a model, with `name`, `exact`, `count` and `upper`."""
    return counter_for(model)


def measure(
    source: Inspectable,
    *,
    model: str | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
    format: FormatName | None = None,
    label: str | None = None,
) -> Measure:
    """Measure a conversation: its tokens by role, kind of content and tool, and its largest messages.

    Args:
        source: a file's path or bytes, the result of `load_file`, or a list of messages.
        model: the model to count for; None: the one the file names, else gpt-4o.
        tools: tool definitions sent with a list of messages.
        format: the format of the messages; None: detect it.
        label: the title of the report; None: the file's name.

    Returns: the tables as data. If the file records usage, sizes are calibrated by it.

    Raises: FormatError, LimitExceeded, MissingExtra, SettingError, StoreUnusable.

    """
    loaded = load(source, tools, format)
    text_or_none("model", model)
    subject = _subject(loaded, model, None, _label(source, loaded, label))
    return measured(subject, _meter(loaded, subject, is_given=model is not None))


def inspect(  # noqa: PLR0913 - the options of fit, and a label
    source: Inspectable,
    *,
    max_tokens: int | None = None,
    model: str | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
    policy: PolicyChoice = "fill",
    format: FormatName | None = None,
    label: str | None = None,
) -> Inspection:
    """Report what fills the window of a conversation, and what a compaction would remove and why. Changes nothing.

    Args:
        source: as in `measure`.
        max_tokens: the budget, tools included; None: the one of the file's tool, else the model's window.
        model: as in `measure`.
        tools: as in `measure`.
        policy: as in `fit`.
        format: as in `measure`.
        label: as in `measure`.

    Returns: the measure, the load lines and the plan as data; `html()` renders them as a page.

    Raises: as `measure`, CannotFit.

    """
    loaded = load(source, tools, format)
    text_or_none("model", model)
    if max_tokens is not None:
        integer("max_tokens", max_tokens, least=1)
    subject = _subject(loaded, model, max_tokens, _label(source, loaded, label))
    meter = _meter(loaded, subject, is_given=model is not None, policy=policy)
    planned = plan(
        loaded.view(),
        max_tokens=meter.budget.tokens + meter.budget.tools_tokens,
        model=meter.model,
        tools=loaded.tools or None,
        policy=meter.policy,
        format=loaded.format,
        system=loaded.system,
        counter=None if meter.counter.exact else meter.counter,
    ).report
    return inspection_of(subject, meter, planned, partial(_past, loaded))


def load(
    source: Inspectable, tools: Sequence[Mapping[str, Any]] = (), format: FormatName | None = None
) -> Transcript | Conversation:
    """The conversation of a file's path or bytes, or of a list of messages. Raises as `load_file` does."""
    if isinstance(source, Transcript):
        return source
    if isinstance(source, Conversation):
        return source if format is None else replace(source, format=format)
    if isinstance(source, str | PathLike | bytes):
        return load(load_file(source), tools, format)
    content = received(source)
    return Conversation(
        format=format_of(content, format).name,
        messages=tuple(content.wires),
        tools=tuple(map(dict, checked_tools(tools) or ())),
    )


def _label(source: Inspectable, loaded: Transcript | Conversation, label: str | None) -> str:
    name = text_or_none("label", label) or (Path(source).name if isinstance(source, str | PathLike) else "messages")
    return f"{name} ({loaded.tool})" if isinstance(loaded, Transcript) else name


def _subject(loaded: Transcript | Conversation, model: str | None, max_tokens: int | None, label: str) -> Subject:
    transcript = loaded if isinstance(loaded, Transcript) else None
    return Subject(
        label=label,
        format=loaded.format,
        model=model or loaded.model or DEFAULT_MODEL,
        messages=decode_all(loaded.view(), loaded.format)[1],
        system=loaded.system,
        tools=loaded.tools,
        places=() if transcript is None else tuple(viewed.messages for viewed in transcript.viewed),
        recorded=None if transcript is None or model is not None else _recorded(transcript),
        budget_tokens=max_tokens,
    )


def _recorded(transcript: Transcript) -> RecordedRequest:
    """The usage that the file records for its newest request."""
    known = recorded(
        transcript,
        replace(
            meter_for(format_named(transcript.format), model=_registered_model(transcript.model)),
            system=transcript.system,
        ),
    )
    newest = transcript.usage
    usage = None if newest is None else next(one for one in reversed(known.usages) if one.position == newest.position)
    return RecordedRequest(
        usage=usage,
        calibration=known.calibration,
        window_tokens=known.window_tokens,
        budget_tokens=known.budget_tokens,
        is_of_view=known.is_of_view,
    )


def _registered_model(model: str | None) -> str | None:
    """The file's model if the registry knows it: an unknown one would only shrink the window."""
    return model if model is not None and look_up(model).match != "unknown" else None


def _meter(
    loaded: Transcript | Conversation, subject: Subject, *, is_given: bool, policy: PolicyChoice = "fill"
) -> ContextMeter:
    """The meter of a conversation, calibrated by recorded usage."""
    recorded = subject.recorded
    meter = meter_for(
        format_named(loaded.format),
        model=subject.model if is_given else _registered_model(loaded.model),
        max_tokens=subject.budget_tokens or (None if recorded is None else recorded.budget_tokens),
        tools=loaded.tools or None,
        policy=policy,
    )
    meter = replace(meter, system=loaded.system)
    return meter if recorded is None else meter.calibrated(recorded.calibration)


def _past(loaded: Transcript | Conversation) -> tuple[Iterable[Usage], Iterable[Mark]]:
    """The requests and compactions that a file records."""
    return (loaded.usages, _marks(loaded)) if isinstance(loaded, Transcript) else ((), ())


def _marks(transcript: Transcript) -> Iterator[Mark]:
    """The compactions of the tool whose times are known."""
    for made in transcript.compactions:
        if (at_ms := time_ms(made.at)) is not None:
            label = f"{made.trigger} compaction"
            yield Mark(label=label, at_ms=at_ms, tokens_before=made.tokens_before, tokens_after=made.tokens_after)
