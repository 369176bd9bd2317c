"""Checks of option values. Each returns the value, or raises SettingError with the name of the field."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TypeVar

from plimsoll.errors import SettingError
from plimsoll.limits import SETTING_TOKENS_MAX, TIME_MS_MAX

Choice = TypeVar("Choice", bound=str)


def integer(field: str, value: object, *, least: int = 0) -> int:
    """An int from `least` to SETTING_TOKENS_MAX. Booleans and floats are refused."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise SettingError(field, f"a whole number is needed, not {type(value).__name__}")
    if not least <= value <= SETTING_TOKENS_MAX:
        raise SettingError(field, f"must be from {least} to {SETTING_TOKENS_MAX}")
    return value


def ratio(field: str, value: object) -> float:
    """A number above 0 and up to 1. Booleans and NaN are refused."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
        raise SettingError(field, "must be a ratio above 0 and up to 1")
    return float(value)


def one_of(field: str, value: object, choices: Collection[Choice]) -> Choice:
    """One of the choices."""
    for choice in choices:
        if isinstance(value, str) and value == choice:
            return choice
    raise SettingError(field, f"{short_repr(value)} is not one of {', '.join(sorted(choices))}")


def text_or_none(field: str, value: object) -> str | None:
    """Text, or None."""
    if value is None or isinstance(value, str):
        return value
    raise SettingError(field, f"text is needed, not {type(value).__name__}")


def number_or_none(field: str, value: object) -> float | None:
    """A finite number, or None. Booleans are refused."""
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < math.inf):
        return value
    raise SettingError(field, f"a number is needed, not {short_repr(value)}")


def seconds(field: str, value: object) -> float:
    """A number of seconds from 0 on. Booleans and NaN are refused."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise SettingError(field, f"a number of seconds, 0 or more, is needed, not {short_repr(value)}")
    return value


def unix_ms(field: str, value: object) -> int:
    """Unix time in milliseconds, in the years 1970 to 9999."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= TIME_MS_MAX:
        raise SettingError(field, f"Unix time in milliseconds is needed, not {short_repr(value)}")
    return value


def char_slice(offset: object, limit: object) -> slice:
    """The slice of characters for `offset` and `limit`. Negative values count as 0."""
    for field, value in (("offset", offset), ("limit", limit)):
        if not isinstance(value, int) and (value is not None or field == "offset"):
            raise SettingError(field, f"a whole number is needed, not {type(value).__name__}")
    start = max(0, offset) if isinstance(offset, int) else 0
    return slice(start, start + max(0, limit) if isinstance(limit, int) else None)


def path_text(field: str, value: object) -> str:
    """A path, given as str or as a path object, as str."""
    as_path = getattr(type(value), "__fspath__", None)
    found = value if as_path is None else as_path(value)
    if isinstance(found, str):
        return found
    raise SettingError(field, f"a path is needed, not {type(value).__name__}")


def boolean(field: str, value: object) -> bool:
    """True or False. Other truthy or falsy values are refused."""
    if not isinstance(value, bool):
        raise SettingError(field, f"True or False is needed, not {type(value).__name__}")
    return value


def token_or_none(value: object) -> str | None:
    """A token, or None for none. An empty one is refused: it is what a variable that was never set leaves."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise SettingError("token", f"text is needed, not {type(value).__name__}")
    if not value.strip():
        raise SettingError("token", "is empty; to serve without a token, leave it out")
    return value


def is_loopback(host: str) -> bool:
    """True for an address, or the name, of this computer alone."""
    from ipaddress import ip_address  # noqa: PLC0415 - only a server needs it

    try:
        return host.lower() == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def short_repr(value: object) -> str:
    """An escaped representation of at most about 80 characters, for an error message."""
    if not isinstance(value, (str, int, float, bool, type(None))):
        return type(value).__name__
    if isinstance(value, int) and value.bit_length() > 256:
        return "a very large number"
    text = ascii(value[:80] if isinstance(value, str) else value)
    return text if len(text) <= 82 else f"{text[:80]}…"
