"""Reports drawn for a terminal. What is drawn is data from elsewhere; all of its text is made neutral here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from plimsoll.light.brief import pluralize
from plimsoll.report.drawing import Drawn, Table, Words
from plimsoll.report.figures import number, share
from plimsoll.report.inspection import grouped
from plimsoll.report.safe_text import neutral, one_line

if TYPE_CHECKING:
    from plimsoll.compaction.result import Report
    from plimsoll.report.inspection import ActionGroup, Inspection
    from plimsoll.report.measure import Measure
    from plimsoll.report.weights import Heaviest, Weight

BAR_CHARS = 28
TOOLS_SHOWN = 20
MESSAGES_SHOWN_CHARS = 60
_CELL_CHARS_MAX = 200
_LEVEL_STYLE = {"none": "green", "normal": "cyan", "aggressive": "yellow", "emergency": "red"}
_DECISION_STYLE = {"keep": "green", "drop": "red", "summarise": "yellow"}

Cell = str | int | Words


def line(text: str, style: str = "") -> Words:
    """One line of text from anywhere."""
    return Words(one_line(text, 400), style)


def block(text: str) -> Words:
    """Text of any length from anywhere."""
    return Words(neutral(text))


def highlight(text: Words, query: str) -> Words:
    """The text with the words of a query in bold."""
    from plimsoll.recall.words import words  # noqa: PLC0415 - its tables are large, and only searches need them

    return text._replace(strong=tuple(word for word in words(query) if len(word) > 1))


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Table:
    """Rows of anything under their columns; see Table for their names."""
    return Table(columns, [[_cell(value) for value in row] for row in rows])


def _cell(value: Cell) -> Words:
    if isinstance(value, Words):
        return value
    return Words(number(value) if isinstance(value, int) else one_line(value, _CELL_CHARS_MAX))


def count_table(measure: Measure) -> Drawn:
    """What a conversation weighs: roles, kinds, tools, and its largest messages."""
    weights = measure.weights
    return (
        *_measured(measure),
        *_tables(measure, longest=weights.total_tokens),
        Words(),
        _largest(weights.heaviest, measure),
    )


def inspected(inspection: Inspection) -> Drawn:
    """What fills the window, where the load lines are, and what would leave."""
    measure = inspection.measure
    lines = ", ".join(f"{name} {number(tokens)}" for name, tokens in inspection.lines.items())
    return (
        *_measured(measure, f", level {inspection.level}", _LEVEL_STYLE.get(inspection.level, "")),
        line(f"budget {number(inspection.budget_tokens)}; lines: {lines}", "dim"),
        *_tables(measure, longest=max(measure.weights.total_tokens, inspection.budget_tokens)),
        Words(),
        line("What would leave it and why", "bold"),
        planned(inspection.plan, inspection.groups),
    )


def _measured(measure: Measure, level: str = "", style: str = "") -> list[Words]:
    """How large it is, how that was counted, and what the provider counted."""
    reported = measure.reported
    shown = [
        line(f"{measure.heading} ({pluralize(measure.weights.messages, 'message')}){level}", f"bold {style}".strip())
    ]
    return [*shown, line(measure.counted, "dim"), *([] if reported is None else [line(reported)])]


def _tables(measure: Measure, *, longest: int) -> list[Drawn]:
    weights = measure.weights
    tables = (("role", weights.roles), ("kind", weights.kinds), ("tool", weights.tools[:TOOLS_SHOWN]))
    return [drawn for what, rows in tables if rows for drawn in _weighed(what, rows, measure, longest)]


def _weighed(what: str, weights: Sequence[Weight], measure: Measure, longest: int) -> tuple[Words, Table]:
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
    return Words(), table((what, ">count", ">tokens", f">of the {measure.base}", ""), rows)


def _largest(heaviest: Sequence[Heaviest], measure: Measure) -> Table:
    rows = [
        (big.name, big.role, big.tokens, share(big.tokens, measure.base_tokens), one_line(big.begins, 60))
        for big in heaviest
    ]
    return table(("largest", "role", ">tokens", f">of the {measure.base}", "~begins"), rows)


def bar(part: int, whole: int) -> Words:
    """A bar as long as the share; anything at all is at least a sliver."""
    eighths = 0 if whole <= 0 else min(BAR_CHARS * 8, round(BAR_CHARS * 8 * part / whole))
    full, rest = divmod(max(eighths, 1 if part > 0 else 0), 8)
    return Words("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else ""), style="blue")


def planned(report: Report, groups: Sequence[ActionGroup] | None = None) -> Drawn:
    """What a plan does or did: sizes, the groups of actions, and its remark."""
    rows = [
        (
            Words(group.decision, _DECISION_STYLE.get(group.decision, "cyan")),
            group.exchanges,
            group.tokens_before,
            group.tokens_after,
            group.reason,
            one_line(group.messages, MESSAGES_SHOWN_CHARS),
        )
        for group in (grouped(report.actions) if groups is None else groups)
    ]
    shown: list[Drawn] = [outcome(report)]
    if rows:
        shown.append(table(("decision", ">exchanges", ">before", ">after", "why", "messages"), rows))
    if report.note:
        shown.append(line(report.note, "dim"))
    return shown


def outcome(report: Report) -> Words:
    """One line: the size before and after, the budget, the level and the means."""
    lost = sum(action.last - action.first + 1 for action in report.lost)
    change = f"{number(report.tokens_before)} → {number(report.tokens_after)} tokens of {number(report.budget)}"
    left = f", {pluralize(lost, 'message')} out of the view" if lost else ""
    text = f"{change} ({share(report.tokens_after, report.budget)}), level {report.level}, stage {report.stage}{left}"
    return line(text, _LEVEL_STYLE.get(str(report.level), ""))
