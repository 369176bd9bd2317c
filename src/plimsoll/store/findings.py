"""What reading a log found that cannot be read, or lies where it should not."""

from __future__ import annotations

from collections.abc import Iterable

from plimsoll.protocols import Damage
from plimsoll.store.record import Span


class DamageFindings:
    """Damage found so far, each once."""

    def __init__(self, damage: Iterable[Damage] = ()) -> None:
        self._damage = {(found.kind, found.seq, found.offset): found for found in damage}

    def all(self, *more: Damage) -> tuple[Damage, ...]:
        """By number and offset, with what is not kept."""
        return tuple(sorted((*self._damage.values(), *more), key=lambda one: (one.seq, one.offset or 0)))

    def between(self, bad: Bad, seq: int, records: int) -> None:
        """So many records from a number on are gone, and these bytes are where they may have been."""
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
        """Whether the record of that number was found to be missing."""
        return any(one.kind == "missing" and one.seq <= seq < one.seq + one.records for one in self._damage.values())

    def at(self, span: Span) -> None:
        """A record that can be read, and does not lie where its number belongs, or is there twice."""
        assert span.record is not None
        self._add(
            Damage(
                kind="misplaced",
                seq=span.record.seq,
                records=0,
                offset=span.offset,
                size_bytes=span.size_bytes,
                reason="its number belongs elsewhere, or was already taken",
            )
        )

    def _add(self, found: Damage) -> None:
        self._damage[found.kind, found.seq, found.offset] = found


class Bad:
    """Unreadable spans that lie next to each other: one finding."""

    __slots__ = ("_spans", "offset", "reason", "size_bytes")

    def __init__(self) -> None:
        self.offset: int | None = None
        self.size_bytes = self._spans = 0
        self.reason = ""

    def explains(self, gone: int) -> bool:
        """Whether so many records may have been where these bytes are: one a line."""
        return 0 <= gone <= self._spans

    def add_after(self, span: Span) -> None:
        """One more, after those so far."""
        if not self.size_bytes:
            self.offset = span.offset
            self.reason = span.reason
        self.size_bytes += span.size_bytes
        self._spans += 1

    def add_before(self, span: Span) -> None:
        """One more, before those so far."""
        self.offset = span.offset
        self.reason = span.reason
        self.size_bytes += span.size_bytes
        self._spans += 1
