"""Short representations of values that hold whole conversations, and numbers as text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

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
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(str(fact))}</td></tr>"
            for name, fact in self._facts()
        )
        text = self._text()
        below = "" if text is None else f"<pre>{escape(text[:TEXT_CHARS_MAX])}</pre>"
        return f"<table><caption>{escape(type(self).__name__)}</caption>{rows}</table>{below}"


def pluralize(number: int, thing: str, things: str = "") -> str:
    """`1 message`, `1,200 messages`. `things` is an irregular plural."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def size_change(before: int, after: int, budget: int | None = None) -> str:
    """`95,866 → 7,978 of 8,000`."""
    return f"{before:,} → {after:,}{'' if budget is None else f' of {budget:,}'}"
