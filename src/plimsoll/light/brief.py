"""Values shown to people and programs: short representations, JSON-ready data, and numbers as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from plimsoll.light.dataclass import fields, is_dataclass

Fact = tuple[str, object]
"""Name and value."""

TEXT_CHARS_MAX = 4_000
"""Characters of the text that a notebook shows."""


class ShortRepr:
    """Mixin for a one-line `repr` and an HTML table in notebooks. The table is escaped: conversations are untrusted."""

    __slots__ = ()

    def _facts(self) -> Iterable[Fact]:
        """The facts to show, in order."""
        raise NotImplementedError

    def _text(self) -> str | None:
        """Text that a notebook shows below the facts."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(str(fact) for _, fact in self._facts())})"

    def _repr_html_(self) -> str:
        from html import escape  # noqa: PLC0415 - a large table of names, only needed in notebooks

        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(str(fact))}</td></tr>"
            for name, fact in self._facts()
        )
        text = self._text()
        below = "" if text is None else f"<pre>{escape(text[:TEXT_CHARS_MAX])}</pre>"
        return f"<table><caption>{escape(type(self).__name__)}</caption>{rows}</table>{below}"


class JsonReady:
    """Mixin that gives a data class as JSON-ready data."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: pairs as lists, levels by their names."""
        return _fields_of(self)


def _fields_of(value: Any) -> dict[str, Any]:
    return {field.name: json_ready(getattr(value, field.name)) for field in fields(value)}


def json_ready(value: Any) -> Any:
    """A value as JSON data: data classes as objects, tuples as lists, members of an enumeration by their names."""
    match value:
        case JsonReady():
            return value.to_dict()
        case tuple() | list():
            return [json_ready(item) for item in value]
        case Mapping():
            return {key: json_ready(item) for key, item in value.items()}
        case Enum():
            return str(value)
        case _:
            return _fields_of(value) if is_dataclass(type(value)) else value


def pluralize(number: int, thing: str, things: str = "") -> str:
    """`1 message`, `1,200 messages`. `things` is an irregular plural."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def size_change(before: int, after: int, budget: int | None = None) -> str:
    """`95,866 → 7,978 of 8,000`."""
    return f"{before:,} → {after:,}{'' if budget is None else f' of {budget:,}'}"
