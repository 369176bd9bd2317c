"""What one compaction is asked to do, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from plimsoll.brief import Fact, ShortRepr, pluralize
from plimsoll.dataclass import dataclass
from plimsoll.message import Message
from plimsoll.policy.budget import Level
from plimsoll.policy.policy import Policy
from plimsoll.policy.presets import Step
from plimsoll.summary.file_mentions import FileContent
from plimsoll.summary.ledger import Ledger

MIN_PROGRESS = 0.05
"""A run on a view that fits must free this share of the budget, or it is not carried out and not repeated."""

MIN_PROGRESS_TOKENS = 64
"""And at least this much: in the smallest budgets a share is next to nothing."""

SUMMARY_FLOOR_SHARE = 0.05
"""When what must stay already passes the goal, the summary still gets this share of the budget if the budget has it."""

CHARS_PER_TOKEN = 4
"""Turns the preview's size in characters into tokens: the usual English mean; CJK previews come out shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One compaction: how far down, by which steps, with what in mind. Sizes in tokens."""

    policy: Policy
    budget_tokens: int
    goal_tokens: int
    level: Level
    """Up to which level steps are allowed."""
    load: Level = Level.none
    """How far past the load lines the view is."""
    steps: tuple[Step, ...]
    ledger: Ledger = field(default_factory=Ledger.empty)
    """Facts of everything that left before."""
    covers: tuple[int, int] | None = None
    """The positions `[start, end)` that earlier summaries speak for, None when there are none."""
    shift: int = 0
    """What a position after an earlier summary is short of: one message stands for several in a list that was compacted before."""
    pins: frozenset[int] = frozenset()
    focus: str | None = None
    """What is asked next, or what the caller wants kept: exchanges about it stay longer."""
    forced: bool = False
    """Whether what is older than the tail leaves whatever the size: somebody asked, and the policy says how much stays."""
    asked: bool = False
    """Whether somebody asked for this run: then any progress is enough."""
    ask_model: bool = False
    """Whether somebody is there to answer a SummaryRequest."""
    original: Callable[[int], Message | None] | None = None
    """Message of the history at a position, for facts that a cut piece no longer shows."""

    @property
    def summary_tokens_max(self) -> int:
        """The most tokens a summary may take: the policy's share of the budget, and half of a smaller goal that was asked for."""
        limit = self.policy.summary_limit(self.budget_tokens)
        return min(limit, self.goal_tokens // 2) if self.asked else limit

    @property
    def summary_tokens_min(self) -> int:
        """What a summary gets even where what must stay passes the goal."""
        return min(int(self.budget_tokens * SUMMARY_FLOOR_SHARE), self.summary_tokens_max)

    def asked_for(self, tokens: int) -> Task:
        """The same for a view of that size when somebody asks: down to the tail that the policy keeps, or to half of the view."""
        goal = self.goal_tokens if self.policy.caps_tail else min(self.goal_tokens, tokens // 2)
        return replace(self, asked=True, forced=self.policy.caps_tail, goal_tokens=goal)

    @property
    def preview_tokens(self) -> int:
        """Tokens of the preview beside a reference."""
        return max(32, self.policy.preview_chars // CHARS_PER_TOKEN)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SummaryRequest(ShortRepr):
    """Asks a model for prose: extend `previous` by what `messages` add, in at most `tokens_max` tokens.

    `prompt` is ready to send, as OpenAI chat messages; it fits `input_tokens_max`.
    """

    messages: tuple[Message, ...]
    previous: str | None
    tokens_max: int
    language: str
    focus: str | None
    model: str | None = None
    """The model that the policy names for summaries."""
    prompt: tuple[dict[str, str], ...]
    write: Callable[[Sequence[tuple[str, str]]], tuple[dict[str, str], ...]] = field(repr=False, compare=False)
    """The same prompt with files in it, each a path and its content."""

    def with_files(self, files: Iterable[FileContent]) -> SummaryRequest:
        """The request with a prompt that shows these files too, as `read_files` gives them, within the same limit."""
        contents = [(file.path, file.content) for file in files if file.content]
        return replace(self, prompt=self.write(contents)) if contents else self

    def _facts(self) -> Iterable[Fact]:
        yield "messages", pluralize(len(self.messages), "message")
        yield "answer", f"at most {self.tokens_max:,} tokens"
        yield "prompt", f"prompt of {sum(len(message['content']) for message in self.prompt):,} characters"

    def __len__(self) -> int:
        """How many messages the prompt has."""
        return len(self.prompt)

    def __iter__(self) -> Iterator[dict[str, str]]:
        """The messages of the prompt, so that the request itself can be sent where a model takes messages."""
        return iter(self.prompt)

    def __getitem__(self, index: int) -> dict[str, str]:
        """One message of the prompt."""
        return self.prompt[index]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryFailed:
    """The model gave no usable prose, and why. The rules speak instead."""

    reason: str


SummaryReply: TypeAlias = str | SummaryFailed
