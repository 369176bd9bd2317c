"""An inspection as one page of HTML: no scripts, nothing from elsewhere, every text escaped."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import accumulate, pairwise

from plimsoll.light.brief import pluralize
from plimsoll.report.figures import number, share, when
from plimsoll.report.inspection import Inspection
from plimsoll.report.safe_text import neutral, one_line
from plimsoll.report.story import Mark, Point, Story, Strip
from plimsoll.report.weights import Weight

KINDS = {
    "text": "#3b6fd4",
    "tool results": "#2f9e6e",
    "tool calls": "#8bbf3f",
    "reasoning": "#b06fd0",
    "images": "#e0a030",
    "files": "#c8803c",
    "audios": "#c85c8c",
    "provider parts": "#7a8aa0",
    "tool definitions": "#d06a4a",
    "not in this file": "#a0a4ad",
    "framing": "#c9ccd3",
}
"""The colour of each kind of content, in the order of the legend."""


def kind_class(kind: str) -> str:
    """The class of a kind; what has no colour of its own has the plain one."""
    return f"k{list(KINDS).index(kind)}" if kind in KINDS else "k"


_COLOURS = "\n".join(f"i.{kind_class(kind)} {{ background: {colour} }}" for kind, colour in KINDS.items())

STYLE = f"""
:root {{ --ink: #1b1d21; --dim: #666c78; --line: #dfe2e8; --soft: #f3f4f7; --paper: #fff; --red: #d0433f; --blue: #3b6fd4 }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #dcdfe6; --dim: #969cab; --line: #31353f; --soft: #1f232b; --paper: #14161b;
--red: #ef6f6a; --blue: #7aa2f7 }} }}
* {{ box-sizing: border-box }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; color: var(--ink);
background: var(--paper); overflow-wrap: anywhere }}
h1 {{ font-size: 1.4em; margin: 0 0 .2em }} h2 {{ font-size: 1.1em; margin: 2em 0 .4em }}
.size {{ font-size: 1.1em; margin: 0 0 .6em }} .dim {{ color: var(--dim); margin: .3em 0 }}
.track {{ display: block; position: relative; height: 1em; background: var(--soft); border-radius: 3px; overflow: hidden;
white-space: nowrap; font-size: .85em; min-width: 6em }}
.track i {{ display: inline-block; height: 100%; vertical-align: top; min-width: 1px }}
.track i, .legend i {{ background: var(--blue) }}
.track b {{ position: absolute; top: 0; bottom: 0; border-left: 2px solid var(--red) }}
.size + .track {{ height: 1.8em }}
.legend {{ display: flex; flex-wrap: wrap; gap: .2em 1.2em; font-size: .85em; color: var(--dim) }}
.legend i {{ display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; vertical-align: -.05em }}
.chart {{ width: 100%; height: auto; display: block }}
.chart .grid {{ stroke: var(--line) }} .chart .limit {{ stroke: var(--red); stroke-dasharray: 5 4 }}
.chart .tick {{ fill: var(--dim); font-size: 12px }} .chart .line {{ fill: none; stroke: var(--blue); stroke-width: 1.5 }}
.chart .area {{ fill: var(--blue); opacity: .14 }} .chart .dot {{ fill: var(--blue); opacity: .25 }}
.chart .dot:hover {{ opacity: 1 }}
.chart .cut {{ stroke: var(--red); stroke-width: 1.5 }} .chart .cutdot {{ fill: var(--red) }}
.strips details {{ border-top: 1px solid var(--line) }} .strips details[open] {{ padding-bottom: .6em }}
.strips summary {{ display: grid; grid-template-columns: 7em 7em 4.5em 13em 6.5em 1fr; gap: .6em; align-items: center;
cursor: pointer; list-style: none; padding: .15em 0 }}
.strips summary:hover {{ background: var(--soft) }} .strips summary::-webkit-details-marker {{ display: none }}
.name {{ font-variant-numeric: tabular-nums; font-weight: 600 }} .role {{ color: var(--dim) }}
.begins {{ white-space: nowrap; overflow: hidden; text-overflow: ellipsis; color: var(--dim) }}
.fate {{ color: var(--dim); font-size: .85em }}
.fate.summarise, .fate.drop {{ color: var(--red) }}
table {{ border-collapse: collapse; width: 100% }} .scroll {{ overflow-x: auto }}
th, td {{ text-align: left; padding: .2em .8em .2em 0; border-bottom: 1px solid var(--line); vertical-align: top }}
td {{ max-width: 36em }} .n {{ text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }}
pre {{ white-space: pre-wrap; background: var(--soft); padding: .8em; margin: .4em 0; font-size: .85em; border-radius: 4px;
max-height: 40em; overflow: auto }}
@media (max-width: 45em) {{ .strips summary {{ grid-template-columns: 7em 1fr 4em 6.5em; }}
.strips .track {{ grid-column: 1 / -1; grid-row: 2 }} .begins {{ grid-column: 1 / -1; white-space: normal }} }}
{_COLOURS}
"""
"""All of it; nothing is fetched."""


WIDTH, HEIGHT = 1000, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 10, 14, 34
_POINTS_MAX = 2_000

PAUSE_MS = 15 * 60 * 1000
"""A session may rest for days: what is drawn is the work."""


def chart(story: Story, *, window_tokens: int) -> str:
    """The drawing; nothing where fewer than two requests are known."""
    points = _thinned(story.points)
    if len(points) < 2:
        return ""
    scale = _Scale(points, story.marks, window_tokens)
    drawn = "\n".join((*_grid(scale, window_tokens), *_line(scale, points), *_marks(scale, story.marks)))
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="Tokens of each request over time">\n{drawn}\n</svg>'
    )


def _thinned(points: Sequence[Point]) -> list[Point]:
    step = max(1, len(points) // _POINTS_MAX)
    return [*points[::step], *(points[-1:] if step > 1 else ())]


class _Scale:
    """From times and tokens to places in the drawing. A pause is drawn no longer than PAUSE_MS."""

    def __init__(self, points: Sequence[Point], marks: Sequence[Mark], window_tokens: int) -> None:
        self._times = sorted({point.at_ms for point in points} | {mark.at_ms for mark in marks})
        gaps = (min(after - before, PAUSE_MS) for before, after in pairwise(self._times))
        self._spent = [0, *accumulate(gaps)]
        highest = max(
            [window_tokens, *(point.tokens for point in points), *(mark.tokens_before or 0 for mark in marks)]
        )
        self.tokens_max = max(1, highest)

    @property
    def ticks(self) -> list[tuple[int, str]]:
        times = self._times
        return [(times[0], "start"), (times[len(times) // 2], "middle"), (times[-1], "end")]

    def x(self, at_ms: int) -> float:
        spent = self._spent[bisect_left(self._times, at_ms)]
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * spent / max(1, self._spent[-1])

    def y(self, tokens: int) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - min(tokens, self.tokens_max) / self.tokens_max)


def _grid(scale: _Scale, window_tokens: int) -> Iterator[str]:
    for tokens in (0, window_tokens // 4, window_tokens // 2, window_tokens * 3 // 4, window_tokens):
        y, kind = scale.y(tokens), "limit" if tokens == window_tokens else "grid"
        yield f'<line class="{kind}" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(tokens)}</text>'
    for at_ms, anchor in scale.ticks:
        label = escape(when(at_ms))
        yield f'<text class="tick" x="{scale.x(at_ms):.1f}" y="{HEIGHT - 10}" text-anchor="{anchor}">{label}</text>'


def _line(scale: _Scale, points: Sequence[Point]) -> Iterator[str]:
    places = [(scale.x(point.at_ms), scale.y(point.tokens)) for point in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    floor = scale.y(0)
    yield f'<polygon class="area" points="{places[0][0]:.1f},{floor:.1f} {path} {places[-1][0]:.1f},{floor:.1f}"/>'
    yield f'<polyline class="line" points="{path}"/>'
    for point, (x, y) in zip(points, places, strict=True):
        label = f"{point.name}, {when(point.at_ms)}: {number(point.tokens)} tokens"
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(label)}</title></circle>'


def _marks(scale: _Scale, marks: Sequence[Mark]) -> Iterator[str]:
    for mark in marks:
        x = scale.x(mark.at_ms)
        yield f'<line class="cut" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{scale.y(0):.1f}"/>'
        before = "" if mark.tokens_before is None else f"{number(mark.tokens_before)} → "
        after = "" if mark.tokens_after is None else number(mark.tokens_after)
        label = f"{mark.label}, {when(mark.at_ms)}: {before}{after} tokens"
        yield f'<circle class="cutdot" cx="{x:.1f}" cy="{_TOP}" r="5"><title>{escape(label)}</title></circle>'


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
