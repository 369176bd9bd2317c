"""Carrying compactions out: planned for the view as it stands, recorded with whatever was said while a model wrote.

Most are generators, because a model may be asked: compaction/drive.py resumes them for sync and async callers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

from plimsoll.compaction import readers
from plimsoll.compaction.account import is_account
from plimsoll.compaction.bound import unbound
from plimsoll.compaction.drive import drive
from plimsoll.compaction.engine import Compacting, reworded, untouched
from plimsoll.compaction.join import kept_apart, origins, parted
from plimsoll.compaction.notes import as_said
from plimsoll.compaction.piece import Piece
from plimsoll.compaction.plan import Outline, changes_between
from plimsoll.compaction.repair import Arranger
from plimsoll.compaction.result import Fitted, Plan, View, Wish, report_of
from plimsoll.compaction.settle import without_placeholders
from plimsoll.compaction.tally import Tally
from plimsoll.compaction.task import SummaryReply, SummaryRequest, Task
from plimsoll.compaction.writing import written
from plimsoll.errors import PlanIsStale, SettingError
from plimsoll.policy.budget import Level
from plimsoll.policy.policy import PolicyChoice, policy_of
from plimsoll.records.adoption import Adopted, Adoption
from plimsoll.records.compactions import IMPORT
from plimsoll.records.ledgers import read_again
from plimsoll.records.replay import Moment
from plimsoll.records.values import Compaction
from plimsoll.session.recorder import Chronicle
from plimsoll.session.usage_reports import sent_now
from plimsoll.summary.ledger import Ledger
from plimsoll.summary.reread import recollected
from plimsoll.validation import text_or_none, whole

Result = TypeVar("Result")
Carrying: TypeAlias = Generator[SummaryRequest, SummaryReply, Result]


def kept_within(chronicle: Chronicle, query: str | None, *, asks_model: bool) -> Carrying[None]:
    """Compact the view while that is due, then hand it out.

    What is said meanwhile may make a compaction due again; nobody waits for a model a third time.
    """

    def planning(asks: bool) -> Compacting:  # noqa: FBT001 - as _recorded calls it
        return chronicle.planning(Wish(focus=text_or_none("query", query)), asked=False, asks_model=asks)

    for asks in (asks_model, asks_model, False):
        said = chronicle.log.messages
        found = chronicle.check()
        chronicle.tell_level(found)
        if found.should_compact:
            yield from _recorded(chronicle, "auto", planning, asks_model=asks)
        if chronicle.log.messages == said:
            break
    chronicle.sent = sent_now(chronicle.timeline, chronicle.log.messages)


def viewed(chronicle: Chronicle, query: str | None, *, asks_model: bool) -> Carrying[View]:
    """The view after the compactions that are due. Nothing can be appended between the last of them and the view."""
    yield from kept_within(chronicle, query, asks_model=asks_model)
    chronicle.requests.show(chronicle.timeline.event)
    return chronicle.written()


def compacted(
    chronicle: Chronicle, wish: Wish, trigger: str, *, asks_model: bool, actual: int | None = None
) -> Carrying[Compaction]:
    """Compact because somebody asked for it. `actual` is what the provider counted before."""

    def planning(asks: bool) -> Compacting:  # noqa: FBT001 - as _recorded calls it
        return planned(chronicle, wish, asks_model=asks)

    return _recorded(chronicle, trigger, planning, asks_model=asks_model, actual=actual)


def carried_out(  # noqa: PLR0913 - how a plan is carried out
    chronicle: Chronicle, plan: Plan, trigger: str, *, rebase: bool, asks_model: bool, actual: int | None = None
) -> Carrying[Compaction]:
    """Record a plan that was made before. When the session is no longer as it was for, a new one with its edited summary takes
    its place where `rebase` allows it; else PlanIsStale is raised.
    """
    if not isinstance(plan, Plan):
        raise SettingError("plan", f"a plan made by preview() is needed, not {type(plan).__name__}")
    if plan.made_at == chronicle.state():
        planning = partial(_known, plan.outline)
    elif rebase:
        planning = partial(_anew, chronicle, plan)
    else:
        raise PlanIsStale(planned_for=plan.made_at[0], now=chronicle.state()[0])
    return (yield from _recorded(chronicle, trigger, planning, asks_model=asks_model, actual=actual))


def wish_for(
    chronicle: Chronicle, focus: str | None, policy: PolicyChoice | None, target_tokens: int | None = None
) -> Wish:
    """A wish as it is given: a policy by name or as it is, or some of its fields in place of the session's. Raises SettingError."""
    return Wish(
        focus=text_or_none("focus", focus),
        policy=None if policy is None else policy_of(policy, chronicle.gauge.policy),
        target_tokens=None if target_tokens is None else whole("target_tokens", target_tokens, least=1),
    )


