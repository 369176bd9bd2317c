"""Any Python value a tool may return, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plimsoll.brief import pluralize
from plimsoll.limits import NESTING_DEPTH_MAX
from plimsoll.truncation.json_text import render_json

_PRINTABLE_MODULES = frozenset({"datetime", "decimal", "uuid", "pathlib", "fractions", "ipaddress"})
"""Standard values whose `str` is their text and cannot fail."""
_INT_BITS_MAX = 12_000
"""Longer integers are written in base 16: Python refuses to write them in base 10."""


def render_result(value: object) -> str:
    """The text of a tool's result: text as it is, None as `null`, bytes as UTF-8, everything else as JSON.

    Total: what JSON has no word for (NaN, cycles, bytes that are no text, unknown types) is named in text instead.
    False, 0 and "" are results like any other.
    """
    match value:
        case str():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return _bytes_text(bytes(value))
        case _:
            return render_json(_plain(value, NESTING_DEPTH_MAX, frozenset()))


def _plain(value: object, depth: int, above: frozenset[int]) -> Any:
    """The value in terms of JSON. `above` are the ids of the containers it stands in."""
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
            return _named(value)


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
    """UTF-8 text, or the size of what is none."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return f"[{pluralize(len(value), 'byte')}, not text]"


def _named(value: object) -> str:
    kind = type(value)
    return str(value) if kind.__module__ in _PRINTABLE_MODULES else f"[{kind.__name__}]"
