"""Search: the units that match a query best, merged into hits within a number of tokens.

There is a second hop: what the first hits name is searched for too, so that one name leads on to another. Taken are names in the
best hits, and words that several of the first hits share: those keep company with the words of the question, and may stand for
them.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from typing import Any

from plimsoll.light.dataclass import asdict, dataclass
from plimsoll.light.regex import regex
from plimsoll.limits import RECALL_QUERY_CHARS_MAX
from plimsoll.protocols import TokenCounter
from plimsoll.recall.choosing import FIRST_HOP, HITS_MAX, LED_SHARE, Choice, is_phatic, runs, said_of
from plimsoll.recall.cues import SPOKEN_MIN
from plimsoll.recall.filters import Filters, Hidden
from plimsoll.recall.headers import header_above
from plimsoll.recall.index import Index
from plimsoll.recall.ranking import RARE_MAX, Candidate, Ranking
from plimsoll.recall.segment import Segment
from plimsoll.recall.words import STOP


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
    header: str = ""
    """The line above that names the columns, where the text begins with a row of a table and without that line."""

    @property
    def id(self) -> str:
        """The id of the message, such as `m12`."""
        return f"m{self.position}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"id": self.id, **asdict(self)}


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
    """The hits for a query, best first, with at most `max_tokens` tokens of text and headers by the counter's upper bound.

    Messages at the positions in `shown` are excluded, and what the filters do not admit. The search ends when nothing relevant is
    left. Its cost grows with the occurrences of the query's terms, up to a limit. A query of signs alone is looked for as it is.
    """
    ranking = Ranking(index, query, shown, filters)
    choice = Choice(counter, max_tokens, skips_phatic=not is_phatic(query))
    if not ranking.asked and query.strip():
        choice.take(with_string(index, query.strip()[:RECALL_QUERY_CHARS_MAX], shown, filters), FIRST_HOP)
        return _hits(choice, max_tokens, session)
    choice.take(ranking.best(), FIRST_HOP)
    if not any(pick.matches for pick in choice.picked):
        choice = Choice(counter, max_tokens, skips_phatic=False)
        choice.take(ranking.best(), FIRST_HOP)
    if choice.picked and not choice.is_full:
        ranking.widen(further_terms(index, ranking.asked, list(islice(ranking.best(), SHARING_HITS))))
        choice.take(ranking.best(), HITS_MAX, LED_SHARE)
    return _hits(choice, max_tokens, session)


def _hits(choice: Choice, max_tokens: int, session: str) -> list[Hit]:
    """The chosen units as hits, best first."""
    top = max((pick.score for pick in choice.picked), default=1.0)
    return _fitting([_hit(run, top, session) for run in runs(choice.picked)], choice, max_tokens)


def _hit(run: list[Candidate], top: float, session: str) -> Hit:
    entry = run[0].entry
    text = "".join(candidate.text for candidate in run)
    first, end = said_of(entry, text)
    start = run[0].offset - entry.start
    return Hit(
        text=text[first:end] or text,
        reference=entry.reference,
        position=entry.history_position,
        score=max(0.000001, round(max(candidate.score for candidate in run) / top, 6)),
        offset=run[0].offset + first,
        voice=entry.voice,
        day=dt.date.fromordinal(entry.day).isoformat() if entry.day else "",
        session=session,
        header=header_above(run[0].piece, start + first, start + (end or len(text))),
    )


def _fitting(hits: list[Hit], choice: Choice, max_tokens: int) -> list[Hit]:
    """The hits, best first, without the last ones if merged texts count more than their units did."""
    hits.sort(key=lambda hit: (-hit.score, -hit.position, hit.offset))
    before = ["", *(hit.header for hit in hits)]
    tokens = [
        choice.tokens(hit.text) + (0 if hit.header in before[: at + 1] else choice.tokens(hit.header))
        for at, hit in enumerate(hits)
    ]
    while hits and sum(tokens) > max_tokens:
        hits.pop()
        tokens.pop()
    return hits


NAMING_HITS = 3
"""Best units whose names are searched for."""

SHARING_HITS, SHARED_MIN = 8, 3
"""Best units that are compared, and how many of them a word has to be in."""

TERMS_MAX = 8
"""Words that are searched for in the second hop."""

WEIGHT = 0.2
"""What a unit gains by each of them."""

_NAME = regex(
    r"(?<=[a-z,;:] )[A-Z]\w{2,40}|\b\w*(?:[a-z][A-Z0-9_]|[0-9_][a-zA-Z])\w{0,40}|[《「“\"][^》」”\"\n]{2,40}[》」”\"]"
)
"""A capital within a sentence, a compound of code, a quoted title."""


def further_terms(index: Index, asked: frozenset[str], best: Sequence[Candidate]) -> dict[str, float]:
    """The terms that the first hits lead on to, with what each adds to a score."""
    shared: Counter[str] = Counter()
    for hit in best[:SHARING_HITS]:
        shared.update(index.terms.of(hit.text))
    named = set(_names(index, best[:NAMING_HITS]))
    rated = []
    for term, count in shared.items():
        among = sum(segment.units.count(term) for segment in index.segments)
        if not 2 <= among <= RARE_MAX or term in asked or term in STOP or index.spoken[term] >= SPOKEN_MIN:
            continue
        if (term in named or count >= SHARED_MIN) and (len(term) > 2 or not term.isascii()):
            rated.append((count / among, term))
    rated.sort(reverse=True)
    return {term: WEIGHT for _, term in rated[:TERMS_MAX]}


def _names(index: Index, hits: Sequence[Candidate]) -> Iterator[str]:
    for hit in hits:
        for name in _NAME.findall(hit.text):
            yield from index.terms.of(name)


LITERAL_CHARS_MAX = 1 << 22
"""Characters that are looked through, the newest first."""

LITERAL_UNITS_MAX = 200
"""Statements that are found."""


def with_string(
    index: Index, string: str, shown: Container[int], filters: Filters | None = None
) -> Iterator[Candidate]:
    """The units that have a string, newest first. Linear in the text that is looked through."""
    left = LITERAL_CHARS_MAX
    count = 0
    for segment in reversed(index.segments):
        hidden = Hidden(segment, shown, filters)
        for number in range(len(segment.entries) - 1, -1, -1):
            if number in hidden.entries:
                continue
            text = segment.text_of(segment.entries[number])
            for unit in _units_with(segment, number, text, string):
                entry, start, end = segment.span(unit)
                score = 1 - count / LITERAL_UNITS_MAX / 2
                yield Candidate(score, entry, entry.start + start, text[start:end], matches=True, piece=text)
                count += 1
            left -= len(text)
            if left <= 0 or count >= LITERAL_UNITS_MAX:
                return


def _units_with(segment: Segment, number: int, text: str, string: str) -> Iterator[int]:
    """The units of an entry in which a string begins, in order."""
    units = segment.units_of_entry(number)
    at = text.find(string)
    while at >= 0 and units:
        unit = bisect_right(segment.end_of, at, units.start, units.stop)
        yield unit
        units = range(unit + 1, units.stop)
        at = text.find(string, segment.end_of[unit])
