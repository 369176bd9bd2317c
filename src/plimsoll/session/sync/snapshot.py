"""What a value said when it was looked at, to be compared with a value that comes later.

Hosts change messages in place, so that an object is the same says nothing: what it holds is compared. A snapshot is made of dicts
and lists, so that comparing it costs little, and it is strict where Python is not: 1, 1.0 and True are different JSON.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from operator import attrgetter
from types import NoneType
from typing import Any

from plimsoll.formats.wire import plain

_TEXTS = frozenset({str, NoneType})
_extra = attrgetter("__pydantic_extra__")


def snapshot(value: Any) -> Any:
    """Something that equals what says the same as this value says now. Raises FormatError, RecursionError."""
    kind = type(value)
    if kind is dict or (kind not in _TEXTS and isinstance(value, Mapping)):
        return {key: item if type(item) in _TEXTS else snapshot(item) for key, item in value.items()}
    if kind in (list, tuple):
        return kind(item if type(item) in _TEXTS else snapshot(item) for item in value)
    if isinstance(value, int | float):
        return _Number(value)
    if hasattr(value, "model_dump"):
        return (_Model if hasattr(kind, "__pydantic_fields__") else _Dumped)(value)
    return value if kind in _TEXTS else _apart(value)


def restored(kept: Any) -> Any:
    """The JSON value that a snapshot was made of, objects of an SDK as they are sent."""
    if isinstance(kept, dict):
        return {key: restored(item) for key, item in kept.items()}
    if isinstance(kept, list | tuple):
        return [restored(item) for item in kept]
    return kept.said if isinstance(kept, _Number | _Dumped) else kept


class _Number:  # noqa: PLW1641 - snapshots are never hashed
    """Equals a number of the same type and value."""

    __slots__ = ("said",)

    def __init__(self, number: float) -> None:
        self.said = number

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self.said) and (other == self.said or other is self.said)


class _Dumped:  # noqa: PLW1641 - as above
    """Equals an object of the same class that dumps the same."""

    __slots__ = ("_kind", "_plain", "said")

    def __init__(self, value: Any) -> None:
        self._kind, self.said = type(value), plain(value)
        self._plain = snapshot(self.said)

    def __eq__(self, other: object) -> bool:
        return type(other) is self._kind and bool(self._plain == plain(other))


class _Model(_Dumped):  # noqa: PLW1641 - as above
    """The same for a pydantic model. Whether the very same object has changed is seen without dumping it."""

    __slots__ = ("_extra", "_fields", "_model", "_models", "_states")

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self._model = value
        self._models: list[Any] = []
        """Those within it."""
        self._fields, self._extra = _within(vars(value), self._models), _within(_extra(value), self._models)
        states = [(_within(vars(one), self._models), _within(_extra(one), self._models)) for one in self._models]
        self._states = [*(fields for fields, _ in states), *(extra for _, extra in states)]

    def __eq__(self, other: object) -> bool:
        if other is not self._model:
            return super().__eq__(other)
        if self._fields != vars(other) or self._extra != _extra(other):
            return False
        return not self._models or self._states == [*map(vars, self._models), *map(_extra, self._models)]


class _Only:  # noqa: PLW1641 - as above
    """Equals just one object."""

    __slots__ = ("_one",)

    def __init__(self, one: object) -> None:
        self._one = one

    def __eq__(self, other: object) -> bool:
        return other is self._one


def _within(value: Any, models: list[Any]) -> Any:
    """A snapshot that says of the models within only which they are. They are added to a list."""
    if isinstance(value, dict):
        return {key: _within(item, models) for key, item in value.items()}
    if isinstance(value, list):
        return [_within(item, models) for item in value]
    if not hasattr(type(value), "__pydantic_fields__"):
        return snapshot(value)
    models.append(value)
    return _Only(value)


def _apart(value: Any) -> Any:
    """A copy of what is no JSON, where it can be copied."""
    try:
        return copy.deepcopy(value)
    except (TypeError, ValueError, AttributeError, copy.Error):
        return value
