"""Copies of a session: every readable line, byte for byte, and every blob.

Record numbers and message positions do not change: notes take the numbers of lost records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from itertools import count
from typing import Any, Final

from plimsoll.errors import ReferenceNotFound, SessionDamaged, SessionExists
from plimsoll.protocols import Record, RecordCheck, RecordDraft, SessionLog, Store
from plimsoll.store.header import header_line
from plimsoll.store.log import accept_any
from plimsoll.store.memory import InMemoryStore
from plimsoll.store.record import decode, encode

_STEM_CHARS: Final = 56
"""Characters of a session's name used in the names of its forks."""


class Copy:
    """The lines of a copy of a log, up to the record numbered `stop`. Can be iterated repeatedly.

    `header` replaces the session record. Records that `check` rejects count as lost.
    """

    def __init__(
        self, log: SessionLog, *, header: bytes | None = None, stop: int | None = None, check: RecordCheck = accept_any
    ) -> None:
        self._log = log
        self._check = check
        self._header = header
        self._stop = stop
        self.records = 0
        """Lines copied byte for byte."""
        self.lost = 0
        """Lost records."""
        self.blobs_lost: list[str] = []

    def __iter__(self) -> Iterator[bytes]:
        self.records = self.lost = expected = position = at_ms = 0
        stop = self._log.length if self._stop is None else self._stop + 1
        if self._header is not None:
            yield self._header.removesuffix(b"\n")
            expected = 1
        for line in self._log.lines(expected):
            record = decode(line)
            assert isinstance(record, Record)
            if record.seq >= stop:
                break
            if self._check(record) is not None:
                continue
            yield from self._notes(expected, record.seq, position, at_ms)
            yield line
            self.records += 1
            expected, position, at_ms = record.seq + 1, record.messages, record.at_ms
        yield from self._notes(expected, stop, position, at_ms)

    def blobs(self) -> Iterator[bytes]:
        """Yield every readable blob; `blobs_lost` names the others."""
        self.blobs_lost = []
        for digest in digests_of(self._log) or ():
            data = blob_of(self._log, digest)
            if data is None:
                self.blobs_lost.append(digest)
            else:
                yield data

    def _notes(self, seq: int, stop: int, position: int, at_ms: int) -> Iterator[bytes]:
        for lost in range(seq, stop):
            self.lost += 1
            draft = RecordDraft(kind="note", data={"lost": True})
            if lost == 0:
                draft = RecordDraft(kind="session", data={"format": 1, "name": self._log.name, "lost": True})
            yield encode(draft, seq=lost, position=position, at_ms=at_ms).removesuffix(b"\n")


def fork(  # noqa: PLR0913 - the fields of the new session record
    log: SessionLog,
    store: Store,
    about: Mapping[str, Any],
    *,
    stop: int | None,
    name: str | None,
    now_ms: int,
    edit: Callable[[SessionLog], None] | None = None,
) -> str:
    """Create a session that begins as a copy of a log, completely or not at all; returns its name, by default a free one.

    `edit` changes the copy before it is in the store. Raises SessionExists if a given name is taken, what Store.create_from
    raises and what `edit` raises.
    """
    return create_copy(
        store,
        name,
        _free_names(log, store),
        lambda chosen: Copy(log, header=header_line(chosen, about, now_ms), stop=stop),
        edit,
    )


def create_copy(
    store: Store,
    name: str | None,
    free_names: Iterator[str],
    copy_as: Callable[[str], Copy],
    edit: Callable[[SessionLog], None] | None = None,
) -> str:
    """Create a copy under this name, or (None) the first free one, and return it.

    Raises SessionExists if a given name is taken, what Store.create_from raises and what `edit` raises, which changes the copy.
    """
    while True:
        chosen = next(free_names) if name is None else name
        copy = copy_as(chosen)
        try:
            _create(store, chosen, copy, edit)
        except SessionExists:
            if name is not None:
                raise
        else:
            return chosen


def _create(store: Store, name: str, copy: Copy, edit: Callable[[SessionLog], None] | None) -> None:
    if edit is None:
        store.create_from(name, copy, copy.blobs())
        return
    with drafted(store, name) as draft:
        draft.create_from(name, copy, copy.blobs())
        with draft.open(name) as log:
            edit(log)


@contextmanager
def drafted(place: Store, name: str) -> Iterator[Store]:
    """A store in which to create the session; `place` takes it over when the block ends, completely or not at all.

    Raises SessionExists, and what Store.create_from raises.
    """
    drafting = getattr(place, "drafted", None)
    if drafting is not None:
        with drafting(name) as draft:
            yield draft
        return
    draft = InMemoryStore()
    yield draft
    with closing(draft.open(name, writable=False)) as log:
        place.create_from(name, log.lines(), map(log.get_blob, log.blobs()))


def _free_names(log: SessionLog, store: Store) -> Iterator[str]:
    taken = {info.name for info in store.sessions()}
    stem = log.name[:_STEM_CHARS]
    yield from (name for number in count(1) if (name := f"{stem}-fork{number}") not in taken)


def digests_of(log: SessionLog) -> list[str] | None:
    """The digests of a session's blobs; None if they cannot be listed."""
    with suppress(SessionDamaged):
        return list(log.blobs())
    return None


def blob_of(log: SessionLog, digest: str) -> bytes | None:
    """A blob's bytes; None if they are damaged."""
    with suppress(SessionDamaged, ReferenceNotFound):
        return log.get_blob(digest)
    return None
