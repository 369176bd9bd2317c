"""Errors in text: how severe a text is, and the lines of a result that report errors, the most telling first.

A line is masked to a template, its numbers and values left out, so that an error that repeats counts as one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import log2

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex

_SEVERE = regex(
    r"\b(?:ERRORS?|FATAL|CRITICAL|PANIC|EMERG|ALERT|SEVERE|FAIL|FAILED|FAILURE|EXCEPTION)\b|Traceback \(most recent"
    r"|\b(?:[Ff]atal|[Pp]anic|[Cc]ritical|[Ee]rror|[Ee]xception)(?: ?[:!]|\])|\b[Ee]rror(?:\[\w{1,20}\]| [A-Z]{1,5}-?[0-9]{1,6}):"
    r"|\w(?:Error|Exception)\b|^E  +|✗|✘"
    r"|[Ss]egfault|[Ss]egmentation fault|[Oo]ut of memory|\bOOM\b|错误|失败|异常|崩溃|致命|エラー|오류"
)
_ERROR = regex(
    r"\b(?:errors?|err|fail|fails|failed|failures?|failing|fatal|panic|panicked|exceptions?|traceback|critical|denied|refused"
    r"|abort(?:ed)?|rejected|cannot|can't|could not|undefined|unable|unreachable|unexpected|invalid|corrupt\w{0,6}|not found"
    r"|no such|time-?outs?|tim(?:ed?|ing) out|crash\w{0,14}|(?:oom)?killed"
    r"|\w{0,12}backoff|evicted|unmet|missing|exited \([1-9][0-9]{0,3}"
    r"|exit(?:ed)? (?:code|status|with code|with status):? [1-9][0-9]{0,3}|assert(?:ion)?(?:error)?)\b|超时|拒绝|无法"
)
"""In lower case."""

_NONE = regex(
    r"\b(?:0|no|zero|without|non)[ -](?:errors?|failures?|failed|exceptions?)\b"
    r"|\b(?:errors?|err|failures?|failed|exceptions?)[\"']? ?[:=] ?[\"']?"
    r"(?:0(?=[\s,;\"'}\])]|\Z)|(?:none|null|false|no|nil)(?=\s{0,4}(?:[,;\"'}\])]|\Z)))"
    r"|没有(?:错误|异常)|无(?:错误|异常)",
    re.IGNORECASE,
)
"""An error that did not happen."""

_FAILURES, _NONE_WORDS = ("err", "fail", "exc"), ("0", "no", "zero", "with", "null", "false", "nil")
"""In ASCII, a match has one of each in lower case."""

_SERVER_ERROR = regex(r"http/[0-9.]{1,4}\"? 5[0-9]{2}\b|\bstatus(?:[ _]?code)?[\"']?[=: ]{1,3}\"?5[0-9]{2}\b")

_BY_NUMBER = regex(
    r"(?:err(?:or)?s?|fail(?:ure)?s?|failed|exceptions?)[\"']? {0,2}[:=]|status|exit|[0-9] (?:err|fail|exc)|HTTP/",
    re.IGNORECASE,
)
"""In a line whose digits may decide whether there is an error."""

_STATUS = ("http/", "status")
_STEMS = (
    *(
        "err fail fatal panic exception traceback critical emerg alert severe denied refused abort rejected cannot "
        "undefined unable unreachable unexpected invalid corrupt timeout crash killed backoff evicted assert segfault "
        "segmentation oom unmet missing exited can't time-out ✗ ✘ 错误 失败 异常 崩溃 致命 超时 拒绝 无法 エラー 오류"
    ).split(),
    *"could not|not found|no such|timed out|time out|timing out|out of memory|e   |exit ".split("|"),
    *_STATUS,
)
"""Every match of the patterns above contains one of these in lower case. Searching for them is much faster."""

_LABELS, _LABELLED_MIN, _LABEL_CHARS = frozenset({"error", "err", "fatal"}), 3, 40
_SEVERE_WEIGHT = 4
SEVERE = 2
_LINE_CHARS = 1_000
_CHARS_BEFORE, _CHARS_AFTER = 16, 40
_CALENDAR = frozenset("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec Mon Tue Wed Thu Fri Sat Sun".split())
_MASKING = str.maketrans("123456789\"'{}[](),;|", "0" * 9 + " " * 11)
_DELETED = b"0123456789abcdef"
"""Digits, and letters of hexadecimal numbers: what is left is the same in lines that differ in times, counts and ids."""
_TEMPLATES_MAX = 4_000
"""Where there are more kinds of lines, a kind is told by the first characters of its lines."""
_KIND_BYTES = 24
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")


class ErrorLines(NamedTuple):
    """Lines that report the same error."""

    first: int
    last: int
    number: int
    severity: int


def severity(text: str, stems: Sequence[str]) -> int:
    """2 for a text that names an error as such, 1 for one with a word of failure, 0 for any other.

    Reads 1,000 characters, and looks closely only at the first and the last of each of the `stems`, which are those of
    `stems_in` the text or a longer one, or those that `containing` says it has.
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
    may_be_none = any(map(lower.__contains__, _FAILURES)) and any(map(lower.__contains__, _NONE_WORDS))
    if (may_be_none or not text.isascii()) and _NONE.search(text):
        text = _NONE.sub("", text)
        lower = text.lower()
    return SEVERE if _SEVERE.search(text) else 1 if _ERROR.search(lower) else 0


