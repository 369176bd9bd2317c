"""Requests that go on from a response by its id: the client's response may be made of several of the provider's.

A client may have been shown the id of the first, for a stream says it before all else. The provider goes on from the last one, and
wants a result for each call in it, also for a search that came together with calls of the client's tools.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any, Final

from plimsoll.formats.wire import object_in

LINKS_MAX: Final = 4_096
"""Responses that are remembered."""

LINKS_SIZE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of what is remembered of them all: their ids, and what was found for them."""

_FIELD: Final = "previous_response_id"


class ResponseLinks:
    """What responses are called upstream, and the results that they still wait for. Thread-safe.

    A response is remembered for the client that got it: by its id and the keys of its request, of which only a hash is kept.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[bytes, str] = OrderedDict()
        """As JSON: the provider's id and the results."""
        self._size_bytes = 0

    def note(self, credentials: Sequence[str], shown: str, upstream: str, found: Sequence[Any] = ()) -> None:
        """Remember a response, if a request that goes on from it is to be changed. What was known of its id is forgotten."""
        key = _key(credentials, shown)
        with self._lock:
            self._forget(key)
            if shown == upstream and not found:
                return
            self._known[key] = json.dumps([upstream, list(found)])
            self._size_bytes += len(self._known[key])
            while len(self._known) > LINKS_MAX or self._size_bytes > LINKS_SIZE_BYTES_MAX:
                self._forget(next(iter(self._known)))

    def _forget(self, key: bytes) -> None:
        self._size_bytes -= len(self._known.pop(key, ""))

    def may_follow(self, text: bytes) -> bool:
        """True if `followed` may give another body than this one. Takes no longer than a look at its bytes."""
        return bool(self._known) and _FIELD.encode() in text

    def followed(self, credentials: Sequence[str], text: bytes) -> bytes | None:
        """The body to send for one that goes on from a response that is remembered for its client; None for all others."""
        request = object_in(text) if self.may_follow(text) else None
        shown = None if request is None else request.get(_FIELD)
        if request is None or not isinstance(shown, str):
            return None
        with self._lock:
            known = self._known.get(_key(credentials, shown))
        if known is None:
            return None
        upstream, found = json.loads(known)
        given = request.get("input")
        said = [{"role": "user", "content": given}] if isinstance(given, str) else given
        changed = {**request, _FIELD: upstream}
        if found and isinstance(said, list | None):
            changed["input"] = [*found, *(said or [])]
        return json.dumps(changed, separators=(",", ":")).encode("ascii")


def _key(credentials: Sequence[str], shown: str) -> bytes:
    return hashlib.blake2b(json.dumps([*credentials, shown]).encode("ascii"), digest_size=32).digest()
