"""What the core and sessions need from outside, as Protocols: token counters, stores and memories. No behaviour is defined here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, Self, TypeAlias

from plimsoll.light.brief import JsonReady
from plimsoll.light.dataclass import dataclass, field
from plimsoll.light.named_tuple import NamedTuple


class TokenCounter(Protocol):
    """Counts the tokens of a text. Accepts any `str`, also lone surrogates and the text of special tokens. Never raises.

    Counts are monotone: more text never has fewer tokens. `upper` is at least `count` and is used to compare with a
    limit; the two are equal if the vocabulary is public.
    """

    @property
    def name(self) -> str:
        """The name in reports, such as `o200k_base`."""

    @property
    def exact(self) -> bool:
        """Whether `count` equals the provider's count."""

    def count(self, text: str) -> int:
        """The exact count, or the best estimate."""

    def upper(self, text: str) -> int:
        """An upper bound of the provider's count."""


class Offload(Protocol):
    """Stores text that leaves the view. Content-addressed: the same text has the same reference."""

    def put(self, text: str, *, label: str) -> str:
        """Store the text and return its reference. `label` describes it for people."""

    def get(self, reference: str) -> str:
        """Return the text. Raises ReferenceNotFound."""


# --- stores -----------------------------------------------------------------------------------------------------------

Durability: TypeAlias = Literal["fsync", "os"]
"""What an acknowledged append survives: "fsync" a loss of power, "os" only the end of the process."""

DamageKind: TypeAlias = Literal["torn", "unreadable", "missing", "misplaced"]
"""torn: an unfinished append at the end. unreadable: bytes that are not a record. missing: numbers without a record, and
no bytes in their place. misplaced: a record that is not where its number belongs, or that is repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDraft:
    """A record to append. `data` is a JSON object with str keys, at most RECORD_NESTING_MAX levels deep.

    A version of plimsoll that does not know the kind of a `required` record refuses the session (NewerFormat); other
    unknown kinds are carried along. `at_ms` is Unix time in milliseconds; None means now.
    """

    kind: str
    data: Mapping[str, Any]
    at_ms: int | None = None
    required: bool = False
    text: str | None = field(default=None, repr=False, compare=False)
    """`data` as compact ASCII JSON, from a caller that has encoded it already; it must read back as `data`."""


class Record(NamedTuple):
    """One record of a session's log."""

    seq: int
    """Sequence number. The session record has 0."""
    position: int
    """Number of messages before it. For a message, its position in the history."""
    kind: str
    at_ms: int
    """Unix time in milliseconds. Informative; the order is by `seq`."""
    data: Mapping[str, Any]
    required: bool = False
    batch_left: int = 0
    """Number of records of the same append that follow it."""
    raw: bytes | None = None
    """The encoded line without its newline if the kind is unknown to this version, else None."""

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self._asdict().items() if name != "raw")
        return f"Record({', '.join(shown)})"

    @property
    def messages(self) -> int:
        """Number of messages up to and including it."""
        return self.position + (self.kind == "message")


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A part of a log that cannot be read. Everything around it can."""

    kind: DamageKind
    seq: int
    """Number of the first record affected."""
    records: int
    """Number of records lost; 0 for stray bytes between records that are all present."""
    offset: int | None = None
    """Byte offset in the log; None in a store that keeps records by number."""
    size_bytes: int = 0
    reason: str = ""
    kept_in: str | None = None
    """Where a writer has moved the bytes of a torn append, if it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """An entry of a list of sessions. Times are Unix milliseconds, None if the record that has them is unreadable."""

    name: str
    created_ms: int | None
    updated_ms: int | None
    records: int
    messages: int
    size_bytes: int
    """Size of the log, without blobs."""
    title: str | None = None
    agent_id: str | None = None
    """The agent that the session was created for, if given."""
    archived: bool = False


RecordCheck: TypeAlias = Callable[[Record], str | None]
"""Returns why a record cannot be used, or None if it can."""


class SessionLog(Protocol):
    """The open log of one session. Any number of readers, one writer. Thread-safe, but not usable across a fork.

    `read`, `read_back`, `read_messages` and `lines` skip what is unreadable and add it to `damage`. They raise
    StoreUnusable if the log is closed and, except for `lines`, NewerFormat at a required record of an unknown kind.
    """

    @property
    def name(self) -> str:
        """The session's name."""

    @property
    def writable(self) -> bool:
        """Whether it is open for writing."""

    @property
    def where(self) -> str:
        """Its location, for people: a path, or the name of the store."""

    @property
    def length(self) -> int:
        """Number of records, including those a writer has added since it was opened."""

    @property
    def messages(self) -> int:
        """Number of messages."""

    @property
    def damage(self) -> tuple[Damage, ...]:
        """The damage found so far, by offset and number. Complete after a full `read()`."""

    def set_check(self, check: RecordCheck) -> None:
        """From now on, treat the records for which `check` returns a reason as unreadable. `lines` still returns them."""

    def append(self, drafts: Sequence[RecordDraft]) -> list[Record]:
        """Append records, all or none, and return them as `read` does. They are durable when it returns.

        Raises FormatError or LimitExceeded if `data` is not JSON or too large, StoreFull if there is no space (appending
        works again once there is), and StoreUnusable for other I/O errors. After StoreUnusable the log must be reopened,
        because it is unknown what a failed sync has written.
        """

    def read(self, from_seq: int = 0) -> Iterator[Record]:
        """Records in order, from a number on. Does not read the records before it."""

    def read_back(self) -> Iterator[Record]:
        """Records from the newest to the oldest. Reads them lazily."""

    def read_messages(self, start: int = 0, stop: int | None = None) -> Iterator[Record]:
        """The messages at positions `[start, stop)`, in order. Does not read the records before them."""

    def lines(self, from_seq: int = 0) -> Iterator[bytes]:
        """The records as encoded lines without newlines, byte for byte."""

    def put_blob(self, data: bytes) -> str:
        """Store bytes with the log, durably, and return their SHA-256 in hexadecimal. Equal bytes are stored once."""

    def get_blob(self, reference: str) -> bytes:
        """Return bytes by their SHA-256 or a unique prefix of it, of at least BLOB_REFERENCE_CHARS_MIN digits.

        Raises ReferenceNotFound, or SessionDamaged if the bytes do not match their SHA-256.
        """

    def blobs(self) -> Iterator[str]:
        """The SHA-256 of every blob, in order."""

    def close(self) -> None:
        """Release files and the write lock. Closing twice has no effect."""

    def __enter__(self) -> Self:
        """Return the log itself. Leaving the block closes it."""

    def __exit__(self, *exc: object) -> None: ...


