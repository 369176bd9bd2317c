"""The seams: what the core and the session need from outside, as Protocols. No behaviour lives here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol, Self, TypeAlias

from plimsoll.dataclass import dataclass


class TokenCounter(Protocol):
    """Counts the tokens of a text. Total: any `str`, lone surrogates and special-token text included. Never raises.

    `count` is additive enough to budget with and monotone: more text is never fewer tokens. `upper` never says less than
    `count`; decisions against a limit use it. They are equal where the vocabulary is public.
    """

    @property
    def name(self) -> str:
        """What a report calls this counter, such as `o200k_base`."""
        ...

    @property
    def exact(self) -> bool:
        """Whether `count` is the provider's own count."""
        ...

    def count(self, text: str) -> int:
        """The best estimate, or the exact count."""
        ...

    def upper(self, text: str) -> int:
        """A count the truth is not expected to pass."""
        ...


class Offload(Protocol):
    """Keeps text that leaves the view. Content-addressed: the same text gives the same reference."""

    def put(self, text: str, *, label: str) -> str:
        """Store the text and return its reference. `label` says what it is, for people."""
        ...

    def get(self, reference: str) -> str:
        """The same text. Raises ReferenceNotFound."""
        ...


# --- stores -----------------------------------------------------------------------------------------------------------

Durability: TypeAlias = Literal["fsync", "os"]
"""What an acknowledged append survives: "fsync" power loss, "os" only the death of the process."""

DamageKind: TypeAlias = Literal["torn", "unreadable", "missing", "misplaced"]
"""torn: an append that did not finish, at the end. unreadable: bytes that are no record. missing: numbers that nothing
has, and no bytes where they were. misplaced: a record that does not lie where its number belongs, or is there twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDraft:
    """A record about to be appended. `data` is a JSON object: str keys, at most RECORD_NESTING_MAX levels deep.

    `required` marks a kind that a reader must understand: a plimsoll that does not know it refuses the session
    (NewerFormat) instead of carrying the record along. `at_ms` is Unix time in milliseconds; None asks the store's
    clock.
    """

    kind: str
    data: Mapping[str, Any]
    at_ms: int | None = None
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record of a session's log."""

    seq: int
    """Its number: 0 for the session record, then one more for each."""
    position: int
    """How many messages come before it. For a message: its position in the history."""
    kind: str
    at_ms: int
    """Unix time in milliseconds. For people; order is by `seq`."""
    data: Mapping[str, Any]
    required: bool = False
    batch_left: int = 0
    """How many records of the same append follow it."""
    raw: bytes | None = field(default=None, repr=False)
    """The exact line, without its newline, of a kind this version does not know; else None."""

    @property
    def messages(self) -> int:
        """How many messages there are up to and including it."""
        return self.position + (self.kind == "message")


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Something in a log that cannot be read. A finding: everything around it can."""

    kind: DamageKind
    seq: int
    """Number of the first record concerned."""
    records: int
    """How many record numbers are gone with it; 0 for stray bytes between records that are all there."""
    offset: int | None = None
    """Byte in the log where it begins; None in a store that keeps records by number."""
    size_bytes: int = 0
    reason: str = ""
    kept_in: str | None = None
    """Where the bytes of a torn append were put aside, once a writer has done so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """One line of a list of sessions. Times are Unix milliseconds, None where the record that holds them is
    unreadable.
    """

    name: str
    created_ms: int | None
    updated_ms: int | None
    records: int
    messages: int
    size_bytes: int
    """Bytes of the log, without blobs."""
    title: str | None = None
    agent_id: str | None = None
    """The agent that it was made for, where the host said so."""
    archived: bool = False


Flaw: TypeAlias = Callable[[Record], str | None]
"""Says why a record cannot be used, or None."""


