"""The result of a tool as text, whatever Python value it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Any

from plimsoll.errors import ErrorCatcher
from plimsoll.light.brief import pluralize
from plimsoll.limits import NESTING_DEPTH_MAX
from plimsoll.truncation.json_text import render_json

_PRINTABLE_MODULES = frozenset({"datetime", "decimal", "uuid", "pathlib", "fractions", "ipaddress"})
"""Modules of the standard library whose values have a `str` that is their text and cannot fail."""
_INT_BITS_MAX = 12_000
"""Longer integers are written in base 16: Python refuses to write them in base 10."""


def render_result(value: object) -> str:
    """The text of a tool's result: str unchanged, None as `null`, bytes as UTF-8, everything else as JSON.

    Never raises: what JSON cannot express (NaN, cycles, binary data, unknown types) is described in text instead.
    """
    match value:
        case str():
            return _text(value)
        case bytes() | bytearray() | memoryview():
            return _bytes_text(bytes(value))
        case _:
            return render_json(_plain(value, NESTING_DEPTH_MAX, frozenset()))


def _plain(value: object, depth: int, above: frozenset[int]) -> Any:
    """The value as JSON values; its kind where it cannot be read. `above` are the ids of the containers that it is in."""
    if isinstance(value, (Mapping, list, tuple, set, frozenset, deque)) or _is_record(value):
        return _container(value, depth, above)
    match value:
        case None | bool():
            return value
        case str():
            return _text(value)
        case int() | float():
            return _number(value)
        case bytes() | bytearray() | memoryview():
            return _bytes_text(bytes(value))
        case _:
            return _description(value)


def _number(value: float) -> float | str:
    """A number that JSON can hold, or its text."""
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _INT_BITS_MAX else hex(value)
    number = float.__float__(value)
    return number if number - number == 0 else str(number)


def _is_record(value: object) -> bool:
    return hasattr(type(value), "__dataclass_fields__")


def _text(value: str) -> str:
    """A plain str, whatever a subclass says of itself."""
    return value if type(value) is str else str.__str__(value)


def _container(value: Any, depth: int, above: frozenset[int]) -> Any:
    if id(value) in above:
        return "[circular]"
    if depth == 0:
        return "[nested too deep]"
    inside = above | {id(value)}
    with ErrorCatcher():
        fields = _fields(value)
        if fields is not None:
            return {_key(key): _plain(inner, depth - 1, inside) for key, inner in fields}
        items = [_plain(inner, depth - 1, inside) for inner in value]
        return sorted(items, key=render_json) if isinstance(value, (set, frozenset)) else items
    return f"[{type(value).__name__}]"


def _fields(value: Any) -> list[tuple[object, object]] | None:
    """The keys and values of a mapping or a record; None for other containers."""
    if isinstance(value, Mapping):
        return list(value.items())
    if _is_record(value):
        from dataclasses import fields  # noqa: PLC0415 - imports inspect

        return [(field.name, getattr(value, field.name)) for field in fields(value)]
    names = getattr(type(value), "_fields", None) if isinstance(value, tuple) else None
    return list(zip(names, value, strict=True)) if names else None


def _key(key: object) -> str:
    if isinstance(key, str):
        return _text(key)
    plain = _plain(key, 1, frozenset())
    return plain if isinstance(plain, str) else render_json(plain)


def _bytes_text(value: bytes) -> str:
    """The decoded text, or the size of bytes that are not UTF-8."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return f"[{pluralize(len(value), 'byte')}, not text]"


def _description(value: object) -> str:
    kind = type(value)
    if isinstance(value, Enum):
        return f"{kind.__name__}.{value.name}"
    if kind.__module__ in _PRINTABLE_MODULES:
        return str(value)
    if isinstance(value, BaseException):
        with ErrorCatcher():
            return f"{kind.__name__}: {value}".removesuffix(": ")
    return f"[{kind.__name__}]"
