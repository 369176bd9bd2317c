"""Jupyter notebooks, which are JSON: their cells as lines, with what was printed and the errors, without pictures and markup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from plimsoll.light.brief import pluralize
from plimsoll.truncation.json_text import render_json
from plimsoll.truncation.tool_results.lines import Look, rank_ends
from plimsoll.truncation.tool_results.terminal import as_shown

_HEAD, _ERROR, _HEADING, _SOURCE, _OUTPUT = 1, 0, 1, 3, 5
_ERRORS_FIRST = -1
_MARKDOWN_HEADING = "#"


def is_notebook(value: object) -> bool:
    """Whether a JSON value is a notebook."""
    match value:
        case {"cells": list(cells), "nbformat": _}:
            return all(isinstance(cell, dict) for cell in cells)
        case _:
            return False


def look_at_notebook(value: Mapping[str, Any]) -> Look:
    """A line for each cell, then headings and errors, the sources, and what was printed."""
    ranked: list[int] = []
    lines: list[str] = []
    for number, cell in enumerate(value["cells"]):
        for rank, text in _cell_lines(number, cell):
            ranked.append(rank)
            lines.append(text)
    rank_ends(ranked, _HEAD, 2, 2)
    kinds = [cell.get("cell_type") for cell in value["cells"]]
    facts = [f"notebook of {pluralize(len(kinds), 'cell')}", f"{kinds.count('code'):,} with code"]
    errors = ranked.count(_ERRORS_FIRST)
    return Look(ranked, ", ".join([*facts, *([pluralize(errors, "error")] if errors else [])]), lines=lines)


def _cell_lines(number: int, cell: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    kind = cell.get("cell_type")
    yield _HEAD, f"[cell {number}: {kind if isinstance(kind, str) else 'cell'}]"
    for at, line in enumerate(_text(cell.get("source")).split("\n")):
        is_heading = kind == "markdown" and line.startswith(_MARKDOWN_HEADING)
        yield _HEADING if is_heading else _SOURCE - (at == 0), line
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            yield from _output_lines(number, output)


def _output_lines(number: int, output: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    if output.get("output_type") == "error":
        yield _ERRORS_FIRST, f"[cell {number}: error] {_text(output.get('ename'))}: {_text(output.get('evalue'))}"
        trace = output.get("traceback")
        for line in as_shown("\n".join(map(_text, trace)) if isinstance(trace, list) else "").split("\n"):
            yield _ERROR if line.startswith("--->") or "-> " in line[:12] else _SOURCE, line
        return
    data = output.get("data")
    shown = output.get("text") if not isinstance(data, dict) else data.get("text/plain")
    yield _SOURCE, f"[cell {number}: output{_left_out(data)}]"
    for line in as_shown(_text(shown)).rstrip("\n").split("\n") if shown else ():
        yield _OUTPUT, line


def _left_out(data: object) -> str:
    """The kinds of an output that are not shown, with the sizes of those that hold something."""
    others = data.items() if isinstance(data, dict) else ()
    sizes = {
        kind: len(_text(held) or (render_json(held) if held else "")) for kind, held in others if kind != "text/plain"
    }
    return "".join(f", {kind} of {size:,} characters" for kind, size in sizes.items() if size)


def _text(value: object) -> str:
    """A text of a notebook, which may be a list of lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""
