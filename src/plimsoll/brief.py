"""How the values that hold whole conversations show themselves: in one line, and as a small table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

Fact = tuple[str, object]
"""What it is called, and what it is."""

TEXT_CHARS_MAX = 4_000
"""Characters of a text that a notebook shows."""


class Brief:
    """Shows itself by a few facts. Everything in a table is escaped: conversations hold other people's text."""

    __slots__ = ()

    def _facts(self) -> Iterable[Fact]:
        """The facts, in order."""
        raise NotImplementedError

    def _text(self) -> str | None:
        """What a notebook shows below them."""
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
    """`1 message`, `1,200 messages`. `things` is the plural of a word that does not just end in s."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def size_change(before: int, after: int, budget: int | None = None) -> str:
    """`95,866 → 7,978 of 8,000`."""
    return f"{before:,} → {after:,}{'' if budget is None else f' of {budget:,}'}"
