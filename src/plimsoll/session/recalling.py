"""Search in several sessions at once: each is asked through its own index, and the hits become one list."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import TypeVar

from plimsoll.errors import PlimsollError, SessionNotFound, SessionSkipped, SettingError, UnsafeName, warn
from plimsoll.light.dataclass import replace
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.limits import RECALL_SEGMENT_CHARS_MAX
from plimsoll.policy.validation import one_of, short_repr
from plimsoll.protocols import SessionLog, Store, TokenCounter
from plimsoll.recall.choosing import LED_SHARE, Vocabularies
from plimsoll.recall.filters import Filters, HitOrder, SpeakerRole, filters_of
from plimsoll.recall.search import Hit
from plimsoll.recall.words import words
from plimsoll.session.catalog import found, using
from plimsoll.session.finder import Finder, checked_limits
from plimsoll.session.open import history_of, tell_damage
from plimsoll.store.open import StoreSpec

Read = TypeVar("Read")

_LEAST = 0.01
"""How well a session answers that has none of the words themselves, but others that occur with them."""

_GROWN = 1.25
"""The best hits are chosen again when there are so many times as many: many sessions take no more than a few choices each."""

_ROOM_LEFT = 0.03
"""The search ends when less than this share of the tokens is left."""


def recall_sessions(  # noqa: PLR0913 - one search
    query: str,
    *,
    store: StoreSpec = None,
    sessions: Sequence[str] | None = None,
    max_tokens: int = 2000,
    limit: int | None = None,
    order: HitOrder = "best",
    role: SpeakerRole | None = None,
    tool: str | None = None,
    before: str | int | None = None,
    after: str | int | None = None,
) -> list[Hit]:
    """Search everything said in several sessions, also what their views still show. Changes none of them.

    A session that cannot be read is left out with a warning, `SessionSkipped`. The cost grows with the number of sessions.

    Args:
        query: a few words to look for.
        store: as in `plimsoll.open`; "project:" searches the sessions of a project.
        sessions: the names of those to search, in the order in which equal hits are preferred; None: all that are listed, the
            last changed first.
        max_tokens: limit for all texts together, each counted as its session counts.
        limit: limit for the number of hits; the best ones are kept.
        order: "best" first, or each session's hits together as they were "said", in the order of the sessions.
        role: search only what this one said, as in `Session.recall`.
        tool: search only calls and results of this tool.
        before: search only what was said before this day ("2026-05-17"), or in each session before this message.
        after: search only what was said from this day on, or in each session after this message.

    Returns: hits, each with the name of its session, whose `read` takes the reference. What several sessions have, such as a
        session and its fork, is given once.

    Raises: SettingError, SessionNotFound and UnsafeName for a session that is named, StoreUnusable.

    """
    chosen = one_of("order", order, ("best", "said"))
    names, filters = _named(sessions), filters_of(role, tool, before, after)
    most = checked_limits(query, max_tokens, limit)
    with using(store) as place:
        listed = [info.name for info in place.sessions()] if names is None else names
        search = _Search(place, query, filters, max_tokens, most, is_named=names is not None)
        best = search.best(listed)
    return (
        sorted(best, key=lambda hit: (listed.index(hit.session), hit.position, hit.offset))
        if chosen == "said"
        else best
    )


def _named(sessions: Sequence[str] | None) -> list[str] | None:
    if sessions is None:
        return None
    if (
        isinstance(sessions, str)
        or not isinstance(sessions, Sequence)
        or not all(isinstance(one, str) for one in sessions)
    ):
        raise SettingError("sessions", f"a list of names is needed, not {short_repr(sessions)}")
    return list(dict.fromkeys(sessions))


class _Compared(NamedTuple):
    """A session, and what its best statements have of the question."""

    name: str
    matched: Sequence[frozenset[str]]
    finder: Finder | None
    """With its index, unless those of all sessions are too large to be held."""


class _Search:
    """One search: sessions are compared by their indexes, and texts are read in those alone that can add to the best hits."""

    def __init__(  # noqa: PLR0913 - one search
        self,
        place: Store,
        query: str,
        filters: Filters | None,
        tokens_max: int,
        most: int | None,
        *,
        is_named: bool,
    ) -> None:
        self._place = place
        self._query = query
        self._filters = filters
        self._tokens_max = tokens_max
        self._most = most
        self._is_named = is_named
        self._held_chars = 0

    def best(self, names: Sequence[str]) -> list[Hit]:
        """The best hits of all sessions."""
        compared = [one for name in names if (one := self._compared(name)) is not None and one.matched]
        order = sorted(
            zip(_weights([one.matched for one in compared]), compared, strict=True), key=lambda pair: -pair[0]
        )
        gathered: list[tuple[Hit, TokenCounter]] = []
        chosen, chosen_of = self._chosen(gathered), 0
        for weight, one in order:
            if len(gathered) > chosen_of * _GROWN:
                chosen, chosen_of = self._chosen(gathered), len(gathered)
            if chosen.is_settled(weight):
                break
            gathered += self._weighed(one, weight)
        return self._chosen(gathered).hits

    def _chosen(self, gathered: Iterable[tuple[Hit, TokenCounter]]) -> _Chosen:
        """The best of the hits gathered so far."""
        chosen = _Chosen(self._tokens_max, self._most)
        chosen.take(sorted(gathered, key=lambda pair: -pair[0].score))
        return chosen

    def _compared(self, name: str) -> _Compared | None:
        """A session beside the others; None if it cannot be read."""

        def read(log: SessionLog) -> _Compared:
            said, meter = history_of(log)
            finder = Finder(meter.tool_names)
            matched = finder.matched(self._query, said, filters=self._filters)
            tell_damage(log)
            self._held_chars += finder.chars
            return _Compared(name, matched, finder if self._held_chars <= RECALL_SEGMENT_CHARS_MAX else None)

        return self._read(name, read)

    def _weighed(self, one: _Compared, weight: float) -> list[tuple[Hit, TokenCounter]]:
        """The hits of a session and its counter. Their scores are weighed with how well the session answers: they compare then."""

        def read(log: SessionLog) -> list[tuple[Hit, TokenCounter]]:
            said, meter = history_of(log)
            finder, counter = one.finder or Finder(meter.tool_names), meter.counter
            hits = finder.find(
                self._query, said, counter=counter, max_tokens=self._tokens_max, filters=self._filters, shown=True
            )
            return [(replace(hit, score=max(0.000001, round(hit.score * weight, 6))), counter) for hit in hits]

        return self._read(one.name, read) or []

    def _read(self, name: str, read: Callable[[SessionLog], Read]) -> Read | None:
        """What is read in the log of a session; None, with a warning, if it cannot be read."""
        try:
            log = found(self._place, name) if self._is_named else self._place.open(name, writable=False)
            with closing(log):
                return read(log)
        except PlimsollError as error:
            if self._is_named and isinstance(error, (SessionNotFound, UnsafeName)):
                raise
            warn(SessionSkipped(name, str(error)))
            return None


class _Chosen:
    """The best hits within a number of tokens, each text once."""

    def __init__(self, tokens_max: int, most: int | None) -> None:
        self.hits: list[Hit] = []
        self._room = self._all = tokens_max
        self._most = most
        self._seen = Vocabularies()

    def take(self, ranked: Iterable[tuple[Hit, TokenCounter]]) -> None:
        """Choose from hits, best first."""
        for hit, counter in ranked:
            if hit.score < self._least or self._is_full:
                return
            vocabulary = frozenset(words(hit.text))
            if self._seen.has_like(vocabulary):
                continue
            tokens = counter.upper(hit.text)
            if tokens <= self._room:
                self._room -= tokens
                self.hits.append(hit)
                self._seen.add(vocabulary)

    def is_settled(self, score: float) -> bool:
        """Whether no hit with such a score at most would be chosen too."""
        return score < self._least or (self._is_full and score <= self.hits[-1].score)

    @property
    def _least(self) -> float:
        """The score that a hit needs to be relevant."""
        return LED_SHARE * self.hits[0].score if self.hits else 0.0

    @property
    def _is_full(self) -> bool:
        return len(self.hits) == self._most or (bool(self.hits) and self._room < self._all * _ROOM_LEFT)


def _weights(matched: Sequence[Sequence[frozenset[str]]]) -> Iterator[float]:
    """For each session the share of the question that its best statement has; a term counts more the fewer sessions have it."""
    having = [set().union(*each) for each in matched]
    count = Counter(term for each in having for term in each)
    weight = {term: math.log(1 + len(matched) / times) for term, times in count.items()}
    total = math.fsum(weight.values()) or 1.0
    for each in matched:
        yield max(_LEAST, max(math.fsum(weight[term] for term in one) for one in each) / total)
