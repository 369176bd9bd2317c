"""The view as it is sent: each result behind its call, and something in the place of those that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from plimsoll.compaction.piece import Piece, Weigh
from plimsoll.compaction.settle import Maker, settled
from plimsoll.compaction.tally import Tally
from plimsoll.formats.format import Format
from plimsoll.message import Message


class Sending:
    """Puts the pieces of a view in the order in which they are sent, and remembers the last view it did so for."""

    def __init__(self, format: Format, weigh: Weigh) -> None:
        self._format = format
        self._weigh = weigh
        self._stand_ins: dict[tuple[str, ...], Piece] = {}
        self._newest: tuple[Tally, int, list[Piece]] | None = None

    def view(self, tally: Tally) -> list[Piece]:
        """The pieces of a view that has calls without results, or results away from their calls."""
        known = self._newest
        if known is None or known[0] is not tally or known[1] != len(tally.pieces):
            known = self._newest = (tally, len(tally.pieces), self.settled(tally.pieces))
        return known[2]

    def settled(self, pieces: Sequence[Piece], *, moves: bool | None = None) -> list[Piece]:
        """Pieces as they are sent. `moves` says whether results move up to their calls also where they may stand apart."""
        if moves is None:
            moves = not self._format.rules.results_anywhere
        return settled(pieces, self._format, Maker(made=self._made, edited=_edited), moves=moves)

    def _made(self, message: Message) -> Piece:
        """A piece for a message that nobody said: the same one for the same calls, so that it is encoded and counted once."""
        key = tuple(result.call_id for result in message.results)
        known = self._stand_ins.get(key)
        if known is None or known.message != message:
            known = self._stand_ins[key] = Piece(message=message, weigh=self._weigh, origin="made", whole=False)
        return known


def _edited(piece: Piece, message: Message, reason: str) -> Piece:
    return replace(piece, message=message, whole=False, repairs=(*piece.repairs, reason))
