"""Text stored outside any conversation and read back by reference: the port `Offload` over any store."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from plimsoll.errors import ReferenceNotFound, SessionBusy, SessionNotFound, SettingError
from plimsoll.policy.validation import char_slice, short_repr
from plimsoll.protocols import Offload, RecordDraft, SessionLog
from plimsoll.store.blobs import text_of_blob
from plimsoll.store.open import StoreSpec, open_or_create, open_store

OFFLOAD_SESSION = "offloaded-texts"
"""The session that holds the texts in a store. Its notes label each of them."""

REFERENCE_CHARS = 16
"""Hexadecimal digits of the text's SHA-256 in a reference."""

_BUSY_WAIT_S = 2.0
_PAUSE_S = 0.01

Result = TypeVar("Result")


class KeepsBlobs(Protocol):
    """The part of a session that stores bytes."""

    def put_blob(self, data: bytes) -> str:
        """Store bytes and return their reference."""

    def read(self, reference: str) -> str:
        """The text of a reference."""


class Offloads:
    """A key-value store of texts: `put` returns a reference, `get` the text, verified by hash. Equal texts are stored once.

    `store` is as in `plimsoll.open`; "memory:" is private to this process. Safe to share between threads and processes.
    """

    def __init__(self, store: StoreSpec = None) -> None:
        """Creates nothing before the first `put`. Raises SettingError."""
        self._store = open_store(store)

    def __repr__(self) -> str:
        return f"Offloads({self._store.where!r})"

    def put(self, text: str, *, label: str) -> str:
        """Store a text and return its reference; `label` describes it for people. Raises SettingError, StoreError."""
        if not isinstance(text, str) or not isinstance(label, str):
            raise SettingError("text" if not isinstance(text, str) else "label", "text is needed")
        data = text.encode("utf-8", "surrogatepass")

        def keep(log: SessionLog) -> str:
            digest = log.put_blob(data)
            if all(record.data.get("blob") != digest for record in log.read(1)):
                log.append([RecordDraft(kind="note", data={"what": "offload", "blob": digest, "label": label[:200]})])
            return digest[:REFERENCE_CHARS]

        return self._as_writer(keep)

    def get(self, reference: str) -> str:
        """The stored text. Raises ReferenceNotFound, SessionDamaged, StoreError."""
        if not isinstance(reference, str):
            raise ReferenceNotFound(short_repr(reference))
        with suppress(SessionNotFound), self._store.open(OFFLOAD_SESSION, writable=False) as log:
            return text_of_blob(log.get_blob(reference))
        raise ReferenceNotFound(reference)

    def read(self, reference: str, *, offset: int = 0, limit: int | None = None) -> str:
        """A range of characters of the text, like `Session.read`. Raises what `get` raises."""
        return self.get(reference)[char_slice(offset, limit)]

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _as_writer(self, work: Callable[[SessionLog], Result]) -> Result:
        """Run `work` as the log's writer, waiting briefly for other writers."""
        until = time.monotonic() + _BUSY_WAIT_S
        while True:
            try:
                with open_or_create(self._store, OFFLOAD_SESSION) as log:
                    return work(log)
            except SessionBusy:
                if time.monotonic() >= until:
                    raise
                time.sleep(_PAUSE_S)


class _SessionOffload:
    """The port `Offload` over an open session."""

    def __init__(self, session: KeepsBlobs) -> None:
        self._session = session

    def put(self, text: str, *, label: str) -> str:  # noqa: ARG002 - the shape of an Offload
        return self._session.put_blob(text.encode("utf-8", "surrogatepass"))[:REFERENCE_CHARS]

    def get(self, reference: str) -> str:
        return self._session.read(reference)


def offload_of(store: Any) -> Offload:
    """The option `store` as a port: an object that is one, an open session, or a store or its name.

    Raises SettingError for anything else.
    """
    if callable(getattr(store, "put", None)):
        port: Offload = store
        return port
    if callable(getattr(store, "put_blob", None)):
        return _SessionOffload(store)
    return Offloads(store)
