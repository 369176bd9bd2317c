"""Late results: moved up to the calls they answer, and back to where they were said."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from operator import itemgetter

from plimsoll.compaction.piece import Piece
from plimsoll.exchange import group
from plimsoll.message import FormatName, Message


def reunited(messages: Sequence[Message], format: FormatName) -> list[tuple[int, Message]]:
    """The messages with their positions, late results moved up to the call they answer. Linear.

    A result is late when other messages came between. Formats that send several results in one message are left alone.
    """
    numbered = list(enumerate(messages))
    if format not in ("openai-chat", "openai-responses"):
        return numbered
    late = _late(messages)
    if not late:
        return numbered
    moved = {position for positions in late.values() for position in positions}
    ordered: list[tuple[int, Message]] = []
    for position, message in numbered:
        if position not in moved:
            ordered.append((position, message))
        ordered.extend((other, messages[other]) for other in late.get(position, ()))
    return ordered


def _late(messages: Sequence[Message]) -> dict[int, list[int]]:
    """Last position of an exchange -> positions of the results that come too late for it."""
    open_at: dict[str, int] = {}
    late: dict[int, list[int]] = {}
    for exchange in group(messages):
        for result in exchange.results:
            end = open_at.pop(result.call_id, None) if exchange.messages[0].role == "tool" else None
            if end is not None:
                late.setdefault(end, []).append(exchange.start)
        open_at.update(dict.fromkeys(exchange.pending, exchange.end - 1))
    return late


def as_ordered(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Pieces in the order in which their messages were said. One that was made here stays behind the one it follows."""
    runs: list[tuple[int, list[Piece]]] = [(-1, [])]
    for piece in pieces:
        if piece.position is None:
            runs[-1][1].append(piece)
        else:
            runs.append((piece.position, [piece]))
    return tuple(piece for _, run in sorted(runs, key=itemgetter(0)) for piece in run)


def answered_soon(messages: Sequence[Message]) -> list[Container[str]]:
    """For each message the calls that those right after it answer, as long as nobody says anything else in between. Linear."""
    soon: list[Container[str]] = []
    last: dict[str, int] = {}
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        results = () if message.role == "assistant" else message.results
        if not results:
            last = {}
            soon.append(())
            continue
        if len(results) < len(message.parts):
            last = {}
        soon.append(_After(last, at))
        for result in results:
            last.setdefault(result.call_id, at)
    return soon[::-1]


class _After:
    """The ids that come again after a place. `last` says where each comes last."""

    __slots__ = ("_at", "_last")

    def __init__(self, last: Mapping[str, int], at: int) -> None:
        self._last = last
        self._at = at

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._last.get(id, -1) > self._at
