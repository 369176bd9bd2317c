"""The first record of a session, which says what it is, and what a copy of a session has to begin and go on with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from plimsoll.errors import FormatError, NewerFormat
from plimsoll.protocols import Record, RecordDraft, SessionInfo
from plimsoll.regex import regex
from plimsoll.store.log import Tail
from plimsoll.store.record import FORMAT, SEAL_SIZE_BYTES, Unreadable, decode, encode, seal

_KIND = regex(rb'\{"n": \d+, "m": \d+, "k": "(compaction|rollback|note)"')
"""How the records begin that may say which title a session was given since it was made."""

_BATCH = regex(rb'(\{"n": \d+, "m": \d+, "k": "[^"]*", "t": -?\d+, )"b": \d+, ')


def header_line(name: str, about: Mapping[str, Any], now_ms: int) -> bytes:
    """The line of a session record: "format", "name", and whatever else is known about the session."""
    own = {"format": FORMAT, "name": name}
    return encode(RecordDraft(kind="session", data={**own, **about, **own}), seq=0, position=0, at_ms=now_ms)


def refuse_newer(name: str, header: Record | None) -> None:
    """Raise NewerFormat if the session record says so. One that is unreadable says nothing; its loss is damage."""
    version = None if header is None else header.data.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise NewerFormat(name, version=version, supported=FORMAT)


def newest_title(lines_back: Iterable[bytes]) -> str | None:
    """The title a session was given since it was made, by its lines from the last to the first; None where it was given none.

    Only few are decoded: a compaction repeats the title that held, so nothing before the newest one is looked at.
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


def session_info(  # noqa: PLR0913 - what stores know of a session
    name: str, header: Record | None, tail: Tail, *, lines_back: Iterable[bytes], size_bytes: int, archived: bool
) -> SessionInfo:
    """What a list of sessions says of one."""
    said = {} if header is None else header.data
    title, context = newest_title(lines_back) or said.get("title"), said.get("context")
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


def checked_lines(name: str, lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a new session, with newlines. Raises FormatError unless they are records numbered from 0, a
    session first.

    Where they stop in the middle of an append, those of it that are there become an append by themselves.
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
        raise FormatError("a session has at least its session record")
    size = len(batch)
    yield from (_with_batch_left(line, size - index - 1) + b"\n" for index, line in enumerate(batch))


def _checked(name: str, seq: int, line: bytes) -> int:
    """How many records of its append follow the line."""
    record = decode(line)
    if isinstance(record, Unreadable):
        raise FormatError(f"not a record: {record.reason}", position=seq)
    if record.seq != seq or (seq == 0 and record.kind != "session"):
        raise FormatError(f"record {record.seq} ({record.kind}) is out of its place", position=seq)
    if seq == 0:
        refuse_newer(name, record)
    return record.batch_left


def _with_batch_left(line: bytes, left: int) -> bytes:
    body = _BATCH.sub(rb'\g<1>"b": %d, ' % left if left else rb"\g<1>", line[:-SEAL_SIZE_BYTES], count=1)
    return body + seal(body)
