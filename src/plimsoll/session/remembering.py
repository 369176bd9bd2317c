"""The memories of a session: read before messages leave its view, shown to a session that is new, and never in the way.

A store of memories is somebody else's code, or a file that another process holds. Whatever it does, a session opens, compacts and
closes; what went wrong is reported.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from plimsoll.compaction.drive import drive
from plimsoll.compaction.plan import Outline
from plimsoll.compaction.task import SummaryReply, SummaryRequest
from plimsoll.errors import ErrorCatcher, MemoryWarning, StoreUnusable, on_failure, warn
from plimsoll.light.dataclass import replace
from plimsoll.limits import MEMORY_ANSWER_S, MEMORY_OFFER_S
from plimsoll.records.compactions import session_record
from plimsoll.session.edit import edit_as
from plimsoll.session.environment import recorded
from plimsoll.session.recorder import SessionRecorder
from plimsoll.summary.kept import forget

if TYPE_CHECKING:
    from plimsoll.memory.memories import Memories
    from plimsoll.memory.reading import Place, SaidMessage
    from plimsoll.protocols import Memory, MemoryStore

Result = TypeVar("Result")

NOTES_SHARE = 10
"""Notes of earlier sessions have at most one in this many tokens of the budget."""


def fork(recorder: SessionRecorder, at: str | int | None, name: str | None) -> SessionRecorder:
    """A fork of a session, of which as much counts as read as of the original."""
    found = recorder.fork(at, name, partial(edit_as, recorder))
    inherit(recorder, found)
    return found


def close(recorder: SessionRecorder, keep_index: Callable[[], None]) -> None:
    """Keep the search index and the memories of what was not read yet, close the session, and forget what was read of its texts."""
    keep_index()
    close_memories(recorder)
    recorder.close()
    forget()


def remember(recorder: SessionRecorder, store: MemoryStore | None, closes: bool) -> SessionRecorder:  # noqa: FBT001 - as given
    """Keep memories of a session from now on; show a session without messages those there are. Returns the recorder.

    The notes that a session was once shown stay in its views, also where it is opened without a store. `closes` is True if the
    store is closed with the session.
    """
    with on_failure(recorder.close):
        if store is not None:
            recorder.kept = replace(recorder.kept, memories=_memories(recorder, store, closes=closes))
            if recorder.log.writable and not recorder.log.messages and recorder.state.facts.notes is None:
                _offer(recorder)
        if recorder.state.facts.notes is not None:
            recorder.meter = replace(recorder.meter, notes=recorder.state.facts.notes)
    return recorder


def _memories(recorder: SessionRecorder, store: MemoryStore, *, closes: bool) -> Memories:
    from plimsoll.memory.memories import Memories  # noqa: PLC0415 - only needed with memories
    from plimsoll.memory.scopes import scopes_of  # noqa: PLC0415 - as above

    context = recorded(recorder)
    user_id, workspace = context.get("user_id"), context.get("workspace")
    project = workspace.get("project_path") if isinstance(workspace, dict) else None
    is_named = isinstance(user_id, str)
    scopes = scopes_of(user_id if is_named else None, project if isinstance(project, str) else None)
    return Memories(store, scopes, closes=closes)


def _offer(recorder: SessionRecorder) -> None:
    """Record the notes that the views of a new session show."""
    memories, meter = recorder.kept.memories, recorder.meter
    most = min(meter.policy.memory_tokens_max, meter.budget.tokens // NOTES_SHARE)
    if memories is None or not most:
        return
    with ErrorCatcher() as asked:
        found = _in_time(lambda: memories.shown(most, counter=meter.counter), memories.where, MEMORY_OFFER_S)
        if found[0] is not None:
            recorder.note({"what": "memories", "text": found[0]})
            with ErrorCatcher():  # shown all the same
                _in_time(lambda: memories.count_hits(found[1]), memories.where, MEMORY_ANSWER_S)
    if asked.error is not None:
        warn(MemoryWarning(f"session {recorder.log.name!r} is shown no memories: {asked.error}"))


def flushed(
    recorder: SessionRecorder, outline: Outline, *, asks_model: bool
) -> Generator[SummaryRequest, SummaryReply, Outline]:
    """Keep the memories of what a plan removes from the view. The plan then says how many there were, or what failed.

    A session's messages are read once: the store notes how far, together with the memories. So a process may be killed at any
    point, and each fact is kept exactly once.
    """
    if recorder.kept.memories is None or not outline.changed or not recorder.meter.policy.flush_memories:
        return outline
    end = 1 + max((action.last for action in outline.actions if action.decision not in ("keep", "repair")), default=-1)
    count, failure = yield from _read_to(recorder, end, asks_model=asks_model)
    notes = (outline.note, None if failure is None else f"memories were not kept: {failure}")
    note = "; ".join(note for note in notes if note) or None
    return replace(outline, flushed_memories=outline.flushed_memories + count, note=note)


def flush_all(recorder: SessionRecorder, *, asks_model: bool) -> Generator[SummaryRequest, SummaryReply, int]:
    """Keep the memories of all messages. Returns how many were kept. Raises StoreUnusable if the store fails."""
    memories = recorder.kept.memories
    if memories is None:
        return 0
    count, failure = yield from _read_to(recorder, recorder.log.messages, asks_model=asks_model)
    if failure is not None:
        raise StoreUnusable(memories.where, reason=failure)
    return count


def close_memories(recorder: SessionRecorder) -> None:
    """Keep the memories of a session that ends, by rules alone, and close their store. Warns if the store fails."""
    memories = recorder.kept.memories
    if memories is None or recorder.is_closed:
        return
    if recorder.log.writable and recorder.meter.policy.flush_memories:
        _, failure = drive(_read_to(recorder, recorder.log.messages, asks_model=False), None)
        if failure is not None:
            warn(MemoryWarning(f"session {recorder.log.name!r}: memories were not kept: {failure}"))
    with ErrorCatcher():
        memories.close()


def inherit(recorder: SessionRecorder, fork: SessionRecorder) -> None:
    """Let the copied messages of a fork count as read, as far as they were read in the original."""
    memories = recorder.kept.memories
    if memories is not None:
        with ErrorCatcher():
            read = min(memories.read_to(_place(recorder).key), fork.log.messages)
            memories.take([], (_place(fork).key, read))


def _read_to(
    recorder: SessionRecorder, end: int, *, asks_model: bool
) -> Generator[SummaryRequest, SummaryReply, tuple[int, str | None]]:
    """Read the messages before `end` that were not read yet. Returns how many memories were kept, and what failed."""
    from plimsoll.memory.reading import read_messages  # noqa: PLC0415 - only needed with memories

    memories = recorder.kept.memories
    assert memories is not None
    kept: Sequence[Memory] = ()
    caught = ErrorCatcher()
    with caught:
        place = _place(recorder)
        start = _in_time(lambda: memories.read_to(place.key), memories.where, MEMORY_ANSWER_S)
        if start < end:
            said = _said(recorder, start, end)
            found = yield from read_messages(said, place, recorder.meter.policy, asks_model=asks_model)
            kept = _in_time(lambda: memories.take(found, (place.key, end)), memories.where, MEMORY_ANSWER_S)
    return len({memory.id for memory in kept}), None if caught.error is None else str(caught.error)[:200]


def _place(recorder: SessionRecorder) -> Place:
    from plimsoll.memory.reading import Place  # noqa: PLC0415 - only needed with memories

    assert recorder.kept.memories is not None
    scopes = recorder.kept.memories.scopes
    assert scopes is not None  # a session has a user
    first = session_record(recorder.log)
    return Place(session=recorder.log.name, created_ms=0 if first is None else first.at_ms, scopes=scopes)


def _said(recorder: SessionRecorder, start: int, end: int) -> Sequence[SaidMessage]:
    """The messages of the history at positions `[start, end)`, and whether each follows a tool result."""
    from plimsoll.memory.reading import SaidMessage  # noqa: PLC0415 - only needed with memories

    records = recorder.state.history.messages(max(0, start - 1), end)
    decode = recorder.meter.format.decode
    messages = [(record, decode(record.data["m"], record.position)) for record in records]
    return [
        SaidMessage(record.position, record.at_ms, message, after_result=before is not None and bool(before[1].results))
        for before, (record, message) in zip([None, *messages[:-1]], messages, strict=True)
        if record.position >= start
    ]


def _in_time(call: Callable[[], Result], where: str, seconds: float) -> Result:
    """The result of a call of a store, which must answer in time. Raises what it raises, and StoreUnusable if it is late."""
    found: list[Result] = []
    caught = ErrorCatcher()

    def run() -> None:
        with caught:
            found.append(call())

    thread = threading.Thread(target=run, daemon=True, name="plimsoll-memories")
    thread.start()
    thread.join(seconds)
    if caught.error is not None:
        raise caught.error
    if not found:
        raise StoreUnusable(where, reason=f"no answer within {seconds} s")
    return found[0]
