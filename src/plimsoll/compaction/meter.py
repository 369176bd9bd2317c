"""The format, token counters, budget and policy of one conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from plimsoll.compaction.tool_names import TOOL_NAMES, ToolNames
from plimsoll.errors import FormatError, SettingError
from plimsoll.formats.atoms import has_reasoning
from plimsoll.formats.cache_marks import NO_MARKS, LeadingMarks, leading_marks
from plimsoll.formats.detect import tool_list
from plimsoll.formats.format import Format, SystemText
from plimsoll.formats.system_text import system_message
from plimsoll.formats.wire import exact
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.limits import RECALL_OUTPUT_TOKENS_MAX
from plimsoll.message import Message, Opaque
from plimsoll.policy.budget import Budget, Level, LoadLines, ResolvedLines, Status, level_of, status_of
from plimsoll.policy.policy import Policy, PolicyChoice, policy_of
from plimsoll.tokens.counter import counter_for, margin_of, message_counter_for, steps_of
from plimsoll.tokens.framing import MessageCounter
from plimsoll.tokens.registry import DEFAULT_MODEL

if TYPE_CHECKING:
    from plimsoll.compaction.task import Task
    from plimsoll.compaction.view_message import ViewMessage
    from plimsoll.compaction.working_view import Referrer, WorkingView
    from plimsoll.protocols import TokenCounter
    from plimsoll.summary.frame import Language
    from plimsoll.summary.ledger import Ledger
    from plimsoll.tokens.calibrate import Calibrator
    from plimsoll.tokens.counter import CounterChoice

VIEW_SHARE_MIN = 20
"""The provider's overhead never reduces a view below the budget divided by this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMeter:
    """Counts tokens of one conversation. Counts are upper bounds, and exact where the model's vocabulary is public."""

    format: Format
    policy: Policy
    budget: Budget
    counter: TokenCounter
    messages: MessageCounter
    model: str = DEFAULT_MODEL
    choice: CounterChoice = None
    """The counter chosen by the caller in place of the model's."""
    recall: bool = False
    """True if the model has the tools to search and read removed messages."""
    tool_names: ToolNames = TOOL_NAMES
    system: SystemText = None
    """System text sent apart from the messages, as for Anthropic: counted, but not part of the view."""
    notes: str | None = None
    """Notes of earlier sessions, which every view shows and its entries do not contain."""
    tool_marks: LeadingMarks = NO_MARKS
    """Cache marks in the tool definitions, as Anthropic counts them."""
    unseen_excess: int = 0
    """Tokens that the provider counts beyond what was given here and that the budget does not include."""

    @property
    def tool_answer_tokens_max(self) -> int:
        """Maximum tokens of a recall tool's answer: small enough not to be cut on arrival and to leave room for others."""
        limit = self.policy.tool_result_limit(self.budget.tokens)
        return min(RECALL_OUTPUT_TOKENS_MAX, self.budget.tokens // 4, limit or RECALL_OUTPUT_TOKENS_MAX)

    @property
    def leading_marks(self) -> LeadingMarks:
        """Cache marks in system text and tools, before the first message."""
        own = leading_marks(self.system, ())
        return LeadingMarks(self.tool_marks.number + own.number, self.tool_marks.has_short or own.has_short)

    @property
    def lines(self) -> ResolvedLines:
        """The load lines of this budget, in tokens."""
        return self.policy.lines.resolve(self.budget.tokens)

    @property
    def reserve_tokens(self) -> int:
        """Fixed tokens of every view, besides its messages."""
        system = 0 if self.system is None else self.messages.message(system_message(self.system))
        return self.messages.messages(()) + system + self.notes_tokens

    @property
    def notes_tokens(self) -> int:
        """Tokens of the notes of earlier sessions."""
        if self.notes is None:
            return 0
        from plimsoll.compaction.notes_shown import notes_message  # noqa: PLC0415 - most sessions show none

        return self.count_message(notes_message(self.notes))

    def calibrated(self, calibration: Calibrator) -> ContextMeter:
        """The meter corrected by the provider's reports: estimates by their ratio, the budget by tokens it counts beyond them."""
        exact, margin = self.counter.exact, margin_of(self.model, self.choice)
        tuned = self._holding_back(calibration.unseen(before=margin, exact=exact))
        is_counting = getattr(self.counter, "steps", None) == steps_of(calibration, margin)
        if exact or not calibration.differences or is_counting:
            return tuned
        return replace(
            tuned,
            counter=counter_for(self.model, calibration, choice=self.choice),
            messages=message_counter_for(self.model, calibration, choice=self.choice).upper,
        )

    def _holding_back(self, unseen: int) -> ContextMeter:
        """The meter with `unseen` tokens reserved in the budget, as far as that leaves room for a view."""
        whole = replace(self.budget, unseen_tokens=0)
        held = min(unseen, whole.tokens - max(1, whole.tokens // VIEW_SHARE_MIN))
        budget = replace(whole, unseen_tokens=max(0, held))
        policy, excess = _in_order(self.policy, whole, budget), unseen - max(0, held)
        if (budget, policy, excess) == (self.budget, self.policy, self.unseen_excess):
            return self
        return replace(self, budget=budget, policy=policy, unseen_excess=excess)

    def estimated(self, messages: Iterable[Message]) -> int:
        """Uncalibrated tokens of a request with these messages and the tools, for comparison with the provider's count."""
        counting = message_counter_for(self.model, choice=self.choice)
        system = [] if self.system is None else [system_message(self.system)]
        return counting.messages([*system, *messages]) + self.budget.tools_tokens + self.notes_tokens

    def estimates(self, messages: Iterable[Message]) -> list[int]:
        """Results of `estimated` for the first 0, 1, 2, ... of these messages."""
        counting = message_counter_for(self.model, choice=self.choice)
        return list(accumulate(map(counting.message, messages), initial=self.estimated(())))

    def with_policy(self, policy: Policy) -> ContextMeter:
        """The meter with another policy."""
        whole = replace(self.budget, unseen_tokens=0)
        return replace(self, policy=_in_order(policy, whole, self.budget))

    def reported_view(self, reported: int) -> int:
        """Tokens of the messages of a request, given the provider's count of the whole request."""
        return max(0, reported - self.budget.tools_tokens - self.budget.unseen_tokens - self.reserve_tokens)

    def count_message(self, message: Message) -> int:
        """Tokens of a message as sent. An edited or inserted message is counted by its encoding.

        A message with an opaque part is, too: the part is counted with all its fields, and the encoding omits those never sent.
        """
        is_separate = message.role == "system" and message.format is None and self.format.rules.user_first
        is_sealed = any(isinstance(part, Opaque) for part in message.parts)
        if not is_separate and (message.wire is None or message.edited or is_sealed):
            return self.messages.message(self.format.decode(self.format.encode(message), 0))
        return self.messages.message(message)

    def binds(self, message: Message) -> bool:
        """True if the thinking in a message is valid only with the messages before it unchanged, for this model or the next one."""
        if not has_reasoning(message):
            return False
        from plimsoll.tokens.registry import look_up  # noqa: PLC0415 - the table is read only where it is asked

        said_by = (message.wire or {}).get("model")
        return any(look_up(name).binds_thinking for name in (said_by, self.model) if isinstance(name, str))

    def bound(self, messages: Iterable[tuple[int, Message]]) -> list[int]:
        """The positions of messages with bound thinking."""
        return [position for position, message in messages if self.binds(message)]

    def count_from_newest(self, entries: Sequence[ViewMessage]) -> int:
        """Tokens of a view, counted from the newest message on and only until the budget is exceeded."""
        load = self.reserve_tokens
        for entry in reversed(entries):
            if load > self.budget.tokens:
                break
            load += entry.tokens
        return load

    def total(self, entries: Iterable[ViewMessage]) -> int:
        """Tokens of a view."""
        return self.reserve_tokens + sum(entry.tokens for entry in entries)

    def status(self, tokens: int) -> Status:
        """How full a view of that size is, with what the provider counts beyond it."""
        return status_of(tokens, self.lines, unseen=self.budget.unseen_tokens)

    def level(self, tokens: int) -> Level:
        """The load level of a view of this size."""
        return level_of(tokens, self.lines)

    @property
    def voiced(self) -> Policy:
        """The policy with a summary role that the format supports: Anthropic messages have no system role."""
        if self.policy.summary_role == "system" and self.format.rules.user_first:
            return replace(self.policy, summary_role="user")
        return self.policy

    def working_view(
        self,
        entries: Sequence[ViewMessage],
        *,
        refer: Referrer | None = None,
        language: Language = "en",
    ) -> WorkingView:
        """A WorkingView of these messages."""
        from plimsoll.compaction.view_message import exchanges_of  # noqa: PLC0415
        from plimsoll.compaction.working_view import WorkingView, no_reference  # noqa: PLC0415 - a view that fits needs none

        return WorkingView(
            exchanges=exchanges_of(list(entries)),
            format=self.format,
            count_message=self.count_message,
            counter=self.counter,
            reserve_tokens=self.reserve_tokens,
            language=language,
            refer=refer or no_reference,
            recall=self.tool_names.recall if self.recall else None,
            list_items_max=self.policy.result_list_items_max,
            binds=self.binds,
        )

    def task(  # noqa: PLR0913 - the options of a compaction
        self,
        tokens: int,
        *,
        ledger: Ledger | None = None,
        covers: tuple[int, int] | None = None,
        pins: frozenset[int] = frozenset(),
        query: str | None = None,
        ask_model: bool = False,
        original: Callable[[int], Message | None] | None = None,
        level: Level | None = None,
    ) -> Task:
        """The compaction task for a view of this size. `level` asks for a stronger step than the size does."""
        from plimsoll.compaction.task import Task  # noqa: PLC0415 - as in view
        from plimsoll.summary.ledger import Ledger  # noqa: PLC0415

        measured = self.level(tokens)
        if tokens > self.budget.tokens:
            measured = Level.emergency
        working = max(measured, level or Level.none)
        return Task(
            policy=self.voiced,
            budget_tokens=self.budget.tokens,
            goal_tokens=self.policy.target_tokens(self.budget.tokens),
            level=working,
            load=measured,
            steps=self.policy.steps_at(working),
            ledger=ledger or Ledger.empty(),
            covers=covers,
            pins=pins,
            query=query,
            ask_model=ask_model and self.policy.use_summarizer,
            original=original,
        )


def meter_for(  # noqa: PLR0913 - the options of fit
    format: Format,
    *,
    model: str | None = None,
    max_tokens: int | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    policy: PolicyChoice = "fill",
    counter: CounterChoice = None,
) -> ContextMeter:
    """The meter of a conversation. `max_tokens` is the budget including tools, by default the model's window.

    Raises SettingError for invalid options, naming the field.
    """
    if model is not None and (not isinstance(model, str) or not model):
        raise SettingError("model", "must be the name of a model")
    chosen, counted_as = policy_of(policy, "fill"), model or DEFAULT_MODEL
    tools = checked_tools(tools)
    counting = message_counter_for(counted_as, choice=counter).upper
    return ContextMeter(
        format=format,
        policy=chosen,
        budget=_budget(chosen, model, max_tokens, counting.tools(tools)),
        counter=counter_for(counted_as, choice=counter),
        messages=counting,
        model=counted_as,
        choice=counter,
        tool_marks=leading_marks(None, tools) if tools else NO_MARKS,
    )


def _in_order(policy: Policy, whole: Budget, budget: Budget) -> Policy:
    """The policy with load lines in ascending order for smaller budgets too: token values that would not be become shares."""
    try:
        policy.lines.resolve(budget.tokens)
    except SettingError:
        lines = policy.lines.resolve(whole.tokens)
        shares = {name: max(1, getattr(lines, name)) / whole.tokens for name in ("soft", "warn", "hard", "target")}
        return replace(policy, lines=LoadLines(**shares))
    return policy


def checked_tools(tools: object) -> list[Mapping[str, Any]] | None:
    """Tool definitions as objects. Raises SettingError for anything else."""
    if tools is None:
        return None
    try:
        found = [exact(tool) for tool in tool_list(tools)]
    except FormatError as error:
        raise SettingError("tools", error.reason) from error.__cause__
    if not all(isinstance(tool, Mapping) for tool in found):
        raise SettingError("tools", "each tool definition must be an object")
    return found


def _budget(policy: Policy, model: str | None, max_tokens: int | None, tools_tokens: int) -> Budget:
    """The budget: `max_tokens` if given, else the policy's window, else the model's window less the reply's reserve."""
    if max_tokens is not None:
        return Budget.of(max_tokens) if not tools_tokens else Budget(max_tokens, tools_tokens=tools_tokens)
    if model is None and policy.window_tokens is not None:
        return policy.budget(tools_tokens=tools_tokens)
    from plimsoll.tokens.registry import model_info  # noqa: PLC0415 - the table is read only where a window is asked for

    info = model_info(model or DEFAULT_MODEL)
    window = min(info.window_tokens, policy.window_tokens or info.window_tokens)
    reserve = policy.output_reserve_tokens
    if reserve is None:
        reserve = min(info.max_output_tokens, window // 2)
    longest_input = info.max_input_tokens or window
    return Budget(min(window, longest_input + reserve), output_reserve_tokens=reserve, tools_tokens=tools_tokens)
