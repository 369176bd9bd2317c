"""JSON objects in Python: private copies, JSON text, and checked access to fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, Final, NoReturn, TypeVar

from plimsoll.errors import FormatError, LimitExceeded, PlimsollError
from plimsoll.limits import JSON_VALUES_MAX, NESTING_DEPTH_MAX, WHOLE_NUMBER_BITS_MAX
from plimsoll.message import Wire

Read = TypeVar("Read")

_ATOMS: Final = frozenset({str, int, float, bool, type(None)})
_EMPTY: Final[tuple[object, ...]] = (None, "", [], {})

ABSENT: Final = object()
"""Marks a field to be removed, in a set of changes."""

ANY_BLOCKS: Final = "any_blocks"
"""The field of a chat message in the history that says what AnyBlocks says. It is not sent."""


class AnyBlocks(dict[str, Any]):
    """A chat message of an adapter: its framework writes the blocks for the model's provider, whichever they are.

    The field that says so is taken from no other message.
    """

    def __init__(self, wire: Wire) -> None:
        """Copy the message."""
        super().__init__({**wire, ANY_BLOCKS: True})


def alike(copy: Wire, original: object) -> Wire:
    """The copy of a message as one with any blocks, if the original is."""
    return AnyBlocks(copy) if type(original) is AnyBlocks else copy


def copied(wire: Wire) -> dict[str, Any]:
    """A private copy, sharing nothing mutable with `wire`, in the same key order. Linear.

    Raises FormatError for anything JSON cannot hold or nested deeper than NESTING_DEPTH_MAX, LimitExceeded past
    JSON_VALUES_MAX.
    """
    return _copied_mapping(wire, NESTING_DEPTH_MAX, [JSON_VALUES_MAX])


def exact(value: Any) -> Any:
    """The value itself if it consists of JSON's own types, else a copy that does: subclasses of them may behave in any way.

    Raises what `copied` raises, and FormatError for an object that cannot be read or a number that JSON cannot hold.
    """
    if is_exact(value):
        return value
    copy = readable(lambda: copied_value(plain(value)), f"a {type(value).__name__} that cannot be read")
    if not is_exact(copy):
        raise FormatError(
            f"a number that cannot be sent as JSON: not finite, or of more than {WHOLE_NUMBER_BITS_MAX:,} bits"
        )
    return copy


def readable(read: Callable[[], Read], otherwise: str) -> Read:
    """What is read of a caller's objects, which may fail in any way. Raises FormatError, which then says `otherwise`."""
    try:
        return read()
    except PlimsollError:
        raise
    except Exception as error:
        raise FormatError(f"{otherwise}: {type(error).__name__}") from error


def is_exact(value: Any, depth: int = NESTING_DEPTH_MAX, room: list[int] | None = None) -> bool:
    """True if a value has exact JSON types only, within the limits. Takes a fraction of the time of a copy."""
    kind = type(value)
    if kind is not dict and kind is not list:
        if kind is int:
            return bool(value.bit_length() <= WHOLE_NUMBER_BITS_MAX)
        return isfinite(value) if kind is float else kind in _ATOMS
    room = [JSON_VALUES_MAX] if room is None else room
    room[0] -= len(value)
    if depth <= 0 or room[0] < 0:
        return False
    if kind is dict:
        for key in value:
            if type(key) is not str:
                return False
        value = value.values()
    for item in value:  # noqa: SIM110 - a generator takes twice the time
        if type(item) is not str and not is_exact(item, depth - 1, room):
            return False
    return True


def copied_value(value: Any) -> Any:
    """The same for any JSON value."""
    return value if type(value) in _ATOMS else _copied(value, NESTING_DEPTH_MAX, [JSON_VALUES_MAX])


def _copied(value: Any, depth: int, room: list[int]) -> Any:
    kind = type(value)
    if kind is dict or (kind is not list and isinstance(value, Mapping)):  # which takes long to ask of a list
        return _copied_mapping(value, depth, room)
    if isinstance(value, (list, tuple)):
        room[0] -= len(value)
        if depth <= 0 or room[0] < 0:
            _refuse_size(depth)
        several: list[Any] = []
        for item in value:  # no comprehension: each takes a frame of its own
            kind = type(item)
            several.append(item if kind is str or kind in _ATOMS else _copied(item, depth - 1, room))
        return several
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (int, float)):
        return int.__int__(value) if isinstance(value, int) else float.__float__(value)
    dumped = plain(value)
    if dumped is value:
        raise FormatError(f"a {type(value).__name__} is not JSON")
    return _copied(dumped, depth, room)


def _copied_mapping(value: Mapping[str, Any], depth: int, room: list[int]) -> dict[str, Any]:
    room[0] -= len(value)
    if depth <= 0 or room[0] < 0:
        _refuse_size(depth)
    copy: dict[str, Any] = {}
    for key, item in value.items():
        name = key if type(key) is str else _field_name(key)
        kind = type(item)
        copy[name] = item if kind is str or kind in _ATOMS else _copied(item, depth - 1, room)
    return copy


def _field_name(key: object) -> str:
    if not isinstance(key, str):
        raise FormatError(f"a {type(key).__name__} is a field name; JSON allows only text")
    return str.__str__(key)


