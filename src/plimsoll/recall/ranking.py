"""Ranking: which units of an index answer a question best.

Windows are scored first, by BM25. The units of the best ones, and those with a rare word of the question, are then compared by
what they have themselves, by their window, by what was said shortly before them, by whether they answer a question that has the
words, and by what the question asks for: a speaker, a day, a number, the first or the last of something.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.limits import RECALL_QUERY_CHARS_MAX, RECALL_QUERY_TERMS_MAX, RECALL_QUERY_WORK_MAX
from plimsoll.recall.cues import Cues, cues_of, strings_of
from plimsoll.recall.derived import DERIVED_WEIGHT, derived_terms
from plimsoll.recall.filters import Filters, Hidden
from plimsoll.recall.index import Index
from plimsoll.recall.segment import K1, B, Entry, Segment, is_among, rarity
from plimsoll.recall.units import NUMBER, OPENING, QUESTION, TIME
from plimsoll.recall.words import STOP, alike_terms, words

OWN, WINDOW, CARRIED, ANSWER = 1.0, 1.0, 0.7, 0.5
"""Weights: of the unit's own words, its better window, the words said shortly before it, and of the question that it answers."""

FADING, REACH = 0.9, 8
"""A word that was said counts this much less with each unit after it, for so many units."""

ALL = 1.3
"""Power of the share of a question that was said shortly before: all of it counts more than two halves."""

SPEAKER, DAY, KIND, FIRST, LAST = 0.8, 0.8, 0.3, 3.0, 0.1
"""Weights of what a question asks for besides words."""

NAME_WEIGHT = 0.3
"""Weight of the name of a speaker, or of a day, as a word. Who said a thing, and when, counts by itself."""

QUESTION_WEIGHT = 0.95
"""What ends in a question tells less than its answer."""

LENGTH_MAX = 3.0
"""The most times the mean length that a unit's length counts for."""

WINDOWS_MAX = 40
"""Best windows whose units are compared."""

AFTER = 3
"""Units after a window that are compared too, for answers."""

RARE_MAX = 20
"""All units with a word that so few have are compared."""

HEADED_MAX, HEADED_UNITS_MAX = 12, 25
"""Parts whose units are compared for their heading alone, and units of each."""

OPENING_PARTS, OPENING_UNITS = 3, 4
"""Parts by the user at the beginning, and units of each, that are compared for a question about the beginning."""

OBJECT_UNITS_MAX = 40
"""Units of a JSON object that its beginning is carried on to."""

WINDOWED_MAX = 3_000
"""Occurrences of terms by which windows are found, rarest first; the further terms weigh only units that are found already."""

VERBATIM, VERBATIM_UNITS = 0.6, 40
"""What a unit gains by paths, identifiers and quotations word for word; how many of the best units are looked at."""

ALIKE_MAX = 200
"""A word that may stand for one of the question does so if not more units than this have it."""

HEADING_PARTS_MAX = 500
"""A term in the headings of more parts than this tells nothing of any."""


_KIND_OF = regex(
    r"\b(?:what|which|whose|any|some)?\s*(?:kinds?|types?|sorts?|forms?|examples?|names?|number)\s+of\b", re.IGNORECASE
)
"""Words that ask, and are in no answer."""

_WHICH = regex(r"\b(?:what|which|any|some|how\s+many)\s+((?:[a-z]+\s+)?[a-z]+)", re.IGNORECASE)
"""What a question asks for by name, perhaps with a word before it."""


class Candidate(NamedTuple):
    """A unit with its score, its text, its offset in its part in characters, and whether it has a word of the question."""

    score: float
    entry: Entry
    offset: int
    text: str
    matches: bool
    piece: str
    """All text of its entry."""


class _Term(NamedTuple):
    """A term of a question in one segment."""

    weight: float
    units: Sequence[int]
    entries: Sequence[int]


