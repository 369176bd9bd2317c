"""A reply on its way to the client: passed on byte for byte, and read beside."""

from __future__ import annotations

import json
from typing import Any, Final

from plimsoll.errors import ErrorCatcher
from plimsoll.formats.overflow import Overflow, overflow_in
from plimsoll.formats.streams import EventReader, answer_reader, take_event, whole_answer
from plimsoll.message import FormatName

ERROR_SIZE_BYTES_MAX: Final = 256 * 1024
"""Bytes of an error that are held until it is known whether the request was too long."""

WHOLE_SIZE_BYTES_MAX: Final = 8 * 1024 * 1024
"""Bytes of a whole response that are read."""

ANNOUNCED_SIZE_BYTES_MAX: Final = 256 * 1024
"""Bytes of the announcements of a stream that are held until it has begun."""


_REFUSED: Final = frozenset({400, 422})


class Reply:
    """One reply. `feed` and `end` return what to pass on; nothing is passed on of one that may be tried again."""

    def __init__(self, format: FormatName, status: int, content_type: str, *, encoded: bool, can_retry: bool) -> None:
        self.status = status
        self.overflow: Overflow | None = None
        """Set if the request was too long for the provider."""
        self.is_refused = False
        """Set if the provider found something else wrong with the request."""
        self.is_complete = False
        """True once all of a good answer was read."""
        self._format = format
        self._can_retry = can_retry
        self._held = bytearray()
        self._is_error = status >= 400
        self._is_stream = not self._is_error and content_type.partition(";")[0].strip().lower() == "text/event-stream"
        self._is_read = not encoded
        self._whole = bytearray()
        self._events = EventReader()
        self._answer = answer_reader(format)
        self._is_held = self._can_retry and self._is_read and (self._is_error or self._is_stream)
        self._messages: list[dict[str, Any]] = []
        self._usage: dict[str, Any] | None = None

    def feed(self, data: bytes) -> bytes:
        """Take some bytes of the reply."""
        if self._is_read:
            with ErrorCatcher() as reading:  # whatever a provider sends is passed on
                self._read(data)
            if reading.error is not None:
                self._is_read = self._is_held = False
        if self._is_held or self.may_retry:
            self._held += data
            return b""
        if self._is_stream or not self._is_read:
            return self._released(data)
        # The end of a whole response is held until `end`, so that its answer is noted before its client goes on.
        passed, self._held = bytes(self._held), bytearray(data)
        return passed

    def end(self) -> bytes:
        """The reply is over. What was held and is to be passed on."""
        with ErrorCatcher() as finishing:
            self._finish()
        if finishing.error is not None:
            self._is_read = False
        self._is_held = False
        return b"" if self.may_retry else self._released(b"")

    @property
    def is_cut_off(self) -> bool:
        """True if a stream had begun an answer, and did not end it."""
        is_whole = self.is_complete or self._answer.error is not None or self._events.is_given_up
        return self._is_stream and self._is_read and self._answer.has_begun and not is_whole

    @property
    def may_retry(self) -> bool:
        """True if another body may be taken."""
        return self._can_retry and (self.overflow is not None or self.is_refused)

    def given_back(self) -> bytes:
        """What was held of a reply that is passed on after all."""
        self._can_retry = self._is_held = False
        return self._released(b"")

    def answer(self) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """The messages and the usage of a reply that is complete."""
        if not self._is_stream:
            return self._messages, self._usage
        return self._answer.messages(), self._answer.usage

    def _released(self, data: bytes) -> bytes:
        held, self._held = bytes(self._held), bytearray()
        return held + data

    def _read(self, data: bytes) -> None:
        if not self._is_stream:
            limit = ERROR_SIZE_BYTES_MAX if self._is_error else WHOLE_SIZE_BYTES_MAX
            self._whole += data
            if len(self._whole) > limit:
                self._is_read = self._is_held = False
                self._whole.clear()
            return
        for event in self._events.feed(data):
            had_begun = self._answer.has_begun
            take_event(self._answer, event)
            if self._answer.error is not None and not had_begun and self._can_retry:
                self.overflow = overflow_in(self._answer.error)
        self.is_complete = self._answer.is_complete and self._answer.error is None and not self._events.is_given_up
        if self._answer.has_begun or self._events.is_given_up or len(self._held) > ANNOUNCED_SIZE_BYTES_MAX:
            self._is_held = False

    def _finish(self) -> None:
        if self._is_stream or not self._is_read:
            return
        found = json.loads(self._whole or b"null")
        if self._is_error:
            self.overflow = overflow_in(found)
            self.is_refused = self.overflow is None and self.status in _REFUSED
            return
        self._messages, self._usage = whole_answer(self._format, found)
        self.is_complete = bool(self._messages)
