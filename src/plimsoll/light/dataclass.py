"""A `dataclass` decorator like that of the standard library that makes classes faster, and what goes with it.

Importing plimsoll makes about a hundred classes. For each the standard decorator compiles up to eight functions, and its module
imports `inspect`. This one compiles only `__init__`, once the class has been called some times: most of a process never are.
The other methods are shared by all. What the functions of the standard library read (`fields`, `replace`, `asdict`) is made
when one of them asks; the functions here are for classes that the decorator here has made. A class that is made of private
fields is no dataclass to others: what they would copy of it is nothing to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import chain
from operator import attrgetter
from reprlib import recursive_repr
from types import MethodType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

CALLS_UNCOMPILED = 8
"""The first calls of a class set its fields one by one. Compiling `__init__` takes as long as fifty of them."""

_ABSENT: Any = object()
"""In place of a default that there is none of, and of one that is made for each instance."""

LATE = {"late": True}
"""The metadata of a field that may be given a function, which is called when the field is first read. Not with slots."""

_FIELDS = "__light_fields__"
"""The attribute of a class that has its fields."""


class Field:
    """One field of a class: as `dataclasses.Field`, with the options that the package uses."""

    __slots__ = ("compare", "default", "default_factory", "init", "kw_only", "metadata", "name", "repr", "type")

    def __init__(  # noqa: PLR0913 - as dataclasses.field
        self,
        *,
        default: Any = _ABSENT,
        default_factory: Any = _ABSENT,
        init: bool = True,
        repr: bool = True,
        compare: bool = True,
        kw_only: bool | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = self.type = ""
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.compare, self.kw_only, self.metadata = init, repr, compare, kw_only, metadata


def _dataclass(
    *, frozen: bool = False, slots: bool = False, kw_only: bool = False, repr: bool = True, eq: bool = True
) -> Callable[[type], type]:
    """A class decorator with the options of `dataclasses.dataclass`."""

    def made(plain: type) -> type:
        own = [_named(plain.__dict__.get(name, _ABSENT), name, kind, kw_only) for name, kind in _annotated(plain)]
        inherited = chain.from_iterable(getattr(base, _FIELDS, ()) for base in plain.__mro__[-1:0:-1])
        fields = tuple({field.name: field for field in (*inherited, *own)}.values())
        methods = _methods(fields, frozen=frozen, slots=slots, repr=repr, eq=eq)
        options = _standard_options(repr=repr, eq=eq, frozen=frozen)
        facts = {_FIELDS: fields, "__dataclass_fields__": _StandardFields(fields), "__dataclass_params__": options}
        missing = {
            name: method
            for name, method in methods.items()
            if name not in plain.__dict__ or (name == "__hash__" and plain.__hash__ is None)
        }
        return (_with_slots if slots else _with_defaults)(plain, fields, missing | facts)

    return made


@cache
def _standard_options(*, repr: bool, eq: bool, frozen: bool) -> SimpleNamespace:
    return SimpleNamespace(init=True, repr=repr, eq=eq, order=False, unsafe_hash=False, frozen=frozen)


def _methods(fields: tuple[Field, ...], *, frozen: bool, slots: bool, repr: bool, eq: bool) -> dict[str, Any]:
    """What a class gets, unless it has its own."""
    methods: dict[str, Any] = {
        "__init__": _Init(fields, frozen=frozen),
        "__replace__": _replace,
        "__match_args__": tuple(field.name for field in fields if field.init and not field.kw_only),
    }
    if repr:
        methods["__repr__"] = _represented
    if eq:
        methods |= {"__eq__": _equal, "__hash__": _hashed if frozen else None}
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if any(map(_is_late, fields)):
        methods |= {"__getattr__": _late, "__getstate__": _whole_state}
    if frozen and slots:
        methods |= {"__getstate__": _state, "__setstate__": _set_state}
    return methods


def _annotated(plain: type) -> list[tuple[str, str]]:
    """Names and types of the fields that a class itself has, in their order."""
    return [(name, kind) for name, kind in plain.__annotations__.items() if "ClassVar[" not in kind]


def _named(given: Any, name: str, kind: str, kw_only: bool) -> Field:  # noqa: FBT001 - an option, as of the decorator
    """The field of an annotation. Raises ValueError for a default that instances would share and change."""
    field = given if isinstance(given, Field) else Field(default=given)
    if field.default.__class__.__hash__ is None:
        raise ValueError(f"mutable default {type(field.default)} for field {name} is not allowed: use default_factory")
    field.name, field.type = name, kind
    field.kw_only = kw_only if field.kw_only is None else field.kw_only
    return field


def _with_slots(plain: type, fields: tuple[Field, ...], more: dict[str, Any]) -> type:
    """The class made anew, with a slot for each field that its bases have none for."""
    inherited = {slot for base in plain.__mro__[1:-1] for slot in _slots_of(base)}
    names = [field.name for field in fields]
    dropped = {*names, "__dict__", "__weakref__"}
    kept = {name: value for name, value in plain.__dict__.items() if name not in dropped}
    slots = tuple(name for name in names if name not in inherited)
    namespace = {**kept, **more, "__slots__": slots, "__qualname__": plain.__qualname__}
    return _introduced(type(plain)(plain.__name__, plain.__bases__, namespace))


def _slots_of(base: type) -> tuple[str, ...]:
    slots = base.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _with_defaults(plain: type, fields: tuple[Field, ...], more: dict[str, Any]) -> type:
    """The class itself, with plain defaults as its attributes."""
    for field in fields:
        if isinstance(plain.__dict__.get(field.name), Field):
            if field.default is _ABSENT:
                delattr(plain, field.name)
            else:
                setattr(plain, field.name, field.default)
    for name, value in more.items():
        setattr(plain, name, value)
    return _introduced(plain)


def _introduced(cls: type) -> type:
    """Tell what stands for something of the class which class it is."""
    for name in ("__init__", "__dataclass_fields__"):
        if isinstance(found := cls.__dict__[name], _Init | _StandardFields):
            found.cls = cls
    return cls


class _StandardFields:
    """Stands for what the standard library knows of the fields of a class, until it is asked for."""

    __slots__ = ("_fields", "cls")

    def __init__(self, fields: tuple[Field, ...]) -> None:
        self._fields = fields
        self.cls: type = type(self)

    def __get__(self, instance: object, owner: type | None = None) -> dict[str, Any]:
        if any(field.init and field.name.startswith("_") for field in self._fields):
            raise AttributeError(f"type object {self.cls.__name__!r} has no attribute '__dataclass_fields__'")
        import dataclasses  # noqa: PLC0415 - takes 7 ms, as it imports inspect

        given = {field.name: dataclasses.field(**_options(field)) for field in self._fields}
        kinds = {field.name: field.type for field in self._fields}
        alike = type(self.cls.__name__, (), {"__module__": self.cls.__module__, "__annotations__": kinds, **given})
        found: dict[str, Any] = vars(dataclasses.dataclass(alike, init=False, repr=False, eq=False))[
            "__dataclass_fields__"
        ]
        type.__setattr__(self.cls, "__dataclass_fields__", found)
        return found


def _options(field: Field) -> dict[str, Any]:
    """What `dataclasses.field` is called with for the same field."""
    names = ("default", "default_factory", "init", "repr", "compare", "kw_only", "metadata")
    return {name: value for name in names if (value := getattr(field, name)) is not _ABSENT}


def _fields(of: Any) -> tuple[Field, ...]:
    found: tuple[Field, ...] = getattr(of, _FIELDS)
    return found


def _is_dataclass(value: Any) -> bool:
    """Whether it is a class of this module's decorator, or an instance of one."""
    return hasattr(value, _FIELDS)


