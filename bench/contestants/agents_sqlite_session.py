"""openai-agents' SQLiteSession in a file: it keeps a history and gives back all of it, or the newest items."""

from __future__ import annotations

import asyncio
from typing import Any

NEWEST = 200
"""Items asked for as a view, about as many as a view of the others has; asking for all, its default, grows with the history."""

_LOOP = asyncio.new_event_loop()


def prepare() -> None:
    """Import it."""
    import agents.memory  # noqa: F401


def open_session(place: str, name: str, *, durable: bool, max_tokens: int) -> Any:  # noqa: ARG001 - it knows no budget
    """A session in a file of its own. Its connection syncs at each commit unless told otherwise."""
    from agents.memory import SQLiteSession

    session = SQLiteSession(name, f"{place}/agents-{name}.db")
    if not durable:
        session._get_connection().execute("PRAGMA synchronous=OFF")  # noqa: SLF001 - there is no option for it
    return session


def extend(session: Any, messages: list[dict[str, Any]]) -> None:
    """Committed when it returns."""
    _LOOP.run_until_complete(session.add_items(messages))


def view(session: Any) -> list[dict[str, Any]]:
    """The newest items, however large they are."""
    return list(_LOOP.run_until_complete(session.get_items(limit=NEWEST)))


def close(session: Any) -> None:
    """Let go of it."""
    session.close()
