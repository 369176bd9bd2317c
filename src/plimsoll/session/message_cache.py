"""Messages of the history as they were said, read back from the log one by one: those read lately are held on to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from plimsoll.environment.layers import Storage
from plimsoll.formats.words import words_of
from plimsoll.limits import MESSAGE_CACHE_CHARS_MAX
from plimsoll.message import Media, Message, Opaque, ToolResult
from plimsoll.store.cache import Cache, CacheStats

READ_AHEAD_MESSAGES = 16
"""Messages that are read at a time: finding the first of them is most of the work."""


class MessageCache:
    """Finds messages by position. What it holds on to is bounded by number, by size and by time, whatever the history's length.

    A compaction looks at what it cut before, and a tool result is read page by page: each is decoded once.
    """

    def __init__(self, read: Callable[[int, int], Mapping[int, Message]], storage: Storage | None = None) -> None:
        self._read = read
        storage = storage or Storage()
        hold_s = math.inf if storage.hold_s is None else storage.hold_s
        self._small: Cache[int, Message] = Cache(storage.messages_held_max, ttl_s=hold_s)
        self._large: Cache[int, Message] = Cache(storage.large_messages_held_max, ttl_s=hold_s)

    def held(self, position: int) -> Message | None:
        """The message, if it was read lately."""
        return self._small.get(position) or self._large.get(position)

    def find(self, position: int) -> Message | None:
        """The message; None where there is none, or none that can be read. Those after it are read too: they are asked for next."""
        found = self.held(position)
        if found is None:
            said = self._read(position, position + READ_AHEAD_MESSAGES)
            found = said.get(position)
            for place, message in reversed(list(said.items())):
                (self._small if _is_small(message) else self._large).set(place, message)
        return found

    def clear(self) -> None:
        """Forget all of them: some read otherwise now."""
        self._small.clear()
        self._large.clear()

    def info(self) -> CacheStats:
        """How often a message was there already, and how many are held."""
        small, large = self._small.stats(), self._large.stats()
        return CacheStats(
            entries=small.entries + large.entries,
            hits=small.hits + large.hits,
            misses=large.misses,
            evictions=small.evictions + large.evictions,
            expirations=small.expirations + large.expirations,
        )


def _is_small(message: Message) -> bool:
    """Whether its words are few. Where it holds media or parts of unknown kinds, its whole wire form counts."""
    if any(isinstance(part, Opaque | Media) or (isinstance(part, ToolResult) and part.media) for part in message.parts):
        return len(str(message.wire)) <= MESSAGE_CACHE_CHARS_MAX
    return sum(len(words_of(part)) for part in message.parts) <= MESSAGE_CACHE_CHARS_MAX
