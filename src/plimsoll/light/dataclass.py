"""A `dataclass` decorator like that of the standard library that makes classes faster: importing plimsoll makes about a hundred.

The standard one compiles up to eight functions per class. This one compiles only `__init__`, once the class has been called some
times: most classes of a process never are. The other methods are closures.
The fields are those of the standard library, so `replace`, `fields` and `asdict` work.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from types import MethodType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

Field: TypeAlias = "dataclasses.Field[Any]"

CALLS_UNCOMPILED = 8
"""The first calls of a class set its fields one by one. Compiling `__init__` takes as long as fifty of them."""

_ABSENT = object()
"""Default of a parameter whose field has a default factory."""


def _dataclass(
    *, frozen: bool = False, slots: bool = False, kw_only: bool = False, repr: bool = True, eq: bool = True
) -> Callable[[type], type]:
    """A class decorator with the options of `dataclasses.dataclass`."""

    def made(plain: type) -> type:
        cls: type = dataclasses.dataclass(plain, init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)
        fields = dataclasses.fields(cls)
        methods: dict[str, Any] = {"__init__": _Init(cls, fields, frozen=frozen)}
        if repr:
            methods["__repr__"] = _repr([field.name for field in fields if field.repr])
        if eq:
            methods |= _comparison([field.name for field in fields if field.compare], frozen=frozen)
        if frozen:
            methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        if frozen and slots:
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
        for name, method in methods.items():
            if name not in plain.__dict__ or (name == "__hash__" and plain.__hash__ is None):
                setattr(cls, name, method)
        return cls

    return made


class _Init:
    """Stands for the `__init__` of a class until somebody asks for it, or calls it more than a few times."""

    __slots__ = ("_calls", "_cls", "_fields", "_frozen")

    def __init__(self, cls: type, fields: tuple[Field, ...], *, frozen: bool) -> None:
        self._cls, self._fields, self._frozen, self._calls = cls, fields, frozen, 0

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., None]:
        self._calls += 1
        if instance is not None and self._calls <= CALLS_UNCOMPILED:
            return partial(self._set_fields, instance)
        init = _init(self._cls, self._fields, frozen=self._frozen)
        type.__setattr__(self._cls, "__init__", init)
        return init if instance is None else MethodType(init, instance)

    def _set_fields(self, instance: Any, /, *plain: Any, **named: Any) -> None:
        """What `__init__` does. Wrong arguments are left to it, which says what is wrong with them."""
        fields = [field for field in self._fields if field.init]
        names = [field.name for field in fields if not field.kw_only]
        given = dict(zip(names, plain, strict=False)) | named
        required = {field.name for field in fields if not (_is_made(field) or _has_default(field))}
        is_wrong = len(given) < len(plain) + len(named)  # too many, or one given twice
        if is_wrong or not required <= given.keys() <= {field.name for field in fields}:
            _init(self._cls, self._fields, frozen=self._frozen)(instance, *plain, **named)
            return
        put = object.__setattr__ if self._frozen else setattr
        for field in self._fields:
            if field.name in given:
                put(instance, field.name, given[field.name])
            elif field.default_factory is not dataclasses.MISSING:
                put(instance, field.name, field.default_factory())
            elif _has_default(field):
                put(instance, field.name, field.default)
        if hasattr(self._cls, "__post_init__"):
            instance.__post_init__()


def _init(cls: type, fields: tuple[Field, ...], *, frozen: bool) -> Callable[..., None]:
    scope: dict[str, Any] = {"_absent": _ABSENT, "_set": object.__setattr__}
    for field in fields:
        scope[f"_default_{field.name}"] = _ABSENT if _is_made(field) else field.default
        scope[f"_make_{field.name}"] = field.default_factory
        scope[f"_set_{field.name}"] = getattr(getattr(cls, field.name, None), "__set__", None)
    plain = [_parameter(field) for field in fields if field.init and not field.kw_only]
    named = [_parameter(field) for field in fields if field.init and field.kw_only]
    lines = [f"def __init__({', '.join(['self', *plain, *(['*'] if named else []), *named])}):", " pass"]
    lines += [
        f" {_assignment(field, scope, frozen=frozen)}"
        for field in fields
        if field.init or _is_made(field) or _has_default(field)
    ]
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec("\n".join(lines), scope)  # noqa: S102 - the names are those of fields
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    init.__annotations__ = {field.name: field.type for field in fields if field.init} | {"return": None}
    return init


def _is_made(field: Field) -> bool:
    return field.default_factory is not dataclasses.MISSING


def _has_default(field: Field) -> bool:
    return field.default is not dataclasses.MISSING


def _parameter(field: Field) -> str:
    return f"{field.name}=_default_{field.name}" if _is_made(field) or _has_default(field) else field.name


def _assignment(field: Field, scope: dict[str, Any], *, frozen: bool) -> str:
    """The statement that sets a field. In a frozen class it bypasses `__setattr__`, through the slot if there is one."""
    name = field.name
    value = name if field.init else f"_default_{name}"
    if _is_made(field):
        value = f"_make_{name}() if {name} is _absent else {name}" if field.init else f"_make_{name}()"
    if not frozen:
        return f"self.{name} = {value}"
    return f"_set(self, {name!r}, {value})" if scope[f"_set_{name}"] is None else f"_set_{name}(self, {value})"


def _repr(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def represented(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return represented


def _comparison(names: list[str], *, frozen: bool) -> dict[str, Any]:
    """`__eq__` for instances of the same class by these fields, and `__hash__` if the class is frozen."""
    values: Callable[[Any], Any] = attrgetter(*names) if names else lambda _: ()

    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hashed if frozen else None}


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:  # noqa: ARG001 - as object.__setattr__
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:  # noqa: ARG001 - as object.__delattr__
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass

__all__ = ["dataclass"]
