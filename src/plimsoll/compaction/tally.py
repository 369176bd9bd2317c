"""The pieces of a view as it grows, and what they cost together.

They are counted when somebody asks for a size, not when they come: appending does not wait for a tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from plimsoll.compaction.view_message import ViewMessage, Weigh


class Tally:
    """Pieces in order, each added up once. Sizes in tokens. `pieces` grows at its end; other changes are made by methods."""

    __slots__ = ("_all", "_first", "_fresh", "pieces")

    def __init__(self, pieces: Iterable[ViewMessage] = ()) -> None:
        """What is there at the beginning is not fresh."""
        self.pieces = list(pieces)
        self._first = len(self.pieces)
        self._all = _Sum(self.pieces, 0)
        self._fresh = _Sum(self.pieces, self._first)

    @property
    def tokens(self) -> int:
        """Of all of them."""
        return self._all.tokens()

    @property
    def fresh_tokens(self) -> int:
        """Of those that came since the beginning."""
        return self._fresh.tokens()

    def tokens_since(self, count: int) -> int:
        """Of those after the first `count`."""
        return sum(piece.tokens for piece in self.pieces[count:])

    def know(self, count: int, tokens: int) -> None:
        """Let the first `count` pieces cost so much together, whatever each of them is counted as."""
        self._all = _Sum(self.pieces, count, tokens)

    def place_of(self, position: int) -> int | None:
        """Which piece shows the message at a position of the history."""
        return next((place for place, piece in enumerate(self.pieces) if piece.position == position), None)

    def put(self, place: int, piece: ViewMessage) -> None:
        """Put a piece in the place of another."""
        self.pieces[place] = piece
        self._all, self._fresh = _Sum(self.pieces, 0), _Sum(self.pieces, self._first)

    def copied(self) -> Tally:
        """The same, to be changed apart from this one."""
        tally = Tally(self.pieces[: self._first])
        tally.pieces += self.pieces[self._first :]
        return tally

    def reweighed(self, weigh: Weigh) -> Tally:
        """The same pieces by a counter that knows better."""
        pieces = [replace(piece, weigh=weigh) for piece in self.pieces]
        tally = Tally(pieces[: self._first])
        tally.pieces += pieces[self._first :]
        return tally


class _Sum:
    """What pieces cost from one of them on, added up as far as they have come."""

    __slots__ = ("_counted", "_pieces", "_tokens")

    def __init__(self, pieces: Sequence[ViewMessage], counted: int, tokens: int = 0) -> None:
        self._pieces, self._counted, self._tokens = pieces, counted, tokens

    def tokens(self) -> int:
        if self._counted < len(self._pieces):
            self._tokens += sum(piece.tokens for piece in self._pieces[self._counted :])
            self._counted = len(self._pieces)
        return self._tokens
