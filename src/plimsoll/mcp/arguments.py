"""The arguments of a tool call, checked against the tool's own schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plimsoll.errors import SettingError
from plimsoll.limits import MCP_TEXT_ARGUMENT_CHARS_MAX
from plimsoll.validation import short_repr

Schema = Mapping[str, Any]
"""A JSON Schema object whose properties are strings and integers."""


def checked_arguments(given: Mapping[str, Any] | None, schema: Schema) -> dict[str, Any]:
    """The given arguments without those that are null. Models also write 100.0 for 100.

    Raises SettingError, which names the argument and what it may be.
    """
    properties: Schema = schema["properties"]
    found = {name: value for name, value in (given or {}).items() if value is not None}
    for name in found:
        if name not in properties:
            raise SettingError(short_repr(name), f"there is no such argument; there are {', '.join(properties)}")
    for name in schema.get("required", ()):
        if name not in found:
            raise SettingError(name, f"is needed: {properties[name]['description']}")
    return {name: _checked(name, value, properties[name]) for name, value in found.items()}


def _checked(name: str, value: Any, schema: Schema) -> Any:
    if schema["type"] == "string":
        if not isinstance(value, str) or not value.strip():
            raise SettingError(name, f"text is needed, not {short_repr(value)}")
        if len(value) > MCP_TEXT_ARGUMENT_CHARS_MAX:
            raise SettingError(name, f"at most {MCP_TEXT_ARGUMENT_CHARS_MAX:,} characters, not {len(value):,}")
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    least = schema.get("minimum", 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SettingError(name, f"a whole number from {least} on is needed, not {short_repr(value)}")
    return value
