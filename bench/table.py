"""Numbers as a Markdown table: one shape for the terminal, the results folder and the README."""

from __future__ import annotations

from collections.abc import Sequence


def markdown(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table; the first column to the left, the others to the right."""
    cells = [list(head), *([cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join("| " + " | ".join(aligned(row, widths)) + " |" for row in [cells[0], rule, *cells[1:]])


def aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The cells of a row, padded to their columns."""
    return [row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))]


def cell(value: object) -> str:
    """Three figures that mean something, and a dash for what was not measured."""
    match value:
        case None:
            return "–"
        case float() if abs(value) >= 100:
            return f"{value:,.0f}"
        case float():
            return f"{value:.3g}"
        case int():
            return f"{value:,}"
        case _:
            return str(value)
