"""What the provider counted for a conversation, as far as its file or its session says it; and what shares are shares of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plimsoll.dataclass import dataclass

if TYPE_CHECKING:
    from plimsoll.records.usage import Usage
    from plimsoll.session.recorder import Chronicle
    from plimsoll.tokens.calibrate import Calibrator
    from plimsoll.transcripts import Transcript


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


def of_file(found: Transcript) -> RecordedRequest:
    """What another tool's file says."""
    from dataclasses import replace

    from plimsoll.compaction.meter import gauge_for
    from plimsoll.formats.registry import format_named
    from plimsoll.session.transfer.recorded_usage import recorded
    from plimsoll.tokens.registry import look_up

    model = found.meta.model if found.meta.model and look_up(found.meta.model).match != "unknown" else None
    gauge = gauge_for(format_named(found.format), model=model)
    told = recorded(found, replace(gauge, system=found.system))
    newest = found.usage
    usage = None if newest is None else next(one for one in reversed(told.usages) if one.position == newest.position)
    return RecordedRequest(
        usage=usage,
        calibration=told.calibration,
        window_tokens=told.window_tokens,
        budget_tokens=told.budget_tokens,
        is_of_view=told.is_of_view,
    )


def of_session(chronicle: Chronicle, remembered: Mapping[str, Any], options: Mapping[str, Any]) -> RecordedRequest:
    """What a session was told. A window that its file named is its own until the user sets a budget."""
    from plimsoll.session.transfer.recorded_usage import ANSWER_TOKENS
    from plimsoll.session.usage_reports import newest_report

    source: Mapping[str, Any] = next(iter(chronicle.notes("source")), {})
    window, reserve = source.get("window"), ANSWER_TOKENS.get(source.get("tool", ""), 0)
    budget = options.get("max_tokens") or remembered.get("max_tokens")
    is_window = isinstance(window, int) and not options.get("model") and budget == window - reserve
    usage, is_of_view = newest_report(chronicle.log, chronicle.timeline.base)
    return RecordedRequest(
        usage=usage,
        calibration=chronicle.timeline.calibration,
        window_tokens=window if is_window else None,
        budget_tokens=budget,
        is_set=budget is not None and not is_window,
        is_of_view=is_of_view,
    )
