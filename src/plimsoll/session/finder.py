"""Recall for a session: its index, kept up with its log, and what its view does not show."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

from plimsoll.compaction.tool_names import ToolNames
from plimsoll.errors import SettingError
from plimsoll.protocols import TokenCounter
from plimsoll.recall.index import Index
from plimsoll.recall.search import Hit, search
from plimsoll.records.compactions import CompactionChain
from plimsoll.records.replay import ViewState
from plimsoll.validation import integer


class Finder:
    """Finds what was said in one session. The index is made at the first search and grows with the log."""

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._begin_again({})

    def find(
        self, query: str, state: ViewState, *, counter: TokenCounter, max_tokens: int, limit: int | None = None
    ) -> list[Hit]:
        """The hits in what the view does not show word for word, best first, in at most `max_tokens` of text.

        Searched are the messages, and what models, people and other tools wrote for summaries: no message says that.

        There are at most `limit` of them.

        The first search costs about half a second a million tokens of history; later ones the new messages, and some 20 ms.
        Raises SettingError for a query that is no text or a size that is no number, StoreError.
        """
        if not isinstance(query, str):
            raise SettingError("query", f"text is needed, not {type(query).__name__}")
        integer("max_tokens", max_tokens)
        most = None if limit is None else integer("limit", limit, least=1)
        self._follow(state)

        shown = _shown(state)
        shown |= self._index.summaries_in(piece.message.text for piece in state.pieces if piece.origin == "summary")
        hidden = _Hidden(shown, state.history.branch.holds)
        return search(self._index, query, shown=hidden, counter=counter, max_tokens=max_tokens)[:most]

    @property
    def first_position(self) -> int:
        """Position of the oldest message that is searched: 0 until the history is larger than the index may be."""
        return self._index.first_position

    def _begin_again(self, changed: Mapping[int, int]) -> None:
        self._index = Index(self._names)
        self._event = -1
        self._changed = changed

    def _follow(self, state: ViewState) -> None:
        """Take in what is new; all of it where a message that is searched reads otherwise by now."""
        changed = state.history.branch.changed
        if changed != self._changed:
            stale = {position for position, seq in changed.items() if self._changed.get(position) != seq}
            if any(position < self._index.next_position for position in stale - _shown(state)):
                self._begin_again(changed)
        if state.log.messages > self._index.next_position:
            for record in state.history.messages(self._index.next_position):
                self._index.add(state.format.decode(record.data["m"], record.position), record.position)
        if state.event is not None and state.event > self._event:
            chain = CompactionChain(state.log, newest=state.event, base=state.base)
            for record, text in chain.written(self._event):
                self._index.add_summary(text, record.seq, record.position)
            self._event = state.event


def _shown(state: ViewState) -> set[int]:
    """The positions whose messages the view shows word for word."""
    as_said = (piece.position for piece in state.pieces if piece.whole and piece.origin == "history")
    return {position for position in as_said if position is not None}


class _Hidden:
    """What is not searched: what the view shows, and messages that have left the history. Summaries have negative numbers."""

    def __init__(self, shown: Container[int], holds: Callable[[int], bool]) -> None:
        self._shown = shown
        self._holds = holds

    def __contains__(self, position: object) -> bool:
        return isinstance(position, int) and (position in self._shown or not self._holds(position))
