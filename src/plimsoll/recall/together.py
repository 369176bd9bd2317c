"""Statements that somebody said in one message: where one of them is among the best, the others come sooner.

What a tool printed is of many subjects: one of its lines says nothing of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import TypeAlias

Rated: TypeAlias = tuple[float, int, int]
"""The score of a unit, the number of its segment, and its own."""

TOGETHER = 0.1
"""How much more a statement counts for each one of its message that came before it. It never counts more than that one."""

AHEAD = 80
"""The best statements among which the order changes."""


def together(rated: Sequence[Rated], message_of: Callable[[int, int], int | None]) -> Iterator[Rated]:
    """The units, which are given best first; `message_of` tells by its two numbers what somebody said it in, if anybody."""
    groups: dict[int | Rated, list[Rated]] = {}
    for one in reversed(rated[:AHEAD]):
        message = message_of(*one[1:])
        groups.setdefault(one if message is None else message, []).append(one)
    heads = [(*_negative(group[-1]), 1.0, group) for group in groups.values()]
    heapify(heads)
    last = rated[0][0] if rated else 0.0
    while heads:
        score, number, unit, gain, group = heappop(heads)
        last = min(last, -score)
        yield last, -number, -unit
        group.pop()
        if group:
            gain *= 1 + TOGETHER
            heappush(heads, (*_negative(group[-1], gain), gain, group))
    yield from rated[AHEAD:]


def _negative(one: Rated, gain: float = 1.0) -> Rated:
    """The unit as a heap orders it: the best first, and of equal ones the newer."""
    score, number, unit = one
    return -score * gain, -number, -unit
