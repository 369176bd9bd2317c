"""Pieces that were put in order for a compaction, back in the order in which they were said."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from plimsoll.compaction.piece import Piece


def as_ordered(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Pieces in the order in which their messages were said. One that was made here stays behind the one it follows."""
    runs: list[tuple[int, list[Piece]]] = [(-1, [])]
    for piece in pieces:
        if piece.position is None:
            runs[-1][1].append(piece)
        else:
            runs.append((piece.position, [piece]))
    return tuple(piece for _, run in sorted(runs, key=itemgetter(0)) for piece in run)
