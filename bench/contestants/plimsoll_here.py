"""plimsoll, as this checkout has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STATEFUL = True
MODEL = "gpt-4o"


def prepare() -> None:
    """Import it and load the vocabulary."""
    import plimsoll

    plimsoll.preload(MODEL)


def adopt(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """It takes the wire format as it is."""
    return messages


def fit(messages: list[dict[str, Any]], max_tokens: int) -> list[dict[str, Any]]:
    """One call, no session."""
    import plimsoll

    return list(plimsoll.fit(messages, max_tokens=max_tokens, model=MODEL).messages)


def loop(max_tokens: int) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    """A session in memory; each step appends a turn and asks for the view."""
    import plimsoll

    session = plimsoll.open("bench", store="memory:", max_tokens=max_tokens, model=MODEL)

    def step(turn: list[dict[str, Any]]) -> list[dict[str, Any]]:
        session.extend(turn)
        return session.view()

    return step


wire = adopt
