"""Who says what a ledger has: people with names, or a user and an assistant."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING

from plimsoll.summary.kept import kept
from plimsoll.summary.ledger.fact import author_of, fact_of, topic_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from plimsoll.summary.ledger import Fact, Ledger
    from plimsoll.summary.ledger.fact import Origin


def authors(ledger: Ledger, origin: Origin) -> frozenset[str]:
    """Return the names that messages give their authors on one side, if there are several: one needs no telling apart."""
    facts = (*ledger.of("request"), *ledger.of("decision"), *ledger.of("chat"))
    # Few differ in what names their author.
    few = dict(zip(map(attrgetter("origin", "note", "state"), facts), facts, strict=True)).values()
    found = frozenset(author_of(fact) for fact in few if fact.origin == origin) - {""}
    found |= {name for role, name in ledger.beside if role == origin}
    return found if len(found) > 1 else frozenset()


class _Chat:
    """The chat facts of a ledger, equal to themselves alone: to compare thousands takes as long as to read them."""

    __slots__ = ("facts",)

    def __init__(self, facts: tuple[Fact, ...]) -> None:
        self.facts = facts

    def __hash__(self) -> int:
        return id(self.facts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Chat) and self.facts is other.facts


def has_speakers(ledger: Ledger) -> bool:
    """Return whether most statements on both sides begin with a speaker's name; then no message is a request to the model."""
    return _has_speakers(_Chat(ledger.of("chat")))


@kept(2)
def _has_speakers(chat: _Chat) -> bool:
    """The newest answers are kept, because each section of a summary asks."""
    named, unnamed = Counter[str](), Counter[str]()
    for (origin, note), count in Counter(map(attrgetter("origin", "note"), chat.facts)).items():
        is_label = not note.endswith("\t") and note.partition("\t")[0] not in ("user", "assistant")
        (named if is_label else unnamed)[origin] += count
    return bool(named) and all(named[side] > unnamed[side] for side in named | unnamed)


def statements(ledger: Ledger, *, named: bool, several: Collection[str] = ()) -> list[Fact]:
    """What was said, in order: the chat facts, and what an assistant concluded where talk was not yet read as such.

    What looks like a name in front of it is one where people with names talk, else a part of the text. `several` are the names
    of messages that tell their authors apart.
    """
    said = sorted([*ledger.of("chat"), *_concluded(ledger)], key=attrgetter("position"))
    if not named:
        return [reworded(fact, fact.text, f"{_whose(fact, several)}\t{topic_of(fact)}") for fact in said]
    return [
        reworded(fact, fact.text.removeprefix(f"{fact.note}:").lstrip(), fact.note)
        if fact.text.startswith(fact.note) or fact.text[:1].isspace()
        else fact
        for fact in said
    ]


def _concluded(ledger: Ledger) -> Iterator[Fact]:
    """What an assistant concluded in messages of which nothing else is known."""
    if decided := ledger.of("decision"):
        chat = ledger.of("chat")
        positions, known = {fact.position for fact in chat}, {fact.key for fact in chat}
        for fact in decided:
            if fact.position not in positions and fact.text.casefold() not in known:
                yield fact._replace(kind="chat", note="assistant")


def _whose(fact: Fact, several: Collection[str]) -> str:
    author = author_of(fact) if several else ""
    return author if author in several else fact.origin


def reworded(fact: Fact, text: str, note: str) -> Fact:
    """The fact with another text and note. Written out, because `_replace` takes three times as long."""
    kind, key, _, position, origin, weight, mentions, last, _, state = fact
    return fact_of((kind, key, text, position, origin, weight, mentions, last, note, state))
