"""What later messages of an assistant replace: a line of state that ends every turn, and versions of a text written again."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plimsoll.summary.ledger import Fact

_BETWEEN = regex(r"\s*[|｜;；•·]\s*")
_LABELLED = regex(r"[\W_]*([^\W\d_][^:：=\d|]{0,24}?)\s*(?:[:：=]\s*\S|(?=[0-9]))")
_FIELDS_MIN, _FIELDS_MAX = 2, 16
_TURNS_MIN = 3
"""Turns with a line of the same labels from which on it is a state that each turn tells again."""

_VERSION_MIN = 6
"""Sentences of a message from which on it may be a version of a text."""

_CURRENT, _WRITTEN_AGAIN, _PHRASE = 4.0, 0.6, 0.4
"""What the newest state is worth, a sentence of a text that is told again as a whole, and a phrase."""

_PHRASE_MIN = 3
"""Mentions of the very same sentence from which on it is a phrase, as of a template or at the end of each answer."""


class Superseded(NamedTuple):
    """The facts that still hold, and what some of them are worth, by key."""

    facts: list[Fact]
    worth: dict[str, float]


def current(said: Sequence[Fact]) -> Superseded:
    """Drop an assistant's facts that its later messages replace, and value what is told again and again. Linear.

    Facts of users all stay: they may tell a history.
    """
    own = [fact for fact in said if fact.origin == "assistant"]
    gone, worth = _states(own)
    replaced, again = _versions(own)
    gone |= replaced
    phrases = {fact.key: _PHRASE for fact in said if fact.mentions >= _PHRASE_MIN}
    facts = [fact for fact in said if fact.key not in gone or fact.origin != "assistant"]
    return Superseded(facts, {**phrases, **again, **worth})


def labels_of(text: str) -> tuple[str, ...]:
    """Return the labels of a line of fields such as `[HP 18/22 | Gold: 40]`; none for anything else."""
    if not any(map(text.__contains__, "|｜;；•·")):  # as in most texts
        return ()
    fields = _BETWEEN.split(text.strip(" []()【】{}<>*_`"))
    if not _FIELDS_MIN <= len(fields) <= _FIELDS_MAX:
        return ()
    found = [_LABELLED.match(field) for field in fields]
    return tuple(match[1].casefold() for match in found if match is not None) if all(found) else ()


def _states(own: Sequence[Fact]) -> tuple[set[str], dict[str, float]]:
    """Return the keys of the older lines of states, and the newest with its worth.

    A state stands once in a message, and in half of all messages since it began; else it is a list, each item of its own.
    """
    lines: dict[tuple[str, ...], list[Fact]] = defaultdict(list)
    for fact in own:
        if labels := labels_of(fact.text):
            lines[labels].append(fact)
    gone: set[str] = set()
    worth: dict[str, float] = {}
    positions = sorted({fact.position for fact in own})
    for found in lines.values():
        turns = {fact.position for fact in found}
        since = len(positions) - bisect_left(positions, found[0].position)
        if _TURNS_MIN <= len(turns) == len(found) and since <= 2 * len(turns):
            newest = max(found, key=lambda fact: max(fact.last, fact.position))
            gone.update(fact.key for fact in found if fact is not newest)
            worth[newest.key] = _CURRENT
    return gone, worth


def _versions(own: Sequence[Fact]) -> tuple[set[str], dict[str, float]]:
    """Return the keys of sentences that a later version of their text no longer has, and the others with their worth."""
    messages: dict[int, list[Fact]] = defaultdict(list)
    for fact in own:
        messages[fact.position].append(fact)
    gone: set[str] = set()
    worth: dict[str, float] = {}
    for position, told in messages.items():
        again = [fact.key for fact in told if fact.last > position >= 0]
        if len(told) >= _VERSION_MIN and len(again) * 2 >= len(told):
            gone.update(fact.key for fact in told if fact.last <= position)
            worth.update(dict.fromkeys(again, _WRITTEN_AGAIN))
    return gone, worth
