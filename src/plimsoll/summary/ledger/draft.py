"""The mutable form of a ledger during extraction: merges repeated facts and enforces the caps."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.ledger import decisions
from plimsoll.summary.ledger.fact import CAPS, KINDS, Fact, Kind, fact_of, first_seen
from plimsoll.summary.ledger.sentences import line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NEWEST_WINS: frozenset[Kind] = frozenset({"work", "command", "identifier", "activity"})
"""Kinds in which a later fact replaces the text of an earlier one with the same key."""

_CLOCK = regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}")
"""A time of the day: when a value was last read or changed before is not worth its room."""

_STATE_RANK = {"modified": 3, "read": 2, "seen": 1}
"""When merging, the highest state of a file wins."""


class LedgerDraft:
    """Facts by kind and key, evictions, and the context a later message needs."""

    def __init__(self, facts: Mapping[Kind, tuple[Fact, ...]], evicted: Mapping[Kind, int], asked: str) -> None:
        self.facts: dict[Kind, dict[str, Fact]] = {
            kind: {fact.key: fact for fact in facts.get(kind, ())} for kind in KINDS
        }
        self.evicted: dict[Kind, int] = dict(evicted)
        self._asked, self._answer = asked, ""

    def copied(self) -> LedgerDraft:
        """Return an independent copy."""
        other = LedgerDraft({}, self.evicted, self._asked)
        other._answer = self._answer
        other.facts = {kind: kept.copy() for kind, kept in self.facts.items()}
        return other

    def asked(self) -> str:
        """Return the assistant's last question, to interpret a short reply. It is looked for when it is first wanted."""
        if self._answer:
            self._asked, self._answer = decisions.question(self._answer), ""
        return self._asked

    def heard(self, answer: str) -> None:
        """Note the assistant's last answer; "" once a user has replied."""
        self._asked, self._answer = "", answer

    def add(self, fact: Fact) -> None:
        """Add a fact, or merge it into the one with its key."""
        self.add_all((fact,))

    def add_all(self, facts: Iterable[Fact]) -> None:
        """Add several facts."""
        for fact in facts:
            kind, key = fact.kind, fact.key
            kept = self.facts[kind]
            if key in kept:
                kept[key] = _merged(kept[key], fact)
                continue
            kept[key] = fact if fact.last >= 0 or fact.position < 0 else first_seen(fact)
            if len(kept) > CAPS[kind].facts_max * 2:  # ranking is more expensive than memory
                self._evict(kind)

    def renew(self, fact: Fact) -> None:
        """Add a fact as the newest of its kind, instead of the one with its key."""
        self.facts[fact.kind].pop(fact.key, None)
        self.add(fact)

    def replace(self, fact: Fact) -> None:
        """Replace the fact with the same key."""
        self.facts[fact.kind][fact.key] = fact

    def forget(self, *kinds: Kind) -> None:
        """Remove all facts of these kinds, which were misclassified."""
        for kind in kinds:
            self.facts[kind].clear()
            self.evicted.pop(kind, None)

    def finish(self) -> dict[Kind, tuple[Fact, ...]]:
        """Return the facts by kind within the caps, in order of first appearance."""
        for kind in KINDS:
            self._evict(kind)
        return {kind: tuple(kept.values()) for kind, kept in self.facts.items() if kept}

    def _evict(self, kind: Kind) -> None:
        """Drop and count the least valuable facts beyond the cap. The first request is never dropped."""
        kept, cap = self.facts[kind], CAPS[kind]
        chars = sum([len(fact.text) + len(fact.note) for fact in kept.values()])
        if len(kept) <= cap.facts_max and chars <= cap.chars_max:
            return
        newest = max([fact.last for fact in kept.values()])
        ranked = sorted(kept.values(), key=lambda fact: value(fact, newest))
        if kind == "request":
            first = next(iter(kept.values()))
            ranked.remove(first)
        for fact in ranked:
            if len(kept) <= cap.facts_max and chars <= cap.chars_max:
                return
            del kept[fact.key]
            chars -= len(fact.text) + len(fact.note)
            self.evicted[kind] = self.evicted.get(kind, 0) + 1


def value(fact: Fact, newest: int) -> float:
    """Return a fact's value: its weight, raised by mentions and slightly by recency."""
    score = fact.weight * (0.6 + 0.4 * (fact.last + 1) / (newest + 1))
    return score if fact.mentions == 1 else score * (1.0 + 0.35 * log2(fact.mentions))


def _merged(known: Fact, new: Fact) -> Fact:
    """Merge two facts with the same key. An identifier's state keeps the value it replaces.

    Written out, because `_replace` takes three times as long.
    """
    kind, key, text, position, origin, weight, mentions, last, note, state = known
    if kind == "file":
        state = max(state, new.state, key=lambda word: _STATE_RANK.get(word, 0))
    elif kind == "symbol":
        note = new.note or note
    elif kind not in _NEWEST_WINS:
        state = new.state or state
    elif new.text == text:
        note, state = new.note, new.state
    else:
        gone = (word for word in text.split(" ") if word not in new.text and _CLOCK.match(word) is None)
        before = line(" ".join(gone).rstrip(" ,"), 80)
        replaced = f"was {before}" if before else state
        text, position, origin, note = new.text, new.position, new.origin, new.note
        state = replaced if kind == "identifier" else new.state
    weight, last = max(weight, new.weight), max(last, new.position)
    return fact_of((kind, key, text, position, origin, weight, mentions + 1, last, note, state))
