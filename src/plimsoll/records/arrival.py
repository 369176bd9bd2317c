"""Messages on their way into a session: what their records will say, and the state that they lead to.

Nothing of the session changes before the records are written: an append that fails leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from plimsoll.compaction.bound import unbound, unbound_at
from plimsoll.compaction.draft import Draft
from plimsoll.compaction.meter import Gauge
from plimsoll.compaction.piece import Piece
from plimsoll.compaction.references import reference_of
from plimsoll.compaction.repair import Arranger
from plimsoll.compaction.shrink import cut_results
from plimsoll.formats.format import Format
from plimsoll.message import Message, ToolResult
from plimsoll.protocols import Record, RecordDraft
from plimsoll.records.replay import Timeline
from plimsoll.records.values import is_plain, pieces_of, view_items
from plimsoll.summary.language import language_of


class Arrivals:
    """What an append will write and show. `gauge` and `timeline` are the session's once `settle` was called."""

    def __init__(  # noqa: PLR0913 - the state it goes on from, and what is known of what comes
        self,
        gauge: Gauge,
        timeline: Timeline,
        *,
        told: Format | None,
        limit_tokens: int | None,
        edit: RecordDraft | None = None,
        is_late: bool = False,
    ) -> None:
        """What is to be appended to a session.

        Args:
            gauge: The session's counters and its budget.
            timeline: The state of the session so far.
            told: The format where the log does not say it yet; the view is then read again in it.
            limit_tokens: What a tool result may take at most.
            edit: A change of the messages before, which has its effect first.
            is_late: Whether the messages may answer another view than the one they are added to: bound thinking leaves.

        """
        self.gauge = gauge
        self.timeline = timeline
        self.drafts: list[RecordDraft] = []
        self._shown: list[Piece] = []
        self._limit_tokens = limit_tokens
        self._is_late = is_late
        if told is not None:
            self.gauge = replace(gauge, format=told)
            self.timeline = Timeline.of(timeline.log, told, self.gauge.weigh, known=False)
            self.timeline.format_fixed = True
            self.drafts.append(RecordDraft(kind="note", data={"what": "format", "format": told.name}))
        if edit is not None:
            self._edit(edit)
        self._ids = _Added(self.timeline.arranger.seen_ids)
        self._arranger = _copied(self.timeline.arranger, self._ids)

    def add(self, message: Message, position: int, at_ms: int | None) -> None:
        """The next message: its record says how the view shows it where that is not as it was said."""
        weigh, came = self.timeline.weigh, self._arranger.feed(message, position)
        pieces = [self._shrunk(self.gauge.piece(arranged, weigh), message) for arranged in came]
        pieces = list(unbound_at(pieces, self.timeline.history.branch.unbound))
        if self._is_late:
            pieces = list(unbound(pieces, self.gauge.binds))
        data: dict[str, Any] = {"m": message.wire}
        if len(pieces) != 1 or pieces[0].position != position or not is_plain(pieces[0]):
            data["shown"] = view_items(pieces, self.gauge.format, {position: message.wire or {}})
            pieces = self._read_back(data["shown"], pieces, message, position)
        self.drafts.append(RecordDraft(kind="message", data=data, at_ms=at_ms))
        self._shown += pieces

    def _edit(self, draft: RecordDraft) -> None:
        """The state after an edit, as it will be read back from its record."""
        log = self.timeline.log
        seq = log.length + len(self.drafts)
        record = Record(seq=seq, position=log.messages, kind=draft.kind, at_ms=draft.at_ms or 0, data=draft.data)
        self.timeline = self.timeline.edited(record)
        self.drafts.append(draft)

    def settle(self) -> None:
        """Let the records have their effect: they are written."""
        self._ids.seen.update(self._ids)
        self._arranger.seen_ids = self._ids.seen
        self.timeline.arranger = self._arranger
        self.timeline.tally.show(self._shown)

    def _read_back(
        self, items: Sequence[Mapping[str, Any]], pieces: Sequence[Piece], message: Message, position: int
    ) -> list[Piece]:
        """The pieces as a reader of the record will have them."""
        plain = {piece.position: piece.message for piece in pieces if piece.position is not None and is_plain(piece)}
        return pieces_of(items, self.gauge.format, self.gauge.weigh, {**plain, position: message})

    def _shrunk(self, piece: Piece, original: Message) -> Piece:
        """The piece with each tool result that passes the policy's limit cut to it, under a reference to the original."""
        limit, results = self._limit_tokens, piece.message.results
        if limit is None or not any(self._may_pass(result, limit) for result in results) or piece.tokens <= limit:
            return piece
        draft = self._draft(piece, lambda _: original)
        block = draft.blocks[0]
        cut_results(draft, block, limit)
        return block.pieces[0]

    def _draft(self, piece: Piece, read: Callable[[int], Message]) -> Draft:
        """One piece to work on, worded in the language of the view."""
        said = (shown.message for shown in self.timeline.pieces)
        language = language_of(said, self.gauge.policy.language)
        return self.gauge.draft([piece], refer=partial(reference_of, read=read), language=language)

    def _may_pass(self, result: ToolResult, limit_tokens: int) -> bool:
        """Whether only counting can tell: no token of a vocabulary is less than a byte, and no character more than four."""
        is_bounded = self.gauge.counter.exact and self.gauge.choice is None
        return 4 * len(result.content) > limit_tokens or bool(result.media) or not is_bounded


class _Added(set[str]):
    """Ids seen since an arranger was copied, beside those it had seen: copying does not cost what the history is long."""

    def __init__(self, seen: set[str]) -> None:
        super().__init__()
        self.seen = seen

    def __contains__(self, id: object) -> bool:
        return super().__contains__(id) or id in self.seen


def _copied(arranger: Arranger, ids: _Added) -> Arranger:
    pending = {key: list(calls) for key, calls in arranger.pending.items()}
    return replace(
        arranger,
        seen_ids=ids,
        pending=pending,
        lost=list(arranger.lost),
        asked=set(arranger.asked),
        answers=dict(arranger.answers),
        held=list(arranger.held),
    )
