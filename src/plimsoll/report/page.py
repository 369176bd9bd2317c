"""An inspection as one page of HTML: no scripts, nothing from elsewhere, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from plimsoll.report.figures import number, plural, share
from plimsoll.report.inspection import Inspection, grouped
from plimsoll.report.neutral import neutral, one_line
from plimsoll.report.weights import Weight

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 64em; padding: 0 1em; color: #1a1a1a; background: #fff }
table { border-collapse: collapse; margin: 0 0 2em; width: 100% }
th, td { text-align: left; padding: .2em .8em .2em 0; border-bottom: 1px solid #ddd; vertical-align: top }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
.track { background: #eee; height: .9em; position: relative; min-width: 12em } .fill { background: #36c; height: 100% }
.mark { position: absolute; top: -.2em; bottom: -.2em; border-left: 2px solid #c33 }
pre { white-space: pre-wrap; background: #f6f6f6; padding: 1em } .dim { color: #666 }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #111 } th, td { border-color: #333 }
.track, pre { background: #222 } .fill { background: #69f } .dim { color: #999 } }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may do with the page: draw it."""


def page(inspection: Inspection) -> str:
    """The whole page, from doctype to end, in ASCII-safe UTF-8 without lone surrogates."""
    title = _text(f"{inspection.measure.label} – plimsoll")
    body = "\n".join(_sections(inspection))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _sections(inspection: Inspection) -> Iterable[str]:
    measure, plan = inspection.measure, inspection.plan
    weights, base = measure.weights, measure.base_tokens
    yield f"<h1>{_text(measure.label)}</h1>"
    size = f"{number(weights.total_tokens)} tokens, {share(weights.total_tokens, base)} of {measure.whole}"
    yield f"<p><strong>{size}</strong>, {plural(weights.messages, 'message')}, level {_text(inspection.level)}</p>"
    yield _track(weights.total_tokens, base, [*inspection.lines.values()])
    if measure.reported is not None:
        yield f"<p>{_text(measure.reported)}</p>"
    lines = ", ".join(f"{name} {number(tokens)}" for name, tokens in inspection.lines.items())
    yield f'<p class="dim">{_text(measure.counted)}; budget {number(inspection.budget_tokens)}; lines: {_text(lines)}</p>'
    for name, rows in (("role", weights.roles), ("kind", weights.kinds), ("tool", weights.tools)):
        if rows:
            yield f"<h2>By {name}</h2>"
            yield _table(
                (name, ">count", ">tokens", f">of the {measure.base}", ""),
                (_weight(row, base, max(base, weights.total_tokens)) for row in rows),
            )
    yield "<h2>Largest messages</h2>"
    yield _table(("message", "role", ">tokens", "begins"), (_row(
        (big.name, big.role, number(big.tokens), big.begins)
    ) for big in weights.heaviest))  # fmt: skip
    yield "<h2>What would leave and why</h2>"
    yield f"<p>{number(plan.tokens_before)} → {number(plan.tokens_after)} tokens, stage {_text(plan.stage)}</p>"
    yield _table(("decision", ">exchanges", ">before", ">after", "why"), (_row(
        (group.decision, number(group.exchanges), number(group.tokens_before), number(group.tokens_after), group.reason)
    ) for group in grouped(plan.actions)))  # fmt: skip
    if plan.summary is not None:
        yield f"<h2>The summary</h2>\n<pre>{_text(plan.summary)}</pre>"
    if plan.note:
        yield f'<p class="dim">{_text(plan.note)}</p>'


def _text(text: str) -> str:
    return escape(neutral(text))


def _row(cells: Sequence[str]) -> list[str]:
    return [escape(one_line(cell, 200)) for cell in cells]


def _weight(weight: Weight, whole: int, longest: int) -> list[str]:
    cells = _row((weight.label, number(weight.count), number(weight.tokens), share(weight.tokens, whole)))
    return [*cells, _track(weight.tokens, longest, ())]


def _track(part: int, whole: int, marks: Sequence[int]) -> str:
    """A bar; `marks` are the load lines on it."""
    drawn = "".join(f'<div class="mark" style="left:{_percent(mark, whole)}"></div>' for mark in marks)
    return f'<div class="track"><div class="fill" style="width:{_percent(part, whole)}"></div>{drawn}</div>'


def _percent(part: int, whole: int) -> str:
    return f"{min(100.0, 100 * part / whole if whole else 0):.2f}%"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    kinds = [' class="n"' if column.startswith(">") else "" for column in columns]
    head = "".join(f"<th{kind}>{escape(name.lstrip('>'))}</th>" for name, kind in zip(columns, kinds, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    )
    return f"<table>\n<tr>{head}</tr>\n{body}\n</table>"
