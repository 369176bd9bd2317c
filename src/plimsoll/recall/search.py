"""Search: the units that match a query best, merged into hits within a number of tokens."""

from __future__ import annotations

import datetime as dt
from collections.abc import Container
from itertools import islice
from typing import Any

from plimsoll.dataclass import dataclass
from plimsoll.protocols import TokenCounter
from plimsoll.recall.choosing import FIRST_HOP, HITS_MAX, LED_SHARE, Choice, runs, said_of
from plimsoll.recall.filters import Filters
from plimsoll.recall.hops import SHARING_HITS, further_terms
from plimsoll.recall.index import Index
from plimsoll.recall.ranking import Candidate, Ranking


@dataclass(frozen=True, slots=True)
class Hit:
    """An excerpt of the history that matches a query.

    `text` is verbatim from one part of message `position` (from 0), from character `offset` on; `reference` reads the whole
    part. An excerpt of a summary has the voice `summary` and the position of the last message before it. `score` is at most 1
    and orders the hits of one query; it cannot be compared across queries.
    """

    text: str
    reference: str
    position: int
    score: float
    offset: int = 0
    voice: str = ""
    """The author: `user`, `assistant`, `tool call NAME`, `tool result NAME`, `summary`, ..."""
    day: str = ""
    """The day it was said, as 2026-05-17: what the conversation says of it, else when it was stored. Empty if neither is known."""
    session: str = ""
    """The name of the session."""

    @property
    def id(self) -> str:
        """The id of the message, such as `m12`."""
        return f"m{self.position}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "id": self.id,
            "text": self.text,
            "reference": self.reference,
            "position": self.position,
            "score": self.score,
            "offset": self.offset,
            "voice": self.voice,
            "day": self.day,
            "session": self.session,
        }


def search(  # noqa: PLR0913 - one search
    index: Index,
    query: str,
    *,
    shown: Container[int],
    counter: TokenCounter,
    max_tokens: int,
    filters: Filters | None = None,
    session: str = "",
) -> list[Hit]:
    """The hits for a query, best first, with at most `max_tokens` tokens of text by the counter's upper bound.

    Messages at the positions in `shown` are excluded, and what the filters do not admit. The search ends when nothing relevant is
    left. Its cost grows with the occurrences of the query's terms, up to a limit.
    """
    ranking = Ranking(index, query, shown, filters)
    choice = Choice(counter, max_tokens)
    choice.take(ranking.best(), FIRST_HOP)
    if not any(pick.matches for pick in choice.picked):
        choice = Choice(counter, max_tokens, skips_phatic=False)
        choice.take(ranking.best(), FIRST_HOP)
    if choice.picked and not choice.is_full:
        ranking.widen(further_terms(index, ranking.asked, list(islice(ranking.best(), SHARING_HITS))))
        choice.take(ranking.best(), HITS_MAX, LED_SHARE)
    top = max((pick.score for pick in choice.picked), default=1.0)
    return _fitting([_hit(run, top, session) for run in runs(choice.picked)], choice, max_tokens)


def _hit(run: list[Candidate], top: float, session: str) -> Hit:
    entry = run[0].entry
    text = "".join(candidate.text for candidate in run)
    first, end = said_of(entry, text)
    return Hit(
        text=text[first:end] or text,
        reference=entry.reference,
        position=entry.history_position,
        score=max(0.000001, round(max(candidate.score for candidate in run) / top, 6)),
        offset=run[0].offset + first,
        voice=entry.voice,
        day=dt.date.fromordinal(entry.day).isoformat() if entry.day else "",
        session=session,
    )


def _fitting(hits: list[Hit], choice: Choice, max_tokens: int) -> list[Hit]:
    """The hits, best first, without the last ones if merged texts count more than their units did."""
    hits.sort(key=lambda hit: (-hit.score, -hit.position, hit.offset))
    tokens = [choice.tokens(hit.text) for hit in hits]
    while hits and sum(tokens) > max_tokens:
        hits.pop()
        tokens.pop()
    return hits
