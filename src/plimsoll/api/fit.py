"""One call, no session, no disk: fit, plan, count.

What fits, and is taken by the provider as it is, needs nothing of the machinery that compacts: it is decoded, counted and
checked here, and goes back as it came. That machinery is imported when a conversation is over its budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from plimsoll.compaction.meter import DEFAULT_MODEL, Gauge, checked_tools, gauge_for
from plimsoll.compaction.result import Fitted, Report
from plimsoll.formats.detect import Beside
from plimsoll.formats.registry import decode_all
from plimsoll.formats.system_text import repaired, system_message
from plimsoll.formats.wire import copied, copied_value
from plimsoll.tokens.counter import counter_for, message_counter_for
from plimsoll.tokens.counter import preload as load_vocabulary
from plimsoll.validation import text_or_none

if TYPE_CHECKING:
    from plimsoll.compaction.drive import AsyncSummarizer, Summarizer
    from plimsoll.compaction.one_call import Conversation
    from plimsoll.compaction.result import Plan
    from plimsoll.formats.format import SystemText
    from plimsoll.message import FormatName, M, Message, MessageLike
    from plimsoll.policy.policy import PolicyChoice
    from plimsoll.tokens.own import CounterChoice

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

    Exact where the model's vocabulary is public; else an estimate that errs on the safe side.

    Args:
        text_or_messages: a text, or the messages of a request.
        model: whose vocabulary and framing count.
        tools: tool definitions that are sent with the messages.
        format: the messages' format; None: look at them.
        counter: replaces the model's counter of texts, as in `fit`.

    Raises: CounterError, FormatError, SettingError.

    """
    if isinstance(text_or_messages, str):
        return counter_for(model, choice=counter).upper(text_or_messages)
    _, messages = decode_all(text_or_messages, format, Beside(model=model, tools=tools))
    counting = message_counter_for(model, choice=counter).upper
    return counting.messages(messages) + counting.tools(checked_tools(tools))


def preload(model: str | None = DEFAULT_MODEL) -> None:
    """Load what counting for a model and compacting need, about a quarter of a second, so that the first call does not wait.

    For servers before they take requests. It may run in a thread while other work goes on. Raises SettingError.
    """
    load_vocabulary(model)
    import plimsoll.compaction.one_call  # noqa: F401, PLC0415 - for what it loads


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
    """The messages within the budget, valid for the provider, in the format they came in. The input is never changed.

    Args:
        messages: dicts in a provider's format, or objects of its SDK.
        max_tokens: the budget for messages and tools; None: the window of `model` less its reply.
        model: whose tokens and window count; None with no budget either: gpt-4o, which `report.note` then says.
        tools: tool definitions that are sent with the messages. They count.
        policy: "fill" leaves alone what fits and else uses the whole budget; "ladder" acts from the soft line on and comes down
            to the target. A preset's name, a Policy, or a mapping of fields that replace those of "fill".
        summarizer: a function that asks a model with a SummaryRequest and gives its answer back; None: rules write the summary.
        query: what is asked next: what answers it stays longer.
        format: the messages' format; None: look at them.
        system: Anthropic's system text, which is sent apart. It counts, and comes back in `.system`.
        counter: replaces the model's counter of texts: a function of a text, an object with `count(text)`, or "estimate".

    Returns: the messages, for each where it came from, and the report of what was done and why.

    Raises: CannotFit, CounterError, FormatError, LimitExceeded, SettingError.

    """
    given = _given(messages, max_tokens, model, tools, policy, format, system, counter)
    if summarizer is None and text_or_none("query", query) is None and _goes_as_it_is(given):
        return _as_it_came(given)
    return _plan(given, summarizer, query).apply()


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
    from plimsoll.compaction.drive import adrive, checked  # noqa: PLC0415 - an event loop is not always there
    from plimsoll.session.concurrency import THREADS, in_worker  # noqa: PLC0415

    asked = checked(summarizer)
    given = await in_worker(partial(_given, messages, max_tokens, model, tools, policy, format, system, counter))
    conversation = await in_worker(partial(_conversation, given))
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
    """What `fit` would do with the same options, without doing it. Raises what `fit` raises."""
    return _plan(_given(messages, max_tokens, model, tools, policy, format, system, counter), summarizer, query)


def _with_report(plan: Plan[M]) -> Fitted[M]:
    """What a plan leads to, with its report: made later it would be made in the event loop."""
    fitted = plan.apply()
    _ = fitted.report
    return fitted


class _Given(NamedTuple):
    """What a call was given, read."""

    gauge: Gauge
    messages: list[Message]
    tools: list[Mapping[str, Any]]
    system: SystemText
    note: str | None


def _given(  # noqa: PLR0913, PLR0917 - the options of fit, checked in one place
    messages: Sequence[Any],
    max_tokens: int | None,
    model: str | None,
    tools: Sequence[Mapping[str, Any]] | None,
    policy: PolicyChoice,
    format: FormatName | None,
    system: SystemText,
    counter: CounterChoice,
) -> _Given:
    found, decoded = decode_all(messages, format, Beside(model=model, system=system, tools=tools))
    gauge = gauge_for(found, model=model, max_tokens=max_tokens, tools=tools, policy=policy, counter=counter)
    gauge.messages.prime(decoded, chars_max=gauge.budget.tokens * READ_CHARS_PER_TOKEN)
    is_assumed = max_tokens is None and model is None and gauge.policy.window_tokens is None
    return _Given(gauge, decoded, checked_tools(tools) or [], system, ASSUMED_NOTE if is_assumed else None)


def _goes_as_it_is(given: _Given) -> bool:
    """Whether the messages fit, nothing is due by the policy, none goes out joined to another, and the provider refuses none."""
    gauge, budget = given.gauge, given.gauge.budget.tokens
    tokens = gauge.reserve_tokens
    if gauge.format.rules.results_first and any(
        one.results and other.results for one, other in pairwise(given.messages)
    ):
        return False
    if given.system is not None:
        tokens += gauge.messages.message(system_message(given.system))
    for message in reversed(given.messages):
        if tokens > budget:
            return False
        tokens += gauge.messages.message(message)
    if tokens > budget or gauge.policy.acts_at(tokens, budget):
        return False
    wires = [message.wire or {} for message in given.messages]
    return not gauge.format.validate(wires, system=given.system, tools=given.tools)


def _as_it_came(given: _Given) -> Fitted[Any]:
    return Fitted(
        messages=[copied(message.wire or {}) for message in given.messages],
        origins=tuple((position,) for position in range(len(given.messages))),
        system=copied_value(given.system),
        make_report=partial(_report, given),
    )


def _report(given: _Given) -> Report:
    return _plan(given, None, None).report


def _plan(given: _Given, summarizer: Summarizer | None, query: str | None) -> Plan[Any]:
    from plimsoll.compaction.drive import checked, drive  # noqa: PLC0415 - see above

    asked = checked(summarizer)
    conversation = _conversation(given)
    outline = drive(conversation.planned(text_or_none("query", query), asks=asked is not None), asked)
    return conversation.plan_of(outline)


def _conversation(given: _Given) -> Conversation:
    from plimsoll.compaction.one_call import conversation  # noqa: PLC0415 - see above

    return conversation(given.gauge, given.messages, repaired(given.system), given.note)
