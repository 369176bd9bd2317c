"""An inspection as one page of HTML: no scripts, nothing from elsewhere, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from plimsoll.brief import pluralize
from plimsoll.report.chart import chart
from plimsoll.report.figures import number, share
from plimsoll.report.inspection import Inspection
from plimsoll.report.neutral import neutral, one_line
from plimsoll.report.story import Story, Strip
from plimsoll.report.style import KINDS, STYLE, kind_class
from plimsoll.report.weights import Weight

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may do with the page: draw it."""


FATES = {
    "keep": "kept",
    "repair": "repaired",
    "shrink": "shrunk",
    "offload": "offloaded",
    "summarise": "summarised",
    "drop": "dropped",
}
"""What would have happened to a message, in a word."""


def page(inspection: Inspection, story: Story) -> str:
    """The whole page, from doctype to end, in ASCII-safe UTF-8 without lone surrogates."""
    title = _text(f"{inspection.measure.label} – plimsoll")
    body = "\n".join(_sections(inspection, story))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _sections(inspection: Inspection, story: Story) -> Iterator[str]:
    yield from _head(inspection)
    drawn = chart(story, window_tokens=inspection.measure.base_tokens)
    if drawn:
        yield "<h2>Over time</h2>"
        yield (
            '<p class="dim">Each request as its provider counted it; red lines are compactions. Dots tell their numbers; '
            "pauses are shortened.</p>"
        )
        yield drawn
    yield from _messages(story)
    yield from _tables(inspection)
    yield from _plan(inspection)


def _head(inspection: Inspection) -> Iterator[str]:
    measure = inspection.measure
    weights, whole = measure.weights, max(measure.base_tokens, measure.weights.total_tokens)
    yield f"<h1>{_text(measure.label)}</h1>"
    size = (
        f"{number(weights.total_tokens)} tokens, {share(weights.total_tokens, measure.base_tokens)} of {measure.whole}"
    )
    messages = pluralize(weights.messages, "message")
    yield f'<p class="size"><strong>{size}</strong>, {messages}, level {_text(inspection.level)}</p>'
    yield _stack([(weight.label, weight.tokens) for weight in weights.kinds], whole, [*inspection.lines.values()])
    yield _legend([weight.label for weight in weights.kinds])
    if measure.reported is not None:
        yield f"<p>{_text(_sentence(measure.reported))}</p>"
    lines = ", ".join(f"{name} {number(tokens)}" for name, tokens in inspection.lines.items())
    about = f"{measure.counted}; budget {number(inspection.budget_tokens)}; lines: {lines}"
    yield f'<p class="dim">{_text(about)}</p>'


def _messages(story: Story) -> Iterator[str]:
    yield "<h2>Message by message</h2>"
    yield '<p class="dim">A strip is as wide as its message is large. Open one to read it and to see what would happen to it.</p>'
    widest = max((strip.tokens for strip in story.strips), default=1)
    yield '<div class="strips">'
    yield from (_strip(strip, widest) for strip in story.strips)
    yield "</div>"


def _strip(strip: Strip, widest: int) -> str:
    decided = FATES.get(strip.decision, strip.decision)
    why = f'<p class="dim">{_text(f"{decided}: {strip.reason}")}</p>' if strip.reason else ""
    rest = f"… {number(strip.cut_chars)} more characters: plimsoll read NAME {strip.name}"
    more = f'<p class="dim">{_text(rest)}</p>' if strip.cut_chars else ""
    cells = (
        f'<span class="name">{_text(strip.name)}</span>',
        f'<span class="role">{_text(strip.role)}</span>',
        f'<span class="n">{number(strip.tokens)}</span>',
        _stack(list(strip.kinds.items()), widest, ()),
        f'<span class="fate {escape(strip.decision)}">{escape(decided)}</span>',
        f'<span class="begins">{escape(one_line(strip.begins, 110))}</span>',
    )
    return f"<details><summary>{''.join(cells)}</summary>\n{why}<pre>{_text(strip.text)}</pre>{more}</details>"


def _tables(inspection: Inspection) -> Iterator[str]:
    measure = inspection.measure
    weights = measure.weights
    for name, rows in (("role", weights.roles), ("kind", weights.kinds), ("tool", weights.tools)):
        if rows:
            yield f"<h2>By {name}</h2>"
            columns = (name, ">count", ">tokens", f">of the {measure.base}", "")
            longest = max(measure.base_tokens, weights.total_tokens)
            yield _table(columns, (_weight(row, measure.base_tokens, longest) for row in rows))
    yield "<h2>Largest messages</h2>"
    yield _table(
        ("message", "role", ">tokens", "begins"),
        (_row((big.name, big.role, number(big.tokens), big.begins)) for big in weights.heaviest),
    )


def _plan(inspection: Inspection) -> Iterator[str]:
    plan = inspection.plan
    yield "<h2>What would leave and why</h2>"
    yield f"<p>{number(plan.tokens_before)} → {number(plan.tokens_after)} tokens, stage {_text(plan.stage)}</p>"
    rows = (
        _row((group.decision, number(group.exchanges), number(group.tokens_before), number(group.tokens_after),
              group.reason, group.messages))
        for group in inspection.groups
    )  # fmt: skip
    yield _table(("decision", ">exchanges", ">before", ">after", "why", "messages"), rows)
    if plan.summary is not None:
        yield f"<h2>The summary</h2>\n<pre>{_text(plan.summary)}</pre>"
    if plan.note:
        yield f'<p class="dim">{_text(plan.note)}</p>'


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _text(text: str) -> str:
    return escape(neutral(text))


def _row(cells: Sequence[str]) -> list[str]:
    return [escape(one_line(cell, 200)) for cell in cells]


def _weight(weight: Weight, whole: int, longest: int) -> list[str]:
    count = number(weight.count) if weight.count else ""
    cells = _row((weight.label, count, number(weight.tokens), share(weight.tokens, whole)))
    return [*cells, _stack([(weight.label, weight.tokens)], longest, ())]


def _stack(parts: Sequence[tuple[str, int]], whole: int, marks: Sequence[int]) -> str:
    """A bar of several kinds; `marks` are the load lines on it."""
    fills = "".join(
        f'<i class="{kind_class(kind)}" style="width:{_percent(tokens, whole)}" title="{escape(kind)}: {number(tokens)}"></i>'
        for kind, tokens in parts
        if tokens > 0
    )
    drawn = "".join(f'<b style="left:{_percent(mark, whole)}"></b>' for mark in marks)
    return f'<span class="track">{fills}{drawn}</span>'


def _legend(kinds: Sequence[str]) -> str:
    shown = [kind for kind in KINDS if kind in kinds]
    items = "".join(f'<span><i class="{kind_class(kind)}"></i>{escape(kind)}</span>' for kind in shown)
    return f'<p class="legend">{items}</p>'


def _percent(part: int, whole: int) -> str:
    return f"{min(100.0, 100 * part / whole if whole else 0):.2f}%"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already; on a narrow screen it scrolls and the page does not."""
    kinds = [' class="n"' if column.startswith(">") else "" for column in columns]
    head = "".join(f"<th{kind}>{escape(name.lstrip('>'))}</th>" for name, kind in zip(columns, kinds, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'