def _replace(instance: Any, /, **changes: Any) -> Any:
    """A new instance, with some fields changed. Raises TypeError, ValueError as `dataclasses.replace` does."""
    for field in _fields(instance):
        if field.init and field.name not in changes:
            changes[field.name] = getattr(instance, field.name)
        elif not field.init and field.name in changes:
            raise ValueError(f"field {field.name} is declared with init=False, it cannot be specified with replace()")
    return instance.__class__(**changes)


def _asdict(instance: Any) -> dict[str, Any]:
    """Its fields by their names, and those of what they hold."""
    from dataclasses import asdict  # noqa: PLC0415 - as above

    return asdict(instance)


class _Init:
    """Stands for the `__init__` of a class until somebody asks for it, or calls it more than a few times."""

    __slots__ = ("_calls", "_fields", "_frozen", "cls")

    def __init__(self, fields: tuple[Field, ...], *, frozen: bool) -> None:
        self._fields, self._frozen, self._calls = fields, frozen, 0
        self.cls: type = type(self)

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., None]:
        self._calls += 1
        is_call = not (
            instance is None or isinstance(instance, type)
        )  # inspect.signature binds it to the class from 3.13 on
        if is_call and self._calls <= CALLS_UNCOMPILED:
            return partial(self._set_fields, instance)
        init = _init(self.cls, self._fields, frozen=self._frozen)
        type.__setattr__(self.cls, "__init__", init)
        return init if instance is None else MethodType(init, instance)

    def _set_fields(self, instance: Any, /, *plain: Any, **named: Any) -> None:
        """What `__init__` does. Wrong arguments are left to it, which says what is wrong with them."""
        fields = [field for field in self._fields if field.init]
        names = [field.name for field in fields if not field.kw_only]
        given = dict(zip(names, plain, strict=False)) | named
        required = {field.name for field in fields if not (_is_made(field) or _has_default(field))}
        is_wrong = len(given) < len(plain) + len(named)  # too many, or one given twice
        if is_wrong or not required <= given.keys() <= {field.name for field in fields}:
            _init(self.cls, self._fields, frozen=self._frozen)(instance, *plain, **named)
            return
        put = object.__setattr__ if self._frozen else setattr
        for field in self._fields:
            if field.name in given:
                put(instance, _place(field, given[field.name]), given[field.name])
            elif _is_made(field):
                put(instance, field.name, field.default_factory())
            elif _has_default(field):
                put(instance, field.name, field.default)
        if hasattr(self.cls, "__post_init__"):
            instance.__post_init__()


