"""The replies to one request of which some only searched the history, as one reply: the client sees none of those calls."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable
from typing import Any

from plimsoll.errors import ErrorCatcher
from plimsoll.formats.inner_calls import joined
from plimsoll.formats.inner_streams import joined_stream
from plimsoll.formats.rules import RULES
from plimsoll.formats.streams import Event, EventReader
from plimsoll.formats.wire import object_in
from plimsoll.message import FormatName
from plimsoll.proxy.reply import WHOLE_SIZE_BYTES_MAX


class Rounds:
    """Takes what is passed on of each reply, and gives what the client gets."""

    def __init__(self, format: FormatName, names: Collection[str]) -> None:
        self._format, self._names = format, names
        self._stream = joined_stream(format, names)
        self._events = EventReader()
        self._has_mark = False
        self._whole = bytearray()
        self._responses: list[dict[str, Any]] = []
        self._is_stream = self._is_error = False
        self._is_too_large = False
        """True for a whole reply that is too large to be read: it is passed on as it is."""
        self._unpacker: Any = None
        self.ids: tuple[str, str] | None = None
        """Set at the end: the id of the response that the client was shown, and the one that the provider goes on from."""

    def begin(self, status: int, content_type: str, encoding: str) -> None:
        """Another reply begins."""
        self._is_error = status >= 400
        self._is_stream = content_type.partition(";")[0].strip().lower() == "text/event-stream" and not self._is_error
        self._events, self._has_mark = EventReader(), False
        self._whole.clear()
        self._unpacker = zlib.decompressobj(47) if encoding.strip().lower() in ("gzip", "x-gzip", "deflate") else None

    def unpacked(self, data: bytes) -> bytes:
        """The bytes of the reply, unpacked if they came packed though that was not asked for. Raises zlib.error."""
        if self._unpacker is None:
            return data
        found: bytes = self._unpacker.decompress(data, WHOLE_SIZE_BYTES_MAX)
        if self._unpacker.unconsumed_tail:
            raise zlib.error("too large when it is unpacked")
        return found

    def feed(self, data: bytes) -> bytes:
        """What the client gets of some bytes of the reply."""
        if self._is_too_large:
            return data
        if not self._is_stream:
            self._whole += data
            self._is_too_large = len(self._whole) > WHOLE_SIZE_BYTES_MAX
            return self._given_up() if self._is_too_large else b""
        passed = bytearray()
        for event in self._events.feed(data):
            with ErrorCatcher() as reading:  # whatever a provider sends is passed on
                passed += self._taken(event)
            if reading.error is not None:
                passed += _lines(event.name, event.data)
        return bytes(passed)

    def _taken(self, event: Event) -> bytes:
        found = object_in(event.data)
        if event.data == "[DONE]":
            self._has_mark = True
            return b""
        if found is None:  # nothing of the API, which the client is to see all the same
            return _lines(event.name, event.data)
        if isinstance(found.get("error"), dict | str) and "choices" not in found:
            return _written([(event.name, found)])
        return _written(self._stream.take(event.name, found))

    def turn(self) -> None:
        """The reply only searched, and another follows."""
        if self._is_stream:
            self._stream.turn()
        elif (found := object_in(bytes(self._whole))) is not None:
            self._responses.append(found)

    def end(self, *, has_begun: bool) -> bytes:
        """The reply was the last one. The rest of what the client gets, of which something may have gone out."""
        if self._is_too_large:
            return b""
        if self._is_stream:
            self.ids = self._stream.ids
            return _written(self._stream.end()) + (b"data: [DONE]\n\n" if self._has_mark else b"")
        found = object_in(bytes(self._whole))
        if self._is_error and has_begun:
            return self.failed(found or {})
        if self._is_error or found is None:
            return bytes(self._whole)
        if RULES[self._format].continues_by_id and isinstance(found.get("id"), str):
            self.ids = (found["id"], found["id"])
        return json.dumps(joined(self._format, [*self._responses, found], self._names)).encode("ascii")

    def _given_up(self) -> bytes:
        held = bytes(self._whole)
        self._whole.clear()
        return held

    def failed(self, told: dict[str, Any]) -> bytes:
        """The end of a stream that goes on no further: an error."""
        error = told.get("error") if isinstance(told.get("error"), dict) else {"message": "the provider failed"}
        found = {**told, "type": "error", "error": error}
        return _written([("error" if RULES[self._format].names_events else "", found)])


def _written(events: Iterable[tuple[str, dict[str, Any]]]) -> bytes:
    return b"".join(_lines(name, json.dumps(data)) for name, data in events)


def _lines(name: str, text: str) -> bytes:
    """An event of which the data is a text of one or more lines."""
    lines = [*([f"event: {name}"] if name else ()), *(f"data: {line}" for line in text.split("\n"))]
    return ("\n".join(lines) + "\n\n").encode("utf-8", "replace")
