"""Errors in text: how severe a text is, and the lines of a result that report errors, the most telling first.

A line is masked to a template, its numbers and values left out, so that an error that repeats counts as one.
"""

from __future__ import annotations

import re
from math import log2
from typing import TYPE_CHECKING, NamedTuple

from plimsoll.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SEVERE = regex(
    r"\b(?:ERRORS?|FATAL|CRITICAL|PANIC|EMERG|ALERT|SEVERE|FAIL|FAILED|FAILURE|EXCEPTION)\b|Traceback \(most recent"
    r"|\b(?:[Ff]atal|[Pp]anic|[Cc]ritical|[Ee]rror|[Ee]xception)(?: ?[:!]|\])|\w(?:Error|Exception)\b|^E  +|✗|✘"
    r"|[Ss]egfault|[Ss]egmentation fault|[Oo]ut of memory|\bOOM\b|错误|失败|异常|崩溃|致命|エラー|오류"
)
_ERROR = regex(
    r"\b(?:errors?|err|fail|fails|failed|failures?|failing|fatal|panic|panicked|exceptions?|traceback|critical|denied|refused"
    r"|abort(?:ed)?|rejected|cannot|can't|could not|undefined|unable|unreachable|unexpected|invalid|corrupt\w{0,6}|not found"
    r"|no such|time-?outs?|tim(?:ed?|ing) out|crash\w{0,6}|killed|assert(?:ion)?(?:error)?)\b|超时|拒绝|无法",
    re.IGNORECASE,
)
_NONE = regex(
    r"\b(?:0|no|zero|without|non)[ -](?:errors?|failures?|failed|exceptions?)\b"
    r"|\b(?:errors?|err|failures?|failed|exceptions?)[\"']? ?[:=] ?[\"']?(?:0|none|null|false|no|nil)(?=[\s,;\"'}\])]|\Z)"
    r"|没有(?:错误|异常)|无(?:错误|异常)",
    re.IGNORECASE,
)
"""An error that did not happen."""

_SERVER_ERROR = regex(r"http/[0-9.]{1,4}\"? 5[0-9]{2}\b|\bstatus(?:[ _]?code)?[\"']?[=: ]{1,3}\"?5[0-9]{2}\b")

_BY_NUMBER = regex(
    r"(?:err(?:or)?s?|fail(?:ure)?s?|failed|exceptions?) {0,2}[:=] {0,2}0|status(?:[ _]?code)?[:= ]{1,4}0|0 (?:err|fail|exc)|HTTP/",
    re.IGNORECASE,
)
"""In a line without its digits: the digits decide whether there is an error."""

_STATUS = ("http/", "status")
_STEMS = (
    *(
        "err",
        "fail",
        "fatal",
        "panic",
        "exception",
        "traceback",
        "critical",
        "emerg",
        "alert",
        "severe",
        "denied",
    ),
    *(
        "refused",
        "abort",
        "rejected",
        "cannot",
        "can't",
        "could not",
        "undefined",
        "unable",
        "unreachable",
        "unexpected",
    ),
    *(
        "invalid",
        "corrupt",
        "not found",
        "no such",
        "timeout",
        "time-out",
        "timed out",
        "time out",
        "timing out",
        "crash",
    ),
    *("killed", "assert", "e   ", "✗", "✘", "segfault", "segmentation", "out of memory", "oom", *_STATUS),
    *("错误", "失败", "异常", "崩溃", "致命", "超时", "拒绝", "无法", "エラー", "오류"),
)
"""Every match of the patterns above contains one of these in lower case. Searching for them is much faster."""

_SEVERE_WEIGHT = 4
SEVERE = 2
_UNKNOWN = -1
_LINE_CHARS = 1_000
_CHARS_BEFORE, _CHARS_AFTER = 16, 40
_CALENDAR = frozenset("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec Mon Tue Wed Thu Fri Sat Sun".split())
_MASKING = str.maketrans("123456789\"'{}[](),;|", "0" * 9 + " " * 11)


class ErrorLines(NamedTuple):
    """Lines that report the same error."""

    first: int
    last: int
    number: int
    severity: int


