"""The messages of a growing view and their token totals.

Messages are counted when a size is requested, not when they are appended, so appending does not wait for a tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from plimsoll.compaction.view_message import CountMessage, ViewMessage


class Tally:
    """Messages in order, each counted once. Sizes in tokens. Append to `pieces`; use the methods for other changes."""

    __slots__ = ("_all", "_first", "_fresh", "pieces")

    def __init__(self, pieces: Iterable[ViewMessage] = ()) -> None:
        """The initial messages are not fresh."""
        self.pieces = list(pieces)
        self._first = len(self.pieces)
        self._all = _Sum(self.pieces, 0)
        self._fresh = _Sum(self.pieces, self._first)

    @property
    def tokens(self) -> int:
        """Tokens of all messages."""
        return self._all.tokens()

    @property
    def fresh_tokens(self) -> int:
        """Tokens of messages added since construction."""
        return self._fresh.tokens()

    def tokens_since(self, count: int) -> int:
        """Tokens of the messages after the first `count`."""
        return sum(piece.tokens for piece in self.pieces[count:])

    def know(self, count: int, tokens: int) -> None:
        """Set the total of the first `count` messages, regardless of their individual counts."""
        self._all = _Sum(self.pieces, count, tokens)

    def place_of(self, position: int) -> int | None:
        """Index of the message for a position of the history."""
        return next((place for place, piece in enumerate(self.pieces) if piece.position == position), None)

    def put(self, place: int, piece: ViewMessage) -> None:
        """Replace the message at an index."""
        self.pieces[place] = piece
        self._all, self._fresh = _Sum(self.pieces, 0), _Sum(self.pieces, self._first)

    def copied(self) -> Tally:
        """An independent copy."""
        tally = Tally(self.pieces[: self._first])
        tally.pieces += self.pieces[self._first :]
        return tally

    def recounted(self, count_message: CountMessage) -> Tally:
        """The same messages, counted by another function."""
        pieces = [replace(piece, count_message=count_message) for piece in self.pieces]
        tally = Tally(pieces[: self._first])
        tally.pieces += pieces[self._first :]
        return tally


class _Sum:
    """Running token total from one message on."""

    __slots__ = ("_counted", "_pieces", "_tokens")

    def __init__(self, pieces: Sequence[ViewMessage], counted: int, tokens: int = 0) -> None:
        self._pieces, self._counted, self._tokens = pieces, counted, tokens

    def tokens(self) -> int:
        if self._counted < len(self._pieces):
            self._tokens += sum(piece.tokens for piece in self._pieces[self._counted :])
            self._counted = len(self._pieces)
        return self._tokens