def _init(cls: type, fields: tuple[Field, ...], *, frozen: bool) -> Callable[..., None]:
    scope: dict[str, Any] = {"_absent": _ABSENT, "_set": object.__setattr__}
    for field in fields:
        scope[f"_default_{field.name}"] = _ABSENT if _is_made(field) else field.default
        scope[f"_make_{field.name}"] = field.default_factory
        if frozen:
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
    return field.default_factory is not _ABSENT


def _has_default(field: Field) -> bool:
    return field.default is not _ABSENT


def _is_late(field: Field) -> bool:
    return field.metadata is LATE


def _place(field: Field, given: Any) -> str:
    """The attribute that a given value is kept in."""
    return f"_make_{field.name}" if _is_late(field) and callable(given) else field.name


def _late(self: Any, name: str) -> Any:
    """A field that was given as a function. Called for attributes that are not there."""
    make = vars(self).get(f"_make_{name}")
    if make is None:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
    return vars(self).setdefault(name, make())


def _parameter(field: Field) -> str:
    return f"{field.name}=_default_{field.name}" if _is_made(field) or _has_default(field) else field.name


def _assignment(field: Field, scope: dict[str, Any], *, frozen: bool) -> str:
    """The statement that sets a field. In a frozen class it bypasses `__setattr__`, through the slot if there is one."""
    name = field.name
    value = name if field.init else f"_default_{name}"
    if _is_made(field):
        value = f"_make_{name}() if {name} is _absent else {name}" if field.init else f"_make_{name}()"
    if _is_late(field):
        return f"_set(self, '_make_{name}' if callable({value}) else {name!r}, {value})"
    if not frozen:
        return f"self.{name} = {value}"
    return f"_set(self, {name!r}, {value})" if scope[f"_set_{name}"] is None else f"_set_{name}(self, {value})"


@recursive_repr()
def _represented(self: Any) -> str:
    shown = (field.name for field in _fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _equal(self: Any, other: object) -> Any:
    """True for instances of the same class with equal fields."""
    if other.__class__ is not self.__class__:
        return NotImplemented
    values = _VALUES.get(self.__class__) or _values_of(self.__class__)
    return values(self) == values(other)


def _hashed(self: Any) -> int:
    values = _VALUES.get(self.__class__) or _values_of(self.__class__)
    return hash(values(self))


_VALUES: dict[type, Callable[[Any], Any]] = {}
"""For each class whose instances were compared, what reads the fields that count."""


def _values_of(cls: type) -> Callable[[Any], Any]:
    names = [field.name for field in _fields(cls) if field.compare]
    return _VALUES.setdefault(cls, attrgetter(*names) if names else lambda _: ())


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:  # noqa: ARG001 - as object.__setattr__
    raise _frozen_error(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:  # noqa: ARG001 - as object.__delattr__
    raise _frozen_error(f"cannot delete field {name!r}")


def _frozen_error(reason: str) -> AttributeError:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - as above

    return FrozenInstanceError(reason)


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in _fields(self)]


def _whole_state(self: Any) -> dict[str, Any]:
    return {field.name: getattr(self, field.name) for field in _fields(self)}


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(_fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
else:
    asdict, dataclass, field, fields, is_dataclass, replace = (
        _asdict,
        _dataclass,
        Field,
        _fields,
        _is_dataclass,
        _replace,
    )

__all__ = ["LATE", "asdict", "dataclass", "field", "fields", "is_dataclass", "replace"]
