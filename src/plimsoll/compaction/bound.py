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


class Requests:
    """The views that requests may have been made of which are not answered yet."""

    def __init__(self) -> None:
        self._events: set[int | None] = set()
        self._is_answered = False

    def show(self, event: int | None) -> None:
        """A view was handed out. `event` is the record that it goes on from."""
        if self._is_answered:
            self._events.clear()
        self._events.add(event)
        self._is_answered = False

    def answer(self) -> None:
        """An answer came. The next one may be to the same view and what was said since."""
        self._is_answered = True

    def are_of_other_than(self, event: int | None) -> bool:
        """Whether an answer that comes now may have been thought behind another view than the one that goes on from `event`."""
        return not self._events <= {event}


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
