"""Policies: which steps a compaction may take and how much it keeps, as data for the compaction engine.

A preset (policy/presets.py) is a named policy; `policy_named` returns one with any field overridden.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, TypeAlias, Unpack, get_args

from plimsoll.errors import SettingError
from plimsoll.light.brief import JsonReady
from plimsoll.light.dataclass import dataclass, field, fields, replace
from plimsoll.limits import SUMMARIZER_INPUT_TOKENS_MIN
from plimsoll.policy.budget import Budget, Level, LoadLines, Mark, check_mark, level_named, level_of, mark_tokens
from plimsoll.policy.presets import (
    PRESETS,
    Language,
    PolicyFields,
    PresetName,
    Step,
    Strategy,
    SummaryFrame,
    SummaryRole,
)
from plimsoll.policy.validation import boolean, integer, one_of, ratio, short_repr

STEP_LEVELS: Mapping[Step, Level] = MappingProxyType(
    {
        "collapse": Level.normal,
        "offload": Level.normal,
        "clip": Level.aggressive,
        "summarise": Level.aggressive,
        "window": Level.aggressive,
        "ledger": Level.emergency,
    }
)
"""The level from which a step is allowed. Steps of level normal lose nothing."""

_ADAPTIVE: tuple[Step, ...] = ("collapse", "offload", "clip", "summarise", "ledger")

STRATEGIES: Mapping[Strategy, Mapping[str, Any]] = MappingProxyType(
    {
        "adaptive": MappingProxyType({"steps": _ADAPTIVE, "levels_up": 0}),
        "summary": MappingProxyType({"steps": ("summarise", "collapse", "offload", "clip", "ledger"), "levels_up": 0}),
        "pruning": MappingProxyType({"steps": ("collapse", "offload", "clip", "window"), "levels_up": 0}),
        "sliding": MappingProxyType({"steps": ("window",), "levels_up": 0}),
        "aggressive": MappingProxyType({"steps": _ADAPTIVE, "levels_up": 1}),
    }
)
"""The policy fields that each strategy sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(JsonReady):
    """How to keep a view within its budget. Raises SettingError naming a field with an invalid value.

    Under any policy, the newest request, system text, pinned messages and unfinished exchanges are kept, and the result fits the
    budget.
    """

    name: str = "custom"
    """Name of the preset, or a name of your own."""
    source: str = field(default="", compare=False)
    """Where the numbers come from, for people."""

    lines: LoadLines = field(default_factory=LoadLines)
    """The lines from which a compaction is advised, due and urgent, and its target. A mapping may set some of the marks."""
    window_tokens: int | None = None
    """The window to assume if the caller gives neither a model nor a budget."""
    output_reserve_tokens: int | None = None
    """Tokens reserved for the reply; None: the model's own figure."""

    steps: tuple[Step, ...] = _ADAPTIVE
    """Steps that may run, in this order, until the view is at the target."""
    act_at: Level = Level.normal
    """Automatic compactions start at this level; below it a reached line is only reported."""
    levels_up: int = 0
    """Levels above the measured one whose steps are also allowed, once a line is reached."""
    fill: bool = False
    """Use the whole budget: act only above it, and compact to it rather than to the target."""
    clear_at_least: float = 0.40
    """Below the hard line, an automatic compaction waits until this share of the budget is new since the last one."""

    keep_last_messages: int | None = None
    """At most this many of the newest messages are kept verbatim. The tightest of the four caps applies; with none, the target."""
    keep_last_turns: int | None = None
    """The same in turns: a turn is a user request and everything up to the next one."""
    keep_tokens: Mark | None = None
    """The same in tokens."""
    keep_fraction: float | None = None
    """The same as a share of all messages."""
    keep_last_messages_min: int | None = None
    """At least this many of the newest messages are kept, whatever the caps and the target; cut if the budget is too small."""
    keep_fraction_after_failure: float | None = None
    """Replaces `keep_fraction` after a summariser has failed: without its prose, more is kept verbatim."""

    summary_tokens_max: int | None = None
    """The most tokens of a summary; None: only `summary_share` limits it."""
    summary_share: float = 0.10
    """A summary's share of the budget; the smaller of it and `summary_tokens_max` applies."""
    summary_role: SummaryRole = "user"
    """Role of the summary message. Summaries quote tool output: "system" gives it the authority of system text."""
    summary_frame: SummaryFrame = "numbered"
    """The wording that introduces and closes a summary."""
    language: Language = "auto"
    """Language of fixed strings such as summary headings and markers; "auto": that of the conversation."""
    summary_model: str | None = None
    """The model to write summaries with, passed to the summariser as `request.model`."""
    use_summarizer: bool = True
    """Ask the configured summariser, if any, for the prose of a summary."""
    summarizer_attempts: int = 2
    """How many times the summariser is asked before it counts as failed."""
    summarizer_input_tokens_max: int = 24_000
    """The most tokens of one request to the summariser. Longer input is split over several, each extending the previous answer."""
    summarizer_requests_max: int = 8
    """The most requests for one summary, retries not counted. Input that is still too long is cut evenly."""
    summarizer_fallback: bool = True
    """If the summariser fails, summarise by rules; False: replace the messages by an omission notice only."""

    flush_memories: bool = True
    """Keep the memories of what leaves the view before it leaves, in sessions with a store of memories."""
    memory_tokens_max: int = 500
    """The most tokens of memories that a new session with a store of them is shown, at most a tenth of the budget; 0: none."""

    tool_result_tokens_max: Mark | None = None
    """Tool results larger than this are shortened on arrival; None: none are."""
    message_tokens_max: Mark | None = None
    """The step `clip` cuts other messages to this size; None: none are."""
    kept_message_tokens_max: Mark | None = None
    """In an emergency, kept messages are cut to this size, system text too, but not the newest request; None: none are."""
    result_list_items_max: int = 20
    """Rows that a shortened tool result keeps of a list."""
    preview_chars: int = 500
    """Length of the preview next to a reference."""

    def __post_init__(self) -> None:
        _check_words(self)
        _check_amounts(self)
        for name in ("keep_tokens", "tool_result_tokens_max", "message_tokens_max", "kept_message_tokens_max"):
            mark = getattr(self, name)
            object.__setattr__(self, name, None if mark is None else check_mark(name, mark))
        object.__setattr__(self, "steps", _steps(self.steps))
        object.__setattr__(self, "act_at", level_named("act_at", self.act_at))

    @classmethod
    def named(cls, name: PresetName | Policy, **overrides: Unpack[PolicyFields]) -> Policy:
        """A preset or policy with the given fields replaced: see `policy_named`."""
        return policy_named(name, **overrides)

    @property
    def strategy(self) -> Strategy | None:
        """The strategy with these steps and levels; None if there is none."""
        mine = {"steps": self.steps, "levels_up": self.levels_up}
        return next((name for name, theirs in STRATEGIES.items() if theirs == mine), None)

    def budget(self, window_tokens: int | None = None, *, tools_tokens: int = 0) -> Budget:
        """The budget of a window (None: the policy's own). Raises SettingError if there is none, or nothing is left of it."""
        window = self.window_tokens if window_tokens is None else window_tokens
        if window is None:
            raise SettingError("window_tokens", f"the policy {short_repr(self.name)} has no window; give one")
        return Budget(window, output_reserve_tokens=self.output_reserve_tokens or 0, tools_tokens=tools_tokens)

    def acts_at(self, tokens: int, budget_tokens: int) -> bool:
        """Whether an automatic compaction of a view of this size is due."""
        if self.fill:
            return tokens > budget_tokens
        level = level_of(tokens, self.lines.resolve(budget_tokens))
        return level > Level.none and level >= self.act_at and bool(self.steps_at(level))

    def steps_at(self, level: Level) -> tuple[Step, ...]:
        """The steps allowed at a measured level, in order; empty at level none, whatever `levels_up` is."""
        if level <= Level.none:
            return ()
        return tuple(step for step in self.steps if STEP_LEVELS[step] <= level + self.levels_up)

    def target_tokens(self, budget_tokens: int) -> int:
        """The size a compaction aims for."""
        return budget_tokens if self.fill else self.lines.resolve(budget_tokens).target

    @property
    def caps_tail(self) -> bool:
        """Whether the verbatim tail has a cap other than the target."""
        caps = (self.keep_last_messages, self.keep_last_turns, self.keep_tokens, self.keep_fraction)
        return any(cap is not None for cap in caps)

    def summary_limit(self, budget_tokens: int) -> int:
        """The most tokens of a summary."""
        limit = mark_tokens(self.summary_share, budget_tokens)
        return limit if self.summary_tokens_max is None else min(limit, self.summary_tokens_max)

    def tool_result_limit(self, budget_tokens: int) -> int | None:
        """The most tokens of a tool result on arrival, or None."""
        return None if self.tool_result_tokens_max is None else mark_tokens(self.tool_result_tokens_max, budget_tokens)

    def kept_message_limit(self, budget_tokens: int) -> int | None:
        """The size that kept messages are cut to in an emergency, or None."""
        mark = self.kept_message_tokens_max
        return None if mark is None else mark_tokens(mark, budget_tokens)

    def message_limit(self, budget_tokens: int) -> int | None:
        """The size that the step `clip` cuts messages to, or None."""
        return None if self.message_tokens_max is None else mark_tokens(self.message_tokens_max, budget_tokens)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Policy:
        """The policy that `to_dict` described; missing fields take their defaults. Raises SettingError for unknown ones."""
        return _overridden(cls(), data)


