"""The input of one compaction, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from plimsoll.light.brief import Fact, ShortRepr, pluralize
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.message import Message
from plimsoll.policy.budget import Level
from plimsoll.policy.policy import Policy
from plimsoll.policy.presets import Step
from plimsoll.summary.file_mentions import FileContent
from plimsoll.summary.ledger import Ledger

MIN_PROGRESS = 0.05
"""A run on a view that fits must free this share of the budget, or it is discarded and not repeated."""

MIN_PROGRESS_TOKENS = 64
"""Absolute minimum for it: in very small budgets the share is next to nothing."""

SUMMARY_FLOOR_SHARE = 0.05
"""Share of the budget for the summary if exchanges that must stay already exceed the goal, as far as the budget allows."""

CHARS_PER_TOKEN = 4
"""Converts the preview size from characters to tokens: the English average. CJK previews are shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One compaction: its goal, allowed steps and query. Sizes in tokens."""

    policy: Policy
    budget_tokens: int
    goal_tokens: int
    level: Level
    """The highest level whose steps are allowed."""
    load: Level = Level.none
    """The load level of the view."""
    steps: tuple[Step, ...]
    ledger: Ledger = field(default_factory=Ledger.empty)
    """Facts of everything removed by earlier compactions."""
    covers: tuple[int, int] | None = None
    """The positions `[start, end)` that earlier summaries cover; None if there are none."""
    shift: int = 0
    """Added to positions after an earlier summary in the input, where one message stands for several."""
    pins: frozenset[int] = frozenset()
    query: str | None = None
    """The query: exchanges that match it stay longer."""
    forced: bool = False
    """True if everything older than the policy's tail leaves regardless of size, as for an explicit request."""
    asked: bool = False
    """True if the run was requested explicitly; any progress is then enough."""
    ask_model: bool = False
    """True if a summariser can answer a SummaryRequest."""
    settles: bool = True
    """Whether a final cut goes on until the policy leaves the view alone, and not only until it fits."""
    original: Callable[[int], Message | None] | None = None
    """Returns the history message at a position, for facts that a cut message no longer shows."""

    @property
    def summary_tokens_max(self) -> int:
        """Maximum tokens of a summary: the policy's share of the budget, at most half of a smaller requested goal."""
        limit = self.policy.summary_limit(self.budget_tokens)
        return min(limit, self.goal_tokens // 2) if self.asked else limit

    @property
    def summary_tokens_min(self) -> int:
        """Tokens of a summary if exchanges that must stay exceed the goal."""
        return min(int(self.budget_tokens * SUMMARY_FLOOR_SHARE), self.summary_tokens_max)

    def asked_for(self, tokens: int) -> Task:
        """The task for an explicit request on a view of this size: reduce it to the policy's tail, or to half of the view."""
        goal = self.goal_tokens if self.policy.caps_tail else min(self.goal_tokens, tokens // 2)
        return replace(self, asked=True, forced=self.policy.caps_tail, goal_tokens=goal)

    @property
    def preview_tokens(self) -> int:
        """Tokens of the preview beside a reference."""
        return max(32, self.policy.preview_chars // CHARS_PER_TOKEN)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SummaryRequest(ShortRepr):
    """Asks a model for prose: extend `previous` by what `messages` add, in at most `tokens_max` tokens.

    `prompt` is ready to send, as OpenAI chat messages, and fits `input_tokens_max`.
    """

    messages: tuple[Message, ...]
    previous: str | None
    tokens_max: int
    language: str
    focus: str | None
    model: str | None = None
    """The model that the policy names for summaries."""
    prompt: tuple[dict[str, str], ...]
    purpose: Literal["summary", "memory"] = "summary"
    """What the answer is for. "memory": a JSON list of facts to keep across sessions, as the prompt says."""
    write: Callable[[Sequence[tuple[str, str]]], tuple[dict[str, str], ...]] = field(repr=False, compare=False)
    """Builds the same prompt with files, each a path and its content."""

    def with_files(self, files: Iterable[FileContent]) -> SummaryRequest:
        """A request whose prompt also contains these files, as returned by `read_files`, within the same limit."""
        contents = [(file.path, file.content) for file in files if file.content]
        return replace(self, prompt=self.write(contents)) if contents else self

    def _facts(self) -> Iterable[Fact]:
        yield "messages", pluralize(len(self.messages), "message")
        yield "answer", f"at most {self.tokens_max:,} tokens"
        yield "prompt", f"prompt of {sum(len(message['content']) for message in self.prompt):,} characters"

    def __len__(self) -> int:
        """Number of messages in the prompt."""
        return len(self.prompt)

    def __iter__(self) -> Iterator[dict[str, str]]:
        """Iterates over the prompt, so that the request can be passed where a model takes messages."""
        return iter(self.prompt)

    def __getitem__(self, index: int) -> dict[str, str]:
        """One message of the prompt."""
        return self.prompt[index]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryFailed:
    """The model returned no usable prose, with the reason. The rules write the summary instead."""

    reason: str


SummaryReply: TypeAlias = str | SummaryFailed
