"""How full the window was over time, as SVG: requests as they were counted, compactions where they were made."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate, pairwise

from plimsoll.report.figures import number, when
from plimsoll.report.story import Mark, Point, Story

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
        """Times to name, and where their names are drawn."""
        times = self._times
        return [(times[0], "start"), (times[len(times) // 2], "middle"), (times[-1], "end")]

    def x(self, at_ms: int) -> float:
        """Of a time that is in the drawing."""
        spent = self._spent[bisect_left(self._times, at_ms)]
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * spent / max(1, self._spent[-1])

    def y(self, tokens: int) -> float:
        """Of a size."""
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - min(tokens, self.tokens_max) / self.tokens_max)


def _grid(scale: _Scale, window_tokens: int) -> Iterator[str]:
    for tokens in (0, window_tokens // 4, window_tokens // 2, window_tokens * 3 // 4, window_tokens):
        y, kind = scale.y(tokens), "limit" if tokens == window_tokens else "grid"
        yield f'<line class="{kind}" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(tokens)}</text>'
    for at_ms, anchor in scale.ticks:
        label = escape(when(at_ms, full=True))
        yield f'<text class="tick" x="{scale.x(at_ms):.1f}" y="{HEIGHT - 10}" text-anchor="{anchor}">{label}</text>'


def _line(scale: _Scale, points: Sequence[Point]) -> Iterator[str]:
    places = [(scale.x(point.at_ms), scale.y(point.tokens)) for point in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    floor = scale.y(0)
    yield f'<polygon class="area" points="{places[0][0]:.1f},{floor:.1f} {path} {places[-1][0]:.1f},{floor:.1f}"/>'
    yield f'<polyline class="line" points="{path}"/>'
    for point, (x, y) in zip(points, places, strict=True):
        label = f"{point.name}, {when(point.at_ms, full=True)}: {number(point.tokens)} tokens"
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(label)}</title></circle>'


def _marks(scale: _Scale, marks: Sequence[Mark]) -> Iterator[str]:
    for mark in marks:
        x = scale.x(mark.at_ms)
        yield f'<line class="cut" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{scale.y(0):.1f}"/>'
        before = "" if mark.tokens_before is None else f"{number(mark.tokens_before)} → "
        after = "" if mark.tokens_after is None else number(mark.tokens_after)
        label = f"{mark.label}, {when(mark.at_ms, full=True)}: {before}{after} tokens"
        yield f'<circle class="cutdot" cx="{x:.1f}" cy="{_TOP}" r="5"><title>{escape(label)}</title></circle>'
