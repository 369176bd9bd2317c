"""Lines that belong to an error: the frames of its stack trace, and what it is inside of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plimsoll.light.regex import regex

_FRAME = regex(
    r"\s{1,60}(?:File \".{1,400}\", line [0-9]|at [\w$<./@]|[0-9]{1,4}: \S|\S{1,300}\.\w{1,5}:[0-9]|\.\.\. [0-9]{1,5} more)"
    r"|(?:Caused by|Suppressed): |goroutine [0-9]{1,9} \[|[\w./$*-]{1,200}(?:\.\(?\*?\w{1,80}\)?){1,4}\(.{0,200}\)\Z|created by \S"
    r"|Traceback \(most recent|stack backtrace:"
)
"""A line of a stack trace, as Python, Java, JavaScript, Go and Rust write it."""
_CODE = regex(r"\s{4,60}\S")
"""The source below a frame of Python, and the marks below that."""
_FRAMES_MAX = 60
_BREAKS_MAX, _NEAR = 2, 4

_ABOVE_MAX = 400
_OUTER_MAX = 4


def frames_near(lines: Sequence[str], at: int) -> list[int]:
    """The lines of the stack trace of an error, the innermost first: above it in Python, below it elsewhere; at most 60."""
    above = _frames(lines, range(at - 1, max(-1, at - _FRAMES_MAX), -1))
    return above or _frames(lines, range(at + 1, min(len(lines), at + _FRAMES_MAX)))


def _frames(lines: Sequence[str], indexes: range) -> list[int]:
    found: list[int] = []
    breaks: list[int] = []
    for index in indexes:
        line = lines[index][:500]
        if _FRAME.match(line):
            found += [*breaks, index]
            breaks = []
        elif not line.strip() and index in indexes[:_NEAR]:
            continue
        elif (_CODE.match(line) or not found) and len(breaks) < _BREAKS_MAX:
            breaks.append(index)
        else:
            break
    return found


def outer_lines(lines: Sequence[str], at: int) -> list[int]:
    """The lines that a line is inside of, by their indentation, the nearest first: the element, the key, the test around it."""
    return list(_outer(lines, at)) if lines[at][:1].isspace() else []


def _outer(lines: Sequence[str], at: int) -> Iterator[int]:
    depth, count = _indent(lines[at]), 0
    for index in range(at - 1, max(-1, at - _ABOVE_MAX), -1):
        line = lines[index]
        if line.strip() and _indent(line) < depth:
            depth, count = _indent(line), count + 1
            yield index
            if not depth or count == _OUTER_MAX:
                return


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
