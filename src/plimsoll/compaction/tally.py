"""The messages of a growing view and their token totals.

Messages are counted when a size is requested, not when they are appended, so appending does not wait for a tokenizer. All but the
newest rest until then, and until the next compaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from plimsoll.compaction.entries import Entries, tokens_from
from plimsoll.compaction.view_message import CountMessage, ViewMessage

AWAKE_MESSAGES = 4
"""The newest messages do not rest: the next view is joined to them."""

RESTING_MESSAGES = 16
"""Messages rest once there are more that do not: those of a turn are counted and encoded before that."""


class Tally:
    """Messages in order, each counted once. Sizes in tokens. Append to `entries`; use the methods for other changes.

    `resting` is the number of messages that `rest` has looked at.
    """

    __slots__ = ("_all", "_first", "_fresh", "entries", "resting")

    def __init__(self, entries: Iterable[ViewMessage] = ()) -> None:
        """The initial messages are not fresh."""
        self.entries = entries.first(len(entries)) if isinstance(entries, Entries) else Entries(entries)
        self._first = len(self.entries)
        self.resting = 0
        self._all = RunningSum(self.entries, 0)
        self._fresh: RunningSum | None = None

    @property
    def tokens(self) -> int:
        """Tokens of all messages."""
        return self._all.tokens()

    @property
    def fresh_tokens(self) -> int:
        """Tokens of messages added since construction."""
        self._fresh = self._fresh or RunningSum(self.entries, self._first)
        return self._fresh.tokens()

    def rest(self) -> None:
        """Let the messages rest, but for the newest."""
        stop = max(self.resting, len(self.entries) - AWAKE_MESSAGES)
        self.entries.rest(self.resting, stop)
        self.resting = stop

    def wake(self) -> None:
        """Decode the messages that were not counted yet: a view that is about to be made counts, orders and encodes them."""
        if self._all.counted < self.resting:
            self.entries.wake(self._all.counted, self.resting)
            self.resting = self._all.counted

    def tokens_since(self, count: int) -> int:
        """Tokens of the messages after the first `count`."""
        return self.entries.tokens_from(count)

    def know(self, count: int, tokens: int) -> None:
        """Set the total of the first `count` messages, regardless of their individual counts."""
        self._all = RunningSum(self.entries, count, tokens)

    def place_of(self, position: int) -> int | None:
        """Index of the message for a position of the history."""
        return next((place for place, entry in enumerate(self.entries) if entry.position == position), None)

    def put(self, place: int, entry: ViewMessage) -> None:
        """Replace the message at an index."""
        self.entries = self.entries.with_row(place, entry)
        self.resting = min(self.resting, place)
        self._all, self._fresh = RunningSum(self.entries, 0), None

    def copied(self) -> Tally:
        """An independent copy."""
        return self._with(self.entries)

    def recounted(self, count_message: CountMessage) -> Tally:
        """The same messages, counted by another function."""
        return self._with(self.entries.recounted(count_message))

    def _with(self, entries: Entries) -> Tally:
        """A copy with other entries."""
        tally = Tally(entries.first(self._first))
        tally.entries.rows += entries.rows[self._first :]
        return tally


class RunningSum:
    """Token total of a growing list of messages, from one of them on. `counted` is the number of messages counted so far."""

    __slots__ = ("_entries", "_tokens", "counted")

    def __init__(self, entries: Sequence[ViewMessage], counted: int = 0, tokens: int = 0) -> None:
        self._entries, self.counted, self._tokens = entries, counted, tokens

    def tokens(self) -> int:
        """The total now; only messages added since the last call are counted."""
        count = len(self._entries)
        if self.counted < count:
            self._tokens += tokens_from(self._entries, self.counted)
            self.counted = count
        return self._tokens
