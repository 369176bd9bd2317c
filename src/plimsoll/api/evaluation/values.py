"""What an evaluation asks and what it finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from plimsoll.light.brief import Fact, JsonReady, ShortRepr, pluralize
from plimsoll.light.dataclass import dataclass, field

ProbeKind: TypeAlias = Literal["request", "constraint", "decision", "value", "file", "outcome", "error", "statement"]
Match: TypeAlias = Literal["words", "exact", "path"]
"""How an answer is looked for: most of its words near each other, its exact text, or a path by its last two parts."""

Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe(JsonReady):
    """A question about something that was said, made without a model."""

    kind: ProbeKind
    question: str
    answer: str
    match: Match
    terms: tuple[str, ...] = ()
    """The words that must stand close together, for a match of words: all of the answer's, or those that inform."""
    position: int
    """The message that says it."""
    used_at: int | None = None
    """The message whose tool call needs the value later, for probes of the kind `value`."""

    def is_needed_next(self, cut: int) -> bool:
        """Whether the part of the run after `cut` uses a value from before it."""
        return self.used_at is not None and self.position < cut <= self.used_at

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "kind": self.kind,
            "question": self.question,
            "answer": self.answer,
            "position": self.position,
            "used_at": self.used_at,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeCounts(JsonReady):
    """How many probes are kept in the view, found by one query, or lost."""

    kept: int = 0
    recalled: int = 0
    lost: int = 0

    @property
    def total(self) -> int:
        """All probes."""
        return self.kept + self.recalled + self.lost

    @property
    def kept_share(self) -> float:
        """Kept, from 0 to 1; 0 without probes."""
        return self.kept / self.total if self.total else 0.0

    @property
    def found_share(self) -> float:
        """Kept or recalled, from 0 to 1."""
        return (self.kept + self.recalled) / self.total if self.total else 0.0

    def plus(self, other: ProbeCounts) -> ProbeCounts:
        """The sums."""
        return ProbeCounts(
            kept=self.kept + other.kept, recalled=self.recalled + other.recalled, lost=self.lost + other.lost
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One way on one conversation."""

    way: str
    conversation: str
    text: str = field(repr=False)
    """The text of the compacted messages."""
    tokens: int
    budget_tokens: int
    by_kind: Mapping[str, ProbeCounts] = field(repr=False)
    needed_next: ProbeCounts
    identifiers: int
    identifiers_used: int
    time_s: float
    error: str | None = None
    can_recall: bool = False

    @property
    def total(self) -> ProbeCounts:
        """Over all kinds."""
        return added(self.by_kind.values())


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WayScore(ShortRepr, JsonReady):
    """One way over all conversations.

    `kept` and `found` are shares from 0 to 1; `kept_interval` and `found_interval` hold 95 % of what other conversations of the
    same kind would give. `identifier_precision` is the share of the identifiers in the compacted text that occur later in the
    conversation; None where there are none.
    """

    way: str
    kept: float
    kept_interval: Interval
    found: float | None
    """None for a way without recall."""
    found_interval: Interval | None
    lost: int
    needed_next: ProbeCounts
    identifier_precision: float | None
    tokens_mean: float
    over_budget: int
    """Conversations whose result exceeds the budget."""
    time_s: float
    failed: int
    """Conversations on which it failed; their probes are lost."""
    by_kind: Mapping[str, ProbeCounts]

    def _facts(self) -> tuple[Fact, ...]:
        return (("way", self.way), ("kept", f"{self.kept:.0%} kept"), ("lost", f"{self.lost} lost"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedConversation(JsonReady):
    """A conversation with its probes and where it was cut."""

    name: str
    cut: int
    messages: int
    tokens: int
    """Before the cut."""
    probes: tuple[Probe, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Evaluation(ShortRepr):
    """What each way keeps of the same conversations at the same size."""

    scores: tuple[WayScore, ...]
    conversations: tuple[AskedConversation, ...] = field(repr=False)
    outcomes: tuple[Outcome, ...] = field(repr=False)
    share: float
    skipped: Mapping[str, str]
    """Conversations that were not measured, by name, with the reason."""

    @property
    def probes(self) -> int:
        """Probes over all conversations."""
        return sum(len(asked.probes) for asked in self.conversations)

    def _facts(self) -> tuple[Fact, ...]:
        return (
            ("conversations", pluralize(len(self.conversations), "conversation")),
            ("probes", pluralize(self.probes, "probe")),
            *((score.way, f"{score.way} keeps {score.kept:.0%}") for score in self.scores),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, without the compacted texts."""
        return {
            "share": self.share,
            "conversations": [asked.to_dict() for asked in self.conversations],
            "skipped": dict(self.skipped),
            "scores": [score.to_dict() for score in self.scores],
        }


def added(tallies: Iterable[ProbeCounts]) -> ProbeCounts:
    """The sum of tallies."""
    total = ProbeCounts()
    for tally in tallies:
        total = total.plus(tally)
    return total
