"""Reports drawn for a terminal. What is drawn is data from elsewhere; all of its text is made neutral here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from errno import EPIPE
from os import environ, strerror
from typing import Literal, TextIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from plimsoll.compaction.result import Report
from plimsoll.recall.words import words
from plimsoll.report.figures import counted, number, share
from plimsoll.report.inspection import ActionGroup, Inspection, grouped
from plimsoll.report.measure import Measure
from plimsoll.report.neutral import neutral, one_line
from plimsoll.report.weights import Heaviest, Weight

PLAIN_WIDTH = 100_000
"""Columns where there is no terminal: every row of a table is one line, for the programs that read it."""

BAR_CHARS = 28
TOOLS_SHOWN = 20
MESSAGES_SHOWN_CHARS = 60
_CELL_CHARS_MAX = 200
_LEVEL_STYLE = {"none": "green", "normal": "cyan", "aggressive": "yellow", "emergency": "red"}
_DECISION_STYLE = {"keep": "green", "drop": "red", "summarise": "yellow"}

Cell = str | int | Text


class _Screen(Console):
    """A console that does not end the program when nobody reads its output any more."""

    def on_broken_pipe(self) -> None:
        """Let the caller decide."""
        raise BrokenPipeError(EPIPE, strerror(EPIPE))


def console_on(stream: TextIO) -> Console:
    """A console on that stream: plain unless it is a terminal where NO_COLOR is not set."""
    width = None if stream.isatty() else PLAIN_WIDTH
    colours: Literal["auto"] | None = None if environ.get("NO_COLOR") else "auto"
    return _Screen(file=stream, highlight=False, markup=False, emoji=False, width=width, color_system=colours)


def line(text: str, style: str = "") -> Text:
    """One line of text from anywhere."""
    return Text(one_line(text, 400), style=style)


def block(text: str, style: str = "") -> Text:
    """Text of any length from anywhere."""
    return Text(neutral(text), style=style)


def highlight(text: Text, query: str) -> Text:
    """The text with the words of a query in bold."""
    asked = [word for word in words(query) if len(word) > 1]
    text.highlight_words(asked, style="bold yellow", case_sensitive=False)
    return text


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Table:
    """Rows under their columns; a column whose name begins with ">" is of numbers, and stands to the right; one with "~" is cut."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        right = column.startswith(">")
        drawn.add_column(column.lstrip(">~"), justify="right" if right else "left", overflow="fold", no_wrap=right)
    for row in rows:
        cells = zip(columns, row, strict=True)
        drawn.add_row(*(_cell(value, cut=column.startswith("~")) for column, value in cells))
    return drawn


def _cell(value: Cell, *, cut: bool) -> Text:
    """A cell that is cut gives way to the width of the others: the column may shrink, and its text then loses its end."""
    if isinstance(value, Text):
        return value
    text = number(value) if isinstance(value, int) else one_line(value, _CELL_CHARS_MAX)
    return Text(text, no_wrap=True, overflow="ellipsis") if cut else Text(text)


def count_table(measure: Measure) -> RenderableType:
    """What a conversation weighs: roles, kinds, tools, and its largest messages."""
    weights = measure.weights
    return Group(
        *_measured(measure),
        *_tables(measure, longest=weights.total_tokens),
        Text(),
        _largest(weights.heaviest, measure),
    )


def inspected(inspection: Inspection) -> RenderableType:
    """What fills the window, where the load lines are, and what would leave."""
    measure = inspection.measure
    lines = ", ".join(f"{name} {number(tokens)}" for name, tokens in inspection.lines.items())
    return Group(
        *_measured(measure, f", level {inspection.level}", _LEVEL_STYLE.get(inspection.level, "")),
        line(f"budget {number(inspection.budget_tokens)}; lines: {lines}", "dim"),
        *_tables(measure, longest=max(measure.weights.total_tokens, inspection.budget_tokens)),
        Text(),
        line("What would leave it and why", "bold"),
        planned(inspection.plan, inspection.groups),
    )


def _measured(measure: Measure, level: str = "", style: str = "") -> list[Text]:
    """How large it is, how that was counted, and what the provider counted."""
    told = measure.reported
    shown = [
        line(f"{measure.heading} ({counted(measure.weights.messages, 'message')}){level}", f"bold {style}".strip())
    ]
    return [*shown, line(measure.counted, "dim"), *([] if told is None else [line(told)])]


def _tables(measure: Measure, *, longest: int) -> list[RenderableType]:
    weights = measure.weights
    tables = (("role", weights.roles), ("kind", weights.kinds), ("tool", weights.tools[:TOOLS_SHOWN]))
    return [drawn for what, rows in tables if rows for drawn in _weighed(what, rows, measure, longest)]


def _weighed(what: str, weights: Sequence[Weight], measure: Measure, longest: int) -> tuple[RenderableType, ...]:
    """Shares are of the whole that the column names; a bar is full at `longest`."""
    rows = [
        (
            weight.label,
            weight.count or "",
            weight.tokens,
            share(weight.tokens, measure.base_tokens),
            bar(weight.tokens, longest),
        )
        for weight in weights
    ]
    return Text(), table((what, ">count", ">tokens", f">of the {measure.base}", ""), rows)


def _largest(heaviest: Sequence[Heaviest], measure: Measure) -> Table:
    rows = [
        (big.name, big.role, big.tokens, share(big.tokens, measure.base_tokens), one_line(big.begins, 60))
        for big in heaviest
    ]
    return table(("largest", "role", ">tokens", f">of the {measure.base}", "~begins"), rows)


def bar(part: int, whole: int) -> Text:
    """A bar as long as the share; anything at all is at least a sliver."""
    eighths = 0 if whole <= 0 else min(BAR_CHARS * 8, round(BAR_CHARS * 8 * part / whole))
    full, rest = divmod(max(eighths, 1 if part > 0 else 0), 8)
    return Text("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else ""), style="blue")


def planned(report: Report, groups: Sequence[ActionGroup] | None = None) -> RenderableType:
    """What a plan does or did: sizes, the groups of actions, and its remark."""
    rows = [
        (
            Text(group.decision, style=_DECISION_STYLE.get(group.decision, "cyan")),
            group.exchanges,
            group.tokens_before,
            group.tokens_after,
            group.reason,
            one_line(group.messages, MESSAGES_SHOWN_CHARS),
        )
        for group in (grouped(report.actions) if groups is None else groups)
    ]
    shown: list[RenderableType] = [outcome(report)]
    if rows:
        shown.append(table(("decision", ">exchanges", ">before", ">after", "why", "messages"), rows))
    if report.note:
        shown.append(line(report.note, "dim"))
    return Group(*shown)


def outcome(report: Report) -> Text:
    """One line: the size before and after, the budget, the level and the means."""
    lost = sum(action.last - action.first + 1 for action in report.lost)
    change = f"{number(report.tokens_before)} → {number(report.tokens_after)} tokens of {number(report.budget)}"
    left = f", {counted(lost, 'message')} out of the view" if lost else ""
    text = f"{change} ({share(report.tokens_after, report.budget)}), level {report.level}, stage {report.stage}{left}"
    return line(text, _LEVEL_STYLE.get(str(report.level), ""))
