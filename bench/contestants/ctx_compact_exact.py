"""ctx-compact with the exact counter."""

from __future__ import annotations

from typing import Any

from contestants.tiktoken_exact import count_text, count_wire

STATEFUL = False


def prepare() -> None:
    """Import it and load the vocabulary."""
    import ctx_compact  # noqa: F401

    count_text("warm")


def adopt(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """It takes the wire format as it is."""
    return messages


def fit(messages: list[dict[str, Any]], max_tokens: int) -> list[dict[str, Any]]:
    """Its own defaults for head and tail."""
    from ctx_compact import compact

    return list(compact(messages, max_tokens=max_tokens, count_tokens=count_wire).messages)


wire = adopt
