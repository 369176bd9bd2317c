"""A report on what fills a session's window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from plimsoll.compaction.drive import drive
from plimsoll.compaction.result import CompactionOptions
from plimsoll.formats.registry import decode_all
from plimsoll.records.usage import Usage
from plimsoll.records.values import Compaction
from plimsoll.report.inspecting import inspection_of
from plimsoll.report.inspection import Inspection
from plimsoll.report.measure import Measure, RecordedRequest, Subject, measured
from plimsoll.report.story import Mark
from plimsoll.session.compact import previewed
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.transfer.recorded_usage import ANSWER_TOKENS
from plimsoll.session.usage_reports import newest_report, usages
from plimsoll.tokens.registry import DEFAULT_MODEL


def measure_of(recorder: SessionRecorder) -> Measure:
    """Measure a session's view."""
    return measured(_subject(recorder), recorder.meter)


def inspection_now(recorder: SessionRecorder) -> Inspection:
    """A session's view and the plan for it, made without a model. The rest of the log is read when the page is rendered."""
    report = drive(previewed(recorder, CompactionOptions(), asks_model=False), None).report

    def past() -> tuple[Iterable[Usage], Iterable[Mark]]:
        with recorder.lock:
            return usages(recorder.log), _marks(recorder.chain().compactions())

    return inspection_of(_subject(recorder), recorder.meter, report, past, plans_history=True)


def _subject(recorder: SessionRecorder) -> Subject:
    view, options = recorder.written(), recorder.kept.options
    is_other = recorder.kept.is_other_model
    return Subject(
        label=recorder.log.name,
        format=recorder.meter.format.name,
        model=options.get("model") or DEFAULT_MODEL,
        messages=decode_all(list(view), recorder.meter.format.name)[1],
        system=recorder.meter.system,
        tools=tuple(options.get("tools") or ()),
        places=tuple(view.origins),
        recorded=None if is_other else _recorded(recorder, options),
        budget_tokens=options.get("max_tokens") if is_other else None,
    )


def _recorded(recorder: SessionRecorder, options: Mapping[str, Any]) -> RecordedRequest:
    """The recorded request options. A window taken from an imported file counts as the session's own until a budget is set."""
    source: Mapping[str, Any] = next(iter(recorder.notes("source")), {})
    window, reserve = source.get("window"), ANSWER_TOKENS.get(source.get("tool", ""), 0)
    budget = options.get("max_tokens")
    is_window = isinstance(window, int) and budget == window - reserve
    usage, is_of_view = newest_report(recorder.log, recorder.state.base)
    return RecordedRequest(
        usage=usage,
        calibration=recorder.state.facts.calibration,
        window_tokens=window if is_window else None,
        budget_tokens=budget,
        is_set=budget is not None and not is_window,
        is_of_view=is_of_view,
    )


def _marks(found: Sequence[Compaction]) -> Iterator[Mark]:
    for made in found:
        if made.trigger != "import":
            label = f"{made.id} ({made.trigger}{', undone' if made.undone else ''})"
            after = made.tokens_after
            yield Mark(label=label, at_ms=made.at_ms, tokens_before=made.tokens_before, tokens_after=after)