class SessionLog(Protocol):
    """One session's log, open. Any number of readers, one writer. Safe to share between threads, not across a fork.

    `read`, `read_back`, `read_messages` and `lines` skip what is unreadable and note it in `damage`; they raise
    NewerFormat at a required record of an unknown kind (`lines` does not: it copies), StoreUnusable once the log is
    closed.
    """

    @property
    def name(self) -> str:
        """The session's name."""
        ...

    @property
    def writable(self) -> bool:
        """Whether this is the writer."""
        ...

    @property
    def where(self) -> str:
        """Where it is kept, for people: a path, or the store's name."""
        ...

    @property
    def length(self) -> int:
        """Records, which is the number the next one gets. A reader sees what writers have added since."""
        ...

    @property
    def messages(self) -> int:
        """Messages, which is the position the next one gets."""
        ...

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What was found so far, by offset and number. Complete after a whole `read()`."""
        ...

    def judge(self, flaw: Flaw) -> None:
        """Take records with a flaw for unreadable from now on: skip them and note them. For who knows what they must say.

        `lines` skips none: it copies.
        """
        ...

    def append(self, drafts: Sequence[RecordDraft]) -> list[Record]:
        """Add records, all or none, and return them as reading gives them. Durable when it returns.

        Raises FormatError or LimitExceeded for a payload that is not JSON or too large, StoreFull when there is no
        space (the next append works once there is), StoreUnusable for anything else the disk says; after that the log
        has to be opened again, because nobody knows what an earlier failed sync has left.
        """
        ...

    def read(self, from_seq: int = 0) -> Iterator[Record]:
        """Records in order, from a number on. Finding the first does not read what is before it."""
        ...

    def read_back(self) -> Iterator[Record]:
        """Records from the newest to the oldest. Reads no further back than it is asked for."""
        ...

    def read_messages(self, start: int = 0, stop: int | None = None) -> Iterator[Record]:
        """The messages at positions `[start, stop)`, in order. Finding the first does not read what is before it."""
        ...

    def lines(self, from_seq: int = 0) -> Iterator[bytes]:
        """The same records as encoded lines without newline, byte for byte."""
        ...

    def put_blob(self, data: bytes) -> str:
        """Store bytes beside the log, durably, and return their SHA-256 in hexadecimal. Storing them twice is once."""
        ...

    def get_blob(self, reference: str) -> bytes:
        """Bytes by their SHA-256 or an unambiguous beginning of it, of 12 digits or more.

        Raises ReferenceNotFound, or SessionDamaged when the bytes are no longer those.
        """
        ...

    def blobs(self) -> Iterator[str]:
        """The SHA-256 of every blob, in order."""
        ...

    def close(self) -> None:
        """Let go of files and of the write lock. Closing twice is fine."""
        ...

    def __enter__(self) -> Self:
        """The log itself; leaving the block closes it."""
        ...

    def __exit__(self, *exc: object) -> None: ...


class Store(Protocol):
    """A place that keeps sessions. All stores behave alike: tests/contract runs one suite over each."""

    @property
    def where(self) -> str:
        """Where it is, for people."""
        ...

    def sessions(self, *, archived: bool = False) -> list[SessionInfo]:
        """Its sessions, the last changed first; or those that were archived."""
        ...

    def create(self, name: str, about: Mapping[str, Any] | None = None) -> SessionLog:
        """A new session, open for writing, with its session record: `about` and "format" and "name".

        Raises UnsafeName, SessionExists, StoreFull, StoreUnusable.
        """
        ...

    def create_from(self, name: str, lines: Iterable[bytes], blobs: Iterable[bytes] = ()) -> None:
        """A new session made of encoded lines numbered from 0 on, whole or not at all. For imports, forks and repair.

        `blobs` are the contents to keep beside it.

        Raises FormatError for a line that is not the record expected there, and what `create` raises.
        """
        ...

    def open(self, name: str, *, writable: bool = True) -> SessionLog:
        """An existing session. A writer puts a torn end aside first.

        Raises UnsafeName, SessionNotFound, SessionBusy (a second writer), NewerFormat, StoreUnusable.
        """
        ...

    def delete(self, name: str) -> None:
        """Remove a session with its blobs. Raises UnsafeName, SessionNotFound, SessionBusy, StoreUnusable."""
        ...

    def archive(self, name: str) -> None:
        """Move a session out of the list; nothing in it changes. Raises as `delete`."""
        ...

    def restore(self, name: str) -> None:
        """Bring the last archived session of that name back. Raises SessionNotFound, SessionExists, StoreUnusable."""
        ...

    def findings(self) -> tuple[str, ...]:
        """What is wrong with the place itself, beside its sessions: a database with damaged pages. Reads all of it."""
        ...

    def close(self) -> None:
        """Let go of what the store holds. Logs opened from it should be closed before."""
        ...