def _refuse_size(depth: int) -> NoReturn:
    if depth <= 0:
        raise FormatError(f"nested deeper than {NESTING_DEPTH_MAX} levels")
    raise LimitExceeded("JSON_VALUES_MAX", allowed=JSON_VALUES_MAX)


def plain(value: Any) -> Any:
    """An object of a provider's SDK (a pydantic model) as the plain data that its SDK would send; other values unchanged.

    Fields that are null, and those that the SDK adds for its caller (`__api_exclude__`, such as parsed arguments), are omitted.
    Raises FormatError for an object that cannot be dumped.
    """
    dump = getattr(value, "model_dump", None)
    if not callable(dump) or isinstance(value, type):
        return value
    left_out = getattr(value, "__api_exclude__", None)
    try:
        return dump(mode="json", by_alias=True, exclude_none=True, exclude=left_out, warnings=False)
    except (TypeError, ValueError) as error:
        raise FormatError(f"a {type(value).__name__} that cannot be dumped: {ascii(error)[:80]}") from None


def kind_of(value: object) -> str:
    """The name of a JSON value's type, for error messages."""
    names = {str: "text", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return "null" if value is None else names.get(type(value), f"a {type(value).__name__}")


_compact: Final[Callable[[object], str]] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_spaced: Final[Callable[[object], str]] = json.JSONEncoder(ensure_ascii=False).encode


def json_text(value: object) -> str:
    """Compact JSON text of a value that `copied` accepted. Characters stay as they are, lone surrogates included."""
    return _compact(value)


ascii_text: Final[Callable[[object], str]] = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":")
).encode
"""Compact ASCII JSON text. Raises ValueError for a number that JSON cannot hold."""


def output_text(value: object) -> str:
    """The output of a tool as text: str unchanged, None as empty text, everything else as compact JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else _compact(value)


def arguments_text(value: object) -> str:
    """The arguments of a call as JSON text: str unchanged, an object with the spacing of Python and most clients."""
    return value if isinstance(value, str) else _spaced({} if value is None else value)


def json_in(text: str | bytes) -> Any:
    """The JSON value in a text; None for invalid JSON and excessive nesting."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def object_in(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object in a text; None for anything else. Unlike `parsed_object` it takes what Python's parser takes."""
    value = json_in(text)
    return value if isinstance(value, dict) else None


def objects_of(value: object) -> list[dict[str, Any]]:
    """The objects in a list; none in anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def has_halves(text: str) -> bool:
    """Whether a text contains halves of surrogate pairs; JSON may read two of them back as one character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def parsed_object(text: str) -> dict[str, Any] | None:
    """The JSON object in `text`; None for other values, excessive nesting and invalid JSON."""
    value = parse_json(text)
    try:
        return copied(value) if isinstance(value, dict) else None
    except (FormatError, LimitExceeded):
        return None


def parse_json(text: str) -> Any:
    """The value of JSON text, or None if it is null or invalid. NaN and Infinity are invalid."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None


def _refuse_constant(word: str) -> None:
    raise ValueError(word)


def patched(base: Wire, changes: Mapping[str, Any], dropped: Iterable[str] = ()) -> dict[str, Any]:
    """A fresh copy of `base`: changed fields in place, new ones at the end, ABSENT and `dropped` ones removed."""
    gone = frozenset(dropped)
    result: dict[str, Any] = {}
    for key, value in base.items():
        new = changes.get(key, value)
        if new is not ABSENT and (key in changes or key not in gone):
            result[key] = copied_value(value) if new is value else new
    for key, new in changes.items():
        if new is not ABSENT and key not in result:
            result[key] = new
    return result


def text_field(wire: Wire, *keys: str) -> str:
    """The first present of these fields; empty text if none is, or it is null. Raises FormatError if it is not text."""
    for key in keys:
        value = wire.get(key)
        if value is not None:
            if not isinstance(value, str):
                raise FormatError(f"{key} must be text, not {kind_of(value)}")
            return value
    return ""


def object_field(wire: Wire, key: str) -> dict[str, Any]:
    """The object in a field. Raises FormatError if it is missing or something else."""
    value = wire.get(key)
    if not isinstance(value, dict):
        raise FormatError(f"{key} must be an object, not {kind_of(value)}")
    return value


def objects_field(wire: Wire, key: str) -> list[dict[str, Any]]:
    """The list of objects in a field, empty if missing or null. Raises FormatError for anything else."""
    value = wire.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise FormatError(f"{key} must be a list, not {kind_of(value)}")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise FormatError(f"{key}[{index}] must be an object, not {kind_of(item)}")
    return value


def role_word(wire: Wire, known: Mapping[str, Any]) -> str:
    """The role, which must be one of `known`. Raises FormatError otherwise."""
    role = wire.get("role")
    if not isinstance(role, str) or role not in known:
        shown = ascii(role)[:40] if isinstance(role, str) else kind_of(role)
        raise FormatError(f"role must be one of {', '.join(known)}, not {shown}")
    return role


def is_empty(value: object) -> bool:
    """True if a field is empty, so that it costs no tokens."""
    return value in _EMPTY


def extra_fields(wire: Wire, known: frozenset[str]) -> list[str]:
    """Non-empty fields that are not in `known`."""
    if wire.keys() <= known:
        return []
    return [key for key, value in wire.items() if key not in known and not is_empty(value)]
