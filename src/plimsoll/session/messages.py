"""Reading a session's history: messages with ids and times, texts by reference, and the files it names."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

from plimsoll.compaction.references import checked, named_text, place_of, position_named, summary_of, text_of, text_said
from plimsoll.environment.layers import Filter
from plimsoll.errors import ReferenceNotFound, SessionDamaged, SettingError
from plimsoll.formats.wire import copied
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.message import Message
from plimsoll.policy.validation import integer, number_or_none, short_repr, unix_ms
from plimsoll.protocols import Record
from plimsoll.records.compactions import compaction_at
from plimsoll.records.history import Branch
from plimsoll.records.packing import unpacked
from plimsoll.records.usage import Usage
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.usage_reports import usage_since
from plimsoll.store.blobs import is_blob_name, text_of_blob
from plimsoll.summary.file_mentions import FileMention
from plimsoll.summary.ledger import extend

State: TypeAlias = Literal["current", "changed", "left"]
"""What became of an appended message."""

NO_FILTER = Filter(max_tokens=None, max_messages=None, time_window_s=None)

_STEP = 64
"""Messages read at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryMessage:
    """A message of the history in full. `id` is accepted by `pin` and `fork`; `at_ms` is Unix time in milliseconds.

    `usage` is the provider's report on an answer, if recorded. `state` is "current", "changed" if the history has another
    wording now, or "left" if `sync` removed the message; the last two occur only if all messages are requested.
    """

    id: str
    at_ms: int
    message: dict[str, Any]
    usage: Usage | None = None
    state: State = "current"

    @property
    def position(self) -> int:
        """Position in the history, from 0: the number in its id."""
        return int(self.id[1:])


def newest(  # noqa: PLR0913 - the bounds of `Session.messages`
    recorder: SessionRecorder,
    *,
    last: int | None,
    since_ms: int | None,
    max_tokens: int | None,
    before: str | int | None,
    all: bool = False,
) -> list[HistoryMessage]:
    """The newest messages within all bounds, in order; missing bounds come from the session's default filter.

    With `all` the original messages of the log. Reads little more than it returns. Raises SettingError.
    """
    usual = NO_FILTER if all else recorder.kept.default_filter or NO_FILTER
    room = usual.max_tokens if max_tokens is None else integer("max_tokens", max_tokens)
    left = usual.max_messages if last is None else integer("last", last)
    earliest = number_or_none("since_ms", since_ms)
    if earliest is None and usual.time_window_s is not None:
        earliest = int((time.time() - usual.time_window_s) * 1000)
    stop = recorder.log.messages if before is None else recorder.position(before)
    found: list[HistoryMessage] = []
    read = recorder.log.read_messages if all else recorder.state.history.messages
    for record in _back(read, stop):
        if (left is not None and len(found) >= left) or (earliest is not None and record.at_ms < earliest):
            break
        if room is not None:
            room -= recorder.meter.count_message(recorder.meter.format.decode(record.data["m"], record.position))
            if room < 0:
                break
        found.append(_with_id(record))
    reports = usage_since(recorder.log, stop - len(found))
    state = partial(_state, recorder.state.history.branch) if all else _current
    return [replace(one, usage=reports.get(one.position), state=state(one.position)) for one in found[::-1]]


def _state(branch: Branch, position: int) -> State:
    """What became of the message at a position."""
    if not branch.holds(position):
        return "left"
    return "changed" if position in branch.changed else "current"


def _current(_position: int) -> State:
    return "current"


def one_message(recorder: SessionRecorder, message_id: str | int) -> HistoryMessage:
    """A message of the history. Raises SettingError for an id that is not in it, SessionDamaged if it cannot be read."""
    position = recorder.position(message_id)
    for record in recorder.state.history.messages(position, position + 1):
        return replace(_with_id(record), usage=usage_since(recorder.log, position).get(position))
    if recorder.state.history.branch.holds(position):
        raise SessionDamaged(recorder.log.name, detail=f"message {position} cannot be read")
    raise SettingError("message_id", f"{short_repr(message_id)} has left the history")


def _with_id(record: Record) -> HistoryMessage:
    return HistoryMessage(id=f"m{record.position}", at_ms=record.at_ms, message=copied(record.data["m"]))


def files(recorder: SessionRecorder, compaction_id: str | None) -> list[FileMention]:
    """The files named so far, or in what a compaction's summary covers, sorted by path. Raises SettingError."""
    if compaction_id is None:
        found = recorder.ledger(recorder.state.base)
        found = extend(found, recorder.state.history.read(found.end, recorder.log.messages), found.end)
    else:
        found = recorder.ledger(recorder.compaction(compaction_id).seq)
    rows = [
        FileMention(
            path=fact.text,
            mentions=fact.mentions,
            last_mentioned=max(fact.last, fact.position),
            modified=fact.state == "modified",
        )
        for fact in found.of("file")
    ]
    return sorted(rows, key=lambda row: row.path)


def checked_times(times_ms: Sequence[int | None], count: int) -> list[int | None]:
    """Validate `count` times: each None or in the years 1970 to 9999. Raises SettingError."""
    times = list(times_ms) if isinstance(times_ms, Sequence) and not isinstance(times_ms, (str, bytes)) else []
    if len(times) != count:
        raise SettingError("times_ms", "one time is needed for each message")
    return [None if at_ms is None else unix_ms("times_ms", at_ms) for at_ms in times]


def _back(read: Callable[[int, int], Iterator[Record]], stop: int) -> Iterator[Record]:
    """Message records before a position, newest first; `read` returns those of a range."""
    while stop > 0:
        start = max(0, stop - _STEP)
        yield from reversed(list(read(start, stop)))
        stop = start


def _messages_at(recorder: SessionRecorder, position: int, reference: str) -> list[Message]:
    """A message in its current wording, followed by earlier ones if it was changed or removed."""
    decode, branch = recorder.meter.format.decode, recorder.state.history.branch
    now = [recorder.message(position, reference)] if branch.holds(position) else []
    if now and position not in branch.changed:
        return now
    before = [decode(wire, position) for wire in recorder.state.history.wordings(position)]
    return [*now, *before] or [recorder.message(position, reference)]


def text_at(recorder: SessionRecorder, reference: str) -> str:
    """The text of a reference or blob, or of a whole message by its id.

    Raises ReferenceNotFound, SessionDamaged.
    """
    position = position_named(reference)
    if position is not None:
        return text_said(_messages_at(recorder, position, str(reference))[0])
    if is_blob_name(reference):
        return text_of_blob(recorder.log.get_blob(reference))
    seq = summary_of(reference)
    if seq is None:
        found = _messages_at(recorder, place_of(reference)[0], reference)
        named = (named_text(message, reference) for message in found)
        text = next((text for text in named if text is not None), None)
        return text_of(found[0], reference) if text is None else text
    try:
        written = unpacked(compaction_at(recorder.log, seq).data).get("written")
    except SessionDamaged:
        if any(damage.kind != "torn" for damage in recorder.log.damage):
            raise
        raise ReferenceNotFound(reference) from None
    if written is None:
        raise ReferenceNotFound(reference)
    return checked(written, reference)
