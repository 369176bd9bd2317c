"""Text kept outside any conversation, under a reference that reads it back: the port `Offload` over every store."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from plimsoll.errors import ReferenceNotFound, SessionBusy, SessionNotFound, SettingError
from plimsoll.protocols import Offload, RecordDraft, SessionLog
from plimsoll.store.blobs import text_of_blob
from plimsoll.store.open import StoreSpec, open_or_create, open_store
from plimsoll.validation import char_slice, short_repr

OFFLOAD_SESSION = "offloaded-texts"
"""The session of a store that the texts lie beside. Notes in it say what each of them is."""

REFERENCE_CHARS = 16
"""Hexadecimal digits of the SHA-256 of a text that its reference has."""

_BUSY_WAIT_S = 2.0
_PAUSE_S = 0.01

Result = TypeVar("Result")


class KeepsBlobs(Protocol):
    """What a session offers to keep bytes in."""

    def put_blob(self, data: bytes) -> str:
        """Keep bytes and return the name they are read by."""
        ...

    def read(self, reference: str) -> str:
        """The text under a name."""
        ...


class Offloads:
    """Texts in a store: what `put` keeps, `get` gives back under the reference, checked by hash. The same text is kept once.

    `store` is as in `plimsoll.open`; "memory:" is this process's own. Safe to share between threads and processes.
    """

    def __init__(self, store: StoreSpec = None) -> None:
        """Raises SettingError. Nothing is made before the first text is kept."""
        self._store = open_store(store)

    def put(self, text: str, *, label: str) -> str:
        """Keep a text; `label` says for people what it is. Raises SettingError, StoreError."""
        if not isinstance(text, str) or not isinstance(label, str):
            raise SettingError("text" if not isinstance(text, str) else "label", "text is needed")
        data = text.encode("utf-8", "surrogatepass")

        def keep(log: SessionLog) -> str:
            digest = log.put_blob(data)
            if all(record.data.get("blob") != digest for record in log.read(1)):
                log.append([RecordDraft(kind="note", data={"what": "offload", "blob": digest, "label": label[:200]})])
            return digest[:REFERENCE_CHARS]

        return self._writing(keep)

    def get(self, reference: str) -> str:
        """The same text. Raises ReferenceNotFound, SessionDamaged, StoreError."""
        if not isinstance(reference, str):
            raise ReferenceNotFound(short_repr(reference))
        with suppress(SessionNotFound), self._store.open(OFFLOAD_SESSION, writable=False) as log:
            return text_of_blob(log.get_blob(reference))
        raise ReferenceNotFound(reference)

    def read(self, reference: str, *, offset: int = 0, limit: int | None = None) -> str:
        """A part of the text, by characters, as `Session.read`. Raises as `get` does."""
        return self.get(reference)[char_slice(offset, limit)]

    def close(self) -> None:
        """Let go of what the store holds open."""
        self._store.close()

    def _writing(self, work: Callable[[SessionLog], Result]) -> Result:
        """Do some work on the log as its writer, for which others are waited for a moment."""
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
    """The port over an open session."""

    def __init__(self, session: KeepsBlobs) -> None:
        self._session = session

    def put(self, text: str, *, label: str) -> str:  # noqa: ARG002 - the shape of an Offload
        return self._session.put_blob(text.encode("utf-8", "surrogatepass"))[:REFERENCE_CHARS]

    def get(self, reference: str) -> str:
        return self._session.read(reference)


def offload_of(store: Any) -> Offload:
    """The port that an option means: an object that has it, an open session, or a store by its name or as it is.

    Raises SettingError for anything else.
    """
    if callable(getattr(store, "put", None)):
        port: Offload = store
        return port
    if callable(getattr(store, "put_blob", None)):
        return _SessionOffload(store)
    return Offloads(store)
