"""Continuing from a view that another tool made, see session/transfer/import_file.py, recorded as a compaction with its trigger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from plimsoll.compaction import readers
from plimsoll.compaction.engine import untouched
from plimsoll.compaction.join import kept_apart, split_joined
from plimsoll.compaction.normalize import HistoryNormalizer
from plimsoll.compaction.notes import restore_results
from plimsoll.compaction.plan import changes_between
from plimsoll.compaction.readers import Reader
from plimsoll.compaction.summary_message import is_summary_or_notice
from plimsoll.compaction.task import Task
from plimsoll.compaction.view_message import Origin, ViewMessage
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.message import Message, Wire
from plimsoll.policy.budget import Level
from plimsoll.records.compactions import IMPORT
from plimsoll.records.ledgers import extend_by_position
from plimsoll.records.values import Compaction
from plimsoll.session.compact import task_for
from plimsoll.session.recorder import SessionRecorder
from plimsoll.summary.ledger import Ledger
from plimsoll.summary.reread import recollected


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """A message, or part of one, in a view that another tool left: its wire form and its position in the session.

    `joined` is True if it is sent in one message with the one before it.
    """

    wire: Wire
    message: Message | None = None
    """The decoded message, if it was decoded already."""
    position: int | None = None
    origin: Origin = "history"
    joined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """A context change made by another tool: the resulting view and what its file records. Sizes in tokens as that tool counted.

    Attributes:
        trigger: "import" for the view that the session continues.
        by: The tool's name.
        reader: How the tool rewrites a view when it loads one; None if it does not.
        left: Positions of messages that the tool's compactions removed. Their facts go into the ledger, so that the next summary
            covers them.

    """

    view: Sequence[Adopted]
    summary: str | None = None
    trigger: str = "import"
    at_ms: int | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    by: str = "another tool"
    reader: Reader | None = None
    left: Sequence[int] = ()


def adopt(recorder: SessionRecorder, adoption: Adoption, before: Sequence[ViewMessage] = ()) -> Compaction:
    """Continue from another tool's view. It stays unchanged until it grows.

    `before` are entries of this session that come first. Later compactions make views that the adoption's reader can load.
    """
    meter = recorder.meter
    normalizer = HistoryNormalizer(meter.format, meter.count_message)
    entries = [*before, *as_entries(recorder, adoption)]
    for number, entry in enumerate(entries):
        normalizer.add(entry.message, number if entry.position is None else entry.position)
    task = replace(task_for(recorder, None), level=Level.none, steps=())
    if adoption.left:
        task = _speaking_for(recorder, task, adoption.left)
    shown, before_tokens = recorder.state.entries, adoption.tokens_before or recorder.total()
    after_tokens, summarised = adoption.tokens_after, adoption.summary is not None
    summaries = _summaries(entries, adoption.reader) or [adoption.summary or ""]
    known = _summaries(shown, adoption.reader)
    outline = replace(
        untouched(entries, task, before_tokens),
        tokens_after=meter.total(recorder.state.sending.settled(entries)) if after_tokens is None else after_tokens,
        summary=adoption.summary,
        written="\n".join(summaries) or None,
        ledger=_with_summaries(task.ledger, (text for text in summaries if text not in known)),
        stage=IMPORT,
        changed=True,
        note=None if adoption.trigger == IMPORT else f"by {adoption.by}, which counted these tokens",
        list_actions=lambda: changes_between(shown, entries, by=adoption.by, summarised=summarised),
    )
    recorder.state.facts.reader = adoption.reader
    return recorder.commit(outline, normalizer, adoption.trigger, adoption.tokens_before, adoption.at_ms)


def _speaking_for(recorder: SessionRecorder, task: Task, left: Sequence[int]) -> Task:
    """The task with the removed messages added to its ledger and its covered range."""
    wanted, (start, end) = frozenset(left), (min(left), max(left) + 1)
    messages = (
        (at, restore_results(message)) for at, message in recorder.state.history.decoded(0, end) if at in wanted
    )
    covers = (start, end) if task.covers is None else (min(start, task.covers[0]), max(end, task.covers[1]))
    return replace(task, ledger=extend_by_position(messages, task.ledger), covers=covers)


def _summaries(entries: Sequence[ViewMessage], reader: readers.Reader | None) -> list[str]:
    """The summaries in a view, without the text that a tool puts around them."""
    return [entry.message.text for entry in readers.bare(entries, reader) if entry.origin == "summary"]


def _with_summaries(ledger: Ledger, summaries: Iterable[str]) -> Ledger:
    """The ledger extended by another tool's summaries, whose facts may be in no message."""
    for text in filter(None, summaries):
        ledger = recollected(ledger, text)
    return ledger


def as_entries(recorder: SessionRecorder, adoption: Adoption) -> list[ViewMessage]:
    """Another tool's view as entries, in the form in which it sent them."""
    unchanged = {entry.position: entry.message for entry in recorder.state.entries if entry.is_plain}
    entries = [entry for item in adoption.view for entry in _adopted(recorder, item, unchanged)]
    return kept_apart(entries, recorder.meter.format)


def _adopted(recorder: SessionRecorder, item: Adopted, unchanged: Mapping[int | None, Message]) -> list[ViewMessage]:
    """A message of another tool's view as an entry; an unchanged one if it equals the session's own message.

    A view made by plimsoll and stored in a tool's file may hold a summary and user text in one message, as separate parts. These
    become separate entries; a single text is not split until the next compaction.

    Args:
        recorder: The session that adopts the view.
        item: The message.
        unchanged: Messages shown unchanged in the session's view, by position.

    """
    message = item.message or recorder.meter.format.decode(item.wire, item.position or 0)
    position, original = item.position, None
    if position is not None:
        original = unchanged.get(position) or recorder.message_cache.find(position)
    entry = ViewMessage(
        shown=message,
        count_message=recorder.meter.count_message,
        position=item.position,
        origin=item.origin,
        whole=original is not None and original.wire == message.wire,
        joined=item.joined,
    )
    if item.origin == "made":
        return [entry]
    parts = split_joined([replace(entry, origin="history")], recorder.meter.format, divides=False)
    if len(parts) == 1:
        return [replace(entry, origin="summary")] if is_summary_or_notice(message.text) else [entry]
    return [replace(part, joined=number > 0 or item.joined) for number, part in enumerate(parts)]
