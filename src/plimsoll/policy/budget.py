"""Budgets, load lines and levels: how full a view is, and how strong a compaction that allows. Pure arithmetic."""

from __future__ import annotations

from _thread import allocate_lock  # the Lock of threading, which takes half a millisecond to import
from collections.abc import Mapping
from enum import IntEnum
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from plimsoll.errors import SettingError
from plimsoll.light.brief import JsonReady
from plimsoll.light.dataclass import dataclass, field
from plimsoll.policy.validation import integer, ratio, short_repr

Mark: TypeAlias = float | int | tuple[float, int]
"""The position of a load line: a float in (0, 1] is a ratio of the budget, an int above 1 a number of tokens, and a pair is
both, of which the smaller applies. The int 1 is read as the ratio 1.0."""

Urgency: TypeAlias = Literal["none", "soft", "hard"]
"""How soon a compaction is due: "soft" from the soft line on, "hard" from the hard line on."""

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens a view may use: window − output reserve − tool schemas − `unseen_tokens`.

    Raises SettingError naming the field that leaves nothing.
    """

    window_tokens: int
    """The model's context window, reply included."""
    output_reserve_tokens: int = field(default=0, kw_only=True)
    """Reserved for the reply."""
    tools_tokens: int = field(default=0, kw_only=True)
    """Size of the tool definitions."""
    unseen_tokens: int = field(default=0, kw_only=True)
    """What the provider counts beyond the messages and tools given here, such as a system prompt of the host."""

    def __post_init__(self) -> None:
        window = integer("window_tokens", self.window_tokens, least=1)
        reserve = integer("output_reserve_tokens", self.output_reserve_tokens)
        tools = integer("tools_tokens", self.tools_tokens)
        if reserve >= window:
            raise SettingError("output_reserve_tokens", f"{reserve} leaves nothing of a window of {window} tokens")
        if reserve + tools >= window:
            raise SettingError(
                "tools_tokens",
                f"the tools take {tools:,} tokens, which leaves nothing of {window - reserve:,} for messages",
            )
        if reserve + tools + integer("unseen_tokens", self.unseen_tokens) >= window:
            raise SettingError(
                "unseen_tokens", f"{self.unseen_tokens} leaves nothing of {window - reserve - tools} tokens"
            )

    @classmethod
    def of(cls, max_tokens: int) -> Budget:
        """A budget of exactly `max_tokens`, with nothing reserved."""
        return cls(integer("max_tokens", max_tokens, least=1))

    @property
    def tokens(self) -> int:
        """Tokens a view may use. Always above 0."""
        return self.window_tokens - self.output_reserve_tokens - self.tools_tokens - self.unseen_tokens


class Level(IntEnum):
    """The highest load line a view has reached. Ordered, for comparisons such as `level >= Level.normal`."""

    none = 0
    normal = 1
    aggressive = 2
    emergency = 3

    def __str__(self) -> str:
        return self.name

    @classmethod
    def _missing_(cls, value: object) -> Level | None:
        """A level of a newer version: it has no name, but compares, and prints as `Level(99)`."""
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        unknown = int.__new__(cls, value)
        unknown._name_ = f"Level({short_repr(value)})"
        unknown._value_ = value
        return unknown


def level_named(field_name: str, value: object) -> Level:
    """A level from its name or value. Raises SettingError naming the field for anything else."""
    for level in Level:
        if value is level or (isinstance(value, str) and value == level.name):
            return level
    raise SettingError(field_name, f"{short_repr(value)} is not one of {', '.join(level.name for level in Level)}")


def check_mark(name: str, value: object) -> Mark:
    """A mark in canonical form. Raises SettingError naming `name` if it is neither a ratio nor tokens."""
    match value:
        case bool():
            raise SettingError(name, "must be a ratio or a number of tokens, not bool")
        case int() if value != 1:
            return integer(name, value, least=2)
        case int() | float():
            return ratio(name, value)
        case (upper_ratio, tokens):
            return ratio(name, upper_ratio), integer(name, tokens, least=2)
        case _:
            raise SettingError(name, "must be a ratio, a number of tokens, or a pair of both")


