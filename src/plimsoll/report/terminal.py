"""Reports drawn for a terminal. What is drawn is data from elsewhere; all of its text is made neutral here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TextIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from plimsoll.fitted import Report
from plimsoll.report.figures import number, plural, share
from plimsoll.report.inspection import Inspection, grouped
from plimsoll.report.neutral import neutral, one_line
from plimsoll.report.weights import Heaviest, Weight, Weights

PLAIN_WIDTH = 120
"""Columns where there is no terminal to ask."""

BAR_CHARS = 28
TOOLS_SHOWN = 20
_CELL_CHARS_MAX = 200
_LEVEL_STYLE = {"none": "green", "normal": "cyan", "aggressive": "yellow", "emergency": "red"}
_DECISION_STYLE = {"keep": "green", "drop": "red", "summarise": "yellow"}

Cell = str | int | Text


def console_on(stream: TextIO) -> Console:
    """A console on that stream: plain unless it is a terminal, and without colour where NO_COLOR is set."""
    width = None if stream.isatty() else PLAIN_WIDTH
    return Console(file=stream, highlight=False, markup=False, emoji=False, width=width)


def line(text: str, style: str = "") -> Text:
    """One line of text from anywhere."""
    return Text(one_line(text, 400), style=style)


def block(text: str, style: str = "") -> Text:
    """Text of any length from anywhere."""
    return Text(neutral(text), style=style)


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


def counted(weights: Weights, *, window_tokens: int, label: str, counter: str, estimate: int | None) -> RenderableType:
    """What a conversation weighs: roles, kinds, and its largest messages. `estimate` is what is likely; None: it is exact."""
    how = "exact" if estimate is None else f"at most so many; about {number(estimate)} are likely"
    whole = f"{number(weights.tokens)} tokens in {plural(weights.messages, 'message')}"
    return Group(
        line(f"{label}: {whole}, {share(weights.tokens, window_tokens)} of {number(window_tokens)}", "bold"),
        line(f"counted with {counter}, {how}", "dim"),
        *_weighed("role", weights.roles, whole=weights.tokens, longest=weights.tokens),
        *_weighed("kind", weights.kinds, whole=weights.tokens, longest=weights.tokens),
        Text(),
        _largest(weights.heaviest, weights.tokens),
    )


def inspected(inspection: Inspection) -> RenderableType:
    """What fills the window, where the load lines are, and what would leave."""
    weights, budget = inspection.weights, inspection.budget_tokens
    longest = max(weights.tokens, budget)
    return Group(
        line(
            f"{inspection.label}: {number(weights.tokens)} of {number(budget)} tokens "
            f"({share(weights.tokens, budget)}), level {inspection.level}",
            f"bold {_LEVEL_STYLE.get(inspection.level, '')}".strip(),
        ),
        line(f"{inspection.format}, {inspection.model}: window {number(inspection.window_tokens)}", "dim"),
        line(_lines(inspection), "dim"),
        *_weighed("role", weights.roles, whole=budget, longest=longest),
        *_weighed("kind", weights.kinds, whole=budget, longest=longest),
        *(_weighed("tool", weights.tools[:TOOLS_SHOWN], whole=budget, longest=longest) if weights.tools else ()),
        Text(),
        line("What would leave it and why", "bold"),
        planned(inspection.plan),
    )


def _lines(inspection: Inspection) -> str:
    return "lines: " + ", ".join(f"{name} {number(tokens)}" for name, tokens in inspection.lines.items())


def _weighed(what: str, weights: Sequence[Weight], *, whole: int, longest: int) -> tuple[RenderableType, ...]:
    """Shares are of `whole`; a bar is full at `longest`."""
    rows = [
        (weight.label, weight.count, weight.tokens, share(weight.tokens, whole), bar(weight.tokens, longest))
        for weight in weights
    ]
    return Text(), table((what, ">count", ">tokens", ">share", ""), rows)


def _largest(heaviest: Sequence[Heaviest], whole: int) -> Table:
    rows = [
        ("system" if big.position is None else f"m{big.position}", big.role, big.tokens, share(big.tokens, whole),
         one_line(big.begins, 60))
        for big in heaviest
    ]  # fmt: skip
    return table(("largest", "role", ">tokens", ">share", "~begins"), rows)


def bar(part: int, whole: int) -> Text:
    """A bar as long as the share; anything at all is at least a sliver."""
    eighths = 0 if whole <= 0 else min(BAR_CHARS * 8, round(BAR_CHARS * 8 * part / whole))
    full, rest = divmod(max(eighths, 1 if part > 0 else 0), 8)
    return Text("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else ""), style="blue")


def planned(report: Report) -> RenderableType:
    """What a plan does or did: sizes, the groups of actions, and its remark."""
    rows = [
        (
            Text(group.decision, style=_DECISION_STYLE.get(group.decision, "cyan")),
            group.exchanges,
            group.tokens_before,
            group.tokens_after,
            group.reason,
        )
        for group in grouped(report.actions)
    ]
    shown: list[RenderableType] = [outcome(report)]
    if rows:
        shown.append(table(("decision", ">exchanges", ">before", ">after", "why"), rows))
    if report.note:
        shown.append(line(report.note, "dim"))
    return Group(*shown)


def outcome(report: Report) -> Text:
    """One line: the size before and after, the budget, the level and the means."""
    lost = sum(action.last - action.first + 1 for action in report.lost)
    change = f"{number(report.tokens_before)} → {number(report.tokens_after)} tokens of {number(report.budget)}"
    left = f", {plural(lost, 'message')} out of the view" if lost else ""
    text = f"{change} ({share(report.tokens_after, report.budget)}), level {report.level}, stage {report.stage}{left}"
    return line(text, _LEVEL_STYLE.get(str(report.level), ""))
