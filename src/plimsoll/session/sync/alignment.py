"""Which messages of one list are which of another, in order: how a host's list is held against what is known of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from plimsoll.dataclass import dataclass
from plimsoll.message import Message
from plimsoll.session.sync.likeness import Atom, atoms, thoughts

SEARCH_MESSAGES_MAX = 64
"""After a difference, so many messages of the given list are looked at for one that is known."""

JOINED_MESSAGES_MAX = 64
"""So many neighbouring messages of one voice may have been joined."""

_NEAR = ((1, 1), (0, 1), (1, 0), (2, 2), (0, 2), (2, 0), *((count, count) for count in range(3, 17)))
"""Where a list most often goes on after a difference: something was changed, removed or put in."""

_SEPARATORS = ("\n\n", "\n", "", " ")
"""What hosts put between the texts of messages that they join."""


class Saying(NamedTuple):
    """What an item of a list says, and what was thought before it was said."""

    atoms: tuple[Atom, ...]
    thoughts: tuple[Atom, ...]


def saying_of(messages: Sequence[Message]) -> Saying:
    """What one item says; a whole response may hold several messages."""
    said = tuple(atom for message in messages for atom in atoms(message))
    return Saying(said, tuple(thought for message in messages for thought in thoughts(message)))


class Side:
    """One of the two lists. What an item says is read when it is first asked for."""

    def __init__(
        self, items: Sequence[Any], read: Callable[[int], Sequence[Saying]], *, optional: Container[int] = ()
    ) -> None:
        """The items of a list.

        Args:
            items: What is compared first.
            read: What an item says, by its index: in one way, or in several of which any will do.
            optional: Indexes of items that the other list may do without.

        """
        self.items = items
        self.optional = optional
        self._read = read
        self._sayings: dict[int, Sequence[Saying]] = {}
        self._places: dict[tuple[Atom, ...], list[int]] | None = None

    def __len__(self) -> int:
        return len(self.items)

    def sayings(self, index: int) -> Sequence[Saying]:
        """What an item says, in each way that it may be said."""
        if index not in self._sayings:
            self._sayings[index] = self._read(index)
        return self._sayings[index]

    def saying(self, index: int) -> Saying:
        """What an item says."""
        return self.sayings(index)[0]

    def next_place(self, said: tuple[Atom, ...], start: int) -> int | None:
        """The first item from an index on that says just this. Later calls ask no further back."""
        if self._places is None:
            self._places = {}
            for index in range(start, len(self)):
                for saying in self.sayings(index):
                    self._places.setdefault(saying.atoms, []).append(index)
        found = self._places.get(said, [])
        at = bisect_left(found, start)
        return found[at] if at < len(found) else None


@dataclass(frozen=True, slots=True)
class Match:
    """Items `[given, given_stop)` of one list say what items `[known, known_stop)` of the other say, together or in `pairs`."""

    given: int
    given_stop: int
    known: int
    known_stop: int
    thought: bool = True
    """Whether the reasoning is the same too."""
    pairs: bool = False
    """Whether each item is one of the other list."""

    def without(self, first: int, last: int) -> Match | None:
        """The same without so many pairs at either end; one that is no pairs is one whole."""
        given, stop = self.given + first, self.given_stop - last
        if not (first or last):
            return self
        if not self.pairs or given >= stop:
            return None
        return replace(self, given=given, given_stop=stop, known=self.known + first, known_stop=self.known_stop - last)


def align(given: Side, known: Side) -> list[Match]:
    """The matches, in order. After a difference, the next item of `given` that is known further on is looked for."""
    matches: list[Match] = []
    at, place = 0, 0
    while at < len(given) and place < len(known):
        match = _run(given, at, known, place) or _match(given, at, known, place)
        if match is None and place in known.optional:
            place += 1
            continue
        match = match or _resumed(given, at, known, place)
        if match is None:
            break
        matches.append(match)
        at, place = match.given_stop, match.known_stop
    return matches


def _run(given: Side, at: int, known: Side, place: int) -> Match | None:
    """The items from two places on that are written in the same way."""
    pairs = zip(islice(known.items, place, None), islice(given.items, at, None), strict=False)
    count = next((index for index, (one, other) in enumerate(pairs) if one != other), None)
    if count is None:
        count = min(len(given) - at, len(known) - place)
    return Match(at, at + count, place, place + count, pairs=True) if count else None


def _match(given: Side, at: int, known: Side, place: int) -> Match | None:
    """How the items at two places are the same, if they are: each by itself, or some of one side joined on the other."""
    if known.items[place] == given.items[at]:
        return Match(at, at + 1, place, place + 1)
    mine = given.saying(at)
    for theirs in known.sayings(place):
        if mine.atoms == theirs.atoms and (mine.atoms or mine.thoughts == theirs.thoughts):
            return Match(at, at + 1, place, place + 1, mine.thoughts == theirs.thoughts)
    for way in range(len(known.sayings(place))):
        if (match := _joined(given, at, known, place, way)) is not None:
            return match
    return _texts_joined(given, at, known, place)


def _joined(given: Side, at: int, known: Side, place: int, way: int) -> Match | None:
    """Parts of several messages in one: the shorter side is taken on until both say the same."""
    at_stop, place_stop = at + 1, place + 1
    mine, theirs = given.saying(at).atoms, known.sayings(place)[way].atoms
    if not mine or not theirs:
        return None
    for _ in range(JOINED_MESSAGES_MAX):
        if mine == theirs:
            return Match(at, at_stop, place, place_stop)
        if len(mine) < len(theirs) and theirs[: len(mine)] == mine and at_stop < len(given):
            mine += given.saying(at_stop).atoms
            at_stop += 1
        elif len(theirs) < len(mine) and mine[: len(theirs)] == theirs and place_stop < len(known):
            theirs += _going_on(known.sayings(place_stop), mine[len(theirs) :])
            place_stop += 1
        else:
            return None
    return None


def _going_on(sayings: Sequence[Saying], rest: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """That way to say an item with which it is said what is still to be said."""
    fitting = (saying.atoms for saying in sayings if saying.atoms and rest[: len(saying.atoms)] == saying.atoms)
    return next(fitting, sayings[0].atoms)


def _texts_joined(given: Side, at: int, known: Side, place: int) -> Match | None:
    """Texts of several messages in one text, on either side."""
    stop = _texts_in(given.saying(at).atoms, known, place)
    if stop is not None:
        return Match(at, at + 1, place, stop)
    stop = _texts_in(known.saying(place).atoms, given, at)
    return None if stop is None else Match(at, stop, place, place + 1)


def _texts_in(said: tuple[Atom, ...], other: Side, start: int) -> int | None:
    """Where the items end whose texts, joined, are the only text that is said."""
    if len(said) != 1 or said[0][1] != "text":
        return None
    voice, whole = said[0][0], said[0][2]
    for separator in _SEPARATORS:
        text, stop = "", start
        while stop < len(other) and len(text) < len(whole):
            found = other.saying(stop).atoms
            if len(found) != 1 or found[0][:2] != (voice, "text"):
                break
            text = f"{text}{separator}{found[0][2]}" if stop > start else found[0][2]
            stop += 1
            if not whole.startswith(text):
                break
        if text == whole and stop > start + 1:
            return stop
    return None


def _resumed(given: Side, at: int, known: Side, place: int) -> Match | None:
    """The next match after a difference: the given item that comes first, but one whose neighbour does not match last."""
    for more, further in _NEAR:
        mine, theirs = given.items[at + more : at + more + 2], known.items[place + further : place + further + 2]
        if len(mine) == 2 and theirs == mine:
            return Match(at + more, at + more + 1, place + further, place + further + 1)
    doubtful: Match | None = None
    for index in range(at, min(len(given), at + SEARCH_MESSAGES_MAX)):
        said = given.saying(index).atoms
        found = known.next_place(said, place) if said else None
        if found is None:
            continue
        match = _match(given, index, known, found)
        if match is None:
            continue
        is_end = match.given_stop == len(given) or match.known_stop == len(known)
        if is_end or _match(given, match.given_stop, known, match.known_stop) is not None:
            return match
        doubtful = doubtful or match
    return doubtful
