"""Search: the units that answer a query best, put together to hits within a number of tokens."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

from plimsoll.dataclass import dataclass
from plimsoll.limits import RECALL_QUERY_CHARS_MAX, RECALL_QUERY_TERMS_MAX, RECALL_QUERY_WORK_MAX
from plimsoll.protocols import TokenCounter
from plimsoll.recall.index import Entry, Index, Shelf
from plimsoll.recall.words import STOP, words
from plimsoll.truncation.boundaries import boundary_before
from plimsoll.truncation.measure import chars_within

K1, B = 1.2, 0.75
"""The usual BM25 constants (Robertson and Zaragoza, 2009)."""

UNIT_SHARE = 0.5
"""Of a unit's score, what its own words give; the better of its two windows gives the rest."""

HEADING_WEIGHT = 0.5
"""What a term is worth in the heading of a part, beside 1 in its text."""

SAME_SHARE = 0.9
"""Units that share this much of their words say the same; the better one stands for both."""

CANDIDATES_MAX = 400
"""Units that are looked at by their text."""

WINDOWS_MAX = 100
"""Windows whose units are all looked at, whether or not they have a term of the query."""

HEADED_MAX = 50
"""Parts whose units are looked at for their heading alone: so many units of so many parts."""

HEADED_UNITS_MAX = 40

LEAST_TOKENS = 16
"""With less room than this left, an answer is complete."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A stretch of the history that answers a query.

    `text` stands word for word in one part of message `position` (from 0), from character `offset` on; `reference` reads that
    whole part back. What was written for a summary has the voice `summary` and the position of the last message before it.
    `score` is at most 1 and orders the hits of one query; it says nothing across queries.
    """

    text: str
    reference: str
    position: int
    score: float
    offset: int = 0
    voice: str = ""
    """Who said it: `user`, `assistant`, `tool call NAME`, `tool result NAME`, `summary`, ..."""

    @property
    def id(self) -> str:
        """The message's id, such as `m12`."""
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
        }


class Candidate(NamedTuple):
    """A unit with its score: its text, and the character of its part where it begins."""

    score: float
    entry: Entry
    offset: int
    text: str


def search(index: Index, query: str, *, shown: Container[int], counter: TokenCounter, max_tokens: int) -> list[Hit]:
    """The hits for a query, best first, in at most `max_tokens` tokens of text by the counter's upper bound.

    Messages at the positions in `shown` are left out. The cost depends on how often the query's terms occur, up to a limit.
    """
    picked: list[Candidate] = []
    seen: list[frozenset[str]] = []
    room = max_tokens
    for candidate in candidates(index, query, shown):
        said = frozenset(words(candidate.text))
        if candidate.text.isspace() or any(_same(said, other) for other in seen):
            continue
        chosen = candidate if picked else _beginning(candidate, counter, room)
        tokens = counter.upper(chosen.text)
        if chosen.text and tokens <= room:
            picked.append(chosen)
            seen.append(said)
            room -= tokens
        if room < LEAST_TOKENS:
            break
    return _within(list(_merged(picked)), counter, max_tokens)


def _beginning(candidate: Candidate, counter: TokenCounter, tokens_max: int) -> Candidate:
    """As much of a unit as there is room for."""
    fitting = chars_within(candidate.text, tokens_max, counter)
    return candidate._replace(text=candidate.text[: boundary_before(candidate.text, fitting)])


def candidates(index: Index, query: str, shown: Container[int]) -> list[Candidate]:
    """The units that answer a query best, best first; of two that answer equally well, the newer one first."""
    asked = index.terms.of(query[:RECALL_QUERY_CHARS_MAX])
    asked = (asked - STOP) or asked
    all_scores = [_scores(shelf, asked, shown) for shelf in index.shelves]
    unit_worth = UNIT_SHARE / max((score for scores in all_scores for score in scores.units.values()), default=1.0)
    window_worth = (1 - UNIT_SHARE) / max(
        (score for scores in all_scores for score in scores.windows.values()), default=1.0
    )
    found: list[tuple[float, int, int]] = []
    for number, (shelf, scores) in enumerate(zip(index.shelves, all_scores, strict=True)):
        around, entries = scores.windows.get, shelf.entries
        for unit in _reached(shelf, scores):
            if entries[shelf.entry_of[unit]].position not in shown:
                half = shelf.half_of[unit]
                near = max(around(half, 0.0), around(half - 1, 0.0))
                found.append((unit_worth * scores.units.get(unit, 0.0) + window_worth * near, number, unit))
    best = heapq.nlargest(CANDIDATES_MAX, found)
    return [_candidate(score, *index.shelves[number].span(unit)) for score, number, unit in best]


def _candidate(score: float, entry: Entry, start: int, end: int) -> Candidate:
    return Candidate(score, entry, entry.start + start, entry.text[start:end])


class _Scores(NamedTuple):
    """BM25 of the units and the windows that a query reaches. A unit's is with what its heading gives."""

    units: dict[int, float]
    windows: dict[int, float]


