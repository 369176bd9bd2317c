"""Verifying a session by reading every record and blob, and writing a repaired copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count

from plimsoll.light.dataclass import dataclass
from plimsoll.light.regex import regex
from plimsoll.protocols import Damage, Record, RecordCheck, SessionLog, Store
from plimsoll.store.copying import Copy, blob_of, create_copy, digests_of
from plimsoll.store.jsonl import JsonlStore
from plimsoll.store.log import accept_any
from plimsoll.store.record import KINDS, decode

_NAME_CHARS_MAX = 64
_DIGEST = regex(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What a session holds and what of it is damaged. Verifying changes nothing."""

    name: str
    records: int
    """Readable records."""
    messages: int
    """Messages among them."""
    kinds: Mapping[str, int]
    """Number of records by kind."""
    unknown_required: tuple[str, ...]
    """Required kinds written by a newer plimsoll, which this version must not modify."""
    damage: tuple[Damage, ...]
    blobs: int
    blobs_damaged: tuple[str, ...]
    """Digests of blobs whose content has changed, or that are missing though a record names them."""
    store_damage: tuple[str, ...] = ()
    """Damage of the database file that holds the session, in SQLite's words. Other sessions in it may be damaged as well."""

    @property
    def ok(self) -> bool:
        """True if this version can read and use all of it."""
        return not (self.damage or self.blobs_damaged or self.unknown_required or self.store_damage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """A copy of a damaged session with everything that can be read."""

    name: str
    """Name of the copy."""
    records: int
    """Records copied byte for byte."""
    lost: int
    """Lost records; notes take their numbers."""
    blobs_lost: tuple[str, ...]


def verify(store: Store, name: str, *, check: RecordCheck = accept_any) -> Verified:
    """Read and check a whole session; `check` validates the contents of records. Damage is returned, not raised.

    Raises UnsafeName, SessionNotFound, NewerFormat, StoreUnusable.
    """
    with _in_order(store, name) as log:
        kinds: Counter[str] = Counter()
        unknown: set[str] = set()
        named: set[str] = set()
        unsound: list[Damage] = []
        for record in _records(log):
            if (reason := check(record)) is not None:
                unsound.append(Damage(kind="unreadable", seq=record.seq, records=1, reason=reason))
                continue
            kinds[record.kind] += 1
            named |= _named(record)
            if record.required and record.kind not in KINDS:
                unknown.add(record.kind)
        blobs = digests_of(log)
        unlisted = () if blobs is not None else ("the list of the session's blobs cannot be read",)
        return Verified(
            name=name,
            records=kinds.total(),
            messages=kinds["message"],
            kinds=dict(sorted(kinds.items())),
            unknown_required=tuple(sorted(unknown)),
            damage=tuple(sorted((*log.damage, *unsound), key=lambda one: one.seq)),
            blobs=len(blobs or ()),
            blobs_damaged=tuple(digest for digest in sorted({*(blobs or ()), *named}) if blob_of(log, digest) is None),
            store_damage=(*unlisted, *store.findings()),
        )


def repair(
    store: Store, name: str, *, into: Store | None = None, copy_name: str | None = None, check: RecordCheck = accept_any
) -> Repaired:
    """Copy what can be read of a session into a new one, in `into` or the same store; the original is not changed.

    Record numbers and message positions do not change: notes take the numbers of lost records. The copy is called `copy_name`, by
    default the name with ".repaired" and, if taken, a number. Raises what `verify` and Store.create_from raise.
    """
    target = store if into is None else into
    with _in_order(store, name) as log:
        made = Copy(log, check=check)
        copied = create_copy(target, copy_name, _free_names(name), lambda _: made)
        named = {digest for record in _records(log) for digest in _named(record) if blob_of(log, digest) is None}
        lost = tuple(sorted({*made.blobs_lost, *named}))
        return Repaired(name=copied, records=made.records, lost=made.lost, blobs_lost=lost)


def _in_order(store: Store, name: str) -> SessionLog:
    """A session's log for reading, sorted by number if its lines are out of order."""
    return store.open_sorted(name) if isinstance(store, JsonlStore) else store.open(name, writable=False)


def _free_names(name: str) -> Iterator[str]:
    for number in count(1):
        suffix = ".repaired" if number == 1 else f".repaired-{number}"
        yield name[: _NAME_CHARS_MAX - len(suffix)].rstrip(".") + suffix


def _named(record: Record) -> set[str]:
    """The digest of the blob that a record names, if any."""
    digest = record.data.get("blob")
    return {digest} if isinstance(digest, str) and _DIGEST.fullmatch(digest) else set()


def _records(log: SessionLog) -> Iterator[Record]:
    """Yield every readable record of any kind."""
    for line in log.lines():
        record = decode(line)
        assert isinstance(record, Record)
        yield record
