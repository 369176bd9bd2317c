"""Statements that somebody said in one message: where one of them is among the best, the others come sooner.

What a tool printed is of many subjects: one of its lines says nothing of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

Rated: TypeAlias = tuple[float, int, int]
"""The score of a unit, the number of its segment, and its own."""

TOGETHER = 0.1
"""How much more a statement counts for each one of its message that came before it. It never counts more than that one."""

AHEAD = 80
"""The best statements among which the order changes."""


def together(rated: Sequence[Rated], message_of: Callable[[int, int], int | None]) -> Iterator[Rated]:
    """The units, which are given best first; `message_of` tells by its two numbers what somebody said it in, if anybody."""
    ahead = {(number, unit): (score, message_of(number, unit)) for score, number, unit in rated[:AHEAD]}
    taken: Counter[int | None] = Counter()
    last = rated[0][0] if rated else 0.0
    while ahead:
        score, number, unit = max(
            (score * (1 + TOGETHER) ** taken[message], *place) for place, (score, message) in ahead.items()
        )
        _, message = ahead.pop((number, unit))
        taken[message] += message is not None
        last = min(last, score)
        yield last, number, unit
    yield from rated[AHEAD:]
