"""Which memories match a query best, and which matter most without one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from plimsoll.limits import RECALL_QUERY_CHARS_MAX
from plimsoll.protocols import Memory
from plimsoll.recall.words import STOP, Terms

K1, B = 1.2, 0.5
"""The constants of BM25. Memories are single sentences, so their length says less about them than that of documents."""

_CACHED_TEXTS_MAX = 20_000


class MemoryRanking:
    """Searches memories by the words of their texts. Caches the words of each."""

    def __init__(self) -> None:
        self._terms = Terms()
        self._known: dict[str, frozenset[str]] = {}

    def search(self, query: str, memories: Iterable[Memory], limit: int) -> list[Memory]:
        """At most `limit` memories that share a word with the query, best first; superseded ones are left out.

        Linear in the memories. Equal matches are ordered by importance, confidence and time.
        """
        wanted = self._terms.of(query[:RECALL_QUERY_CHARS_MAX])
        wanted = wanted - STOP or wanted
        found = [memory for memory in memories if memory.superseded_by is None]
        texts = [self._of(memory.text) for memory in found]
        weights = _weights(wanted, texts)
        mean = sum(map(len, texts)) / max(1, len(texts))
        scores = [_score(terms, weights, mean) for terms in texts]
        matching = [(score, memory) for score, memory in zip(scores, found, strict=True) if score > 0]
        matching.sort(key=lambda pair: (-pair[0], *_order(pair[1])))
        return [memory for _, memory in matching[: max(0, limit)]]

    def _of(self, text: str) -> frozenset[str]:
        if text not in self._known:
            if len(self._known) >= _CACHED_TEXTS_MAX:
                self._known.clear()
            self._known[text] = frozenset(self._terms.of(text))
        return self._known[text]


def most_important(memories: Iterable[Memory]) -> list[Memory]:
    """The memories that hold, the most important first."""
    return sorted((memory for memory in memories if memory.superseded_by is None), key=_order)


def surplus(memories: Iterable[Memory], most: int) -> list[str]:
    """The ids of the memories above `most` in each scope: superseded ones first, then the least important."""
    by_scope: dict[str, list[Memory]] = {}
    for memory in memories:
        by_scope.setdefault(memory.scope, []).append(memory)
    crowded = [found for found in by_scope.values() if len(found) > most]
    ranked = [
        sorted(found, key=lambda memory: (memory.superseded_by is not None, *_order(memory))) for found in crowded
    ]
    return [memory.id for found in ranked for memory in found[most:]]


def _order(memory: Memory) -> tuple[bool, float, float, int, str]:
    """A sort key: the user's words first, then by importance and confidence, then the newest."""
    weight = memory.importance * memory.confidence
    return memory.by != "user", -weight, -math.log2(1 + memory.hits), -memory.time_ms, memory.id


def _weights(wanted: Iterable[str], texts: Sequence[frozenset[str]]) -> dict[str, float]:
    """How much each word of the query tells: rare ones more."""
    counts = Counter(term for terms in texts for term in terms.intersection(wanted))
    return {term: math.log(1 + (len(texts) - count + 0.5) / (count + 0.5)) for term, count in counts.items()}


def _score(terms: frozenset[str], weights: dict[str, float], mean: float) -> float:
    shared = sum(weight for term, weight in weights.items() if term in terms)
    return shared * (K1 + 1) / (1 + K1 * (1 - B + B * len(terms) / max(1.0, mean)))
