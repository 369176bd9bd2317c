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
    """A session in a file of its own, whose log is synced at each commit, or never.

    It has no option for that, and a connection for each thread of its pool: each is told when it is made.
    """
    from agents.memory import SQLiteSession

    session = SQLiteSession(name, f"{place}/agents-{name}.db")
    configure = session._configure_connection  # noqa: SLF001

    def configured(connection: Any) -> None:
        configure(connection)
        connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")

    session._configure_connection = configured  # noqa: SLF001
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