PolicyChoice: TypeAlias = "PresetName | Policy | Mapping[str, Any]"
"""The type of the option `policy`: a preset's name, a policy, or a mapping of fields that replace those of the default."""


def policy_of(choice: PolicyChoice, default: PresetName | Policy) -> Policy:
    """The policy of an option. A mapping replaces fields of `default`, or of the preset under its key `preset`.

    Raises what `policy_named` raises.
    """
    if not isinstance(choice, Mapping):
        return policy_named(choice)
    fields_given = dict(choice)
    return _overridden(policy_named(fields_given.pop("preset", default)), fields_given)


def policy_named(policy: PresetName | Policy, **overrides: Unpack[PolicyFields]) -> Policy:
    """A preset by name, or a policy, with the given fields replaced.

    `lines` may be a LoadLines or a mapping of some of its marks; `strategy` names an order of steps (STRATEGIES).
    Raises SettingError for an unknown preset (listing the known ones), an unknown field or an invalid value.
    """
    if isinstance(policy, Policy):
        return _overridden(policy, overrides)
    if not isinstance(policy, str) or policy not in PRESETS:
        raise SettingError("policy", f"{short_repr(policy)} is not one of {', '.join(PRESETS)}")
    return _overridden(_named(policy), overrides)


@cache
def _named(name: PresetName) -> Policy:
    return _overridden(Policy(name=name), PRESETS[name])