def _reached(shelf: Shelf, scores: _Scores) -> set[int]:
    """The units that have a term of the query, and all those in the best windows."""
    units = set(scores.units)
    for window in heapq.nlargest(WINDOWS_MAX, scores.windows, key=scores.windows.__getitem__):
        units.update(shelf.within(window), shelf.within(window + 1))
    return units


def _scores(shelf: Shelf, asked: set[str], shown: Container[int]) -> _Scores:
    """What is shown counts for nothing, or its neighbours would be found for it."""
    entries, entry_of = shelf.entries, shelf.entry_of
    scores, headed = _Scores({}, {}), dict[int, float]()
    for term in _rarest(shelf, asked):
        posted = [unit for unit in shelf.units.get(term, ()) if entries[entry_of[unit]].position not in shown]
        _score_units(shelf, posted, scores.units)
        _score_windows(shelf, posted, scores.windows)
        worth = HEADING_WEIGHT * _rarity(len(shelf.end_of), max(1, len(posted)))
        for entry in shelf.headings.get(term, ()):
            headed[entry] = headed.get(entry, 0.0) + worth
    for entry in heapq.nlargest(HEADED_MAX, headed, key=headed.__getitem__):
        for unit in shelf.under(entry)[:HEADED_UNITS_MAX]:
            scores.units.setdefault(unit, 0.0)
    for unit in scores.units:
        scores.units[unit] += headed.get(shelf.entry_of[unit], 0.0)
    return scores


def _rarest(shelf: Shelf, asked: set[str]) -> Iterator[str]:
    """The terms of a query, rarest first, as far as its work goes; one at least."""
    work = 0
    spread = ((len(shelf.units.get(term, ())) + len(shelf.headings.get(term, ())), term) for term in asked)
    for count, term in heapq.nsmallest(RECALL_QUERY_TERMS_MAX, spread):
        work += count
        if work > RECALL_QUERY_WORK_MAX and work > count:
            return
        yield term


def _rarity(among: int, count: int) -> float:
    return math.log(1 + (among - count + 0.5) / (count + 0.5))


def _score_units(shelf: Shelf, posted: Sequence[int], scores: dict[int, float]) -> None:
    """A term counts once in a unit: units are short."""
    worth = _rarity(len(shelf.end_of), len(posted)) * (K1 + 1)
    fixed, per_term = _norm(shelf.terms_count, len(shelf.end_of))
    sizes, known = shelf.size_of, scores.get
    for unit in posted:
        scores[unit] = known(unit, 0.0) + worth / (1 + fixed + per_term * sizes[unit])


def _score_windows(shelf: Shelf, posted: Sequence[int], scores: dict[int, float]) -> None:
    """A window has a term as often as units in it do."""
    by_half = Counter(map(shelf.half_of.__getitem__, posted))
    times = {half - 1: count for half, count in by_half.items() if half and half - 1 not in by_half}
    for half, count in by_half.items():
        times[half] = count + by_half.get(half + 1, 0)
    sizes, known = shelf.size_of_half, scores.get
    last = len(sizes) - 1
    worth = _rarity(last + 1, len(times)) * (K1 + 1)
    fixed, per_term = _norm(2 * shelf.terms_count, last + 1)
    for window, count in times.items():
        size = sizes[window] + (sizes[window + 1] if window < last else 0)
        scores[window] = known(window, 0.0) + worth * count / (count + fixed + per_term * size)


def _norm(terms: int, texts: int) -> tuple[float, float]:
    """What a text's length adds to BM25's denominator: a fixed part, and one for each of its terms."""
    return K1 * (1 - B), K1 * B * texts / max(1, terms)


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return shared >= SAME_SHARE * (len(one) + len(other) - shared)


def _merged(picked: list[Candidate]) -> Iterator[Hit]:
    """Units that follow each other in a part become one hit."""
    run: list[Candidate] = []
    for candidate in sorted(picked, key=lambda pick: (pick.entry.position, pick.entry.part, pick.offset)):
        last = run[-1] if run else None
        if last and (last.entry[:2], last.offset + len(last.text)) != (candidate.entry[:2], candidate.offset):
            yield _hit(run)
            run = []
        run.append(candidate)
    if run:
        yield _hit(run)


def _hit(run: list[Candidate]) -> Hit:
    entry = run[0].entry
    return Hit(
        text="".join(candidate.text for candidate in run),
        reference=entry.reference,
        position=entry.spoken_at,
        score=round(max(candidate.score for candidate in run), 6),
        offset=run[0].offset,
        voice=entry.voice,
    )


def _within(hits: list[Hit], counter: TokenCounter, max_tokens: int) -> list[Hit]:
    """Best first, less the last where texts put together count more than their units did."""
    hits.sort(key=lambda hit: (-hit.score, -hit.position, hit.offset))
    tokens = [counter.upper(hit.text) for hit in hits]
    while hits and sum(tokens) > max_tokens:
        hits.pop()
        tokens.pop()
    return hits
