"""No fitting at all: one exact count by tiktoken, the floor for whoever counts with it."""

from __future__ import annotations

from typing import Any

from contestants.tiktoken_exact import count_text, count_wire

STATEFUL = False


def prepare() -> None:
    """Load the vocabulary."""
    count_text("warm")


def adopt(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """It takes the wire format as it is."""
    return messages


def fit(messages: list[dict[str, Any]], max_tokens: int) -> list[dict[str, Any]]:  # noqa: ARG001
    """Count everything once; nothing is removed."""
    sum(map(count_wire, messages))
    return messages


wire = adopt
