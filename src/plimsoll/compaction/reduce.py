"""Make an exchange smaller than cutting its texts can: what nobody may edit leaves a mark, and the oldest calls leave.

Cutting (shrink.py) ends where parts are opaque or many. Here such parts leave one by one, each under a mark in its place, so that
one exchange never costs the view everything else. As the last resort the whole exchange becomes one line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from plimsoll.compaction.calls import Place, call_units, without_calls
from plimsoll.compaction.draft import Draft
from plimsoll.compaction.notes import note_of
from plimsoll.compaction.piece import Block, Piece
from plimsoll.compaction.shrink import LEAST_TOKENS, cut_spots, part_tokens, shrink_to, spots
from plimsoll.dataclass import dataclass
from plimsoll.formats.exchange import speaks
from plimsoll.formats.rules import RULES
from plimsoll.formats.wire import json_text
from plimsoll.message import Message, Opaque, Part, Text, ToolResult, Wire, text_message
from plimsoll.truncation import cut_json
from plimsoll.truncation.marker import omission_marker

PREVIEWS = 16
"""What stays of an exchange is shown in previews of this share of its room, so that a few are read rather than many marks."""

PREVIEW_TOKENS_MAX = 125

MARKED_TOKENS_MIN = 48
"""An opaque part below this costs little more than the mark in its place."""


def reduce_to(draft: Draft, block: Block, tokens_max: int, reason: str, *, to_line: bool = True) -> bool:
    """Bring a block to at most `tokens_max`, the newest of it kept longest; says whether it is.

    Cut to previews, an exchange may still be too large: then opaque parts leave a mark, the largest first, and the oldest
    calls leave with their results. Calls without a result stay, because one may come. Where even that is not enough, one line
    stands for the whole, unless `to_line` is off.
    """
    if block.tokens <= tokens_max:
        return True
    whole = list(block.pieces)
    room = _Room(draft=draft, block=block, tokens_max=tokens_max, preview_tokens=_preview_tokens(tokens_max))
    if room.is_short(block.pieces):
        _mark_opaque_parts(room)
    if room.is_short(block.pieces):
        _leave_calls(room)
    shrink_to(draft, block, tokens_max, reason)
    if block.tokens > tokens_max and block.is_request and block.exchange.calls_tools:
        _keep_the_words(draft, block, whole, tokens_max, reason)
    if to_line and block.tokens > tokens_max:
        _become_one_line(draft, block, reason)
    return block.tokens <= tokens_max


def is_stubborn(draft: Draft, block: Block, tokens_max: int) -> bool:
    """Whether cutting its texts to previews is not enough to bring a block to `tokens_max`."""
    return _Room(draft=draft, block=block, tokens_max=tokens_max, preview_tokens=_preview_tokens(tokens_max)).is_short(
        block.pieces
    )


def sealed_tokens(draft: Draft, block: Block) -> int:
    """What the parts of a block cost that nobody may cut and a mark may replace."""
    return sum(tokens for tokens, _ in _opaque_groups(draft, block))


def _preview_tokens(tokens_max: int) -> int:
    return max(LEAST_TOKENS, min(PREVIEW_TOKENS_MAX, tokens_max // PREVIEWS))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Room:
    """The room for one block, and the size of the previews that it should have room for."""

    draft: Draft
    block: Block
    tokens_max: int
    preview_tokens: int

    def is_short(self, pieces: list[Piece]) -> bool:
        """Whether these pieces do not fit even when every text in them is cut to a preview."""
        return self._previewed(pieces) > self.tokens_max

    def fewest(self, count: int, without: Callable[[int], list[Piece]]) -> int:
        """How many of `count` things must leave so that the rest fits in previews; all of them where that is not enough."""
        return bisect_left(range(count), -self.tokens_max, lo=1, key=lambda number: -self._previewed(without(number)))

    def _previewed(self, pieces: list[Piece]) -> int:
        block = Block(pieces=pieces, exchange=self.block.exchange, pieces_before=())
        return block.tokens - sum(max(0, spot.tokens - self.preview_tokens) for spot in spots(self.draft, block))


# --- parts that nobody may edit

_Group: TypeAlias = tuple[int, tuple[Place, ...]]
"""Tokens, and the opaque parts that cost them and belong together."""


def _mark_opaque_parts(room: _Room) -> None:
    """Opaque parts become marks, the largest first, as many as must. A provider's call and its result go together."""
    draft, block = room.draft, room.block
    groups = _opaque_groups(draft, block)
    if not groups:
        return

    def without(number: int) -> list[Piece]:
        return _with_marks(room, groups[:number])

    block.pieces = without(room.fewest(len(groups), without))
    block.decide("shrink", "parts that cannot be cut left out")


def _opaque_groups(draft: Draft, block: Block) -> list[_Group]:
    """The opaque parts of a block that are worth a mark, those that belong together as one, the largest first."""
    places: dict[str | Place, list[Place]] = {}
    for number, piece in enumerate(block.pieces):
        for index, part in enumerate(piece.message.parts if piece.message.role in ("user", "assistant") else ()):
            if isinstance(part, Opaque):
                key = part.wire.get("tool_use_id") or part.wire.get("id")
                places.setdefault(key if isinstance(key, str) else (number, index), []).append((number, index))
    groups = [(sum(_tokens_at(draft, block, place) for place in found), tuple(found)) for found in places.values()]
    return sorted((group for group in groups if group[0] >= MARKED_TOKENS_MIN), key=lambda group: (-group[0], group[1]))