class Ranking:
    """The units that match a question, with their scores."""

    def __init__(self, index: Index, query: str, shown: Container[int], filters: Filters | None = None) -> None:
        """Messages at the positions in `shown` are left out, and their neighbours are not found for their words."""
        query = query[:RECALL_QUERY_CHARS_MAX]
        self._verbatim = strings_of(query)
        asked = index.terms.of(_KIND_OF.sub(" ", query)) or index.terms.of(query)
        self.asked = frozenset((asked - STOP) or asked)
        named = index.terms.of(" ".join(_WHICH.findall(query)))
        alike = alike_terms(self.asked, frozenset(named))
        derived = derived_terms(self.asked | STOP | dict(alike).keys(), self.asked, words(query))
        alike += [(term, DERIVED_WEIGHT) for term in sorted(index.known(derived))]
        self.cues = cues_of(query, set(self.asked), index.spoken, index.today, index.terms.of)
        self._fields = [
            _Field(segment, self.asked, alike, self.cues, Hidden(segment, shown, filters)) for segment in index.segments
        ]
        tops = heapq.nlargest(
            WINDOWS_MAX,
            (
                (score, number, window)
                for number, field in enumerate(self._fields)
                for window, score in _largest(field.windows)
            ),
        )
        for _, number, window in tops:
            self._fields[number].reach(window)
        for field in self._fields:
            field.measure()
        window_top = tops[0][0] if tops else 1.0
        own_top = max((field.own_top for field in self._fields), default=0.0) or 1.0
        self._scores = [field.scores(self.cues, window_top, own_top) for field in self._fields]

    def best(self) -> Iterator[Candidate]:
        """The units, best first; of equal scores, the newer one first."""
        found = ((score, number, unit) for number, scores in enumerate(self._scores) for unit, score in scores.items())
        ordered = sorted(found, reverse=True)
        if self._verbatim:
            ordered[:VERBATIM_UNITS] = sorted(map(self._with_verbatim, ordered[:VERBATIM_UNITS]), reverse=True)
        for score, number, unit in ordered:
            yield self._fields[number].candidate(unit, score)

    def matched(self, most: int) -> list[frozenset[str]]:
        """What each of the best units has of the question's terms, itself or in its heading. Needs no texts.

        Of a question without terms nothing is known before texts are read: it is as if one unit had none.
        """
        if not self.asked:
            return [frozenset()]
        best = heapq.nlargest(
            most,
            ((score, number, unit) for number, scores in enumerate(self._scores) for unit, score in scores.items()),
        )
        return [self._fields[number].terms_in(unit, self.asked) for _, number, unit in best]

    def _with_verbatim(self, rated: tuple[float, int, int]) -> tuple[float, int, int]:
        """A unit whose score is higher for each path, identifier or quotation of the question that it has word for word."""
        score, number, unit = rated
        text = self._fields[number].candidate(unit, score).text.casefold()
        share = sum(string in text for string in self._verbatim) / len(self._verbatim)
        return score + VERBATIM * share, number, unit

    def widen(self, more: Mapping[str, float]) -> None:
        """Add to the scores what units have of further terms, with their weights. Units with a rare one come in."""
        for field, scores in zip(self._fields, self._scores, strict=True):
            field.widen(more, scores)