def mark_tokens(mark: Mark, budget_tokens: int, *, up: bool = False) -> int:
    """A mark in tokens of a budget, never above the budget.

    Ratios are rounded to millionths and multiplied as integers, so that 0.07 of 100 is exactly 7. Rounds down, or up with `up`:
    a line is reached once the ratio is, so lines round up and targets down.
    """
    match mark:
        case (ratio, tokens):
            return min(mark_tokens(ratio, budget_tokens, up=up), tokens)
        case float():
            scaled = budget_tokens * max(1, round(mark * _MILLION))
            return -(-scaled // _MILLION) if up else scaled // _MILLION
        case _:
            return min(mark, budget_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedLines:
    """The load lines of one budget, in tokens: 0 <= target < soft <= warn <= hard <= budget."""

    target: int
    soft: int
    warn: int
    hard: int
    budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLines:
    """The marks at which a view is compacted, and the target. Order: 0 < target < soft <= warn <= hard.

    The order of marks of one kind is checked on creation. The order of ratios and tokens depends on the budget and is checked
    by `resolve`. Raises SettingError naming the mark that is out of order.
    """

    soft: Mark = 0.70
    """From here on, compactions take reversible steps only."""
    warn: Mark = 0.85
    """From here on, older exchanges are summarised."""
    hard: Mark = 0.95
    """From here on, the ledger alone replaces the past."""
    target: Mark = 0.50
    """The size a compaction aims for."""

    def __post_init__(self) -> None:
        for name in ("soft", "warn", "hard", "target"):
            object.__setattr__(self, name, check_mark(name, getattr(self, name)))
        _in_order("target", self.target, "soft", self.soft, strictly=True)
        _in_order("soft", self.soft, "warn", self.warn)
        _in_order("warn", self.warn, "hard", self.hard)

    def resolve(self, budget_tokens: int) -> ResolvedLines:
        """The lines in tokens of a budget. A mark above the budget is moved to the budget.

        If that moves the soft line onto or below an absolute target, the target becomes half the soft line. Raises SettingError if
        marks of different kinds are out of order in this budget.
        """
        return _resolved(self, integer("budget_tokens", budget_tokens, least=1))


@lru_cache(maxsize=64)
def _resolved(lines: LoadLines, budget: int) -> ResolvedLines:
    soft, warn, hard = (mark_tokens(mark, budget, up=True) for mark in (lines.soft, lines.warn, lines.hard))
    target = mark_tokens(lines.target, budget)
    if soft > warn:
        raise SettingError("soft", f"{soft} tokens are above warn ({warn}) in a budget of {budget}")
    if warn > hard:
        raise SettingError("warn", f"{warn} tokens are above hard ({hard}) in a budget of {budget}")
    if target >= soft == budget:
        target = soft // 2
    if target >= soft:
        raise SettingError("target", f"{target} tokens are not below soft ({soft}) in a budget of {budget}")
    return ResolvedLines(target=target, soft=soft, warn=warn, hard=hard, budget=budget)


def _in_order(name: str, low: Mark, above: str, high: Mark, *, strictly: bool = False) -> None:
    if isinstance(low, tuple) or isinstance(high, tuple) or isinstance(low, float) != isinstance(high, float):
        return
    if low > high or (strictly and low == high):
        raise SettingError(name, f"{low} must be {'below' if strictly else 'at or below'} {above} ({high})")


def level_of(tokens: int, lines: ResolvedLines) -> Level:
    """The level of a size in tokens. A line counts from its own value on (>=)."""
    if tokens >= lines.hard:
        return Level.emergency
    if tokens >= lines.warn:
        return Level.aggressive
    return Level.normal if tokens >= lines.soft else Level.none


def urgency_of(level: Level) -> Urgency:
    """The urgency of a level: soft may wait, hard may not."""
    if level >= Level.emergency:
        return "hard"
    return "soft" if level >= Level.normal else "none"


def threshold_of(level: Level, lines: ResolvedLines) -> int:
    """The line that was reached, or the next one if none was, in tokens."""
    if level >= Level.emergency:
        return lines.hard
    return lines.warn if level >= Level.aggressive else lines.soft


def recommend(tokens: int, lines: ResolvedLines, *, unseen: int = 0) -> str:
    """One sentence for people, beginning with CRITICAL, WARNING, INFO or OK. `unseen` is added to every size."""
    load, budget = tokens + unseen, lines.budget + unseen
    used = f"{load:,} of {budget:,} tokens used ({load / budget:.0%})"
    used += f", {unseen:,} of them counted by the provider and not given here" if unseen else ""
    match level_of(tokens, lines):
        case Level.none:
            return f"OK: {used}"
        case Level.normal:
            return f"INFO: {used}; worth monitoring, only reversible steps are due"
        case Level.aggressive:
            return f"WARNING: {used}; compaction recommended"
        case _:
            return f"CRITICAL: {used}; immediate compaction required"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(JsonReady):
    """Whether a view is due for a compaction, and at which line. All sizes in tokens."""

    should_compact: bool
    urgency: Urgency
    level: Level
    current_tokens: int
    max_tokens: int
    threshold: int
    """The line that was reached, or the next one if none was."""
    recommendation: str
    unseen_tokens: int = 0
    """The part of each size that only the provider counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(JsonReady):
    """How full a view is. `max_tokens` is the budget: the window less the output reserve and the tools.

    Both sizes include `unseen_tokens`, which only the provider counts: see `Session.record_usage`.
    """

    current_tokens: int
    max_tokens: int
    usage_ratio: float
    level: Level
    recommendation: str
    unseen_tokens: int = 0


def check_of(tokens: int, lines: ResolvedLines, *, act_at: Level = Level.normal) -> Check:
    """The check of a size in tokens. Below `act_at` a reached line is reported, but nothing is due."""
    level = level_of(tokens, lines)
    return Check(
        should_compact=level > Level.none and level >= act_at,
        urgency=urgency_of(level),
        level=level,
        current_tokens=tokens,
        max_tokens=lines.budget,
        threshold=threshold_of(level, lines),
        recommendation=recommend(tokens, lines),
    )


def status_of(tokens: int, lines: ResolvedLines, *, unseen: int = 0) -> Status:
    """The status of a size in tokens. `unseen` is added to it and to the budget."""
    load, budget = tokens + unseen, lines.budget + unseen
    return Status(
        current_tokens=load,
        max_tokens=budget,
        usage_ratio=load / budget,
        level=level_of(tokens, lines),
        recommendation=recommend(tokens, lines, unseen=unseen),
        unseen_tokens=unseen,
    )


class TokenBudget:
    """A number of tokens shared between categories. Thread-safe.

    `caps` limit a category; `reservations` set tokens aside for one. Amounts are non-negative integers; anything else raises
    SettingError and changes nothing.
    """

    def __init__(
        self,
        total_tokens: int,
        *,
        caps: Mapping[str, int] | None = None,
        reservations: Mapping[str, int] | None = None,
    ) -> None:
        self.total_tokens = integer("total_tokens", total_tokens)
        self._caps = _shares("caps", caps)
        self._reserved = _shares("reservations", reservations)
        self._used: dict[str, int] = {}
        self._lock = allocate_lock()
        if sum(self._reserved.values()) > self.total_tokens:
            raise SettingError("reservations", f"their sum exceeds the total of {self.total_tokens} tokens")
        for name, reserved in self._reserved.items():
            if reserved > self._caps.get(name, self.total_tokens):
                raise SettingError(f"reservations[{short_repr(name)}]", f"{reserved} exceeds the cap of that category")

    def __getstate__(self) -> dict[str, Any]:
        """Copies share nothing that changes."""
        return {**vars(self), "_used": dict(self._used), "_lock": None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, _lock=allocate_lock())

    def __repr__(self) -> str:
        return f"TokenBudget({self.total_tokens:,} tokens, {self.remaining():,} remaining)"

    def allocate(self, category: str, tokens: int) -> bool:
        """Add tokens to a category. False, with nothing changed, if they do not fit."""
        amount = integer("tokens", tokens)
        with self._lock:
            if amount > self._room(_category(category)):
                return False
            self._used[category] = self._used.get(category, 0) + amount
            return True

    def release(self, category: str, tokens: int | None = None) -> int:
        """Free some or (None) all tokens of a category and return how many. Raises SettingError for more than it holds."""
        with self._lock:
            held = self._used.get(_category(category), 0)
            amount = held if tokens is None else integer("tokens", tokens)
            if amount > held:
                raise SettingError("tokens", f"{amount} is more than the {held} that {short_repr(category)} holds")
            if amount == held:
                self._used.pop(category, None)
            else:
                self._used[category] = held - amount
            return amount

    def reset(self) -> None:
        """Free all tokens."""
        with self._lock:
            self._used.clear()

    def remaining(self, category: str | None = None) -> int:
        """Unallocated tokens; with a category, those its cap and the reservations of others leave it."""
        with self._lock:
            if category is None:
                return self.total_tokens - sum(self._used.values())
            return self._room(_category(category))

    def breakdown(self) -> dict[str, int]:
        """Allocated tokens by category, in order of their first allocation."""
        with self._lock:
            return dict(self._used)

    def _room(self, category: str) -> int:
        free = self.total_tokens - sum(self._used.values())
        held_back = sum(
            max(0, reserved - self._used.get(name, 0)) for name, reserved in self._reserved.items() if name != category
        )
        under_cap = self._caps.get(category, self.total_tokens) - self._used.get(category, 0)
        return max(0, min(free - held_back, under_cap))


def _shares(field_name: str, shares: Mapping[str, int] | None) -> dict[str, int]:
    if shares is None:
        return {}
    if not isinstance(shares, Mapping) or not all(isinstance(name, str) for name in shares):
        raise SettingError(field_name, "must be a mapping of category names to tokens")
    return {name: integer(f"{field_name}[{short_repr(name)}]", tokens) for name, tokens in shares.items()}


def _category(name: object) -> str:
    if not isinstance(name, str):
        raise SettingError("category", f"must be a name, not {type(name).__name__}")
    return name
