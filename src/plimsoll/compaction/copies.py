"""Copies of messages that are handed out again and again, each time as if new.

A caller may change what it is handed, so every view consists of objects that nobody else holds. Making thousands of dicts and lists
takes most of the time of a call, so copies that were handed out before serve again once their caller has let go of them.

Who asks once gets the messages themselves, and only templates are kept, which the garbage collector does not track.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from operator import getitem, is_
from typing import Any

Wire = dict[str, Any]
Container = dict[str, Any] | list[Any]

BATCH_MESSAGES = 256
"""Messages whose copies serve again together: what a caller changed or holds costs new copies of these alone."""

LENT_MAX = 2
"""Sets of copies kept: a caller usually holds its last view until it has the next one."""


class Originals:
    """Messages, of which copies are made."""

    def __init__(self) -> None:
        self._batches: list[_Batch] = []

    def __len__(self) -> int:
        return BATCH_MESSAGES * max(0, len(self._batches) - 1) + (len(self._batches[-1]) if self._batches else 0)

    def add(self, wire: Wire) -> None:
        """Append a message, which nobody changes from now on."""
        if len(self) % BATCH_MESSAGES == 0:
            self._batches.append(_Batch())
        self._batches[-1].add(wire)

    def cut(self, count: int) -> None:
        """Keep only the first `count` messages."""
        whole, rest = divmod(count, BATCH_MESSAGES)
        del self._batches[whole + (rest > 0) :]
        if rest and len(self._batches) > whole:
            self._batches[whole].cut(rest)

    def copies(self) -> list[Wire]:
        """The messages, as objects that nobody else holds."""
        found: list[Wire] = []
        for batch in self._batches:
            found += batch.copies()
        return found


class _Batch:
    """Some messages, and templates from which copies of them are made, twice as fast as unpickling.

    Each dict and list is stored without its nested ones, so that the garbage collector need not visit it.
    """

    def __init__(self) -> None:
        self._wires: list[Wire] = []
        """The messages as they are handed out the first time; from the second time on, copies that nobody else sees."""
        self._is_handed_out = False
        self._templates: list[dict[str, Any] | tuple[Any, ...]] = []
        """Each dict, and each list as a tuple, with None in place of nested ones."""
        self._links: list[tuple[int, Any, int]] = []
        """(index of a template, key or index in it, index of the nested template)."""
        self._places: list[int] = []
        """Index of the template of each number: 1, 1.0 and True are equal to each other."""
        self._keys: list[Any] = []
        self._numbers: list[float] = []
        self._starts: list[tuple[int, int, int]] = []
        """Number of templates, links and numbers before each message."""
        self._lent: Sequence[_Lent] = ()

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, wire: Wire) -> None:
        """Append a message."""
        if len(self._wires) == len(self._starts):
            self._wires.append(wire)
        self._starts.append((len(self._templates), len(self._links), len(self._numbers)))
        self._store(wire)

    def cut(self, count: int) -> None:
        """Keep only the first `count` messages."""
        if count < len(self):
            templates, links, numbers = self._starts[count]
            del self._wires[count:], self._starts[count:]
            del self._templates[templates:], self._links[links:]
            del self._places[numbers:], self._keys[numbers:], self._numbers[numbers:]
            self._lent = ()

    def copies(self) -> Sequence[Wire]:
        """The messages, as objects that nobody else holds."""
        if not self._is_handed_out:
            self._is_handed_out, wires, self._wires = True, self._wires, []
            return wires
        if len(self._wires) < len(self._starts):
            self._wires += self._made(len(self._wires))[0]
        lent = next(filter(self._is_as_new, self._lent), None)
        if lent is None:
            lent = _Lent()
            self._lent = [*self._lent, lent][-LENT_MAX:]
        if len(lent.messages) < len(self):
            self._extend(lent)
        return lent.messages

    def _is_as_new(self, lent: _Lent) -> bool:
        """True if nobody else holds any of these copies, and none was changed."""
        count = len(lent.messages)
        wires = self._wires if count == len(self) else self._wires[:count]
        return lent.is_alone and lent.messages == wires and (not self._numbers or self._has_numbers(lent))

    def _has_numbers(self, lent: _Lent) -> bool:
        """True if the numbers in these copies are the very same."""
        count = len(lent.messages)
        stop = len(self._numbers) if count == len(self) else self._starts[count][2]
        holders = map(lent.containers.__getitem__, self._places[:stop])
        return all(map(is_, map(getitem, holders, self._keys), self._numbers))

    def _extend(self, lent: _Lent) -> None:
        """Add copies of the messages that are not among these copies yet."""
        messages, containers = self._made(len(lent.messages))
        lent.messages += messages
        lent.containers += containers

    def _made(self, start: int) -> tuple[list[Wire], list[Container]]:
        """Copies of the messages from an index on, and every dict and list in them."""
        first, first_link, _ = self._starts[start]
        made: list[Any] = [
            template.copy() if type(template) is dict else list(template) for template in self._templates[first:]
        ]
        for parent, key, child in self._links[first_link:]:
            made[parent - first][key] = made[child - first]
        return [made[index - first] for index, _, _ in self._starts[start:]], made

    def _store(self, value: Container) -> int:
        """Store a JSON value; returns the index of its template."""
        index = len(self._templates)
        is_list = isinstance(value, list)
        bare: dict[Any, Any] = {}
        self._templates.append(bare)
        for key, item in enumerate(value) if isinstance(value, list) else value.items():
            is_nested = isinstance(item, dict | list)
            bare[key] = None if is_nested else item
            if isinstance(item, int | float):
                self._places.append(index)
                self._keys.append(key)
                self._numbers.append(item)
            elif is_nested:
                self._links.append((index, key, self._store(item)))
        if is_list:
            self._templates[index] = tuple(bare.values())
        return index


class _Lent:
    """Copies of messages that were handed out: the messages, and every dict and list in them."""

    def __init__(self) -> None:
        self.messages: list[Wire] = []
        self.containers: list[Container] = []

    @property
    def is_alone(self) -> bool:
        """True if nobody else holds any of the copies."""
        return _counts(self.messages[:1]) <= _HELD_ONCE_MORE and _counts(self.containers) <= _ALONE


def _counts(containers: Iterable[Container]) -> set[int]:
    """Numbers of references to these objects. One that cannot be told counts as too many."""
    getrefcount = getattr(sys, "getrefcount", None)
    return set(map(getrefcount, containers)) if getrefcount else {-1}


_PROBE: list[Container] = [{}]
_ALONE = _counts([*_PROBE]) if hasattr(sys, "getrefcount") else set[int]()
"""What `_counts` says of objects that only `_Lent` holds: each is in `containers`, and in `messages` or another object of it."""
_HELD_ONCE_MORE = {count + 1 for count in _ALONE}
