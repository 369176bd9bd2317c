"""What a compaction took out of the view, by name, and an estimate of what of it the view no longer says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plimsoll.api.evaluation.evaluate import tallied, text_of
from plimsoll.api.evaluation.extract import probes_of
from plimsoll.api.evaluation.matching import Haystack
from plimsoll.api.evaluation.values import Probe, ProbeCounts, added
from plimsoll.errors import SettingError
from plimsoll.formats.registry import decode_all
from plimsoll.formats.wire import object_in
from plimsoll.light.brief import Fact, ShortRepr, pluralize
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.message import Message, ToolCall
from plimsoll.policy.validation import short_repr, text_or_none
from plimsoll.session.session import Session

if TYPE_CHECKING:
    from plimsoll.compaction.plan import Action
    from plimsoll.records.values import Compaction

_NAMED_CHARS_MAX, _NAMED_CALLS_MAX = 72, 3


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LossReport(ShortRepr):
    """What left a session's view, and what may be missed.

    `by_kind` counts requests, constraints, decisions, values, files, outcomes, errors and statements in the messages before the
    compaction that are not in the view after it: `kept` if the view still says them, else `lost`. It is an estimate by patterns:
    what they do not find is not counted. Nothing is lost to the session: `recall` finds it, `read` gives it back by reference.
    """

    compaction: Compaction
    left: tuple[Action, ...] = field(repr=False)
    """What left; `what` has the beginning of each message, or of what a tool was called with."""
    by_kind: Mapping[str, ProbeCounts]
    missed: tuple[Probe, ...] = field(repr=False)
    """What the view no longer says, in the order of the history; `position` is the number of the message that says it."""

    @property
    def total(self) -> ProbeCounts:
        """Over all kinds."""
        return added(self.by_kind.values())

    def _facts(self) -> tuple[Fact, ...]:
        total = self.total
        return (
            ("compaction", str(self.compaction.id)),
            ("left", f"{pluralize(len(self.left), 'exchange')} taken out of the view"),
            ("missed", f"of {pluralize(total.total, 'fact')} found in them, the view lacks {total.lost:,}"),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "compaction": self.compaction.id,
            "left": [action.to_dict() for action in self.left],
            "by_kind": {kind: {"total": tally.total, "kept": tally.kept} for kind, tally in self.by_kind.items()},
            "missed": [
                {"kind": probe.kind, "message": f"m{probe.position}", "text": probe.answer} for probe in self.missed
            ],
        }


def loss_report(session: Session, compaction_id: str | None = None) -> LossReport:
    """What a compaction of a session took out of the view, and what of it the view after it no longer says.

    Reads the whole history up to the compaction. Changes nothing.

    Args:
        session: an open session.
        compaction_id: the compaction, such as "c125"; None: the newest.

    Raises: SettingError if there is no such compaction, StoreError.

    """
    if not isinstance(session, Session):
        raise SettingError("session", f"must be an open session, not {short_repr(session)}")
    found = _compaction(session, text_or_none("compaction_id", compaction_id))
    view = decode_all(list(session.view_after(str(found.id))), session.format)[1]
    history = decode_all(session.history()[: found.position], session.format)[1]
    shown = {place for start, end in found.kept for place in range(start, end)}
    probes = [probe for probe in probes_of(history, spread=False) if probe.position not in shown]
    held = Haystack([text_of(message) for message in view])
    states = [(probe, held.holds(probe)) for probe in probes]
    return LossReport(
        compaction=found,
        left=tuple(replace(action, what=_named(action, history)) for action in found.lost),
        by_kind=tallied((probe, "kept" if is_held else "lost") for probe, is_held in states),
        missed=tuple(probe for probe, is_held in states if not is_held),
    )


def _named(action: Action, history: Sequence[Message]) -> str:
    """What an action is about, by name: the beginning of a message, or of what each tool was called with."""
    messages = history[action.first : action.last + 1]
    calls = [call for message in messages for call in message.calls]
    said = [_of_arguments(call) for call in calls] or [message.text for message in messages]
    shown = ", ".join(" ".join(text[: 4 * _NAMED_CHARS_MAX].split()) for text in said[:_NAMED_CALLS_MAX] if text)
    if len(shown) > _NAMED_CHARS_MAX:  # of a long path the end is telling
        is_path = " " not in shown
        shown = f"…{shown[1 - _NAMED_CHARS_MAX :]}" if is_path else f"{shown[: _NAMED_CHARS_MAX - 1]}…"
    return f"{action.what}: {shown}" if shown else action.what


def _of_arguments(call: ToolCall) -> str:
    """The first text among a call's arguments, which is most often a path, a command or a query."""
    found = (object_in(call.arguments) or {}).values()
    return next((value for value in found if isinstance(value, str) and value.strip()), call.arguments)


def _compaction(session: Session, compaction_id: str | None) -> Compaction:
    known: Sequence[Compaction] = [found for found in session.compactions() if found.id is not None]
    chosen = [found for found in known if compaction_id in {None, found.id}]
    if not chosen:
        unknown = f"{short_repr(compaction_id)} is not a compaction of this session"
        raise SettingError("compaction_id", "the session has no compaction" if compaction_id is None else unknown)
    return chosen[-1]
