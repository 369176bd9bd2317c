"""What the tools answer, as short text: figures in one line each, and every word of a conversation marked as a record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from plimsoll.compaction.plan import Action
from plimsoll.compaction.result import Report
from plimsoll.limits import MCP_ANSWER_CHARS_MAX, MCP_SESSIONS_LISTED_MAX
from plimsoll.protocols import Memory, SessionInfo
from plimsoll.recall.index import RECORD
from plimsoll.records.values import Compaction
from plimsoll.report.figures import number, pluralize, share, when
from plimsoll.report.inspection import grouped
from plimsoll.report.safe_text import neutral, one_line
from plimsoll.session.session import Session
from plimsoll.truncation.boundaries import head_end

SUMMARY_CHARS_MAX = 4_000
_COMPACTIONS_SHOWN = 5
_MEMORY_CHARS_MAX = 500


def sendable(text: str) -> str:
    """An answer as a client can be sent it: halves of surrogate pairs as escapes, and no longer than the limit."""
    whole = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if len(whole) <= MCP_ANSWER_CHARS_MAX:
        return whole
    end = head_end(whole, MCP_ANSWER_CHARS_MAX) or MCP_ANSWER_CHARS_MAX
    return f"{whole[:end]}\n[cut: {number(len(whole) - end)} of {number(len(whole))} characters are left out]"


def status_lines(session: Session, others: Sequence[SessionInfo]) -> Iterable[str]:
    """How full a session is, what was compacted, and which sessions there are."""
    status = session.status()
    size = f"{number(status.current_tokens)} of {number(status.max_tokens)} tokens"
    yield f"session {session.name}: {pluralize(session.history_count, 'message')}, {session.format}, model {session.model}"
    yield f"view: {size} ({share(status.current_tokens, status.max_tokens)}), level {status.level}; {status.recommendation}"
    made = session.compactions()
    yield f"compactions: {len(made)}"
    yield from (f"  {_compaction(compaction)}" for compaction in reversed(made[-_COMPACTIONS_SHOWN:]))
    if others:
        yield f"sessions, the newest first (titles are {RECORD}):"
        yield from (f"  {_session(info)}" for info in others[:MCP_SESSIONS_LISTED_MAX])
    if len(others) > MCP_SESSIONS_LISTED_MAX:
        yield f"  and {number(len(others) - MCP_SESSIONS_LISTED_MAX)} more"


def preview_lines(name: str, report: Report) -> Iterable[str]:
    """What a compaction would do, and the summary it would write."""
    yield f"session {name}: a preview; nothing was changed"
    yield from _change(report.tokens_before, report.tokens_after, report.actions, report.note)
    yield from _summary(report.summary)


def compaction_lines(name: str, compaction: Compaction) -> Iterable[str]:
    """What a compaction did."""
    if compaction.id is None:
        yield f"session {name}: nothing was compacted: {compaction.note or 'there is nothing to do'}"
        return
    yield f"session {name}: compaction {compaction.id} is done; rollback undoes it"
    yield from _change(compaction.tokens_before, compaction.tokens_after, compaction.actions, compaction.note)
    yield from _summary(compaction.summary)


def memory_lines(found: Sequence[Memory]) -> Iterable[str]:
    """What is remembered, each with who said it and where it was last said."""
    yield f"[Memories of earlier sessions, {RECORD}]"
    for memory in found:
        origin = next((found for found in reversed(memory.origins) if found.session), None)
        where = "" if origin is None else f", session {origin.session}{f', {origin.message}' if origin.message else ''}"
        about = f"{memory.kind}, by {memory.by}, {when(memory.time_ms)}{where}"
        yield f"- {one_line(memory.text, _MEMORY_CHARS_MAX)} ({one_line(about, _MEMORY_CHARS_MAX)})"


def _change(before: int, after: int, actions: Sequence[Action], note: str | None) -> Iterable[str]:
    yield f"view: {number(before)} → {number(after)} tokens"
    for group in grouped(actions):
        messages = one_line(group.messages)
        yield f"  {group.decision}: {group.tokens_before:,} → {group.tokens_after:,} tokens, {group.reason}: {messages}"
    if note:
        yield f"note: {one_line(note)}"


def _summary(summary: str | None) -> Iterable[str]:
    if summary is None:
        return
    cut = len(summary) > SUMMARY_CHARS_MAX
    yield f"summary, {RECORD}{', its beginning' if cut else ''}:"
    yield neutral(summary[:SUMMARY_CHARS_MAX])


def _compaction(made: Compaction) -> str:
    change = f"{number(made.tokens_before)} → {number(made.tokens_after)} tokens"
    return f"{made.id}, {when(made.at_ms)}, {made.trigger}: {change}{', undone' if made.undone else ''}"


def _session(info: SessionInfo) -> str:
    title = f": {one_line(info.title, 80)}" if info.title else ""
    return f"{info.name}, {pluralize(info.messages, 'message')}, changed {when(info.updated_ms)}{title}"
