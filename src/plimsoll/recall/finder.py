"""Recall for a session: its index, kept up with its log, and what its view does not show."""

from __future__ import annotations

from plimsoll.errors import SettingError
from plimsoll.events import Events
from plimsoll.ports import TokenCounter
from plimsoll.recall.index import Index
from plimsoll.recall.search import Hit, search
from plimsoll.settings import whole
from plimsoll.timeline import Timeline
from plimsoll.toolnames import ToolNames


class Finder:
    """Finds what was said in one session. The index is made at the first search and grows with the log."""

    def __init__(self, names: ToolNames) -> None:
        self._index = Index(names)
        self._event = -1

    def find(
        self, query: str, timeline: Timeline, *, counter: TokenCounter, max_tokens: int, limit: int | None = None
    ) -> list[Hit]:
        """The hits in what the view does not show word for word, best first, in at most `max_tokens` of text.

        Searched are the messages, and what models, people and other tools wrote for summaries: no message says that.

        There are at most `limit` of them.

        The first search costs about half a second a million tokens of history; later ones the new messages, and some 20 ms.
        Raises SettingError for a query that is no text or a size that is no number, StoreError.
        """
        if not isinstance(query, str):
            raise SettingError("query", f"text is needed, not {type(query).__name__}")
        whole("max_tokens", max_tokens)
        most = None if limit is None else whole("limit", limit, least=1)
        self._follow(timeline)

        as_said = (piece.position for piece in timeline.pieces if piece.whole and piece.origin == "history")
        shown = {position for position in as_said if position is not None}
        shown |= self._index.summaries_in(piece.message.text for piece in timeline.pieces if piece.origin == "summary")
        return search(self._index, query, shown=shown, counter=counter, max_tokens=max_tokens)[:most]

    @property
    def first_position(self) -> int:
        """Position of the oldest message that is searched: 0 until the history is larger than the index may be."""
        return self._index.first_position

    def _follow(self, timeline: Timeline) -> None:
        """Take in what is new."""
        if timeline.log.messages > self._index.next_position:
            for record in timeline.log.read_messages(self._index.next_position):
                self._index.add(timeline.format.decode(record.data["m"], record.position), record.position)
        if timeline.event is not None and timeline.event > self._event:
            events = Events(timeline.log, newest=timeline.event, base=timeline.base)
            for record, text in events.written(self._event):
                self._index.add_summary(text, record.seq, record.position)
            self._event = timeline.event
