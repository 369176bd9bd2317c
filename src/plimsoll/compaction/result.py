"""What a compaction hands back: the messages, and the report that explains them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from plimsoll.brief import Fact, ShortRepr, pluralize, size_change
from plimsoll.dataclass import dataclass
from plimsoll.message import FormatName, M

if TYPE_CHECKING:
    from plimsoll.compaction.plan import Action, Outline, Stage
    from plimsoll.compaction.view_message import Origins
    from plimsoll.policy.budget import Level
    from plimsoll.policy.policy import Policy

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Report(ShortRepr):
    """What was done and why. All sizes in tokens, framing included, upper bounds where a count is estimated.

    `budget` is what messages may use (the tools are taken off). `stage` is which means spoke for the past: "none", "steps",
    "rules", "model", "edited", "window", or "fit" when the last resort had to cut. `lost` are the exchanges whose words are
    no longer in the view. `messages_before` counts the messages that were there, `messages_kept` those of them that stayed,
    whole or cut.
    """

    tokens_before: int
    tokens_after: int
    budget: int
    level: Level
    stage: Stage
    actions: tuple[Action, ...]
    lost: tuple[Action, ...]
    summary: str | None
    note: str | None
    messages_before: int
    messages_kept: int

    def _facts(self) -> Iterable[Fact]:
        yield "tokens", size_change(self.tokens_before, self.tokens_after, self.budget)
        yield "messages", f"{self.messages_kept:,} of {pluralize(self.messages_before, 'message')} kept"
        yield "level", f"level {self.level}"
        yield "stage", f"stage {self.stage}"
        yield "lost", f"{pluralize(len(self.lost), 'exchange')} lost"

    def _text(self) -> str | None:
        return self.summary

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; the level as its name."""
        return {
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "messages_before": self.messages_before,
            "messages_kept": self.messages_kept,
            "budget": self.budget,
            "level": str(self.level),
            "stage": self.stage,
            "actions": [action.to_dict() for action in self.actions],
            "lost": [action.to_dict() for action in self.lost],
            "summary": self.summary,
            "note": self.note,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Fitted(ShortRepr, Generic[M]):
    """Messages within the budget, valid for the provider, in the format they came in; and the report."""

    messages: list[M]
    origins: Origins = ()
    """For each message the positions of the input messages it came from, in order: none for a summary or a message that was made
    here, several where neighbours were joined. A caller keeps its own objects, ids and metadata by them."""
    system: Any = None
    """Anthropic's system text, where it was given apart: the same, or cut when it alone passes the budget."""
    make_report: Callable[[], Report] = field(repr=False, compare=False)

    @cached_property
    def report(self) -> Report:
        """What was done and why. Made when first asked for: what left the view is counted for it."""
        return self.make_report()

    def _facts(self) -> Iterable[Fact]:
        report = self.report
        yield "messages", pluralize(len(self.messages), "message")
        yield "tokens", size_change(report.tokens_before, report.tokens_after, report.budget)
        yield "stage", f"stage {report.stage}"

    def _text(self) -> str | None:
        return self.report.summary

    def __getstate__(self) -> dict[str, Any]:
        """For copying and pickling: the report itself, not the means to make it."""
        report = self.report
        return {
            "messages": self.messages,
            "origins": self.origins,
            "system": self.system,
            "report": report,
            "make_report": _Made(report),
        }

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "messages": self.messages,
            "origins": [list(positions) for positions in self.origins],
            "system": self.system,
            "report": self.report.to_dict(),
        }


class View(list[Any]):
    """The messages to send now: a list like any other, which also knows where each of them came from.

    Slices, copies and sums of it are plain lists, or views without origins.
    """

    def __init__(self, messages: Iterable[Any] = (), find_origins: Callable[[], Origins] = lambda: ()) -> None:
        """`find_origins` is called when the origins are first asked for."""
        super().__init__(messages)
        self._find_origins = find_origins

    @cached_property
    def origins(self) -> Origins:
        """For each message the positions it came from: none for a summary or a message that was made, several for a joined one.

        Of `Session.view` they are positions in the history, of `Session.sync` positions in the list that was given.
        """
        return self._find_origins()

    def __reduce__(self) -> tuple[type[View], tuple[list[Any], _Made[Origins]]]:
        """For copying and pickling: the origins themselves, not the means to find them."""
        return View, (list(self), _Made(self.origins))


@dataclass(frozen=True, slots=True)
class _Made(Generic[Value]):
    """Hands out what is there already."""

    value: Value

    def __call__(self) -> Value:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionOptions:
    """What somebody wanted of a compaction: what it is about, by which policy instead of the session's own, and how far down."""

    focus: str | None = None
    policy: Policy | None = None
    target_tokens: int | None = None


class Revision(NamedTuple):
    """What a session had come to: its view is the same wherever the revision is."""

    session: str
    """Where the session is kept, and which opening of it this is."""
    records: int
    """How many records there were up to the newest that changed the view."""
    messages: int
    event: int | None
    """Number of the record of the compaction, rollback or edit that the view goes on from."""
    format: FormatName

    def follows(self, earlier: Revision) -> bool:
        """Whether the view is the earlier one and the messages said since."""
        return (self.session, self.event, self.format) == (earlier.session, earlier.event, earlier.format)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan(ShortRepr, Generic[M]):
    """What a compaction would do. Nothing has been done yet.

    `made_at` is the revision that it was made for. Printing, editing and applying it are separate from making it.
    """

    outline: Outline
    made_at: Revision
    _write: Callable[[Outline], Fitted[M]]
    _reword: Callable[[Outline, str], Outline]
    options: CompactionOptions = field(default_factory=CompactionOptions)

    def _facts(self) -> Iterable[Fact]:
        outline = self.outline
        yield "tokens", size_change(outline.tokens_before, outline.tokens_after, outline.budget_tokens)
        yield "stage", f"stage {outline.stage}"
        yield "lost", f"{pluralize(len(outline.lost), 'exchange')} would leave"

    def _text(self) -> str | None:
        return self.summary

    @property
    def actions(self) -> tuple[Action, ...]:
        """One for each exchange, in order: keep, repair, shrink, offload, summarise or drop, with reason and tokens."""
        return self.outline.actions

    @property
    def summary(self) -> str | None:
        """The summary's text without its frame, for reading and editing; None when nothing is summarised."""
        return self.outline.summary

    @property
    def report(self) -> Report:
        """What the result's report will say."""
        return report_of(self.outline)

    def with_summary(self, text: str) -> Plan[M]:
        """The same plan with this summary, cut to its room if need be. Raises SettingError when nothing is summarised."""
        return replace(self, outline=self._reword(self.outline, text))

    def apply(self) -> Fitted[M]:
        """The messages the plan leads to. Pure: applying twice gives equal results."""
        return self._write(self.outline)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"made_at": self.made_at.messages, **self.report.to_dict()}


def report_of(outline: Outline) -> Report:
    """The report of an outline."""
    kept = {piece.position for piece in outline.pieces if piece.position is not None}
    left = {position for action in outline.lost for position in range(action.first, action.last + 1)}
    return Report(
        tokens_before=outline.tokens_before,
        tokens_after=outline.tokens_after,
        budget=outline.budget_tokens,
        level=outline.level,
        stage=outline.stage,
        actions=outline.actions,
        lost=outline.lost,
        summary=outline.summary,
        note=outline.note,
        messages_before=len(kept | left),
        messages_kept=len(kept),
    )
