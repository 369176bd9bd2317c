"""Alignment of two message lists: finds which items of a host's list correspond to which known ones, in order.

A host may return a conversation in another encoding: other key order, text as one block, absent or null fields, moved cache marks,
merged neighbours, no reasoning. Therefore messages are compared as atoms: their content part by part.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Container, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

from plimsoll.light.dataclass import dataclass, replace
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

SEARCH_MESSAGES_MAX = 64
"""After a difference, at most this many given messages are searched for a known one."""

JOINED_MESSAGES_MAX = 64
"""At most this many neighbouring messages of one role are tried as merged."""

_NEAR = ((1, 1), (0, 1), (1, 0), (2, 2), (0, 2), (2, 0), *((count, count) for count in range(3, 17)))
"""Offsets at which lists usually continue after a difference: something was changed, removed or inserted."""

_SEPARATORS = ("\n\n", "\n", "", " ")
"""Separators that hosts put between the texts of merged messages."""


class Content(NamedTuple):
    """The content of an item, and its reasoning."""

    atoms: tuple[Atom, ...]
    thoughts: tuple[Atom, ...]


def content_of(messages: Sequence[Message]) -> Content:
    """The content of one item; a whole response may consist of several messages."""
    wanted = tuple(atom for message in messages for atom in atoms(message))
    return Content(wanted, tuple(thought for message in messages for thought in thoughts(message)))


class Side:
    """One of the two lists. The content of an item is computed on first use."""

    def __init__(
        self, items: Sequence[Any], read: Callable[[int], Sequence[Content]], *, optional: Container[int] = ()
    ) -> None:
        """Wrap the items of a list.

        Args:
            items: Compared first, for equality.
            read: Returns the content of the item at an index, in one or more alternative forms.
            optional: Indexes of items that may be missing in the other list.

        """
        self.items = items
        self.optional = optional
        self._read = read
        self._contents: dict[int, Sequence[Content]] = {}
        self._places: dict[tuple[Atom, ...], list[int]] | None = None

    def __len__(self) -> int:
        return len(self.items)

    def forms(self, index: int) -> Sequence[Content]:
        """The alternative forms of an item's content."""
        if index not in self._contents:
            self._contents[index] = self._read(index)
        return self._contents[index]

    def content(self, index: int) -> Content:
        """The content of an item."""
        return self.forms(index)[0]

    def next_place(self, wanted: tuple[Atom, ...], start: int) -> int | None:
        """Index of the first item from `start` on with exactly this content. `start` must not decrease between calls."""
        if self._places is None:
            self._places = {}
            for index in range(start, len(self)):
                for content in self.forms(index):
                    self._places.setdefault(content.atoms, []).append(index)
        found = self._places.get(wanted, [])
        at = bisect_left(found, start)
        return found[at] if at < len(found) else None


@dataclass(frozen=True, slots=True)
class Match:
    """Items `[given, given_stop)` of one list match items `[known, known_stop)` of the other, as a whole or in `pairs`."""

    given: int
    given_stop: int
    known: int
    known_stop: int
    thought: bool = True
    """True if the reasoning is equal as well."""
    pairs: bool = False
    """True if each item matches one item."""

    def without(self, first: int, last: int) -> Match | None:
        """The match without `first` pairs at the start and `last` at the end; None if nothing remains."""
        given, stop = self.given + first, self.given_stop - last
        if not (first or last):
            return self
        if not self.pairs or given >= stop:
            return None
        return replace(self, given=given, given_stop=stop, known=self.known + first, known_stop=self.known_stop - last)


def align(given: Side, known: Side) -> list[Match]:
    """The matches in order. After a difference, searches `known` for the next given item."""
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
    """The longest run of equal items from two indexes on."""
    pairs = zip(islice(known.items, place, None), islice(given.items, at, None), strict=False)
    count = next((index for index, (one, other) in enumerate(pairs) if one != other), None)
    if count is None:
        count = min(len(given) - at, len(known) - place)
    return Match(at, at + count, place, place + count, pairs=True) if count else None


def _match(given: Side, at: int, known: Side, place: int) -> Match | None:
    """The match at two indexes, if any: item by item, or several items of one side merged into one of the other."""
    if known.items[place] == given.items[at]:
        return Match(at, at + 1, place, place + 1)
    mine = given.content(at)
    for theirs in known.forms(place):
        if mine.atoms == theirs.atoms and (mine.atoms or mine.thoughts == theirs.thoughts):
            return Match(at, at + 1, place, place + 1, mine.thoughts == theirs.thoughts)
    for way in range(len(known.forms(place))):
        if (match := _joined(given, at, known, place, way)) is not None:
            return match
    return _texts_joined(given, at, known, place)


