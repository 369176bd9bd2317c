"""The methods of a session for its memories."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from plimsoll.compaction.drive import adrive, drive
from plimsoll.session.awaiting import AwaitedSession
from plimsoll.session.concurrency import THREADS
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.remembering import close_memories, flush_all, inherit

if TYPE_CHECKING:
    from plimsoll.memory.memories import Memories


def fork(recorder: SessionRecorder, at: str | int | None, name: str | None) -> SessionRecorder:
    """A fork of a session, of which as much counts as read as of the original."""
    found = recorder.fork(at, name)
    inherit(recorder, found)
    return found


def close(recorder: SessionRecorder, keep_index: Callable[[], None]) -> None:
    """Keep the search index and the memories of what was not read yet, and close the session."""
    keep_index()
    close_memories(recorder)
    recorder.close()


class RememberingSession(AwaitedSession):
    """The methods of a session for its memories."""

    @property
    def memory(self) -> Memories | None:
        """The memories of the session's user and project; None if it was opened without `memory`."""
        return self._recorder.kept.memories

    def flush_memories(self) -> int:
        """Keep the memories of all messages now, durably. Returns how many were kept; each message is read once.

        Compactions do so for what leaves the view, and `close` for the rest. Raises StoreError.
        """
        steps = flush_all(self._recorder, asks_model=self._asks_model)
        with self._turn.held():
            return drive(steps, self._summarizer, self._recorder.access)

    async def aflush_memories(self) -> int:
        """Async `flush_memories`."""
        steps = flush_all(self._recorder, asks_model=self._asks_model)
        async with self._turn.aheld():
            return await adrive(steps, self._summarizer, THREADS, self._recorder.access)