def _overridden(policy: Policy, overrides: Mapping[str, Any]) -> Policy:
    if not isinstance(overrides, Mapping):
        raise SettingError("policy", f"must be a mapping of fields, not {type(overrides).__name__}")
    if not overrides:
        return policy
    changes = dict(overrides)
    if "strategy" in changes:
        strategy = one_of("strategy", changes.pop("strategy"), get_args(Strategy))
        changes = {**STRATEGIES[strategy], **changes}
    if isinstance(changes.get("lines"), Mapping):
        changes["lines"] = _lines_overridden(policy.lines, changes["lines"])
    _check_known(changes, {known.name for known in fields(Policy)})
    return replace(policy, **changes)


def _lines_overridden(lines: LoadLines, marks: Mapping[str, Any]) -> LoadLines:
    _check_known(marks, {known.name for known in fields(LoadLines)})
    return replace(lines, **marks)


def _check_known(given: Mapping[str, Any], known: set[str]) -> None:
    for name in given:
        if name not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - only for this error

            near = get_close_matches(str(name), known, n=3)
            listed = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(known))}"
            raise SettingError(name if isinstance(name, str) else "policy", f"no such option; {listed}")


def _check_words(policy: Policy) -> None:
    for name in ("name", "source"):
        if not isinstance(getattr(policy, name), str):
            raise SettingError(name, "must be text")
    if policy.summary_model is not None and not (isinstance(policy.summary_model, str) and policy.summary_model):
        raise SettingError("summary_model", "must be the name of a model")
    if not isinstance(policy.lines, LoadLines):
        raise SettingError("lines", f"must be LoadLines, not {type(policy.lines).__name__}")
    one_of("summary_role", policy.summary_role, get_args(SummaryRole))
    one_of("summary_frame", policy.summary_frame, get_args(SummaryFrame))
    one_of("language", policy.language, get_args(Language))
    for name in ("fill", "use_summarizer", "summarizer_fallback", "flush_memories"):
        boolean(name, getattr(policy, name))


def _check_amounts(policy: Policy) -> None:
    integer("summarizer_attempts", policy.summarizer_attempts, least=1)
    integer("summarizer_requests_max", policy.summarizer_requests_max, least=1)
    integer("summarizer_input_tokens_max", policy.summarizer_input_tokens_max, least=SUMMARIZER_INPUT_TOKENS_MIN)
    for name in (
        "window_tokens",
        "keep_last_messages",
        "keep_last_turns",
        "keep_last_messages_min",
        "summary_tokens_max",
    ):
        if getattr(policy, name) is not None:
            integer(name, getattr(policy, name), least=1)
    if policy.output_reserve_tokens is not None:
        integer("output_reserve_tokens", policy.output_reserve_tokens)
    for name in ("keep_fraction", "keep_fraction_after_failure", "summary_share"):
        if getattr(policy, name) is not None or name == "summary_share":
            object.__setattr__(policy, name, ratio(name, getattr(policy, name)))
    if not isinstance(policy.clear_at_least, int) or policy.clear_at_least != 0:
        ratio("clear_at_least", policy.clear_at_least)
    integer("result_list_items_max", policy.result_list_items_max, least=1)
    integer("preview_chars", policy.preview_chars)
    integer("memory_tokens_max", policy.memory_tokens_max)
    if integer("levels_up", policy.levels_up) > Level.emergency:
        raise SettingError("levels_up", f"must be at most {int(Level.emergency)}")


def _steps(steps: object) -> tuple[Step, ...]:
    if isinstance(steps, str) or not isinstance(steps, (tuple, list)):
        raise SettingError("steps", "must be a sequence of step names")
    named = tuple(one_of("steps", step, get_args(Step)) for step in steps)
    if len(set(named)) != len(named):
        raise SettingError("steps", "each step may be named once")
    return named
