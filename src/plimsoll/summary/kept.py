"""Readings of texts that are kept: a conversation is read and rendered again and again, with little more said."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_CLEARS: list[Callable[[], None]] = []


def kept(texts_max: int) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Decorate a function of texts so that the results for the newest `texts_max` are kept until `forget`."""

    def decorated(read: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        cached = lru_cache(texts_max)(read)
        _CLEARS.append(cached.cache_clear)
        return cast("Callable[Parameters, Result]", cached)

    return decorated


def forget() -> None:
    """Forget all readings, so that a process holds no text of a session that is closed. Others read again what they need."""
    for clear in _CLEARS:
        clear()
