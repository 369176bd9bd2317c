"""A session of plimsoll's on disk, as this checkout has it."""

from __future__ import annotations

from typing import Any

MODEL = "gpt-4o"


def prepare() -> None:
    """Import it and load the vocabulary."""
    import plimsoll

    plimsoll.preload(MODEL)


def open_session(place: str, name: str, *, durable: bool, max_tokens: int) -> Any:
    """A session as JSON lines in a folder; made if there is none."""
    import plimsoll

    return plimsoll.open(
        name,
        store=f"{place}/plimsoll",
        durability="fsync" if durable else "os",
        max_tokens=max_tokens,
        model=MODEL,
        project=False,
    )


def extend(session: Any, messages: list[dict[str, Any]]) -> None:
    """On disk when it returns."""
    session.extend(messages)


def view(session: Any) -> list[dict[str, Any]]:
    """What to send: within the budget."""
    return list(session.view())


def close(session: Any) -> None:
    """Let go of it."""
    session.close()
