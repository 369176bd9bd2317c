"""The pieces of a view as it grows, and what they cost together.

They are counted when somebody asks for a size, not when they come: appending does not wait for a tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from plimsoll.compaction.piece import Piece, Weigh


class Tally:
    """Pieces in order, each added up once. Sizes in tokens."""

    __slots__ = ("_counted", "_first", "_first_tokens", "_pieces", "_tokens")

    def __init__(self, pieces: Iterable[Piece] = ()) -> None:
        """What is there at the beginning is not fresh."""
        self._pieces = list(pieces)
        self._first = len(self._pieces)
        self._first_tokens = self._tokens = self._counted = 0

    @property
    def pieces(self) -> Sequence[Piece]:
        """All of them."""
        return self._pieces

    @property
    def tokens(self) -> int:
        """Of all of them."""
        if self._counted < self._first:
            self._first_tokens = self._tokens = _sum(self._pieces[: self._first])
            self._counted = self._first
        if self._counted < len(self._pieces):
            self._tokens += _sum(self._pieces[self._counted :])
            self._counted = len(self._pieces)
        return self._tokens

    @property
    def fresh_tokens(self) -> int:
        """Of those that came since the beginning."""
        return self.tokens - self._first_tokens

    def show(self, pieces: Iterable[Piece]) -> None:
        """Put pieces at the end."""
        self._pieces.extend(pieces)

    def reweighed(self, weigh: Weigh) -> Tally:
        """The same pieces by a counter that knows better."""
        pieces = [replace(piece, weigh=weigh) for piece in self._pieces]
        tally = Tally(pieces[: self._first])
        tally.show(pieces[self._first :])
        return tally


def _sum(pieces: Iterable[Piece]) -> int:
    return sum(piece.tokens for piece in pieces)