def planned(chronicle: Chronicle, wish: Wish, *, asks_model: bool) -> Compacting:
    """The steps to a plan that somebody asked for, whatever the load."""
    return chronicle.planning(wish, asked=True, asks_model=asks_model)


def _recorded(
    chronicle: Chronicle,
    trigger: str,
    planning: Callable[[bool], Compacting],
    *,
    asks_model: bool,
    actual: int | None = None,
) -> Carrying[Compaction]:
    """Plan and record. When the view went on from another compaction meanwhile, that is done again, without the model."""
    while True:
        moment = chronicle.timeline.moment()
        outline = yield from planning(asks_model)
        now = chronicle.timeline.moment()
        if (now.event, now.format) == (moment.event, moment.format):
            done = chronicle.commit(*_followed(chronicle, outline, moment), trigger, actual)
            chronicle.tell_level(chronicle.check())
            return done
        asks_model = False


def _followed(chronicle: Chronicle, outline: Outline, made_at: Moment) -> tuple[Outline, Arranger]:
    """The outline with everything at the end of its view that was said since it was begun."""
    timeline, gauge = chronicle.timeline, chronicle.gauge
    if made_at.messages == chronicle.log.messages or not outline.changed:
        return outline, timeline.arranger
    line = timeline.followed(outline.pieces, made_at)
    line.tally = Tally([*outline.pieces, *unbound(line.pieces[len(outline.pieces) :], gauge.binds)])
    after = gauge.reserve_tokens + line.missing_tokens + line.tokens
    before = chronicle.total()
    followed = replace(outline, pieces=tuple(line.pieces), tokens_after=after, count_before=lambda: before)
    return followed, line.arranger


def _known(outline: Outline, _asks_model: bool) -> Compacting:  # noqa: FBT001 - as _recorded calls it
    yield from ()
    return outline


def _anew(chronicle: Chronicle, plan: Plan, asks_model: bool) -> Compacting:  # noqa: FBT001 - as above
    fresh = yield from planned(chronicle, plan.wish, asks_model=asks_model)
    if plan.outline.stage != "edited" or plan.summary is None or fresh.summary is None:
        return fresh
    return _reworded(chronicle, fresh, plan.summary)


def upcoming(chronicle: Chronicle) -> list[dict[str, Any]]:
    """The view that the next request is made of: compacted by rules where that is due. Records nothing."""
    if not chronicle.check().should_compact:
        return chronicle.written()
    return drive(previewed(chronicle, Wish(), asked=False, asks_model=False), None).apply().messages


def previewed(chronicle: Chronicle, wish: Wish, *, asked: bool = True, asks_model: bool) -> Carrying[Plan]:
    """A plan to look at, to edit, and to carry out while the session is as it is now."""
    made_at, hold = chronicle.state(), chronicle.held()  # a plan can be applied when its session was dropped
    outline = yield from chronicle.planning(wish, asked=asked, asks_model=asks_model)

    def reword(outline: Outline, text: str) -> Outline:
        return _reworded(hold.chronicle, outline, text)

    def write(outline: Outline) -> Fitted:
        chronicle = hold.chronicle
        pieces, format = chronicle.timeline.sending.settled(outline.pieces), chronicle.gauge.format
        return Fitted(
            messages=written(pieces, format, chronicle.gauge.marks_beside),
            origins=origins(pieces, format),
            make_report=partial(report_of, outline),
        )

    return Plan(outline=outline, made_at=made_at, _write=write, _reword=reword, wish=wish)


def _reworded(chronicle: Chronicle, outline: Outline, text: str) -> Outline:
    reader = chronicle.timeline.reader
    settled = chronicle.timeline.sending.settled(outline.pieces)
    bare = replace(outline, pieces=tuple(readers.bare(settled, reader)))
    made = reworded(bare, text, chronicle.draft(()), chronicle.task(None))
    found = readers.as_read(made, reader, reserve_tokens=chronicle.gauge.reserve_tokens)
    return replace(found, pieces=without_placeholders(found.pieces))


