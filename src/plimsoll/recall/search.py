"""Search: the units that match a query best, merged into hits within a number of tokens."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

from plimsoll.dataclass import dataclass
from plimsoll.limits import RECALL_QUERY_CHARS_MAX, RECALL_QUERY_TERMS_MAX, RECALL_QUERY_WORK_MAX
from plimsoll.protocols import TokenCounter
from plimsoll.recall.index import Entry, Index, Segment
from plimsoll.recall.words import STOP, words
from plimsoll.truncation.boundaries import boundary_before
from plimsoll.truncation.measure import chars_within

K1, B = 1.2, 0.75
"""The usual constants of BM25 (Robertson and Zaragoza, 2009)."""

UNIT_SHARE = 0.5
"""Weight of the unit itself in its score; the better of its two windows has the rest."""

HEADING_WEIGHT = 0.5
"""Weight of a term in the heading of a part; in its text it has 1."""

SAME_SHARE = 0.9
"""Units whose words have this Jaccard similarity are duplicates; only the better one is returned."""

CANDIDATES_MAX = 400
"""Units whose text is compared."""

WINDOWS_MAX = 100
"""Best windows of which all units are candidates, also those without a term of the query."""

HEADED_MAX = 50
"""Parts whose units are candidates for their heading alone."""

HEADED_UNITS_MAX = 40
"""Units of each of these parts."""

LEAST_TOKENS = 16
"""The search ends when less room than this is left."""


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
        }


class Candidate(NamedTuple):
    """A unit with its score, its text, and its offset in its part in characters."""

    score: float
    entry: Entry
    offset: int
    text: str


def search(index: Index, query: str, *, shown: Container[int], counter: TokenCounter, max_tokens: int) -> list[Hit]:
    """The hits for a query, best first, with at most `max_tokens` tokens of text by the counter's upper bound.

    Messages at the positions in `shown` are excluded. The cost grows with the occurrences of the query's terms, up to a limit.
    """
    picked: list[Candidate] = []
    seen: list[frozenset[str]] = []
    room = max_tokens
    for candidate in candidates(index, query, shown):
        vocabulary = frozenset(words(candidate.text))
        if candidate.text.isspace() or any(_is_duplicate(vocabulary, other) for other in seen):
            continue
        chosen = candidate if picked else _shortened(candidate, counter, room)
        tokens = counter.upper(chosen.text)
        if chosen.text and tokens <= room:
            picked.append(chosen)
            seen.append(vocabulary)
            room -= tokens
        if room < LEAST_TOKENS:
            break
    return _fitting(list(_merged(picked)), counter, max_tokens)


def _shortened(candidate: Candidate, counter: TokenCounter, tokens_max: int) -> Candidate:
    """The unit with as much of its text as fits."""
    fitting = chars_within(candidate.text, tokens_max, counter)
    return candidate._replace(text=candidate.text[: boundary_before(candidate.text, fitting)])


def candidates(index: Index, query: str, shown: Container[int]) -> list[Candidate]:
    """The units that match a query best, best first; of equal scores, the newer one first."""
    asked = index.terms.of(query[:RECALL_QUERY_CHARS_MAX])
    asked = (asked - STOP) or asked
    all_scores = [_scores(segment, asked, shown) for segment in index.segments]
    unit_weight = UNIT_SHARE / max((score for scores in all_scores for score in scores.units.values()), default=1.0)
    window_weight = (1 - UNIT_SHARE) / max(
        (score for scores in all_scores for score in scores.windows.values()), default=1.0
    )
    found: list[tuple[float, int, int]] = []
    for number, (segment, scores) in enumerate(zip(index.segments, all_scores, strict=True)):
        around, entries = scores.windows.get, segment.entries
        for unit in _reached(segment, scores):
            if entries[segment.entry_of[unit]].position not in shown:
                half = segment.half_of[unit]
                near = max(around(half, 0.0), around(half - 1, 0.0))
                found.append((unit_weight * scores.units.get(unit, 0.0) + window_weight * near, number, unit))
    best = heapq.nlargest(CANDIDATES_MAX, found)
    return [_candidate(score, *index.segments[number].span(unit)) for score, number, unit in best]


def _candidate(score: float, entry: Entry, start: int, end: int) -> Candidate:
    return Candidate(score, entry, entry.start + start, entry.text[start:end])


class _Scores(NamedTuple):
    """BM25 scores of units and windows. The score of a unit includes its heading."""

    units: dict[int, float]
    windows: dict[int, float]


def _reached(segment: Segment, scores: _Scores) -> set[int]:
    """The units with a term of the query, and all units of the best windows."""
    units = set(scores.units)
    for window in heapq.nlargest(WINDOWS_MAX, scores.windows, key=scores.windows.__getitem__):
        units.update(segment.units_of_half(window), segment.units_of_half(window + 1))
    return units


def _scores(segment: Segment, asked: set[str], shown: Container[int]) -> _Scores:
    """The scores in a segment. Units that are shown do not count, or their neighbours would be found for them."""
    entries, entry_of = segment.entries, segment.entry_of
    scores, headed = _Scores({}, {}), dict[int, float]()
    for term in _rarest(segment, asked):
        postings = [unit for unit in segment.units.get(term, ()) if entries[entry_of[unit]].position not in shown]
        _score_units(segment, postings, scores.units)
        _score_windows(segment, postings, scores.windows)
        weight = HEADING_WEIGHT * _rarity(len(segment.end_of), max(1, len(postings)))
        for entry in segment.headings.get(term, ()):
            headed[entry] = headed.get(entry, 0.0) + weight
    for entry in heapq.nlargest(HEADED_MAX, headed, key=headed.__getitem__):
        for unit in segment.units_of_entry(entry)[:HEADED_UNITS_MAX]:
            scores.units.setdefault(unit, 0.0)
    for unit in scores.units:
        scores.units[unit] += headed.get(segment.entry_of[unit], 0.0)
    return scores


def _rarest(segment: Segment, asked: set[str]) -> Iterator[str]:
    """The terms of a query, rarest first, within RECALL_QUERY_WORK_MAX occurrences; at least one."""
    work = 0
    spread = ((len(segment.units.get(term, ())) + len(segment.headings.get(term, ())), term) for term in asked)
    for count, term in heapq.nsmallest(RECALL_QUERY_TERMS_MAX, spread):
        work += count
        if work > RECALL_QUERY_WORK_MAX and work > count:
            return
        yield term


def _rarity(among: int, count: int) -> float:
    """The inverse document frequency of BM25."""
    return math.log(1 + (among - count + 0.5) / (count + 0.5))


def _score_units(segment: Segment, postings: Sequence[int], scores: dict[int, float]) -> None:
    """Add the BM25 score of a term. It counts once per unit, because units are short."""
    weight = _rarity(len(segment.end_of), len(postings)) * (K1 + 1)
    fixed, per_term = _norm(segment.terms_count, len(segment.end_of))
    sizes, known = segment.size_of, scores.get
    for unit in postings:
        scores[unit] = known(unit, 0.0) + weight / (1 + fixed + per_term * sizes[unit])


def _score_windows(segment: Segment, postings: Sequence[int], scores: dict[int, float]) -> None:
    """Add the BM25 score of a term. Its frequency in a window is the number of units that have it."""
    by_half = Counter(map(segment.half_of.__getitem__, postings))
    times = {half - 1: count for half, count in by_half.items() if half and half - 1 not in by_half}
    for half, count in by_half.items():
        times[half] = count + by_half.get(half + 1, 0)
    sizes, known = segment.size_of_half, scores.get
    last = len(sizes) - 1
    weight = _rarity(last + 1, len(times)) * (K1 + 1)
    fixed, per_term = _norm(2 * segment.terms_count, last + 1)
    for window, count in times.items():
        size = sizes[window] + (sizes[window + 1] if window < last else 0)
        scores[window] = known(window, 0.0) + weight * count / (count + fixed + per_term * size)


def _norm(terms: int, texts: int) -> tuple[float, float]:
    """The length normalisation in the denominator of BM25: a constant, and a factor per term of a text."""
    return K1 * (1 - B), K1 * B * texts / max(1, terms)


def _is_duplicate(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return shared >= SAME_SHARE * (len(one) + len(other) - shared)


def _merged(picked: list[Candidate]) -> Iterator[Hit]:
    """The hits, with adjacent units of a part merged into one."""
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
        position=entry.history_position,
        score=round(max(candidate.score for candidate in run), 6),
        offset=run[0].offset,
        voice=entry.voice,
    )


def _fitting(hits: list[Hit], counter: TokenCounter, max_tokens: int) -> list[Hit]:
    """The hits, best first, without the last ones if merged texts count more than their units did."""
    hits.sort(key=lambda hit: (-hit.score, -hit.position, hit.offset))
    tokens = [counter.upper(hit.text) for hit in hits]
    while hits and sum(tokens) > max_tokens:
        hits.pop()
        tokens.pop()
    return hits
