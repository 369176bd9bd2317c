"""Reading server-sent events as they come, split anywhere."""

from __future__ import annotations

from typing import Final, NamedTuple

EVENT_SIZE_BYTES_MAX: Final = 8 * 1024 * 1024
"""Bytes of one event. What is longer is given up: its stream is passed on, and not read any further."""


class Event(NamedTuple):
    """One event: its name, and the text of its data lines."""

    name: str
    data: str


class EventReader:
    """Takes the bytes of a stream in any portions and gives its events."""

    def __init__(self) -> None:
        self.is_given_up = False
        """True after an event that was too long."""
        self._rest = bytearray()
        self._name = ""
        self._data: list[str] = []
        self._size = 0
        self._after_return = False

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete."""
        if self.is_given_up:
            return []
        if self._after_return and data:
            data, self._after_return = data.removeprefix(b"\n"), False
        self._rest += data
        if b"\n" not in data and b"\r" not in data:
            self._bound()
            return []
        self._after_return = self._rest.endswith(b"\r")
        *lines, rest = bytes(self._rest).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = bytearray(rest)
        self._bound()
        return [event for event in map(self._line, lines) if event is not None]

    def _bound(self) -> None:
        if len(self._rest) + self._size > EVENT_SIZE_BYTES_MAX:
            self.is_given_up = True
            self._rest.clear()
            self._data.clear()

    def _line(self, line: bytes) -> Event | None:
        """Take one line. Returns the event that an empty line ends."""
        if not line:
            found = Event(self._name, "\n".join(self._data)) if self._data else None
            self._name, self._data, self._size = "", [], 0
            return found
        field, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if field == b"data":
            self._data.append(text)
            self._size += len(text)
        elif field == b"event":
            self._name = text
        return None
