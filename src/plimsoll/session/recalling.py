"""Search in several sessions at once: each is asked through its own index, and the hits become one list."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from plimsoll.errors import PlimsollError, SessionNotFound, SessionSkipped, SettingError, UnsafeName, warn
from plimsoll.protocols import Store, TokenCounter
from plimsoll.recall.choosing import LED_SHARE, Vocabularies
from plimsoll.recall.filters import Filters, HitOrder, SpeakerRole, filters_of
from plimsoll.recall.search import Hit
from plimsoll.recall.words import STOP, Terms, words
from plimsoll.session.catalog import found, using
from plimsoll.session.finder import Finder, checked_limits
from plimsoll.session.open import recorder_of
from plimsoll.store.open import StoreSpec
from plimsoll.validation import one_of, short_repr

_LEAST = 0.01
"""How well a session answers that has none of the words themselves, but others that occur with them."""


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
        asked = [_asked(place, name, query, max_tokens, filters, is_named=names is not None) for name in listed]
    best = _joined(query, [each for each in asked if each is not None and each[0]], max_tokens, most)
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


def _asked(  # noqa: PLR0913 - one search
    place: Store, name: str, query: str, tokens_max: int, filters: Filters | None, *, is_named: bool
) -> tuple[list[Hit], TokenCounter] | None:
    """The hits of one session and its counter; None if it cannot be read."""
    try:
        log = found(place, name) if is_named else place.open(name, writable=False)
        recorder = recorder_of(log, place, {})
        try:
            counter = recorder.meter.counter
            finder = Finder(recorder.meter.tool_names)
            hits = finder.find(
                query, recorder.state, counter=counter, max_tokens=tokens_max, filters=filters, shown=True
            )
            return hits, counter
        finally:
            recorder.close()
    except PlimsollError as error:
        if is_named and isinstance(error, (SessionNotFound, UnsafeName)):
            raise
        warn(SessionSkipped(name, str(error)))
        return None


def _joined(
    query: str, asked: Sequence[tuple[list[Hit], TokenCounter]], tokens_max: int, most: int | None
) -> list[Hit]:
    """The best hits of all sessions within a number of tokens, each text once."""
    chosen: list[Hit] = []
    seen = Vocabularies()
    room = tokens_max
    for hit, counter in _ranked(query, asked):
        vocabulary = frozenset(words(hit.text))
        if hit.score < LED_SHARE * (chosen[0].score if chosen else 0) or len(chosen) == most:
            break
        if seen.has_like(vocabulary):
            continue
        tokens = counter.upper(hit.text)
        if tokens <= room:
            room -= tokens
            chosen.append(hit)
            seen.add(vocabulary)
    return chosen


def _ranked(query: str, asked: Sequence[tuple[list[Hit], TokenCounter]]) -> list[tuple[Hit, TokenCounter]]:
    """All hits, best first. Scores of sessions are not comparable: each is weighed with how well its best hit answers."""
    weights = _weights(query, [hits for hits, _ in asked])
    weighed = [
        (replace(hit, score=max(0.000001, round(hit.score * weight, 6))), counter)
        for (hits, counter), weight in zip(asked, weights, strict=True)
        for hit in hits
    ]
    return sorted(weighed, key=lambda pair: -pair[0].score)


def _weights(query: str, found_in: Sequence[Sequence[Hit]]) -> Iterator[float]:
    """For each session the share of the query's words that one of its hits has; a word counts more the fewer sessions have it."""
    terms = Terms()
    wanted = terms.of(query)
    wanted = wanted - STOP or wanted
    held = [[wanted & terms.of(f"{hit.voice} {hit.text}") for hit in hits] for hits in found_in]
    having = [set().union(*each) for each in held]
    weight = {
        term: math.log(1 + len(held) / count) for term in wanted if (count := sum(term in each for each in having))
    }
    total = math.fsum(weight.values()) or 1.0
    for each in held:
        yield max(_LEAST, max(math.fsum(weight[term] for term in one) for one in each) / total)
