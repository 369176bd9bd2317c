"""What a host's list says of the history: which messages stay, which have left or read otherwise, and which are new."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import takewhile
from operator import lt

from plimsoll.dataclass import dataclass
from plimsoll.message import Message
from plimsoll.records.history import Branch, Run
from plimsoll.session.edit import Edit
from plimsoll.session.sync.alignment import Match, Side

CONFIDENT_MESSAGES_MIN = 3
"""After a difference so many messages have to be the same again before it counts as a change in the middle of the list."""

CONFIDENT_TAIL_MAX = 2
"""And no more than so many of the newest messages may be gone. Else the conversation was taken back to the difference."""


@dataclass(slots=True, kw_only=True)
class Settled:
    """What is to be done so that the history is the list."""

    left: list[int] = field(default_factory=list)
    changed: dict[int, Message] = field(default_factory=dict)
    places: list[tuple[int, ...]] = field(default_factory=list)
    """For each item of the list, up to the first new one, the positions in the history that it stands for."""
    own: list[tuple[int, ...]] = field(default_factory=list)
    """The same without those that a summary stands for."""
    reworded: list[int] = field(default_factory=list)
    """The items that are other than what they stand for was."""
    behind: int | None = None
    """From this item on the list stands behind something else than it did; None where nothing has changed but its end."""

    def turn(self, index: int) -> None:
        """Say that the items from an index on stand behind something else."""
        self.behind = index if self.behind is None else min(self.behind, index)

    @property
    def edit(self) -> Edit:
        """What has left, and what reads otherwise."""
        return Edit(left=tuple(_runs(self.left)), changed=self.changed)

    @property
    def first_new(self) -> int:
        """Index of the first item that is appended."""
        return len(self.places)

    @property
    def is_in_order(self) -> bool:
        """Whether the items stand in the list as they do in the history: in a view, results stand behind their calls."""
        positions = _flat(self.own)
        return all(map(lt, positions, positions[1:]))

    @property
    def known_items(self) -> int:
        """How many items of the list are known as they are."""
        return len(self.places) - len(self.changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """The lists side by side. `places` are the positions that each known item stands for."""

    given: Side
    known: Side
    places: Sequence[tuple[int, ...]]
    ours: Container[int] = ()
    """Indexes of known items that were made here: a summary stands for what it speaks of."""
    unseen: Sequence[int] = ()
    """Positions in the history that no known item stands for: a list that goes on from these items does not hold them."""
    branch: Branch
    read: Callable[[int], Sequence[Message]]
    """The messages of a given item by its index."""

    def settled(self, matches: Sequence[Match]) -> Settled:
        """What follows from the matches. Where no edit can say it, the conversation was taken back to the difference."""
        found = Settled()
        matches = self._of_whole_groups(matches)
        at, place = 0, 0
        for number, match in enumerate(matches):
            if match.given != at or _flat(self.places[place : match.known]):
                trusted = self._is_system(at, place, match) or self._is_confident(matches[number:])
                if not trusted or not self._replace(found, (at, match.given), (place, match.known)):
                    break
            self._keep(found, match)
            at, place = match.given_stop, match.known_stop
        found.left += [*_flat(self.places[place:]), *self.unseen]
        if found.left:
            found.turn(at + 1)
        return found

    def _keep(self, found: Settled, match: Match) -> None:
        """Items that are known stand for what they stood for; where the reasoning is another, it is the one given now."""
        if match.pairs:
            found.places += self.places[match.known : match.known_stop]
            found.own += [
                () if index in self.ours else self.places[index] for index in range(match.known, match.known_stop)
            ]
            return
        stands_for = tuple(_flat(self.places[match.known : match.known_stop]))
        own = _flat(self.places[index] for index in range(match.known, match.known_stop) if index not in self.ours)
        rest: list[tuple[int, ...]] = [() for _ in range(match.given + 1, match.given_stop)]
        found.places += [stands_for, *rest]
        found.own += [tuple(own), *rest]
        if not match.thought and len(stands_for) == 1:
            messages = self.read(match.given)
            if len(messages) == 1:
                found.changed[stands_for[0]] = messages[0]
                found.reworded.append(match.given)
                found.turn(match.given + 1)

    def _replace(self, found: Settled, given: Run, known: Run) -> bool:
        """Put given items in the place of known ones, in the middle of the list; False where there is no place for them."""
        slots = _flat(self.places[index] for index in range(*known) if index not in self.ours)
        spoken_for = _flat(self.places[index] for index in range(*known) if index in self.ours)
        needed = given[1] - given[0]
        messages = [self.read(index) for index in range(*given)]
        if any(len(each) != 1 for each in messages):
            return False
        if needed > len(slots):
            slots = sorted([*slots, *self._free(known, needed - len(slots))])
        if needed > len(slots) or (needed and found.own and slots[0] <= max(_flat(found.own), default=-1)):
            return False
        found.places += [(slot,) for slot in slots[:needed]]
        found.own += [(slot,) for slot in slots[:needed]]
        found.changed.update(zip(slots, (each[0] for each in messages), strict=False))
        found.reworded += range(*given)
        found.turn(given[0] + (needed > 0))
        found.left += [slot for slot in (*slots[needed:], *spoken_for) if self.branch.holds(slot)]
        return True

    def _free(self, known: Run, count: int) -> list[int]:
        """Positions between two known items whose messages have left the history."""
        before, after = _flat(self.places[: known[0]]), _flat(self.places[known[1] :])
        start, stop = max(before, default=-1) + 1, min(after, default=0)
        found: list[int] = []
        for first, end in self.branch.left:
            for position in range(max(first, start), min(end, stop)):
                if len(found) == count:
                    return found
                found.append(position)
        return found

    def _is_system(self, at: int, place: int, match: Match) -> bool:
        """Whether all that differs is the system text that both lists begin with."""
        sides = ((self.given, range(at, match.given)), (self.known, range(place, match.known)))
        return at == place == 0 and all(_speaks_system(side, index) for side, indexes in sides for index in indexes)

    def _is_confident(self, matches: Sequence[Match]) -> bool:
        """Whether what follows a difference shows that the conversation goes on behind it."""
        same = sum(match.given_stop - match.given for match in matches)
        return same >= CONFIDENT_MESSAGES_MIN and len(self.known) - matches[-1].known_stop <= CONFIDENT_TAIL_MAX

    def _of_whole_groups(self, matches: Sequence[Match]) -> list[Match]:
        """The matches without those of a part of what was one message: an item without a place belongs to the one before."""
        found: list[Match] = []
        for match in matches:
            indexes = range(match.known, match.known_stop)
            rest = 0 if _goes_on(found, match) else sum(1 for _ in takewhile(self._is_rest, indexes))
            whole = match.without(rest, 0)
            found += [] if whole is None else [whole]
        while found and self._is_rest(found[-1].known_stop):
            last = found.pop().without(0, 1)
            found += [] if last is None else [last]
        return found

    def _is_rest(self, known: int) -> bool:
        """Whether a known item is the rest of what was one message with the item before."""
        return known < len(self.places) and not self.places[known] and known not in self.ours


def _goes_on(found: Sequence[Match], match: Match) -> bool:
    return bool(found) and (found[-1].given_stop, found[-1].known_stop) == (match.given, match.known)


def _speaks_system(side: Side, index: int) -> bool:
    said = side.saying(index).atoms
    return bool(said) and all(atom[0] == "system" for atom in said)


def _flat(places: Iterable[tuple[int, ...]]) -> list[int]:
    return [position for positions in places for position in positions]


def _runs(positions: Iterable[int]) -> Iterator[Run]:
    start = stop = -1
    for position in sorted(set(positions)):
        if position != stop:
            if stop > start:
                yield start, stop
            start = position
        stop = position + 1
    if stop > start:
        yield start, stop
