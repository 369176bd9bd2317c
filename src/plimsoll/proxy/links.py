"""Requests that go on from a response by its id: the client's response may be made of several of the provider's.

A client may have been shown the id of the first, for a stream says it before all else. The provider goes on from the last one, and
wants a result for each call in it, also for a search that came together with calls of the client's tools.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any, Final

LINKS_MAX: Final = 4_096
"""Responses that are remembered, and the bytes of what was found for them."""

LINKS_SIZE_BYTES_MAX: Final = 16 * 1024 * 1024

_FIELD: Final = "previous_response_id"


class ResponseLinks:
    """What responses are called upstream, and the results that they still wait for. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[str, tuple[str, str]] = OrderedDict()
        """By the id that the client was shown: the provider's, and the results as JSON."""
        self._size_bytes = 0

    def note(self, shown: str, upstream: str, found: Sequence[Any] = ()) -> None:
        """Remember a response, if a request that goes on from it is to be changed."""
        if shown == upstream and not found:
            return
        with self._lock:
            self._forget(shown)
            self._known[shown] = (upstream, json.dumps(list(found)))
            self._size_bytes += len(self._known[shown][1])
            while len(self._known) > LINKS_MAX or self._size_bytes > LINKS_SIZE_BYTES_MAX:
                self._forget(next(iter(self._known)))

    def _forget(self, shown: str) -> None:
        self._size_bytes -= len(self._known.pop(shown, ("", ""))[1])

    def followed(self, text: bytes) -> bytes | None:
        """The body to send for one that goes on from a response that is remembered; None for all others. Raises ValueError."""
        if not self._known or _FIELD.encode() not in text:
            return None
        request = json.loads(text)
        shown = request.get(_FIELD) if isinstance(request, dict) else None
        with self._lock:
            known = self._known.get(shown) if isinstance(shown, str) else None
        if known is None:
            return None
        upstream, found = known[0], json.loads(known[1])
        given = request.get("input")
        said = [{"role": "user", "content": given}] if isinstance(given, str) else given
        changed = {**request, _FIELD: upstream}
        if found and isinstance(said, list | None):
            changed["input"] = [*found, *(said or [])]
        return json.dumps(changed, separators=(",", ":"), allow_nan=False).encode("ascii")