def _tokens_at(draft: Draft, block: Block, place: Place) -> int:
    message = block.pieces[place[0]].message
    return part_tokens(draft, message, message.parts[place[1]])


def _with_marks(room: _Room, groups: Sequence[_Group]) -> list[Piece]:
    """The pieces with a mark where the last part of each group stood, and nothing where the others did."""
    draft, pieces = room.draft, room.block.pieces
    marks: dict[Place, Part | None] = {}
    for tokens, places in groups:
        marks |= dict.fromkeys(places)
        marks[places[-1]] = Text(text=_opaque_mark(room, tokens, places[-1]))
    kept = []
    for number, piece in enumerate(pieces):
        parts = [marks.get((number, index), part) for index, part in enumerate(piece.message.parts)]
        stay = tuple(part for part in parts if part is not None)
        if len(stay) == len(parts) and all(old is new for old, new in zip(piece.message.parts, stay, strict=True)):
            kept.append(piece)
        elif stay:
            kept.append(replace(piece, message=piece.message.with_parts(stay), weigh=draft.weigh, whole=False))
    return kept


def _opaque_mark(room: _Room, tokens: int, place: Place) -> str:
    """The mark, and a preview of the part: what it is called and where it comes from may be readable."""
    draft, piece = room.draft, room.block.pieces[place[0]]
    part = piece.message.parts[place[1]]
    assert isinstance(part, Opaque)
    kind = str(part.wire.get("type") or next(iter(part.wire), "part"))
    reference = draft.refer(piece, place[1]) if draft.recall else None
    words = omission_marker(kind, tokens, reference=reference, language=draft.language)
    shown = cut_json(
        json_text(part.wire), tokens_max=room.preview_tokens, counter=draft.counter, language=draft.language
    )
    return f"{words}\n{shown.text}"


# --- calls


def _leave_calls(room: _Room) -> None:
    """The oldest calls leave with their results, as many as must; the newest stays."""
    draft, block = room.draft, room.block
    units = call_units(block.pieces)
    if len(units) <= 1:
        return

    def without(number: int) -> list[Piece]:
        return without_calls(block.pieces, units[:number], draft.weigh, draft.language)

    number = room.fewest(len(units) - 1, without)
    references = [draft.refer(block.pieces[at], index) for unit in units[:number] for at, index in unit]
    block.pieces = without(number)
    for reference in references:
        block.decide("offload" if reference else "shrink", "its earlier calls left out", reference=reference)


# --- the whole of it


def _become_one_line(draft: Draft, block: Block, reason: str) -> None:
    """One line in the place of the exchange, where that is less. A tool's result stays recognisable as one."""
    references = [draft.refer(piece, index) for piece in block.pieces for index in range(len(piece.message.parts))]
    piece = _line(draft, block)
    if piece.tokens >= block.tokens:
        return
    block.pieces = [piece]
    for reference in references:
        block.decide("offload" if reference else "shrink", reason, reference=reference)


def _keep_the_words(draft: Draft, block: Block, whole: Sequence[Piece], tokens_max: int, reason: str) -> None:
    """What the user says beside tool results stays without them, where that is less, and a line stands for the calls."""
    piece = next(piece for piece in whole if speaks(piece.message))
    words = tuple(part for part in piece.message.parts if not isinstance(part, ToolResult))
    others = sum(piece.tokens for piece in whole) - draft.weigh(piece.message.with_parts(words))
    line = Text(text=omission_marker(_named(block), max(0, others), language=draft.language))
    spoken = replace(piece, message=piece.message.with_parts((line, *words)), weigh=draft.weigh, whole=False)
    bare = Block(pieces=[spoken], exchange=block.exchange, pieces_before=block.pieces_before)
    excess = bare.tokens - tokens_max
    if excess > 0:
        found = [spot for spot in spots(draft, bare) if spot.part == 0]
        cut_spots(draft, bare, found, max(0, found[0].tokens - excess), reason)
    shrink_to(draft, bare, tokens_max, reason)
    if bare.tokens < block.tokens:
        block.pieces = bare.pieces
        block.decide("shrink", reason)


def _named(block: Block) -> str:
    names = ", ".join(dict.fromkeys(call.name for call in block.exchange.calls))
    return f"{len(block.exchange.calls)} tool calls ({names[:60]})" if names else "message"


def _line(draft: Draft, block: Block) -> Piece:
    """The line, in the role of the exchange's last message."""
    last = block.pieces[-1]
    names = ", ".join(dict.fromkeys(call.name for call in block.exchange.calls))
    words = omission_marker(_named(block), block.tokens, language=draft.language)
    if last.message.results and last.message.role != "assistant":
        message = text_message("user", note_of(ToolResult(call_id="", content=words, name=names[:60] or None)))
        return replace(last, message=message, weigh=draft.weigh, whole=False, origin="made")
    message = replace(last.message.with_parts((Text(text=words),)), wire=_wire_kept(last.message))
    return replace(last, message=message, weigh=draft.weigh, whole=False)


def _wire_kept(message: Message) -> Wire | None:
    """UI messages keep their ids; elsewhere the other fields belong to what has left."""
    keeps = message.format is not None and RULES[message.format].keeps_message_fields
    return message.wire if keeps else None
