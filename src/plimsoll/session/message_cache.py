"""Original messages of the history, read from the log one by one, with a cache of those read recently."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from time import monotonic

from plimsoll.environment.layers import Storage
from plimsoll.formats.atoms import Atoms, atoms_of, message_of
from plimsoll.formats.words import words_of
from plimsoll.limits import MESSAGE_CACHE_CHARS_MAX
from plimsoll.message import Media, Message, Opaque, ToolResult
from plimsoll.tokens.cache import CacheStats, LruCache

READ_AHEAD_MESSAGES = 16
"""Messages read at a time: most of the cost is in finding the first one."""


class MessageCache:
    """Finds messages by position. The cache is limited in entries, message size and time, whatever the length of the history.

    Compactions look again at messages cut before, and tool results are read page by page; the cache saves reading them each time.
    Messages are held as atoms (see formats/atoms.py), which the garbage collector does not track.
    """

    def __init__(self, read: Callable[[int, int], Mapping[int, Message]], storage: Storage | None = None) -> None:
        self._read = read
        self._storage = storage or Storage()
        self._is_used = False

    @cached_property
    def _small(self) -> LruCache[Message | Atoms]:
        return self._cache(self._storage.messages_held_max)

    @cached_property
    def _large(self) -> LruCache[Message | Atoms]:
        return self._cache(self._storage.large_messages_held_max)

    def _cache(self, size_max: int) -> LruCache[Message | Atoms]:
        hold_s = math.inf if self._storage.hold_s is None else self._storage.hold_s
        return LruCache(size_max, hold_s=hold_s, clock_s=monotonic)

    def held(self, position: int) -> Message | None:
        """The message if it is cached."""
        if not self._is_used:
            return None
        found = self._small.find(position) or self._large.find(position)
        return message_of(found, position) if isinstance(found, tuple) else found

    def find(self, position: int) -> Message | None:
        """The message; None if missing or unreadable. The following messages are cached too, as they are often requested next."""
        self._is_used = True
        found = self.held(position)
        if found is None:
            messages = self._read(position, position + READ_AHEAD_MESSAGES)
            found = messages.get(position)
            for place, message in reversed(list(messages.items())):
                (self._small if _is_small(message) else self._large).put(place, atoms_of(message) or message)
        return found

    def clear(self) -> None:
        """Empty the cache, because an edit changed messages."""
        self._small.clear()
        self._large.clear()

    def info(self) -> CacheStats:
        """Cache counters."""
        small, large = self._small.info(), self._large.info()
        return CacheStats(
            entries=small.entries + large.entries,
            hits=small.hits + large.hits,
            misses=large.misses,
            evictions=small.evictions + large.evictions,
            expirations=small.expirations + large.expirations,
        )


def _is_small(message: Message) -> bool:
    """True if the text is short. Messages with media or unknown parts are measured by their wire form."""
    if any(isinstance(part, Opaque | Media) or (isinstance(part, ToolResult) and part.media) for part in message.parts):
        return len(str(message.wire)) <= MESSAGE_CACHE_CHARS_MAX
    return sum(len(words_of(part)) for part in message.parts) <= MESSAGE_CACHE_CHARS_MAX