class _Field:
    """The units of one segment that a question reaches."""

    def __init__(
        self, segment: Segment, asked: frozenset[str], alike: Sequence[tuple[str, float]], cues: Cues, hidden: Hidden
    ) -> None:
        self._segment = segment
        self._hidden = hidden
        self.windows: dict[int, float] = {}
        self._terms: list[_Term] = []
        self._alike: list[_Term] = []
        light = cues.speakers | cues.dated
        work = 0
        for term in _rarest(segment, asked):
            postings = hidden.without(segment.units.get(term))
            work += len(postings)
            if work <= WINDOWED_MAX or not self.windows:
                _score_windows(segment, postings, self.windows)
            weight = rarity(len(segment.end_of), max(1, len(postings))) * (NAME_WEIGHT if term in light else 1.0)
            headed = segment.headings.get(term)
            self._terms.append(_Term(weight, postings, headed if len(headed) <= HEADING_PARTS_MAX else ()))
        for term, share in alike:
            postings = hidden.without(segment.units.get(term))
            if postings and len(postings) <= ALIKE_MAX:
                weight = rarity(len(segment.end_of), len(postings)) * share
                self._alike.append(_Term(weight, postings, ()))
                _score_windows(segment, postings, self.windows, share / 2)
        self._reached = self._named(cues)
        self.own_top = 0.0

    def _named(self, cues: Cues) -> set[int]:
        """Units that are compared whatever their window: by a rare word, by their heading, or as the beginning."""
        segment, reached = self._segment, set[int]()
        self._headed: dict[int, float] = {}
        for term in (*self._terms, *self._alike):
            if len(term.units) <= RARE_MAX:
                reached.update(term.units)
                reached.update(inner for unit in term.units for inner in self._inside(unit))
            for entry in term.entries:
                self._headed[entry] = self._headed.get(entry, 0.0) + term.weight
        for entry in heapq.nlargest(HEADED_MAX, self._headed, key=self._headed.__getitem__):
            reached.update(segment.units_of_entry(entry)[:HEADED_UNITS_MAX])
        if cues.first:
            spoken = (number for number, entry in enumerate(segment.entries) if entry.voice == "user")
            for number, _ in zip(
                (n for n in spoken if n not in self._hidden.entries), range(OPENING_PARTS), strict=False
            ):
                reached.update(segment.units_of_entry(number)[:OPENING_UNITS])
        return reached

    def reach(self, window: int) -> None:
        """Compare the units of a window, and those that follow it."""
        near = self._segment.units_of_half(window + 1) or self._segment.units_of_half(window)
        first = self._segment.units_of_half(window).start
        self._reached.update(range(first, min(near.stop + AFTER, len(self._segment.end_of))))

    def _inside(self, unit: int) -> range:
        """The units after one that begins a JSON object which are in the object too: what it says of itself is said of them."""
        kinds, entry_of = self._segment.kinds, self._segment.entry_of
        if not kinds[unit] & OPENING:
            return range(0)
        stop = unit + 1
        while (
            stop < min(len(kinds), unit + OBJECT_UNITS_MAX)
            and not kinds[stop] & OPENING
            and entry_of[stop] == entry_of[unit]
        ):
            stop += 1
        return range(unit + 1, stop)

    def measure(self) -> None:
        """Weigh what each unit has of the question itself, and what was said shortly before it."""
        self._reached = self._hidden.seen_of(self._reached)
        own, carried = dict.fromkeys(self._reached, 0.0), dict.fromkeys(self._reached, 0.0)
        for term in self._terms:
            hits = self._reached.intersection(term.units)
            for unit in hits:
                own[unit] += term.weight
            for unit, share in _faded(sorted(hits)):
                if unit in carried:
                    carried[unit] += term.weight * share
            for unit in hits:
                for inner in self._inside(unit):
                    if inner in carried and inner not in hits:
                        left = _FADED[inner - unit] if inner - unit <= REACH else 0.0
                        carried[inner] += term.weight * (1 - left)
        for term in self._alike:
            for unit in self._reached.intersection(term.units):
                own[unit] += term.weight
        segment = self._segment
        sizes, mean = segment.size_of, max(1.0, segment.terms_count / max(1, len(segment.end_of)))
        headed, entry_of = self._headed.get, segment.entry_of
        self._matching = {unit for unit, weight in own.items() if weight}
        self._own = {
            unit: weight / (1 - B + B * min(LENGTH_MAX, sizes[unit] / mean)) + headed(entry_of[unit], 0.0)
            for unit, weight in own.items()
        }
        total = sum(term.weight for term in self._terms) or 1.0
        self._carried = {
            unit: ((weight + headed(entry_of[unit], 0.0)) / total) ** ALL for unit, weight in carried.items()
        }
        self.own_top = max(self._own.values(), default=0.0)

    def scores(self, cues: Cues, window_top: float, own_top: float) -> dict[int, float]:
        segment, own, carried = self._segment, self._own, self._carried
        entry_of, half_of, kinds = segment.entry_of, segment.half_of, segment.kinds
        around = self.windows.get
        found: dict[int, float] = {}
        for unit, weight in own.items():
            half, entry = half_of[unit], entry_of[unit]
            near = max(around(half, 0.0), around(half - 1, 0.0))
            score = OWN * weight / own_top + WINDOW * near / window_top + CARRIED * carried[unit]
            before = unit - 1
            if before in own and kinds[before] & QUESTION and entry_of[before] != entry:
                score += ANSWER * max(own[before] / own_top, carried[before])
            score += _cued(cues, segment.entries[entry], kinds[unit])
            if cues.last:
                score += LAST * unit / len(half_of)
            if cues.first and segment.entries[entry].voice == "user":
                opening = _opening(segment.entries[entry], unit)
                score += FIRST * opening
                if opening:
                    self._matching.add(unit)
            if score > 0:
                found[unit] = score * (QUESTION_WEIGHT if kinds[unit] & QUESTION else 1.0)
        return found

    def widen(self, more: Mapping[str, float], scores: dict[int, float]) -> None:
        """Add what units have of further terms."""
        for term, share in more.items():
            postings = self._hidden.without(self._segment.units.get(term))
            if not postings:
                continue
            if len(postings) <= RARE_MAX:
                self._matching.update(postings)
                for unit in postings:
                    scores.setdefault(unit, 0.0)
            for unit in scores.keys() & set(postings) if len(postings) > RARE_MAX else postings:
                scores[unit] += share

    def terms_in(self, unit: int, asked: frozenset[str]) -> frozenset[str]:
        """Those of these terms that a unit or its heading has."""
        segment, entry = self._segment, self._segment.entry_of[unit]
        return frozenset(
            term
            for term in asked
            if is_among(segment.units.get(term), unit) or is_among(segment.headings.get(term), entry)
        )

    def candidate(self, unit: int, score: float) -> Candidate:
        entry, start, end = self._segment.span(unit)
        piece = self._segment.text_of(entry)
        return Candidate(score, entry, entry.start + start, piece[start:end], unit in self._matching, piece)


