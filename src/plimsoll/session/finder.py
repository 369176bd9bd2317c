"""Full-text search in a session: an index that follows the log, restricted to what the view does not show."""

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
    """Searches the history of one session. The index is built on the first search and extended later."""

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._begin_again({})

    def find(
        self, query: str, state: ViewState, *, counter: TokenCounter, max_tokens: int, limit: int | None = None
    ) -> list[Hit]:
        """Hits in text that the view does not show verbatim, best first: at most `limit`, and `max_tokens` of text in total.

        Searches messages and the summaries written by models, people and other tools. The first search takes about half a
        second per million tokens of history, later ones some 20 ms plus the time for new messages. Raises SettingError for an
        invalid query or size, StoreError.
        """
        if not isinstance(query, str):
            raise SettingError("query", f"text is needed, not {type(query).__name__}")
        integer("max_tokens", max_tokens)
        most = None if limit is None else integer("limit", limit, least=1)
        self._follow(state)

        shown = _shown(state)
        shown |= self._index.summaries_in(entry.message.text for entry in state.entries if entry.origin == "summary")
        hidden = _Hidden(shown, state.history.branch.holds)
        return search(self._index, query, shown=hidden, counter=counter, max_tokens=max_tokens)[:most]

    def _begin_again(self, changed: Mapping[int, int]) -> None:
        self._index = Index(self._names)
        self._event = -1
        self._changed = changed

    def _follow(self, state: ViewState) -> None:
        """Index new messages; rebuild the index if a message in it was changed."""
        changed = state.history.branch.changed
        if changed != self._changed:
            stale = {position for position, seq in changed.items() if self._changed.get(position) != seq}
            if any(position < self._index.next_position for position in stale - _shown(state)):
                self._begin_again(changed)
        if state.log.messages > self._index.next_position:
            for record in state.history.messages(self._index.next_position):
                self._index.add(state.format.decode(record.data["m"], record.position), record.position, record.at_ms)
        if state.event is not None and state.event > self._event:
            chain = CompactionChain(state.log, newest=state.event, base=state.base)
            for record, text in chain.written(self._event):
                self._index.add_summary(text, record.seq, record.position)
            self._event = state.event


def _shown(state: ViewState) -> set[int]:
    """Positions of the messages that the view shows verbatim."""
    as_said = (entry.position for entry in state.entries if entry.whole and entry.origin == "history")
    return {position for position in as_said if position is not None}


class _Hidden:
    """What is excluded from a search: messages in the view and removed ones. Summaries have negative numbers."""

    def __init__(self, shown: Container[int], holds: Callable[[int], bool]) -> None:
        self._shown = shown
        self._holds = holds

    def __contains__(self, position: object) -> bool:
        return isinstance(position, int) and (position in self._shown or not self._holds(position))
