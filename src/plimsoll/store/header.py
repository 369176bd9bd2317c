"""The session record, which is the first of a log, and validation of the lines of a new session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from plimsoll.errors import FormatError, NewerFormat
from plimsoll.light.regex import regex
from plimsoll.protocols import Record, RecordDraft, SessionInfo
from plimsoll.store.log import Tail
from plimsoll.store.record import FORMAT, SEAL_SIZE_BYTES, Unreadable, decode, encode, seal

_KIND = regex(rb'\{"n": \d+, "m": \d+, "k": "(compaction|rollback|note)"')
"""The start of records that can carry a title set after the session was created."""

_BATCH = regex(rb'(\{"n": \d+, "m": \d+, "k": "[^"]*", "t": -?\d+, )"b": \d+, ')


def header_line(name: str, about: Mapping[str, Any], now_ms: int) -> bytes:
    """The line of a session record: "format", "name" and the fields in `about`."""
    own = {"format": FORMAT, "name": name}
    return encode(RecordDraft(kind="session", data={**own, **about, **own}), seq=0, position=0, at_ms=now_ms)


def refuse_newer(name: str, header: Record | None) -> None:
    """Raise NewerFormat if the session record requires it. An unreadable one is reported as damage instead."""
    version = None if header is None else header.data.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise NewerFormat(name, version=version, supported=FORMAT)


def newest_title(lines_back: Iterable[bytes]) -> str | None:
    """The latest title set after creation, from lines in reverse order; None if there is none.

    Stops at the newest compaction, which repeats the current title, so few lines are decoded.
    """
    for line in lines_back:
        kind = _KIND.match(line)
        record = None if kind is None else decode(line)
        if record is None or isinstance(record, Unreadable):
            continue
        if record.kind == "note" and record.data.get("what") != "title":
            continue
        state = record.data if record.kind == "note" else record.data.get("state")
        title = state.get("title") if isinstance(state, Mapping) else None
        return title if isinstance(title, str) else None
    return None


def session_info(  # noqa: PLR0913 - the fields of SessionInfo
    name: str, header: Record | None, tail: Tail, *, lines_back: Iterable[bytes], size_bytes: int, archived: bool
) -> SessionInfo:
    """The entry for one session in a list of sessions."""
    fields = {} if header is None else header.data
    title, context = newest_title(lines_back) or fields.get("title"), fields.get("context")
    agent_id = context.get("agent_id") if isinstance(context, dict) else None
    return SessionInfo(
        name=name,
        created_ms=None if header is None else header.at_ms,
        updated_ms=tail.at_ms,
        records=tail.seq,
        messages=tail.messages,
        size_bytes=size_bytes,
        title=title if isinstance(title, str) else None,
        agent_id=agent_id if isinstance(agent_id, str) else None,
        archived=archived,
    )


def newest_first(found: Iterable[SessionInfo]) -> list[SessionInfo]:
    """Sessions by the time of their last change."""
    return sorted(found, key=lambda one: (-(one.updated_ms or 0), one.name))


def checked_lines(name: str, lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a new session with newlines. Raises FormatError unless they are numbered from 0, the session record first.

    If the lines end inside an append, its lines become an append of their own.
    """
    batch: list[bytes] = []
    seq = left = -1
    for seq, line in enumerate(lines):
        left = _checked(name, seq, line)
        batch.append(line)
        if not left:
            yield from (one + b"\n" for one in batch)
            batch = []
    if seq < 0:
        raise FormatError("a session needs at least its session record")
    size = len(batch)
    yield from (_with_batch_left(line, size - index - 1) + b"\n" for index, line in enumerate(batch))


def _checked(name: str, seq: int, line: bytes) -> int:
    """The number of records that follow the line in its append."""
    record = decode(line)
    if isinstance(record, Unreadable):
        raise FormatError(f"not a record: {record.reason}", position=seq)
    if record.seq != seq or (seq == 0 and record.kind != "session"):
        raise FormatError(f"record {record.seq} ({record.kind}) is out of order", position=seq)
    if seq == 0:
        refuse_newer(name, record)
    return record.batch_left


def _with_batch_left(line: bytes, left: int) -> bytes:
    body = _BATCH.sub(rb'\g<1>"b": %d, ' % left if left else rb"\g<1>", line[:-SEAL_SIZE_BYTES], count=1)
    return body + seal(body)
