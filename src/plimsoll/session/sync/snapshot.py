"""Snapshots of values, to compare with what a host passes later.

Hosts change messages in place, so object identity proves nothing and contents are compared. Snapshots consist of dicts and lists,
which are compared in C, and are stricter than Python: 1, 1.0 and True are different JSON values.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, is_not
from types import NoneType
from typing import Any

from plimsoll.formats.wire import plain, readable

_TEXTS = frozenset({str, NoneType})
_fields, _extra = attrgetter("__dict__"), attrgetter("__pydantic_extra__")


def snapshot(value: Any) -> Any:
    """A value equal to anything with the present content of `value`. Raises FormatError."""
    return readable(lambda: _snapshot(value), f"a {type(value).__name__} that cannot be read")


def _snapshot(value: Any) -> Any:
    kind = type(value)
    if kind is dict or (kind not in _TEXTS and isinstance(value, Mapping)):
        return {key: item if type(item) in _TEXTS else _snapshot(item) for key, item in value.items()}
    if kind in (list, tuple):
        return kind(item if type(item) in _TEXTS else _snapshot(item) for item in value)
    if isinstance(value, int | float):
        return _Number(value)
    if hasattr(value, "model_dump"):
        return (_Model if hasattr(kind, "__pydantic_fields__") else _Dumped)(value)
    return value if kind in _TEXTS else _apart(value)


def restored(kept: Any) -> Any:
    """The JSON value of a snapshot; SDK objects are dumped as they are sent."""
    if isinstance(kept, dict):
        return {key: restored(item) for key, item in kept.items()}
    if isinstance(kept, list | tuple):
        return [restored(item) for item in kept]
    return kept.value if isinstance(kept, _Number | _Dumped) else kept


class _Number:  # noqa: PLW1641 - snapshots are never hashed
    """Equal to a number of the same type and value."""

    __slots__ = ("value",)

    def __init__(self, number: float) -> None:
        self.value = number

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self.value) and (other == self.value or other is self.value)


class _Dumped:  # noqa: PLW1641 - never hashed
    """Equal to an object of the same class with the same dump."""

    __slots__ = ("_kind", "_plain", "value")

    def __init__(self, value: Any) -> None:
        self._kind, self.value = type(value), plain(value)
        self._plain = snapshot(self.value)

    def __eq__(self, other: object) -> bool:
        return type(other) is self._kind and bool(self._plain == plain(other))


class _Model(_Dumped):  # noqa: PLW1641 - never hashed
    """The same for a pydantic model. The identical object is compared by its fields, which is faster than a dump."""

    __slots__ = ("_model", "extras", "fields", "models", "stand_in", "watch")

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self._model = value
        self.stand_in = value if _is_of_texts(value) else self
        """What is compared in its place while a watch says that it is unchanged."""
        self.models = [value]
        """The model and the models nested in it."""
        self.fields: list[Any] = []
        self.extras: list[Any] = []
        self.watch: Watch | None = None
        for model in self.models:  # the list grows during the loop
            self.fields.append(_within(_fields(model), self.models))
            self.extras.append(_within(_extra(model), self.models))

    def __eq__(self, other: object) -> bool:
        if other is not self._model:
            return super().__eq__(other)
        return (self.watch is not None and self.watch.is_unchanged) or _are_so(self.models, self.fields, self.extras)


class Watch:
    """The pydantic models in many snapshots, compared at once, which is four times as fast as one by one.

    While the watch is entered, models that had not changed are assumed not to change.
    """

    def __init__(self, snapshots: Iterable[Any]) -> None:
        """Watch the models in these snapshots."""
        self.is_unchanged = False
        self._same: list[Any] = []
        """The snapshots with models in place of their own, which are found identical faster than their snapshots are asked."""
        self._models: list[Any] = []
        self._fields: list[Any] = []
        self._extras: list[Any] = []
        self.add(snapshots)

    def add(self, snapshots: Iterable[Any]) -> None:
        """Watch the models in further snapshots."""
        added = list(snapshots)
        self._same += map(_with_models, added)
        for kept in _models_in(added):
            kept.watch = self
            self._models += kept.models
            self._fields += kept.fields
            self._extras += kept.extras

    def are(self, given: Sequence[Any]) -> bool:
        """True if the snapshots are known to equal these values. False means that they have to be compared."""
        return self.is_unchanged and self._same == given

    def __enter__(self) -> None:
        self.is_unchanged = _are_so(self._models, self._fields, self._extras)

    def __exit__(self, *_: object) -> None:
        self.is_unchanged = False


def _are_so(models: Sequence[Any], fields: Sequence[Any], extras: Sequence[Any]) -> bool:
    """True if the state of each model is unchanged."""
    return fields == [*map(_fields, models)] and extras == [*map(_extra, models)]


def _models_in(snapshots: Iterable[Any]) -> Iterator[_Model]:
    for kept in snapshots:
        if isinstance(kept, _Model):
            yield kept
        elif isinstance(kept, dict):
            yield from _models_in(kept.values())
        elif isinstance(kept, list | tuple):
            yield from _models_in(kept)


def _with_models(kept: Any) -> Any:
    """A snapshot with models in place of their own, where equality of models is as strict."""
    if isinstance(kept, _Model):
        return kept.stand_in
    if isinstance(kept, dict | list | tuple):
        found = [_with_models(item) for item in (kept.values() if isinstance(kept, dict) else kept)]
        if any(map(is_not, found, kept.values() if isinstance(kept, dict) else kept)):
            return dict(zip(kept, found, strict=True)) if isinstance(kept, dict) else type(kept)(found)
    return kept


def _is_of_texts(value: Any) -> bool:
    """True if a value holds texts only, at any depth: 1, 1.0 and True are equal to each other, and so are models with them."""
    kind = type(value)
    if kind in (dict, list):
        return all(map(_is_of_texts, value.values() if kind is dict else value))
    if hasattr(kind, "__pydantic_fields__"):
        return _is_of_texts(_fields(value)) and _is_of_texts(_extra(value))
    return kind in _TEXTS


class _Only:  # noqa: PLW1641 - never hashed
    """Equal to one object by identity."""

    __slots__ = ("_one",)

    def __init__(self, one: object) -> None:
        self._one = one

    def __eq__(self, other: object) -> bool:
        return other is self._one


def _within(value: Any, models: list[Any]) -> Any:
    """A snapshot in which nested models are compared by identity only. Adds them to `models`."""
    if isinstance(value, dict):
        return {key: _within(item, models) for key, item in value.items()}
    if isinstance(value, list):
        return [_within(item, models) for item in value]
    if not hasattr(type(value), "__pydantic_fields__"):
        return snapshot(value)
    models.append(value)
    return value if _is_of_texts(value) else _Only(value)


def _apart(value: Any) -> Any:
    """A copy of a value that is not JSON, or the value itself if it cannot be copied."""
    try:
        return copy.deepcopy(value)
    except (TypeError, ValueError, AttributeError, copy.Error):
        return value