def severity(text: str, stems: Sequence[str]) -> int:
    """2 for a text that names an error as such, 1 for one with a word of failure, 0 for any other.

    Reads 1,000 characters, and looks closely only at the first and the last of each of the `stems`, which are those of
    `stems_in` the text or a longer one.
    """
    text = text[:_LINE_CHARS]
    lower = text.lower()
    worst = 0
    for stem in stems:
        first = lower.find(stem)
        for place in {first, lower.rfind(stem)} if first >= 0 and worst < SEVERE else ():
            around = slice(max(0, place - _CHARS_BEFORE), place + _CHARS_AFTER)
            if stem in _STATUS:
                worst = SEVERE if _SERVER_ERROR.search(lower[around]) else worst
            else:
                worst = max(worst, _severity_of(text[around], lower[around]))
    return worst


def _severity_of(text: str, lower: str) -> int:
    if ("err" in lower or "fail" in lower or "exc" in lower or not text.isascii()) and _NONE.search(text):
        text = _NONE.sub("", text)
    return SEVERE if _SEVERE.search(text) else 1 if _ERROR.search(text) else 0


def error_start(text: str) -> int | None:
    """The index of the first word of an error in a text, or None."""
    found = _SEVERE.search(text) or _SERVER_ERROR.search(text) or _ERROR.search(text)
    return found.start() if found else None


def stems_in(text: str) -> list[str]:
    """The stems of error words that a text contains. A text with none of them has severity 0."""
    lower = text.lower()
    return [stem for stem in _STEMS if stem in lower]


class Masked(NamedTuple):
    """Lines without what varies between lines of one kind."""

    digits: list[str]
    """The lines with 0 for each digit and spaces for brackets, quotes and commas."""
    templates: list[str]
    """The lines with `#` for words with a digit or a path, and without values after an equals sign."""


def mask_lines(lines: Sequence[str]) -> Masked:
    """The lines masked, in one pass."""
    digits = "\n".join(lines).translate(_MASKING).split("\n")
    made = {line: _template(line[:_LINE_CHARS]) for line in set(digits)}
    return Masked(digits, [made[line] for line in digits])


def _template(line: str) -> str:
    return " ".join([word if word.isalpha() and word not in _CALENDAR else _mask(word) for word in line.split()])


def _mask(word: str) -> str:
    if not word.isascii():
        return word.replace("0", "")
    return "#" if "0" in word or "/" in word or word in _CALENDAR else word.partition("=")[0]


def find_errors(lines: Sequence[str], masked: Masked | None = None) -> list[ErrorLines]:
    """The errors that the lines report, each once: the severe and the rare first.

    One that is seen sixteen times as often ranks like one that is less severe by one.
    """
    stems = stems_in("\n".join(lines))
    if not stems:
        return []
    masked = mask_lines(lines) if masked is None else masked
    found: dict[tuple[str, int], list[int]] = {}
    for index, level in enumerate(_severities(lines, masked.digits, stems)):
        if level:
            seen = found.setdefault((masked.templates[index], level), [index, index, 0])
            seen[1] = index
            seen[2] += 1
    errors = [ErrorLines(first, last, count, level) for (_, level), (first, last, count) in found.items()]
    return sorted(errors, key=_weight)


def _severities(lines: Sequence[str], digits: Sequence[str], stems: Sequence[str]) -> Iterator[int]:
    """The severity of each line. Lines that differ in numbers only are read once, where the numbers say nothing."""
    known: dict[str, int] = {}
    for line, key in zip(lines, digits, strict=True):
        level = known.get(key)
        if level is None:
            level = severity(line, stems)
            known[key] = _UNKNOWN if _has_stem(key, stems) and _BY_NUMBER.search(key, 0, _LINE_CHARS) else level
        elif level == _UNKNOWN:
            level = severity(line, stems)
        yield level


def _has_stem(text: str, stems: Sequence[str]) -> bool:
    lower = text[:_LINE_CHARS].lower()
    return any([stem in lower for stem in stems])  # noqa: C419 - quicker than a generator


def _weight(error: ErrorLines) -> tuple[float, int]:
    return log2(error.number) - _SEVERE_WEIGHT * error.severity, error.first
