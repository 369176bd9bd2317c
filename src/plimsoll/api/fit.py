"""One call, no session, no disk: fit, plan, count."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from plimsoll.compaction.drive import AsyncSummarizer, Summarizer, adrive, checked, drive
from plimsoll.compaction.engine import compact, is_futile, reworded, untouched
from plimsoll.compaction.join import origins, parted
from plimsoll.compaction.meter import DEFAULT_MODEL, Gauge, checked_tools, gauge_for
from plimsoll.compaction.piece import Piece
from plimsoll.compaction.plan import Outline
from plimsoll.compaction.repair import Arranged, fed, placed
from plimsoll.compaction.result import Fitted, Plan, Report, report_of
from plimsoll.compaction.reunite import as_ordered
from plimsoll.compaction.settle import ordered
from plimsoll.compaction.task import SummaryReply, SummaryRequest, Task
from plimsoll.compaction.writing import written
from plimsoll.dataclass import dataclass
from plimsoll.formats.detect import Beside
from plimsoll.formats.format import Format, SystemText
from plimsoll.formats.registry import decode_all
from plimsoll.formats.system_text import repaired, system_message, system_text
from plimsoll.message import FormatName, M, Message, MessageLike
from plimsoll.policy.policy import PolicyChoice
from plimsoll.session.concurrency import THREADS, in_worker
from plimsoll.summary.frame import Language
from plimsoll.summary.language import language_of
from plimsoll.summary.reread import span_of
from plimsoll.tokens.counter import counter_for, message_counter_for
from plimsoll.tokens.own import CounterChoice
from plimsoll.validation import text_or_none

READ_CHARS_PER_TOKEN = 16
"""Of a history over its budget the newest part is counted, about this much for each token of the budget: a view holds a few
characters a token, and what is cut to fit into it was longer before."""

ASSUMED_NOTE = f"neither a budget nor a model was given: the window of {DEFAULT_MODEL} is assumed"


def count_tokens(
    text_or_messages: str | Sequence[MessageLike],
    *,
    model: str | None = DEFAULT_MODEL,
    tools: Sequence[Mapping[str, Any]] | None = None,
    format: FormatName | None = None,
    counter: CounterChoice = None,
) -> int:
    """Tokens of a text, or of a request with these messages and tools.

    Exact where the model's vocabulary is public; else an estimate that errs on the safe side. `counter` replaces the model's
    counter of texts: a function of a text, an object with `count(text)`, or "estimate".
    Raises CounterError, FormatError, SettingError.
    """
    if isinstance(text_or_messages, str):
        return counter_for(model, choice=counter).upper(text_or_messages)
    _, messages = decode_all(text_or_messages, format, Beside(model=model, tools=tools))
    counting = message_counter_for(model, choice=counter).upper
    return counting.messages(messages) + counting.tools(checked_tools(tools))


def fit(  # noqa: PLR0913 - the options of the contract
    messages: Sequence[M],
    *,
    max_tokens: int | None = None,
    model: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    policy: PolicyChoice = "fill",
    summarizer: Summarizer | None = None,
    query: str | None = None,
    format: FormatName | None = None,
    system: SystemText = None,
    counter: CounterChoice = None,
) -> Fitted[M]:
    """The messages within the budget, valid for the provider, in the format they came in.

    `max_tokens` is the budget for messages and tools; without it the window of `model` less its reply, of gpt-4o where there is
    no model either (`report.note` then says so). Policy "fill" leaves
    alone what fits and else uses the whole budget; "ladder" acts from the soft line on and comes down to the target. `query`
    keeps what answers it longer. `summarizer` is called with a SummaryRequest, which is the messages to send to a model, and
    gives its answer back. `system` is Anthropic's system text, sent apart; it counts, and comes back in `.system`.
    `policy` is a preset's name, a Policy, or a mapping of fields in place of those of "fill". `counter` replaces the model's
    counter of texts: a function of a text, an object with `count(text)`, or "estimate"; every size is then by it.
    The input is never changed. Raises CannotFit, CounterError, FormatError, LimitExceeded, SettingError.
    """
    return plan(
        messages,
        max_tokens=max_tokens,
        model=model,
        tools=tools,
        policy=policy,
        summarizer=summarizer,
        query=query,
        format=format,
        system=system,
        counter=counter,
    ).apply()


async def afit(  # noqa: PLR0913 - as fit
    messages: Sequence[M],
    *,
    max_tokens: int | None = None,
    model: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    policy: PolicyChoice = "fill",
    summarizer: AsyncSummarizer | None = None,
    query: str | None = None,
    format: FormatName | None = None,
    system: SystemText = None,
    counter: CounterChoice = None,
) -> Fitted[M]:
    """`fit` for callers that await. The work is done in a thread, so the event loop is not blocked.

    A `summarizer` that is a coroutine function is awaited in the event loop; any other is called in a thread.
    """
    asked = checked(summarizer)
    work = await in_worker(partial(_begin, messages, max_tokens, model, tools, policy, format, system, counter))
    outline = await adrive(_planned(work, query, asks=asked is not None), asked, THREADS)
    return await in_worker(partial(_with_report, _plan_of(work, outline)))


def plan(  # noqa: PLR0913 - as fit
    messages: Sequence[M],
    *,
    max_tokens: int | None = None,
    model: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    policy: PolicyChoice = "fill",
    summarizer: Summarizer | None = None,
    query: str | None = None,
    format: FormatName | None = None,
    system: SystemText = None,
    counter: CounterChoice = None,
) -> Plan[M]:
    """What `fit` would do with the same options, without doing it. Raises what `fit` raises."""
    asked = checked(summarizer)
    work = _begin(messages, max_tokens, model, tools, policy, format, system, counter)
    outline = drive(_planned(work, query, asks=asked is not None), asked)
    return _plan_of(work, outline)


def _with_report(plan: Plan[M]) -> Fitted[M]:
    """What a plan leads to, its report made as well: made later it would be in the event loop."""
    fitted = plan.apply()
    _ = fitted.report
    return fitted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """One conversation, read and weighed."""

    gauge: Gauge
    pieces: list[Piece]
    as_said: list[Piece]
    """The same in the order in which the messages came, where the provider takes that order."""
    language: Language
    system: SystemText
    made_at: int
    is_assumed: bool
    """Whether the budget is that of a model which nobody named."""


def _begin(  # noqa: PLR0913, PLR0917 - the options of fit, checked in one place
    messages: Sequence[Any],
    max_tokens: int | None,
    model: str | None,
    tools: Sequence[Mapping[str, Any]] | None,
    policy: PolicyChoice,
    format: FormatName | None,
    system: SystemText,
    counter: CounterChoice,
) -> _Work:
    found, decoded = decode_all(messages, format, Beside(model=model, system=system, tools=tools))
    gauge = gauge_for(found, model=model, max_tokens=max_tokens, tools=tools, policy=policy, counter=counter)
    gauge.messages.prime(decoded, chars_max=gauge.budget.tokens * READ_CHARS_PER_TOKEN)
    items = fed(decoded, found)
    arranged = placed(items, found, moves=True)
    system = repaired(system)
    beside = _beside(system, gauge)
    pieces = beside + [gauge.piece(item) for item in arranged]
    as_said = _as_said(items, arranged, decoded, found)
    return _Work(
        gauge=gauge,
        pieces=pieces,
        as_said=pieces if as_said is arranged else beside + [gauge.piece(item) for item in as_said],
        language=language_of(decoded, gauge.policy.language),
        system=system,
        made_at=len(decoded),
        is_assumed=max_tokens is None and model is None and gauge.policy.window_tokens is None,
    )


def _as_said(
    items: Sequence[Arranged], arranged: list[Arranged], decoded: Sequence[Message], format: Format
) -> list[Arranged]:
    """The messages in the order they came in where the provider takes that; else `arranged` itself."""
    messages = [item.message for item in arranged]
    if messages == decoded:
        return arranged
    if format.rules.results_anywhere:
        found = placed(items, format, moves=False)
        return arranged if [item.message for item in found] == messages else found
    if format.validate([said.wire or {} for said in decoded]):
        return arranged
    return [Arranged(message=said, position=at) for at, said in enumerate(decoded)]


def _beside(system: SystemText, gauge: Gauge) -> list[Piece]:
    """The system text that travels beside the messages, as a piece."""
    if system is None:
        return []
    message = system_message(system)
    return [Piece(message=message, weigh=gauge.messages.message)]


def _planned(work: _Work, query: str | None, *, asks: bool) -> Generator[SummaryRequest, SummaryReply, Outline]:
    text_or_none("query", query)
    gauge, tokens = work.gauge, work.gauge.load(work.as_said)
    task = gauge.task(tokens, focus=query, ask_model=asks)
    if not (tokens > gauge.budget.tokens or gauge.policy.acts_at(tokens, gauge.budget.tokens)):
        return untouched(work.as_said, task, tokens)
    pieces = parted(work.pieces, gauge.format)
    task = _recollected(task, pieces)
    draft = gauge.draft(pieces, language=work.language)
    fits = tokens <= task.budget_tokens
    # Pieces that went out joined cost more apart: a view that fits must not be cut because these do not.
    room = max(task.budget_tokens, draft.total) if fits else task.budget_tokens
    outline = yield from compact(draft, replace(task, budget_tokens=room))
    if fits and (not outline.changed or (is_futile(task, tokens, outline.tokens_after) and not outline.arrived)):
        return replace(untouched(work.as_said, task, tokens), note=outline.note)
    if outline.tokens_after > task.budget_tokens:
        outline = yield from compact(gauge.draft(pieces, language=work.language), task)
    outline = replace(outline, budget_tokens=task.budget_tokens)
    return outline if work.as_said is work.pieces else replace(outline, pieces=as_ordered(outline.pieces))


def _recollected(task: Task, pieces: Sequence[Piece]) -> Task:
    """The task with what earlier summaries among the messages cover: here nothing else is known of what left before.

    Messages are numbered on from them: where one stands for thirty, the next is the thirty-first after it.
    """
    start, end, shift = 0, 0, 0
    for at, piece in enumerate(pieces):
        if piece.origin != "summary" or piece.position is None:
            continue
        place = piece.position + shift
        first, last = span_of(piece.message.text, place)
        start, end = min(start or first, first), max(end, last)
        beside = sum(other.position == piece.position for other in pieces[at + 1 : at + 2])
        shift += last + beside - place - 1
    return replace(task, covers=(start, end), shift=shift) if end else task


def _plan_of(work: _Work, outline: Outline) -> Plan[Any]:
    def reword(outline: Outline, text: str) -> Outline:
        task: Task = work.gauge.task(outline.tokens_before)
        return reworded(outline, text, work.gauge.draft((), language=work.language), task)

    if work.is_assumed:
        outline = replace(outline, note="; ".join(note for note in (outline.note, ASSUMED_NOTE) if note))
    return Plan(
        outline=outline, made_at=(work.made_at, None, ""), _write=lambda outline: _write(work, outline), _reword=reword
    )


def _write(work: _Work, outline: Outline) -> Fitted[Any]:
    pieces, system = list(outline.pieces), work.system
    if system is not None:
        system = system_text(pieces.pop(0).message, system)
    if not work.gauge.format.rules.results_anywhere:
        pieces = ordered(pieces, work.gauge.format)  # what stood between results may have left, or become words
    return Fitted(
        messages=written(pieces, work.gauge.format, replace(work.gauge, system=system).marks_beside),
        origins=origins(pieces, work.gauge.format),
        system=system,
        make_report=partial(_report, work, outline),
    )


def _report(work: _Work, outline: Outline) -> Report:
    """The report; what was not counted for the view is counted for it, all at once."""
    work.gauge.messages.prime([piece.message for piece in work.pieces])
    return report_of(outline)
