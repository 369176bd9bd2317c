"""Shared by the three writers: reproducible ids, increasing times, and content helpers."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from plimsoll.light.dataclass import dataclass, field
from plimsoll.limits import TIME_MS_MAX
from plimsoll.message import Wire
from plimsoll.records.usage import Usage
from plimsoll.transcripts.lines import dump, mapping_of, text_of
from plimsoll.transcripts.values import Checkpoint, ExportLoss, Meta, ToolCompaction, Transcript

_NAMESPACE = uuid.UUID("6d0a3f5e-7c1b-5b5e-9d55-706c696d736f")
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC) - timedelta(days=366)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterContext:
    """The input of a writer: the source's lines or none, and the generators of ids and times."""

    meta: Meta
    ids: Ids
    clock: Clock
    source: Transcript | None = None
    system: str | None = None


class Writer(ABC):
    """Writes one tool's lines, after those of a source or from the start."""

    def __init__(self, context: WriterContext) -> None:
        self.lines: list[str] = []
        """The new lines."""
        self.losses: list[ExportLoss] = []
        self.usage: Usage | None = None
        """Usage of the next message, if known."""
        self._before = 0 if context.source is None else len(context.source.entries)
        self._ids = context.ids
        self._clock = context.clock

    @property
    def number(self) -> int:
        """The number of the next line in the file."""
        return self._before + len(self.lines)

    @abstractmethod
    def append(self, wire: Wire) -> None:
        """Write a message."""

    @abstractmethod
    def compact(self, compaction: ToolCompaction, kept: Sequence[int]) -> None:
        """Write a compaction with its summary that keeps these messages, by index."""

    @abstractmethod
    def restart(self, checkpoint: Checkpoint) -> None:
        """Write a compaction after which the tool reads the checkpoint's view and nothing older."""


def session_uuid(meta: Meta, salt: str) -> str:
    """The session's id if it is a UUID, else a UUID derived from it."""
    try:
        return str(uuid.UUID(text_of(meta.session_id)))
    except ValueError:
        return str(uuid.uuid5(_NAMESPACE, f"{_plain(text_of(meta.session_id))}:{_plain(salt)}"))


def _plain(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(slots=True, kw_only=True)
class Clock:
    """The times of new lines: after every earlier line, by a millisecond if no time is known."""

    now: datetime

    def reach(self, text: str | None) -> None:
        """Advance to at least this ISO time, never backwards."""
        found = moment(text)
        if found is not None and self.now < found <= _LATEST:
            self.now = found - timedelta(milliseconds=1)

    def next(self) -> datetime:
        """The time of the next line."""
        self.now += timedelta(milliseconds=1)
        return self.now

    def stamp(self) -> str:
        """The time of the next line as the tools write it: ISO 8601, UTC, milliseconds."""
        return iso(self.next())


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and a Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(text: object) -> datetime | None:
    """The time in a text, or None. Times without a zone are UTC."""
    try:
        found = datetime.fromisoformat(text_of(text))
    except ValueError:
        return None
    try:
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        return None


def time_ms(text: object) -> int | None:
    """An ISO time as Unix milliseconds; None if it is invalid or out of range."""
    at = moment(text)
    at_ms = -1 if at is None else int(at.timestamp() * 1000)
    return at_ms if 0 <= at_ms <= TIME_MS_MAX else None


def clock(at: str | None, meta: Meta, source: Transcript | None) -> Clock:
    """A clock that starts at the caller's time, or after the source's last line, whichever is later."""
    stamps = [mapping_of(entry.value).get("timestamp") for entry in source.entries] if source is not None else []
    candidates = [found for found in map(moment, (at, meta.started, *stamps)) if found is not None]
    return Clock(now=min(max(candidates, default=_EPOCH), _LATEST))


@dataclass(slots=True, kw_only=True)
class Ids:
    """New ids derived from the content: the same lines get the same ids, different lines different ones."""

    session: str
    used: set[str] = field(default_factory=set)

    def uuid(self, number: int, content: Mapping[str, Any]) -> str:
        """A UUID for the line with this number and content."""
        seed = f"{number}:{dump(content)}"
        fresh = str(uuid.uuid5(uuid.UUID(self.session), seed))
        while fresh in self.used:
            seed += "+"
            fresh = str(uuid.uuid5(uuid.UUID(self.session), seed))
        self.used.add(fresh)
        return fresh

    def short(self, number: int, content: Mapping[str, Any]) -> str:
        """Eight hexadecimal digits, the form of pi's ids."""
        salt = 0
        while (fresh := uuid.uuid5(uuid.UUID(self.session), f"{salt}:{number}:{dump(content)}").hex[:8]) in self.used:
            salt += 1
        self.used.add(fresh)
        return fresh


def blocks_of(content: object) -> list[dict[str, Any]]:
    """A content as blocks: text becomes a text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [dict(block) for block in content] if isinstance(content, (list, tuple)) else []
