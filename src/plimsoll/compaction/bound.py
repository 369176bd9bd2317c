"""Thinking that its model takes back only behind the very messages it was made for (Anthropic: preserved thinking).

Where what is before it changes, the provider refuses the request. Such thinking leaves with the change; all else stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from plimsoll.compaction.draft import Draft
from plimsoll.compaction.piece import Piece
from plimsoll.message import Message, Reasoning

Binds: TypeAlias = Callable[[Message], bool]
"""Whether the thinking in a message is bound to what was before it."""


def leave_thinking(draft: Draft) -> None:
    """Take bound thinking out of a draft whose messages will change."""
    for block in list(draft.blocks):
        if not any(draft.binds(piece.message) for piece in block.pieces):
            continue
        kept = list(unbound(block.pieces, draft.binds))
        if kept:
            block.pieces = [replace(piece, weigh=draft.weigh) for piece in kept]
            block.decide("shrink", "thinking that holds only behind the messages it was made for")
        else:
            draft.leave([block], "drop", "thinking that holds only behind the messages it was made for")


def unbound(pieces: Iterable[Piece], binds: Binds) -> Iterator[Piece]:
    """The pieces without bound thinking; one that is nothing else is left out."""
    for piece in pieces:
        yield from _without_thinking(piece) if binds(piece.message) else [piece]


def unbound_at(pieces: Iterable[Piece], positions: Collection[int]) -> Iterable[Piece]:
    """The same by the positions of the messages that are bound."""
    if not positions:
        return pieces
    bound = set(positions)
    return (kept for piece in pieces for kept in (_without_thinking(piece) if piece.position in bound else [piece]))


def _without_thinking(piece: Piece) -> list[Piece]:
    kept = tuple(part for part in piece.message.parts if not isinstance(part, Reasoning))
    return [replace(piece, message=piece.message.with_parts(kept), whole=False)] if kept else []
