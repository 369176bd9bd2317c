"""The results of a compaction: the messages, and the report that explains them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from plimsoll.light.brief import Fact, JsonReady, ShortRepr, pluralize, size_change
from plimsoll.light.dataclass import LATE, dataclass, field, replace
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.message import FormatName, M

if TYPE_CHECKING:
    from plimsoll.compaction.plan import Action, Outline, Stage
    from plimsoll.compaction.view_message import Origins
    from plimsoll.policy.budget import Level
    from plimsoll.policy.policy import Policy

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Report(ShortRepr, JsonReady):
    """What was done and why. Sizes in tokens, framing included; upper bounds where a count is estimated.

    `budget` is the budget of messages, without tools. `stage` is how removed messages are represented: "none", "steps", "rules",
    "model", "edited", "window", or "fit" if the final cut was needed. `lost` are the exchanges whose text is no longer in the
    view. `messages_before` counts the input messages, `messages_kept` those of them that are in the view, possibly cut.
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
        yield "lost", f"{pluralize(len(self.lost), 'exchange')} out of the view"

    def _text(self) -> str | None:
        return self.summary


@dataclass(frozen=True, kw_only=True, repr=False)
class Fitted(ShortRepr, Generic[M]):
    """Messages within the budget, valid for the provider, in the format they came in; and the report."""

    messages: list[M]
    origins: Origins = ()
    """For each message the positions of the input messages it came from, in order: empty for a summary or an inserted message,
    several for merged messages. The messages of a whole response have its position. Use it to find your own objects, ids and
    metadata."""
    system: Any = None
    """Anthropic's system text if it was given apart: unchanged, or cut if it alone exceeds the budget."""
    report: Report = field(compare=False, metadata=LATE)
    """What was done and why. Computed on first access, which counts the removed messages."""

    def _facts(self) -> Iterable[Fact]:
        report = self.report
        yield "messages", pluralize(len(self.messages), "message")
        yield "tokens", size_change(report.tokens_before, report.tokens_after, report.budget)
        yield "stage", f"stage {report.stage}"

    def _text(self) -> str | None:
        return self.report.summary

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "messages": self.messages,
            "origins": [list(positions) for positions in self.origins],
            "system": self.system,
            "report": self.report.to_dict(),
        }


class View(list[Any]):
    """The messages to send now, as a list that also knows the origin of each message.

    Slices, copies and sums of it are plain lists, or views without origins.
    """

    def __init__(self, messages: Iterable[Any] = (), find_origins: Callable[[], Origins] = lambda: ()) -> None:
        """`find_origins` is called when the origins are first read."""
        super().__init__(messages)
        self._find_origins = find_origins

    @cached_property
    def origins(self) -> Origins:
        """For each message the positions it came from: empty for a summary or an inserted message, several for a merged one.

        For `Session.view` these are positions in the history, for `Session.sync` positions in the given list.
        """
        return self._find_origins()

    def __reduce__(self) -> tuple[type[View], tuple[list[Any], _Made[Origins]]]:
        """Copy and pickle with the computed origins."""
        return View, (list(self), _Made(self.origins))


@dataclass(frozen=True, slots=True)
class _Made(Generic[Value]):
    """Returns a stored value; a picklable replacement for a closure."""

    value: Value

    def __call__(self) -> Value:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionOptions:
    """Options of one compaction: the query, a policy in place of the session's, and the target size."""

    query: str | None = None
    policy: Policy | None = None
    target_tokens: int | None = None


class Revision(NamedTuple):
    """The state of a session at one point. Equal revisions have equal views."""

    session: str
    """The session's location."""
    records: int
    """Number of records up to the newest that changed the view."""
    at_ms: int
    """Unix time of that record in milliseconds: it tells apart sessions that had one name."""
    messages: int
    event: int | None
    """Record number of the compaction, rollback or edit that the view is based on."""
    format: FormatName

    def follows(self, earlier: Revision) -> bool:
        """True if the view is the earlier view with messages appended since."""
        return (self.session, self.event, self.format) == (earlier.session, earlier.event, earlier.format)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan(ShortRepr, Generic[M]):
    """What a compaction would do. Nothing has been changed yet.

    `made_at` is the revision it was computed for. Printing, editing and applying it are separate calls. To others it is no data
    class, and it is never stored: `to_dict` is what it says as data.
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
        yield "lost", f"{pluralize(len(outline.lost), 'exchange')} would leave the view"

    def _text(self) -> str | None:
        return self.summary

    @property
    def actions(self) -> tuple[Action, ...]:
        """One for each exchange, in order: keep, repair, shrink, offload, summarise or drop, with reason and tokens."""
        return self.outline.placed(self.outline.actions)

    @property
    def summary(self) -> str | None:
        """The summary's text without its frame, for reading and editing; None if nothing is summarised."""
        return self.outline.summary

    @property
    def report(self) -> Report:
        """The report that the result will have."""
        return report_of(self.outline)

    def with_summary(self, text: str) -> Plan[M]:
        """The same plan with this summary, cut to its room if necessary. Raises SettingError if nothing is summarised."""
        return replace(self, outline=self._reword(self.outline, text))

    def apply(self) -> Fitted[M]:
        """The resulting messages. Pure: applying twice gives equal results."""
        return self._write(self.outline)

    def __copy__(self) -> Plan[M]:
        """Itself: a plan never changes."""
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Plan[M]:
        """Itself."""
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a plan cannot be stored; apply() it, or keep to_dict()")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"made_at": self.made_at.messages, **self.report.to_dict()}


def report_of(outline: Outline) -> Report:
    """The report of an outline."""
    kept = {entry.position for entry in outline.entries if entry.position is not None}
    left = {position for action in outline.lost for position in range(action.first, action.last + 1)}
    return Report(
        tokens_before=outline.tokens_before,
        tokens_after=outline.tokens_after,
        budget=outline.budget_tokens,
        level=outline.level,
        stage=outline.stage,
        actions=outline.placed(outline.actions),
        lost=outline.placed(outline.lost),
        summary=outline.summary,
        note=outline.note,
        messages_before=outline.count_given(kept | left),
        messages_kept=outline.count_given(kept),
    )