def _joined(given: Side, at: int, known: Side, place: int, way: int) -> Match | None:
    """Parts of several messages merged into one message: extends the shorter side until both are equal."""
    at_stop, place_stop = at + 1, place + 1
    mine, theirs = given.content(at).atoms, known.forms(place)[way].atoms
    if not mine or not theirs:
        return None
    for _ in range(JOINED_MESSAGES_MAX):
        if mine == theirs:
            return Match(at, at_stop, place, place_stop)
        if len(mine) < len(theirs) and theirs[: len(mine)] == mine and at_stop < len(given):
            mine += given.content(at_stop).atoms
            at_stop += 1
        elif len(theirs) < len(mine) and mine[: len(theirs)] == theirs and place_stop < len(known):
            theirs += _continuation(known.forms(place_stop), mine[len(theirs) :])
            place_stop += 1
        else:
            return None
    return None


def _continuation(forms: Sequence[Content], rest: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """The form of an item's content with which the remaining content begins."""
    fitting = (content.atoms for content in forms if content.atoms and rest[: len(content.atoms)] == content.atoms)
    return next(fitting, forms[0].atoms)


def _texts_joined(given: Side, at: int, known: Side, place: int) -> Match | None:
    """Texts of several messages merged into one text, on either side."""
    stop = _texts_in(given.content(at).atoms, known, place)
    if stop is not None:
        return Match(at, at + 1, place, stop)
    stop = _texts_in(known.content(place).atoms, given, at)
    return None if stop is None else Match(at, stop, place, place + 1)


def _texts_in(wanted: tuple[Atom, ...], other: Side, start: int) -> int | None:
    """The end of the items whose texts, joined, equal the only text in `wanted`."""
    if len(wanted) != 1 or wanted[0][1] != "text":
        return None
    role, whole = wanted[0][0], wanted[0][2]
    for separator in _SEPARATORS:
        text, stop = "", start
        while stop < len(other) and len(text) < len(whole):
            found = other.content(stop).atoms
            if len(found) != 1 or found[0][:2] != (role, "text"):
                break
            text = f"{text}{separator}{found[0][2]}" if stop > start else found[0][2]
            stop += 1
            if not whole.startswith(text):
                break
        if text == whole and stop > start + 1:
            return stop
    return None


def _resumed(given: Side, at: int, known: Side, place: int) -> Match | None:
    """The next match after a difference: the first given item that matches, preferring one whose neighbour matches as well."""
    for more, further in _NEAR:
        mine, theirs = given.items[at + more : at + more + 2], known.items[place + further : place + further + 2]
        if len(mine) == 2 and theirs == mine:
            return Match(at + more, at + more + 1, place + further, place + further + 1)
    doubtful: Match | None = None
    for index in range(at, min(len(given), at + SEARCH_MESSAGES_MAX)):
        wanted = given.content(index).atoms
        found = known.next_place(wanted, place) if wanted else None
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


Atom: TypeAlias = tuple[str, ...]
"""Role, kind of part, and content."""

_HANDLING = frozenset({"cache_control", "prompt_cache_breakpoint"})
"""Fields that control how a provider processes a request; not content."""


def atoms(message: Message) -> tuple[Atom, ...]:
    """The content of a message without its reasoning."""
    found = (_atom(message, part) for part in message.parts if not isinstance(part, Reasoning))
    return tuple(atom for atom in found if atom is not None)


def thoughts(message: Message) -> tuple[Atom, ...]:
    """The reasoning of a message: text and signature of each part."""
    return tuple((part.text, part.signature or "") for part in message.parts if isinstance(part, Reasoning))


def _atom(message: Message, part: Part) -> Atom | None:
    match part:
        case Text():
            return (message.role, "text", part.text, message.name or "") if part.text else None
        case ToolCall():
            return (message.role, "call", part.id, part.name, _meaning(part.arguments))
        case ToolResult():
            media = (_canonical(medium.wire) for medium in part.media)
            return ("tool", "result", part.call_id, part.content, "error" if part.is_error else "", *media)
        case Media() | Opaque():
            return (message.role, "part", _canonical(part.wire))
        case Reasoning():
            return None


def _meaning(arguments: str) -> str:
    """Arguments as canonical JSON, or unchanged if they are not JSON."""
    try:
        return _dumped(json.loads(arguments))
    except (ValueError, RecursionError):
        return arguments


def _canonical(wire: Mapping[str, Any] | None) -> str:
    return _dumped(_content(wire))


def _content(value: Any) -> Any:
    """A JSON value without null fields and control fields."""
    if isinstance(value, Mapping):
        return {key: _content(item) for key, item in value.items() if item is not None and key not in _HANDLING}
    return [_content(item) for item in value] if isinstance(value, (list, tuple)) else value


def _dumped(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
