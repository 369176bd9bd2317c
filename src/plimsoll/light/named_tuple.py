"""Named tuples like those of `typing` that make classes faster: a cold `fit` makes about twenty.

Of each class `typing` compiles every annotation and a function. This compiles the function when the class is first called.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

_getter: Callable[[int, str], Any] = vars(collections)["_tuplegetter"]
"""A property that gives the item of a tuple at a position; the second argument is its documentation."""


class _New:
    """Stands for the `__new__` of a class until somebody asks for it."""

    __slots__ = ("_annotations", "_defaults")

    def __init__(self, annotations: dict[str, str], defaults: tuple[Any, ...]) -> None:
        self._annotations, self._defaults = annotations, defaults

    def __get__(self, instance: object, owner: type) -> Callable[..., Any]:
        names = ", ".join(self._annotations)
        made: Any = eval(f"lambda _cls, {names}: _new(_cls, ({names},))", {"_new": tuple.__new__})  # noqa: S307 - names of fields
        made.__name__, made.__qualname__, made.__module__ = "__new__", f"{owner.__qualname__}.__new__", owner.__module__
        made.__defaults__, made.__annotations__ = self._defaults, self._annotations
        type.__setattr__(owner, "__new__", staticmethod(made))
        found: Callable[..., Any] = made
        return found


class _Named(tuple[Any, ...]):
    """What all named tuples have."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Any:
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **changes: Any) -> Any:
        made = self._make(map(changes.pop, self._fields, self))
        if changes:
            raise ValueError(f"Got unexpected field names: {list(changes)!r}")
        return made

    __replace__ = _replace

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


class _Making(type):
    """Makes the classes whose base is `NamedTuple`."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:  # noqa: ARG004 - the one that is replaced
        annotations = namespace.get("__annotations__", {})
        fields = tuple(annotations)
        defaults = {field: namespace.pop(field) for field in fields if field in namespace}
        if tuple(defaults) != fields[len(fields) - len(defaults) :]:
            raise TypeError(f"a field of {name} without a default follows one with a default")
        getters = {field: _getter(at, f"Alias for field number {at}") for at, field in enumerate(fields)}
        facts = {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields, "__slots__": ()}
        new = _New(annotations, tuple(defaults.values()))
        return type(name, (_Named,), {"__new__": new, **facts, **getters, **namespace})


_NamedTuple: Any = type.__new__(_Making, "NamedTuple", (), {})

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    NamedTuple = _NamedTuple

__all__ = ["NamedTuple"]