def adopt(chronicle: Chronicle, adoption: Adoption, before: Sequence[Piece] = ()) -> Compaction:
    """Go on from a view as another tool left it, or from one of ours and that behind it. Until it grows it stays as it is.

    Compactions from now on lead to views that the adoption's reader can read back.
    """
    gauge, arranger = chronicle.gauge, Arranger(chronicle.gauge.format)
    pieces = [*before, *as_pieces(chronicle, adoption)]
    for number, piece in enumerate(pieces):
        arranger.feed(piece.message, number if piece.position is None else piece.position)
    task = replace(chronicle.task(None), level=Level.none, steps=())
    if adoption.left:
        task = _speaking_for(chronicle, task, adoption.left)
    shown, before_tokens = chronicle.timeline.pieces, adoption.tokens_before or chronicle.total()
    after_tokens, summarised = adoption.tokens_after, adoption.summary is not None
    told = _summaries(pieces, adoption.reader) or [adoption.summary or ""]
    known = _summaries(shown, adoption.reader)
    outline = replace(
        untouched(pieces, task, before_tokens),
        tokens_after=gauge.total(chronicle.timeline.sending.settled(pieces)) if after_tokens is None else after_tokens,
        summary=adoption.summary,
        written="\n".join(told) or None,
        ledger=_told(task.ledger, (text for text in told if text not in known)),
        stage=IMPORT,
        changed=True,
        note=None if adoption.trigger == IMPORT else f"by {adoption.by}, which counted these tokens",
        list_actions=lambda: changes_between(shown, pieces, by=adoption.by, summarised=summarised),
    )
    chronicle.timeline.reader = adoption.reader
    return chronicle.commit(outline, arranger, adoption.trigger, adoption.tokens_before, adoption.at_ms)


def _speaking_for(chronicle: Chronicle, task: Task, left: Sequence[int]) -> Task:
    """The task with the facts of messages of the history in its ledger, and these covered."""
    wanted, (start, end) = frozenset(left), (min(left), max(left) + 1)
    said = ((at, as_said(message)) for at, message in chronicle.timeline.history.said(0, end) if at in wanted)
    covers = (start, end) if task.covers is None else (min(start, task.covers[0]), max(end, task.covers[1]))
    return replace(task, ledger=read_again(said, task.ledger), covers=covers)


def _summaries(pieces: Sequence[Piece], reader: readers.Reader | None) -> list[str]:
    """The summaries in a view, without the words that a tool puts around them."""
    return [piece.message.text for piece in readers.bare(pieces, reader) if piece.origin == "summary"]


def _told(ledger: Ledger, summaries: Iterable[str]) -> Ledger:
    """The ledger with what another tool's summaries say: no message may say it."""
    for text in filter(None, summaries):
        ledger = recollected(ledger, text)
    return ledger


def as_pieces(chronicle: Chronicle, adoption: Adoption) -> list[Piece]:
    """Another tool's view as pieces, which go out as it sent them."""
    pieces = [piece for item in adoption.view for piece in _adopted(chronicle, item)]
    return kept_apart(pieces, chronicle.gauge.format)


def _adopted(chronicle: Chronicle, item: Adopted) -> list[Piece]:
    """A message of another tool's view as a piece: plain where it is the session's own, word for word.

    A view of ours that comes back in a file may have a summary beside what the user said, in one message: those are parted. A
    text stays one: until the view is compacted again it goes out as the tool sends it.
    """
    message = chronicle.gauge.format.decode(item.wire, item.position or 0)
    said = None if item.position is None else chronicle.originals.find(item.position)
    piece = Piece(
        message=message,
        weigh=chronicle.gauge.weigh,
        position=item.position,
        origin=item.origin,
        whole=said is not None and said.wire == message.wire,
        joined=item.joined,
    )
    if item.origin == "made":
        return [piece]
    parts = parted([replace(piece, origin="history")], chronicle.gauge.format, divides=False)
    if len(parts) == 1:
        return [replace(piece, origin="summary")] if is_account(message.text) else [piece]
    return [replace(part, joined=number > 0 or item.joined) for number, part in enumerate(parts)]
