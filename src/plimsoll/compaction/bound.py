"""Remove thinking that the provider accepts only behind the exact messages it was generated from (Anthropic: preserved thinking).

The provider rejects a request in which a message before such thinking was changed. Only that thinking is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from plimsoll.compaction.view_message import ViewMessage
from plimsoll.compaction.working_view import WorkingView
from plimsoll.message import Message, Reasoning

Binds: TypeAlias = Callable[[Message], bool]
"""True if the thinking in a message is valid only with the messages before it unchanged."""


def leave_thinking(view: WorkingView) -> None:
    """Remove bound thinking from the messages of a view that is about to change."""
    for block in list(view.blocks):
        if not any(view.binds(piece.message) for piece in block.pieces):
            continue
        kept = list(unbound(block.pieces, view.binds))
        if kept:
            block.pieces = [replace(piece, count_message=view.count_message) for piece in kept]
            block.decide("shrink", "removed thinking that is valid only with the messages before it unchanged")
        else:
            view.leave([block], "drop", "removed thinking that is valid only with the messages before it unchanged")


def unbound(pieces: Iterable[ViewMessage], binds: Binds) -> Iterator[ViewMessage]:
    """The messages without bound thinking. A message that holds nothing else is left out."""
    for piece in pieces:
        yield from _without_thinking(piece) if binds(piece.message) else [piece]


def unbound_at(pieces: Iterable[ViewMessage], positions: Collection[int]) -> Iterable[ViewMessage]:
    """Like `unbound`, given the positions of the messages whose thinking is bound."""
    if not positions:
        return pieces
    bound = set(positions)
    return (kept for piece in pieces for kept in (_without_thinking(piece) if piece.position in bound else [piece]))


def _without_thinking(piece: ViewMessage) -> list[ViewMessage]:
    kept = tuple(part for part in piece.message.parts if not isinstance(part, Reasoning))
    return [replace(piece, message=piece.message.with_parts(kept), whole=False)] if kept else []
