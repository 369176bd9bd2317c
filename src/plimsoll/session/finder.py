"""Full-text search in a session: an index that follows the log, restricted to what the view does not show.

The index is kept beside the log. It repeats what the log says: where it is damaged, older than an edit or not of this log,
another is built, and the texts of hits are read from the log and checked.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from plimsoll.compaction.entries import shown_whole, summaries_in
from plimsoll.compaction.references import name_of
from plimsoll.compaction.tool_names import ToolNames
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.errors import SettingError, StoreError
from plimsoll.formats.format import Format
from plimsoll.formats.words import words_of
from plimsoll.limits import (
    RECALL_KEPT_CHARS_MIN,
    RECALL_PIECE_CHARS_MAX,
    RECALL_REINDEXED_MESSAGES_MAX,
    RECALL_TEXTS_CHARS_MAX,
)
from plimsoll.policy.validation import integer
from plimsoll.protocols import SessionLog, TokenCounter
from plimsoll.recall.filters import Filters
from plimsoll.recall.index import Index
from plimsoll.recall.ranking import Ranking
from plimsoll.recall.search import Hit, search
from plimsoll.recall.segment import Entry
from plimsoll.recall.stored_index import about_of, dumped
from plimsoll.records.compactions import CompactionChain
from plimsoll.records.history import History
from plimsoll.store.indexes import KeepsIndex

Found = TypeVar("Found")


class _StaleError(Exception):
    """The kept index is not of this log."""


def checked_limits(query: str, max_tokens: int, limit: int | None) -> int | None:
    """The limit of a search. Raises SettingError for an invalid query, size or limit."""
    if not isinstance(query, str):
        raise SettingError("query", f"text is needed, not {type(query).__name__}")
    integer("max_tokens", max_tokens)
    return None if limit is None else integer("limit", limit, least=1)


MATCHED_UNITS = 8
"""Best statements by which sessions are compared before any is searched."""


MOSTLY = 0.9
"""The share of the messages that a kept index has if it need not be written again."""


class Searched(Protocol):
    """What is known of a session that is searched, such as its `ViewState` or `SearchableLog`."""

    @property
    def log(self) -> SessionLog:
        """Its log."""

    @property
    def format(self) -> Format:
        """The format of its messages."""

    @property
    def history(self) -> History:
        """Its messages as edited."""

    @property
    def event(self) -> int | None:
        """Number of the last compaction, rollback or edit record."""

    @property
    def base(self) -> int | None:
        """Number of the compaction record in force."""

    @property
    def entries(self) -> Sequence[ViewMessage]:
        """The view; empty if it is not known."""


class Finder:
    """Searches the history of one session, without what its view shows unless `searches_view`.

    The index is opened or built on the first search and extended later.
    """

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._texts: dict[tuple[int, int], str] = {}
        self._texts_chars = 0
        self._state: Searched | None = None
        self._kept_chars = 0
        self._is_opened = False
        self._begin_again({})

    @property
    def chars(self) -> int:
        """Characters that the index is of."""
        return self._index.chars

    def find(  # noqa: PLR0913 - one search
        self,
        query: str,
        state: Searched,
        *,
        counter: TokenCounter,
        max_tokens: int,
        limit: int | None = None,
        filters: Filters | None = None,
        shown: bool = False,
    ) -> list[Hit]:
        """Hits in text that the view does not show verbatim, best first: at most `limit`, and `max_tokens` of text in total.

        With `shown`, also in what the view shows. Searches messages and the summaries written by models, people and other tools.
        Raises SettingError for an invalid query or size, StoreError.
        """
        most = checked_limits(query, max_tokens, limit)

        def ask(hidden: set[int]) -> list[Hit]:
            limits: dict[str, Any] = {"counter": counter, "max_tokens": max_tokens}
            return search(self._index, query, shown=hidden, filters=filters, session=state.log.name, **limits)

        return self._asked(state, ask, shown=shown)[:most]

    def matched(self, query: str, state: Searched, *, filters: Filters | None = None) -> list[frozenset[str]]:
        """The terms of the query that each of the best statements has, also of those that the view shows. Reads no texts."""
        return self._asked(
            state, lambda hidden: Ranking(self._index, query, hidden, filters).matched(MATCHED_UNITS), shown=True
        )

    def _asked(self, state: Searched, ask: Callable[[set[int]], Found], *, shown: bool) -> Found:
        """The answer of an index that is up to date; `ask` is given the positions to leave out."""
        for _ in range(2):
            seen = set() if shown else shown_whole(state.entries)
            self._follow(state, seen)
            if not shown:
                seen |= self._summaries_shown(state)
            try:
                found = ask(seen | _removed(state))
            except (_StaleError, IndexError):
                if not self._is_opened:
                    raise
                self._begin_again(state.history.branch.changed)
            else:
                self.keep(state)
                return found
        raise AssertionError("an index that was built is not stale")

    def keep(self, state: Searched) -> None:
        """Write the index beside the log if there is much that the kept one does not have. A store that fails is ignored."""
        grown = self._index.chars - self._kept_chars
        if grown < max(RECALL_KEPT_CHARS_MIN, self._kept_chars // 10):
            return
        if isinstance(state.log, KeepsIndex) and state.log.keeps_index:
            with suppress(StoreError):
                state.log.put_index(dumped(self._index, self._about()))
        self._kept_chars = self._index.chars

    def leave(self, state: Searched) -> None:
        """Before the session is closed: index what is new and keep the index, for searches in it and in several sessions.

        In a long session, an index that an edit made stale is left to the next search: it has to be made again as a whole.
        """
        is_long = state.log.messages > RECALL_REINDEXED_MESSAGES_MAX
        if not self._is_mostly_kept(state) and not (is_long and self._is_outdated(state)):
            self._follow(state, shown=())
            self.keep(state)

    def _is_mostly_kept(self, state: Searched) -> bool:
        """Whether no search has opened the kept index yet, and it lacks few messages and no edit."""
        kept = _kept(state) if self._state is None else None
        return kept is not None and self._is_of(kept[0], state) and kept[0]["next"] >= state.log.messages * MOSTLY

    def _is_outdated(self, state: Searched) -> bool:
        """Whether there is an index and edits have changed messages in it."""
        if self._state is not None:
            return any(position < self._index.next_position for position in self._differing(state))
        kept = _kept(state)
        return kept is not None and not self._is_of(kept[0], state)

    def _differing(self, state: Searched) -> set[int]:
        """The positions that edits have changed since they were indexed."""
        return {position for position, _ in state.history.branch.changed.items() ^ self._changed.items()}

    def _summaries_shown(self, state: Searched) -> set[int]:
        return self._index.summaries_in(entry.message.text for entry in summaries_in(state.entries))

    def _begin_again(self, changed: Mapping[int, int]) -> None:
        self._index = Index(self._names)
        self._event = -1
        self._changed = changed
        self._kept_chars = 0
        self._is_opened = False

    def _about(self) -> dict[str, Any]:
        return {
            "names": list(self._names),
            "event": self._event,
            "changed": sorted(map(list, self._changed.items())),
            "next": self._index.next_position,
        }

    def _open(self, state: Searched) -> None:
        """Take over the kept index if it is of this log."""
        kept = _kept(state)
        if kept is None or not self._is_of(kept[0], state):
            return
        about, restore = kept
        index = Index(self._names)
        with suppress(ValueError):
            restore(index, self._text)
            self._index, self._event, self._changed = index, about["event"], state.history.branch.changed
            self._kept_chars, self._is_opened = index.chars, True

    def _is_of(self, about: Any, state: Searched) -> bool:
        """Whether a kept index is of this log: not of more than it has, nor of what edits have changed."""
        match about:
            case {"names": names, "event": int(event), "changed": changed, "next": int(following)}:
                newest = -1 if state.event is None else state.event
                same = changed == sorted(map(list, state.history.branch.changed.items()))
                return names == list(self._names) and same and event <= newest and following <= state.log.messages
            case _:
                return False

    def _text(self, entry: Entry) -> str:
        """The text of an entry of a kept index, as the log has it. Raises _StaleError."""
        place = (entry.position, entry.part)
        if place not in self._texts:
            text = self._text_read(entry)
            if self._texts_chars > RECALL_TEXTS_CHARS_MAX:
                self._texts.clear()
                self._texts_chars = 0
            self._texts[place] = text
            self._texts_chars += len(text)
        return self._texts[place][entry.start : entry.start + RECALL_PIECE_CHARS_MAX]

    def _text_read(self, entry: Entry) -> str:
        try:
            if entry.position < 0:
                return self._index.written(entry.position)
            assert self._state is not None
            record = next(self._state.history.messages(entry.position, entry.position + 1))
            part = self._state.format.decode(record.data["m"], record.position).parts[entry.part]
        except (StopIteration, IndexError, KeyError) as error:
            raise _StaleError from error
        text = words_of(part)
        if name_of(entry.position, entry.part, text) != entry.reference:
            raise _StaleError
        return text

    def _follow(self, state: Searched, shown: Container[int]) -> None:
        """Index new messages; rebuild the index if a message in it was changed which is searched: one that is not in `shown`."""
        if self._state is None:
            self._state = state
            self._open(state)
        self._state = state
        changed = state.history.branch.changed
        if changed != self._changed:
            stale = {position for position in self._differing(state) if position < self._index.next_position}
            if all(position in shown for position in stale):
                as_indexed = {position: seq for position, seq in self._changed.items() if position in stale}
                self._changed = {
                    position: seq for position, seq in changed.items() if position not in stale
                } | as_indexed
            else:
                self._begin_again(changed)
        if state.log.messages > self._index.next_position:
            for record in state.history.messages(self._index.next_position):
                self._index.add(state.format.decode(record.data["m"], record.position), record.position, record.at_ms)
        if state.event is not None and state.event > self._event:
            chain = CompactionChain(state.log, newest=state.event, base=state.base)
            for record, text in chain.written(self._event):
                self._index.add_summary(text, record.seq, record.position)
            self._event = state.event


def _kept(state: Searched) -> tuple[Any, Callable[[Index, Callable[[Entry], str]], None]] | None:
    """What is kept beside the log, as `about_of` gives it; None if nothing is that can be read."""
    if isinstance(state.log, KeepsIndex):
        with suppress(StoreError):
            return about_of(state.log.get_index() or b"")
    return None


def _removed(state: Searched) -> set[int]:
    """Positions of messages that edits took out of the history. Summaries have negative ones."""
    return set().union(*(range(start, stop) for start, stop in state.history.branch.left))
