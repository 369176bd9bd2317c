"""Requests that certainly fit, found without reading them: by the bytes that were added to a request whose size is known.

A token of any vocabulary is at least one byte of text, and what JSON adds to a message is more than what providers count for its
framing. So a request is at most as many tokens as the one before it and the bytes added since. Media are the exception: a short
link may stand for thousands of tokens.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from threading import RLock
from typing import Final, Literal

from plimsoll.light.dataclass import dataclass

TRACKS_MAX: Final = 256
"""Requests that are remembered whole, to be compared with the next."""

TRACKS_SIZE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Bytes of them all."""

CHANGED_BYTES_MAX: Final = 256 * 1024
"""A request with more new bytes than this is read."""

MARGIN_TOKENS: Final = 64
"""What joining texts and framing may add to the count of bytes."""

_PROBE: Final = 256
_STRIDE: Final = 16
"""How much further back the next look is."""

_MEDIA: Final = re.compile(
    rb'"(?:image|image_url|input_image|audio|input_audio|document|file|input_file|file_id|video|video_url|container_upload)"'
)
"""What may stand for more tokens than bytes. In a text the quotes would be escaped."""

_EDGE_BYTES: Final = 24
"""Longer than any of these words."""

_SETTINGS: Final = re.compile(
    rb'"(?:model|max_tokens|max_completion_tokens|max_output_tokens|previous_response_id|conversation|prompt)"'
)
"""Fields by which the budget, or whose conversation it is, is decided."""

_OPEN_SETTING: Final = re.compile(_SETTINGS.pattern + rb'\s*:\s*(?:"[^"]*|[0-9]*)\Z')

Match = Literal["same", "longer"]


@dataclass(slots=True, kw_only=True)
class Track:
    """The newest request of a conversation."""

    path: str
    raw: bytes
    room_tokens: int | None
    """What may be added without anything being changed; None if something was."""


def added_bytes(raw: bytes, known: bytes) -> int | None:
    """The bytes by which a request differs from a known one; None if that does not bound its tokens."""
    start = _common(raw, known)
    end = _common_end(raw[start:], known[start:])
    new, old = raw[start : len(raw) - end], known[start : len(known) - end]
    if len(new) > CHANGED_BYTES_MAX or len(old) > CHANGED_BYTES_MAX:
        return None
    around = raw[max(0, start - _PROBE) : start]
    if any(map(_SETTINGS.search, (new, old))) or _OPEN_SETTING.search(around) or _MEDIA.search(new):
        return None
    edges = (raw[max(0, at - _EDGE_BYTES) : at + _EDGE_BYTES] for at in (start, len(raw) - end))
    return None if new and any(map(_MEDIA.search, edges)) else len(new)  # a word may begin in what both have


def _common(one: bytes, other: bytes) -> int:
    """The length of what both begin with, looked for from the end, where a list grows: each step copies what it compares."""
    high = min(len(one), len(other))
    if one.startswith(other[:high]):
        return high
    step = _PROBE
    while step < high and not one.startswith(other[: high - step]):
        step *= _STRIDE
    low = max(0, high - step)
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(one: bytes, other: bytes) -> int:
    """The length of what both end with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.endswith(other[len(other) - middle : len(other) - low], 0, len(one) - low):
            low = middle
        else:
            high = middle - 1
    return low


class Gate:
    """The newest requests that went through unchanged. Thread-safe: requests are decided in the loop, and read on a worker."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._tracks: OrderedDict[int, Track] = OrderedDict()
        self._alike: dict[tuple[str, bytes], dict[int, Track]] = {}
        """By path and beginning, in the same order."""
        self._size_bytes = 0

    def find(self, path: str, raw: bytes) -> tuple[Match, Track, int] | None:
        """The track that shows that a request fits: it is the same, or longer by less than there was room for.

        The third value is what it may take of the room.
        """
        for track in reversed(self._tracks_like(path, raw)):
            if not _may_extend(raw, track.raw):
                continue
            if raw == track.raw and track.room_tokens is not None:
                return "same", track, 0
            added = None if track.room_tokens is None else added_bytes(raw, track.raw)
            if added is not None and track.room_tokens is not None and added + MARGIN_TOKENS <= track.room_tokens:
                return "longer", track, added + MARGIN_TOKENS
        return None

    def must_read(self, path: str, raw: bytes) -> bool:
        """True if a request may be of a conversation of which something was changed before."""
        return any(track.room_tokens is None and _may_extend(raw, track.raw) for track in self._tracks_like(path, raw))

    def _tracks_like(self, path: str, raw: bytes) -> list[Track]:
        with self._lock:
            return list(self._alike.get((path, raw[:_PROBE]), {}).values())

    def passed(self, path: str, raw: bytes, room_tokens: int | None, *, after: Track | None = None) -> Track:
        """Note a request that goes through, in place of the one it continues."""
        track = Track(path=path, raw=raw, room_tokens=room_tokens)
        with self._lock:
            if after is not None:
                self.forget(after)
            if len(raw) <= TRACKS_SIZE_BYTES_MAX // 4:
                self._tracks[id(track)] = track
                self._alike.setdefault((path, raw[:_PROBE]), {})[id(track)] = track
                self._size_bytes += len(raw)
            while len(self._tracks) > TRACKS_MAX or self._size_bytes > TRACKS_SIZE_BYTES_MAX:
                self.forget(next(iter(self._tracks.values())))
        return track

    def forget(self, track: Track) -> None:
        """Let go of a request."""
        with self._lock:
            if self._tracks.pop(id(track), None) is None:
                return
            self._size_bytes -= len(track.raw)
            beginning = (track.path, track.raw[:_PROBE])
            alike = self._alike[beginning]
            del alike[id(track)]
            if not alike:
                del self._alike[beginning]


def _may_extend(raw: bytes, known: bytes) -> bool:
    """True if two requests that begin alike are so in the middle of the shorter one too."""
    middle = min(len(raw), len(known)) // 2
    probe = slice(middle, middle + _PROBE)
    return raw[probe] == known[probe]


def may_hold_media(raw: bytes) -> bool:
    """True if bytes may stand for more tokens than they are."""
    return _MEDIA.search(raw) is not None
