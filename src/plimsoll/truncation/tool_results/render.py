"""The result of a tool as text, whatever Python value it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plimsoll.brief import pluralize
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
            return str(value)
        case bytes() | bytearray() | memoryview():
            return _bytes_text(bytes(value))
        case _:
            return render_json(_plain(value, NESTING_DEPTH_MAX, frozenset()))


def _plain(value: object, depth: int, above: frozenset[int]) -> Any:
    """The value as JSON values. `above` are the ids of the containers that it is in."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value) if value.bit_length() <= _INT_BITS_MAX else hex(value)
        case float():
            return float(value) if value - value == 0 else str(float(value))
        case bytes() | bytearray() | memoryview():
            return _bytes_text(bytes(value))
        case Mapping() | list() | tuple() | set() | frozenset():
            return _container(value, depth, above)
        case _:
            return _description(value)


def _container(value: Any, depth: int, above: frozenset[int]) -> Any:
    if id(value) in above:
        return "[circular]"
    if depth == 0:
        return "[nested too deep]"
    inside = above | {id(value)}
    if isinstance(value, Mapping):
        return {_key(key): _plain(inner, depth - 1, inside) for key, inner in value.items()}
    items = [_plain(inner, depth - 1, inside) for inner in value]
    return sorted(items, key=render_json) if isinstance(value, (set, frozenset)) else items


def _key(key: object) -> str:
    if isinstance(key, str):
        return str(key)
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
    return str(value) if kind.__module__ in _PRINTABLE_MODULES else f"[{kind.__name__}]"