class Store(Protocol):
    """A place where sessions are kept. tests/contract runs the same tests on each implementation."""

    @property
    def where(self) -> str:
        """Its location, for people."""

    def sessions(self, *, archived: bool = False) -> list[SessionInfo]:
        """The sessions, or the archived ones, most recently changed first."""

    def create(self, name: str, about: Mapping[str, Any] | None = None) -> SessionLog:
        """Create a session and open it for writing. Its session record has the fields of `about`, "format" and "name".

        Raises UnsafeName, SessionExists, StoreFull, StoreUnusable.
        """

    def create_from(self, name: str, lines: Iterable[bytes], blobs: Iterable[bytes] = ()) -> None:
        """Create a session from encoded lines numbered from 0 on, and from blobs; all or nothing.

        Used for imports, forks and repair. Raises FormatError if a line is not the record expected there, and what
        `create` raises.
        """

    def open(self, name: str, *, writable: bool = True) -> SessionLog:
        """Open an existing session. Opening it for writing first moves a torn end aside.

        Raises UnsafeName, SessionNotFound, SessionBusy (a second writer), NewerFormat, StoreUnusable.
        """

    def delete(self, name: str) -> None:
        """Delete a session and its blobs. Raises UnsafeName, SessionNotFound, SessionBusy, StoreUnusable."""

    def archive(self, name: str) -> None:
        """Archive a session: remove it from the list without changing it. Raises what `delete` raises."""

    def restore(self, name: str) -> None:
        """Restore the last archived session of that name. Raises SessionNotFound, SessionExists, StoreUnusable."""

    def findings(self) -> tuple[str, ...]:
        """Damage to the store itself, not to a session, such as damaged pages of a database. Reads all of it."""

    def close(self) -> None:
        """Release the resources of the store. Logs opened from it should be closed before."""


# --- memories ---------------------------------------------------------------------------------------------------------

MemoryKind: TypeAlias = Literal["preference", "decision", "fact", "profile"]
"""How somebody wants things done; what was decided; what is so in a project; and who the user is."""

Speaker: TypeAlias = Literal["user", "assistant", "tool"]
"""Who said something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOrigin:
    """Where a memory comes from. `session`, `message` (such as "m12") and `tool` are None if it has none."""

    time_ms: int
    """Unix time in milliseconds at which it was said."""
    session: str | None = None
    message: str | None = None
    tool: str | None = None
    created_ms: int = 0
    """When the session was created, which tells apart sessions that had one name; 0 without a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(JsonReady):
    """A fact kept across sessions, in the words of the one who said it."""

    id: str
    text: str
    """One line, verbatim but for white space."""
    kind: MemoryKind
    by: Speaker
    """Who said it. What an assistant or a tool said is never merged with what the user said."""
    scope: str
    """Whom it is about: "user", "project:/path", or either of one user of several (`user:NAME`, `user:NAME/project:/path`)."""
    origins: tuple[MemoryOrigin, ...]
    """Each time it was said, oldest first."""
    confidence: float
    """From 0 to 1. Grows each time it is said again."""
    importance: int
    """From 1 to 10."""
    time_ms: int
    """Unix time in milliseconds at which it was last said."""
    hits: int = 0
    """How often a search or a new session has shown it."""
    hit_ms: int | None = None
    superseded_by: str | None = None
    """The id of the newer memory that contradicts it; None while it holds."""


class MemoryStore(Protocol):
    """A place where memories are kept. Thread-safe. tests/contract runs the same tests on each implementation.

    It stores what it is given: merging, superseding and forgetting are decided by `plimsoll.Memories`. Methods raise StoreError.
    """

    @property
    def where(self) -> str:
        """Its location, for people."""

    def exclusive(self) -> AbstractContextManager[object]:
        """Hold the store for changes. What is changed inside is durable when the block ends, or undone if it raises.

        Other writers, of other processes too, wait meanwhile. A store without transactions may return `nullcontext()`: changes
        are made so that repeating them has no effect.
        """

    def memories(self, scopes: Sequence[str] | None = None) -> Sequence[Memory]:
        """The memories of these scopes, of no other; None: of all scopes. Superseded ones are among them."""

    def put(self, memories: Sequence[Memory]) -> None:
        """Add memories. One with a known id replaces it."""

    def delete(self, ids: Sequence[str]) -> None:
        """Delete memories for good. Unknown ids are ignored."""

    def search(self, query: str, scopes: Sequence[str], limit: int) -> Sequence[Memory]:
        """At most `limit` memories of these scopes that match a query and are not superseded, best first."""

    def read_to(self, session: str) -> int:
        """The position set by `set_read_to`; 0 if there is none."""

    def set_read_to(self, session: str, position: int) -> None:
        """Note that the messages of a session before this position were read. `session` is an opaque key."""

    def close(self) -> None:
        """Release its resources. Closing twice has no effect."""
