"""Readings of texts that are kept: a conversation is read and rendered again and again, with little more said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
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


def kept_at_once(
    texts_max: int,
) -> Callable[[Callable[[Sequence[str]], Sequence[Result]]], Callable[[Sequence[str]], list[Result]]]:
    """Decorate a function that reads many texts at once: it is given those that are new, each once.

    The results for the newest `texts_max` are kept until `forget`; those of one call are never too many.
    """

    def decorated(read: Callable[[Sequence[str]], Sequence[Result]]) -> Callable[[Sequence[str]], list[Result]]:
        known: list[dict[str, Result]] = [{}]  # replaced, never changed, so that threads need no lock

        def kept_of(texts: Sequence[str]) -> list[Result]:
            found = known[0]
            if new := [text for text in dict.fromkeys(texts) if text not in found]:
                found = {**found, **dict(zip(new, read(new), strict=True))}
                known[0] = dict(islice(found.items(), max(0, len(found) - texts_max), None))
            return list(map(found.__getitem__, texts))

        _CLEARS.append(lambda: known.__setitem__(0, {}))
        return kept_of

    return decorated


def forget() -> None:
    """Forget all readings, so that a process holds no text of a session that is closed. Others read again what they need."""
    for clear in _CLEARS:
        clear()