def error_start(text: str) -> int | None:
    """The index of the first word of an error in a text, or None."""
    lower = text.replace("İ", "i").lower()  # no other character is longer in lower case, so indexes stay
    found = _SEVERE.search(text) or _SERVER_ERROR.search(text) or _ERROR.search(lower)
    return found.start() if found else None


def stems_in(text: str) -> list[str]:
    """The stems of error words that a text contains. A text with none of them has severity 0."""
    lower = text.lower()
    return [stem for stem in _STEMS if stem in lower]


def kinds_of(lines: Sequence[str]) -> Sequence[object]:
    """For each line its kind: equal for lines that differ in numbers, ids, paths and values after an equals sign.

    Lines must not contain line breaks.
    """
    joined = "\n".join(lines).encode("utf-8", "surrogatepass")
    keys = joined.translate(None, _DELETED).split(b"\n")
    firsts = dict(zip(reversed(keys), reversed(lines), strict=True))
    if len(firsts) > _TEMPLATES_MAX:
        return [key[:_KIND_BYTES] for key in keys]
    templates = {key: _template(line[:_LINE_CHARS].translate(_MASKING)) for key, line in firsts.items()}
    return [templates[key] for key in keys]


def _template(line: str) -> str:
    return " ".join([word if word.isalpha() and word not in _CALENDAR else _mask(word) for word in line.split()])


def _mask(word: str) -> str:
    if not word.isascii():
        return word.replace("0", "")
    return "#" if "0" in word or "/" in word or word in _CALENDAR else word.partition("=")[0]


def containing(lines: Sequence[str], stems: Iterable[str]) -> dict[int, list[str]]:
    """The indexes of the texts that contain one of the stems, in order, and which of them each contains."""
    lower = "\n".join(lines).lower()
    if lower.count("\n") >= len(lines):
        lower = "\n".join([line.replace("\n", " ") for line in lines]).lower()
    ends = list(accumulate([len(line) + 1 for line in lower.split("\n")]))
    found: defaultdict[int, list[str]] = defaultdict(list)
    for stem in stems:
        at = lower.find(stem)
        while at >= 0:
            index = bisect_right(ends, at)
            found[index].append(stem)
            at = lower.find(stem, ends[index])
    return dict(sorted(found.items()))


def find_errors(lines: Sequence[str]) -> list[ErrorLines]:
    """The errors that the lines report, each once: the severe and the rare first.

    One that is seen sixteen times as often ranks like one that is less severe by one.
    """
    stems = stems_in("\n".join(lines))
    stems_of = containing(lines, stems)
    candidates = [lines[index] for index in stems_of]
    kinds = kinds_of(candidates) if candidates else ()
    found: dict[tuple[object, int], list[int]] = {}
    levels = _with_labelled(candidates, _severities(candidates, stems_of.values()))
    for index, kind, level in zip(stems_of, kinds, levels, strict=True):
        if level:
            seen = found.setdefault((kind, level), [index, index, 0])
            seen[1] = index
            seen[2] += 1
    errors = [ErrorLines(first, last, count, level) for (_, level), (first, last, count) in found.items()]
    return sorted(errors, key=_weight)


def _severities(lines: Sequence[str], stems: Iterable[Sequence[str]]) -> list[int]:
    """The severity of each line, which has these stems. Those that differ in numbers only are read once, unless numbers matter."""
    firsts: dict[str, tuple[str, int]] = {}
    by_number: dict[str, bool] = {}
    levels: list[int] = []
    for line, found in zip(lines, stems, strict=True):
        key = line[:_LINE_CHARS].translate(_WITHOUT_DIGITS)
        first = firsts.get(key)
        if first is not None and key not in by_number:
            by_number[key] = _BY_NUMBER.search(first[0], 0, _LINE_CHARS) is not None
        if first is None or by_number[key]:
            level = severity(line, found)
            firsts.setdefault(key, (line, level))
        else:
            level = first[1]
        levels.append(level)
    return levels


def _with_labelled(lines: Sequence[str], levels: list[int]) -> list[int]:
    """The severities, with lines that a program labels as errors among the severe ones: `npm error code 1`, `npm ERR! code 1`."""
    labels = [_label(line) if level == 1 else None for line, level in zip(lines, levels, strict=True)]
    counts = Counter(labels)
    return [
        SEVERE if label is not None and counts[label] >= _LABELLED_MIN else level
        for label, level in zip(labels, levels, strict=True)
    ]


def _label(line: str) -> str | None:
    """The first words of a line whose second one says that it is an error."""
    words = line[:_LABEL_CHARS].split(None, 2)[:2]
    return words[0] if len(words) > 1 and words[1].lower().rstrip("!:") in _LABELS else None


def _weight(error: ErrorLines) -> tuple[float, int]:
    return log2(error.number) - _SEVERE_WEIGHT * error.severity, error.first
