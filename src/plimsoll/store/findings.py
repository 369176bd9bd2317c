"""The damage found while reading a log."""

from __future__ import annotations

from collections.abc import Iterable

from plimsoll.protocols import Damage
from plimsoll.store.record import Span


class DamageFindings:
    """Damage found so far, without duplicates."""

    def __init__(self, damage: Iterable[Damage] = ()) -> None:
        self._damage = {(found.kind, found.seq, found.offset): found for found in damage}

    def all(self, *more: Damage) -> tuple[Damage, ...]:
        """All damage, in order of record number and offset, with `more` that is not stored."""
        return tuple(sorted((*self._damage.values(), *more), key=lambda one: (one.seq, one.offset or 0)))

    def between(self, bad: Bad, seq: int, records: int) -> None:
        """Record that `records` records from number `seq` on are missing, and where their bytes may be."""
        if bad.size_bytes:
            found = Damage(
                kind="unreadable",
                seq=seq,
                records=records,
                offset=bad.offset,
                size_bytes=bad.size_bytes,
                reason=bad.reason,
            )
        elif records:
            found = Damage(kind="missing", seq=seq, records=records, reason="no record has these numbers")
        else:
            return
        self._add(found)

    def lacks(self, seq: int) -> bool:
        """True if the record of that number was reported missing."""
        return any(one.kind == "missing" and one.seq <= seq < one.seq + one.records for one in self._damage.values())

    def at(self, span: Span) -> None:
        """Record a readable record that is out of order or a duplicate."""
        assert span.record is not None
        self._add(
            Damage(
                kind="misplaced",
                seq=span.record.seq,
                records=0,
                offset=span.offset,
                size_bytes=span.size_bytes,
                reason="its number is out of order, or already taken",
            )
        )

    def _add(self, found: Damage) -> None:
        self._damage[found.kind, found.seq, found.offset] = found


class Bad:
    """Adjacent unreadable spans, reported as one finding."""

    __slots__ = ("offset", "reason", "size_bytes")

    def __init__(self) -> None:
        self.offset: int | None = None
        self.size_bytes = 0
        self.reason = ""

    def add_after(self, span: Span) -> None:
        """Append a span."""
        if not self.size_bytes:
            self.offset = span.offset
            self.reason = span.reason
        self.size_bytes += span.size_bytes

    def add_before(self, span: Span) -> None:
        """Prepend a span."""
        self.offset = span.offset
        self.reason = span.reason
        self.size_bytes += span.size_bytes