def _largest(windows: Mapping[int, float]) -> list[tuple[int, float]]:
    """The best windows with their scores, more only where some score the same."""
    scores = sorted(windows.values(), reverse=True)
    least = scores[WINDOWS_MAX - 1] if len(scores) >= WINDOWS_MAX else 0.0
    return [(window, score) for window, score in windows.items() if score >= least]


def _faded(units: Sequence[int]) -> Iterator[tuple[int, float]]:
    """Each unit and those after it, up to the next, with how much of a word said in it still counts."""
    for at, unit in enumerate(units):
        stop = units[at + 1] if at + 1 < len(units) else unit + REACH + 1
        for distance in range(min(REACH + 1, stop - unit)):
            yield unit + distance, _FADED[distance]


_FADED = [FADING**distance for distance in range(REACH + 1)]
"""How much of a word still counts at a distance."""


def _opening(entry: Entry, unit: int) -> float:
    """How near a unit is to the beginning of the history."""
    return max(0.0, 1 - max(0, entry.position) / 20) * (1.0 if unit - entry.first < 2 else 0.3)


def _cued(cues: Cues, entry: Entry, kinds: int) -> float:
    """What a unit has of what the question asks for besides words."""
    score = 0.0
    if cues.speakers and not cues.speakers.isdisjoint(entry.speaker):
        score += SPEAKER
    if (cues.number and kinds & NUMBER) or (cues.time and kinds & TIME):
        score += KIND
    if cues.days and cues.days.first <= entry.day <= cues.days.last:
        score += DAY
    return score


def _rarest(segment: Segment, asked: frozenset[str]) -> Iterator[str]:
    """The terms of a query, rarest first, within RECALL_QUERY_WORK_MAX occurrences; at least one."""
    work = 0
    spread = ((segment.units.count(term) + segment.headings.count(term), term) for term in asked)
    for count, term in heapq.nsmallest(RECALL_QUERY_TERMS_MAX, spread):
        work += count
        if work > RECALL_QUERY_WORK_MAX and work > count:
            return
        yield term


def _score_windows(segment: Segment, postings: Sequence[int], scores: dict[int, float], share: float = 1.0) -> None:
    """Add that share of the BM25 score of a term. Its frequency in a window is the number of units that have it."""
    by_half = Counter(map(segment.half_of.__getitem__, postings))
    norms, known, count_of = segment.window_norms(), scores.get, by_half.get
    weight = rarity(len(norms), min(len(norms), 2 * len(by_half))) * (K1 + 1) * share
    for half, count in by_half.items():
        times = count + count_of(half + 1, 0)
        scores[half] = known(half, 0.0) + weight * times / (times + norms[half])
        if half and half - 1 not in by_half:
            scores[half - 1] = known(half - 1, 0.0) + weight * count / (count + norms[half - 1])
