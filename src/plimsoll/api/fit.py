"""One call without session or disk: fit, plan, count.

Messages that fit and are valid for the provider are decoded, counted and returned unchanged. The compaction engine is only
imported for a conversation over its budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from plimsoll.compaction.meter import ContextMeter, checked_tools, meter_for
from plimsoll.compaction.result import Fitted, Report
from plimsoll.formats.detect import RequestContext
from plimsoll.formats.intake import decode_received, received
from plimsoll.formats.registry import decode_all, format_of
from plimsoll.formats.system_text import checked_system, repaired, system_message
from plimsoll.formats.wire import copied, copied_value
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.policy.validation import text_or_none
from plimsoll.tokens.counter import counter_for, message_counter_for
from plimsoll.tokens.registry import DEFAULT_MODEL

if TYPE_CHECKING:
    from plimsoll.compaction.drive import AsyncSummarizer, Summarizer
    from plimsoll.compaction.one_call import MeasuredConversation
    from plimsoll.compaction.result import Plan
    from plimsoll.formats.format import SystemText
    from plimsoll.message import FormatName, M, Message, MessageLike
    from plimsoll.policy.policy import PolicyChoice
    from plimsoll.tokens.counter import CounterChoice

READ_CHARS_PER_TOKEN = 16
"""Characters to count ahead, newest first, for each token of the budget of a long history. Text has fewer characters a token; the
rest allows for messages that are cut to fit."""

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

    Exact if the model's vocabulary is public, else a safe estimate.

    Args:
        text_or_messages: a text, or the messages of a request.
        model: the model whose vocabulary and framing to use.
        tools: tool definitions sent with the messages.
        format: the messages' format; None: detect it.
        counter: replaces the model's text counter, as in `fit`.

    Raises: CounterError, FormatError, SettingError.

    """
    if isinstance(text_or_messages, str):
        return counter_for(model, choice=counter).upper(text_or_messages)
    _, messages = decode_all(text_or_messages, format, RequestContext(model=model, tools=tools))
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
    """Return the messages within the budget, valid for the provider and in their own format. The input is never changed.

    Args:
        messages: dicts in a provider's format, or objects of its SDK.
        max_tokens: the budget for messages and tools; None: the window of `model` less its reply.
        model: the model whose tokens and window to use; None without a budget: gpt-4o, noted in `report.note`.
        tools: tool definitions sent with the messages. They count towards the budget.
        policy: "fill" keeps messages that fit and otherwise uses the whole budget; "ladder" acts from the soft line on and
            compacts to the target. A preset's name, a Policy, or a mapping of fields that replace those of "fill".
        summarizer: a function that sends a SummaryRequest to a model and returns the answer; None: rules write the summary.
        query: the next question; content that answers it is kept longer.
        format: the messages' format; None: detect it.
        system: Anthropic's separate system text. It counts towards the budget and is returned in `.system`.
        counter: replaces the model's text counter: a function of a text, an object with `count(text)`, or "estimate".

    Returns: the messages, the input positions of each, and a report of the actions taken.

    Raises: CannotFit, CounterError, FormatError, LimitExceeded, SettingError.

    """
    request = _request(messages, max_tokens, model, tools, policy, format, system, counter)
    if summarizer is None and text_or_none("query", query) is None and _is_unchanged(request):
        return _unchanged(request)
    return _plan(request, summarizer, query).apply()


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
    """The async form of `fit`. The work runs in a thread and does not block the event loop.

    A `summarizer` that is a coroutine function is awaited in the event loop; any other is called in a thread.
    """
    from plimsoll.compaction.drive import adrive, checked  # noqa: PLC0415 - imports asyncio
    from plimsoll.session.concurrency import THREADS, in_worker  # noqa: PLC0415

    asked, query = checked(summarizer), text_or_none("query", query)
    request = await in_worker(partial(_request, messages, max_tokens, model, tools, policy, format, system, counter))
    conversation = await in_worker(partial(_conversation, request))
    outline = await adrive(conversation.planned(query, asks=asked is not None), asked, THREADS)
    return await in_worker(partial(_with_report, conversation.plan_of(outline)))


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
    """Plan what `fit` would do with the same options. Raises what `fit` raises."""
    return _plan(_request(messages, max_tokens, model, tools, policy, format, system, counter), summarizer, query)


def _with_report(plan: Plan[M]) -> Fitted[M]:
    """Apply a plan and build the report at once: later it would be built in the event loop."""
    fitted = plan.apply()
    _ = fitted.report
    return fitted


class _Request(NamedTuple):
    """The checked and decoded arguments of a call."""

    meter: ContextMeter
    messages: list[Message]
    tools: list[Mapping[str, Any]]
    system: SystemText
    note: str | None
    places: tuple[int, ...] | None
    """For each message the position it was given at; None if these are the same."""


def _request(  # noqa: PLR0913, PLR0917 - the options of fit, checked in one place
    messages: Sequence[Any],
    max_tokens: int | None,
    model: str | None,
    tools: Sequence[Mapping[str, Any]] | None,
    policy: PolicyChoice,
    format: FormatName | None,
    system: SystemText,
    counter: CounterChoice,
) -> _Request:
    system = checked_system(system)
    taken = received(messages)
    found = format_of(taken, format, RequestContext(model=model, system=system, tools=tools))
    decoded = decode_received(taken, found)
    meter = meter_for(found, model=model, max_tokens=max_tokens, tools=tools, policy=policy, counter=counter)
    meter.messages.prime(decoded, chars_max=meter.budget.tokens * READ_CHARS_PER_TOKEN)
    is_assumed = max_tokens is None and model is None and meter.policy.window_tokens is None
    note = ASSUMED_NOTE if is_assumed else None
    return _Request(meter, decoded, checked_tools(tools) or [], system, note, taken.places)


def _is_unchanged(request: _Request) -> bool:
    """True if the messages fit, the policy demands nothing, none is merged with another, and the provider accepts all."""
    meter, budget = request.meter, request.meter.budget.tokens
    tokens = meter.reserve_tokens
    if meter.format.rules.results_first and any(
        one.results and other.results for one, other in pairwise(request.messages)
    ):
        return False
    if request.system is not None:
        tokens += meter.messages.message(system_message(request.system))
    for message in reversed(request.messages):
        if tokens > budget:
            return False
        tokens += meter.messages.message(message)
    if tokens > budget or meter.policy.acts_at(tokens, budget):
        return False
    wires = [message.wire or {} for message in request.messages]
    return not meter.format.validate(wires, system=request.system, tools=request.tools)


def _unchanged(request: _Request) -> Fitted[Any]:
    return Fitted(
        messages=[copied(message.wire or {}) for message in request.messages],
        origins=tuple((position,) for position in request.places or range(len(request.messages))),
        system=copied_value(request.system),
        report=cast("Report", partial(_report, request)),
    )


def _report(request: _Request) -> Report:
    return _plan(request, None, None).report


def _plan(request: _Request, summarizer: Summarizer | None, query: str | None) -> Plan[Any]:
    from plimsoll.compaction.drive import checked, drive  # noqa: PLC0415 - see above

    summarize = checked(summarizer)
    conversation = _conversation(request)
    outline = drive(conversation.planned(text_or_none("query", query), asks=summarize is not None), summarize)
    return conversation.plan_of(outline)


def _conversation(request: _Request) -> MeasuredConversation:
    from plimsoll.compaction.one_call import conversation  # noqa: PLC0415 - see above

    return conversation(request.meter, request.messages, repaired(request.system), request.note, request.places)
