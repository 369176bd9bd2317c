"""Proving a session: every record and every blob read and checked. And a repaired copy, beside the original."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from plimsoll.errors import ReferenceNotFound, SessionDamaged, SessionExists
from plimsoll.ports import Damage, Draft, Record, SessionLog, Store
from plimsoll.store.record import KINDS, decode, encode

_NAME_CHARS_MAX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What a session holds and what of it is damaged. Nothing was changed to find out."""

    name: str
    records: int
    """Records that can be read."""
    messages: int
    """Messages among them."""
    kinds: Mapping[str, int]
    """How many records there are of each kind."""
    unknown_required: tuple[str, ...]
    """Kinds a newer plimsoll wrote that this one must not touch."""
    damage: tuple[Damage, ...]
    blobs: int
    blobs_damaged: tuple[str, ...]
    """Digests of blobs whose content has changed."""

    @property
    def ok(self) -> bool:
        """Whether all of it can be read and used by this version."""
        return not (self.damage or self.blobs_damaged or self.unknown_required)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """A copy of a damaged session with everything in it that can be read."""

    name: str
    """Of the copy."""
    records: int
    """Records carried over, byte for byte."""
    lost: int
    """Record numbers whose records are gone; a note says so in their place."""
    blobs_lost: tuple[str, ...]


def verify(store: Store, name: str) -> Verified:
    """Read all of a session and check it. Raises UnsafeName, SessionNotFound, NewerFormat, StoreUnusable; damage is a
    result.
    """
    with store.open(name, writable=False) as log:
        kinds: Counter[str] = Counter()
        unknown: set[str] = set()
        for record in _records(log):
            kinds[record.kind] += 1
            if record.required and record.kind not in KINDS:
                unknown.add(record.kind)
        blobs = list(log.blobs())
        return Verified(
            name=name,
            records=kinds.total(),
            messages=kinds["message"],
            kinds=dict(sorted(kinds.items())),
            unknown_required=tuple(sorted(unknown)),
            damage=log.damage,
            blobs=len(blobs),
            blobs_damaged=tuple(digest for digest in blobs if _blob(log, digest) is None),
        )


def repair(store: Store, name: str, *, into: Store | None = None, copy_name: str | None = None) -> Repaired:
    """Write what can be read of a session into a new one, in `into` or the same store; the original stays as it is.

    Numbers and message positions stay the same: where records are gone, notes saying so take their numbers. The copy is
    called `copy_name`, or the name with ".repaired" and, where that is taken, a number. Raises what `verify` and
    Store.create_from raise.
    """
    target = store if into is None else into
    with store.open(name, writable=False) as log:
        made = _Copy(log)
        copied = _create(target, name, copy_name, made)
        with target.open(copied) as copy:
            lost = _copy_blobs(log, copy)
        return Repaired(name=copied, records=made.records, lost=made.lost, blobs_lost=lost)


class _Copy:
    """The lines of a repaired copy. Can be gone through again."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self.records = 0
        self.lost = 0

    def __iter__(self) -> Iterator[bytes]:
        self.records = self.lost = 0
        expected = position = at_ms = 0
        for line in self._log.lines():
            record = decode(line)
            assert isinstance(record, Record)
            yield from self._notes(expected, record.seq, position, at_ms)
            yield line
            self.records += 1
            expected, position, at_ms = record.seq + 1, record.messages, record.at_ms
        yield from self._notes(expected, self._log.length, position, at_ms)

    def _notes(self, seq: int, stop: int, position: int, at_ms: int) -> Iterator[bytes]:
        for lost in range(seq, stop):
            self.lost += 1
            draft = Draft(kind="note", data={"lost": True})
            if lost == 0:
                draft = Draft(kind="session", data={"format": 1, "name": self._log.name, "lost": True})
            yield encode(draft, seq=lost, position=position, at_ms=at_ms).removesuffix(b"\n")


def _create(target: Store, name: str, copy_name: str | None, lines: _Copy) -> str:
    if copy_name is not None:
        target.create_from(copy_name, lines)
        return copy_name
    number = 1
    while True:
        suffix = ".repaired" if number == 1 else f".repaired-{number}"
        chosen = name[: _NAME_CHARS_MAX - len(suffix)].rstrip(".") + suffix
        try:
            target.create_from(chosen, lines)
        except SessionExists:
            number += 1
        else:
            return chosen


def _copy_blobs(log: SessionLog, copy: SessionLog) -> tuple[str, ...]:
    lost = []
    for digest in log.blobs():
        data = _blob(log, digest)
        if data is None:
            lost.append(digest)
        else:
            copy.put_blob(data)
    return tuple(lost)


def _blob(log: SessionLog, digest: str) -> bytes | None:
    """A blob's bytes, None if they are damaged."""
    with suppress(SessionDamaged, ReferenceNotFound):
        return log.get_blob(digest)
    return None


def _records(log: SessionLog) -> Iterator[Record]:
    """Every readable record, of whatever kind."""
    for line in log.lines():
        record = decode(line)
        assert isinstance(record, Record)
        yield record
