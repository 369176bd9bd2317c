"""Days that headings name, and words like `yesterday` said as the day they mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTH = r"(?P<{0}>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{{0,6}}\.?"
_DAY = regex(
    r"(?<![0-9])(?P<y>[0-9]{4})[-/.年](?P<m>[0-9]{1,2})[-/.月](?P<d>[0-9]{1,2})(?![0-9])"
    rf"|(?<![0-9])(?P<d1>[0-9]{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH.format('n1')},?\s(?P<y1>[0-9]{{4}})(?![0-9])"
    rf"|\b{_MONTH.format('n2')}\s(?P<d2>[0-9]{{1,2}})(?:st|nd|rd|th)?,?\s(?P<y2>[0-9]{{4}})(?![0-9])",
    re.IGNORECASE,
)
_RELATIVE = regex(
    r"(?=[lnty昨前明后去上下])(?<![\"'“《])(?<!like )(?<!the )(?:\b(?P<day>yesterday|last night|tomorrow)\b"
    r"|\b(?P<which>last|next|this) (?P<unit>month|year)\b(?! of\b)"
    r"|\b(?:this past|last) (?P<weekday>mon|tues?|wed|thu(?:rs)?|fri|sat|sun)(?:(?:nes|ur)?day)?\b(?! (?:of|in)\b)"
    r"|(?P<zh>昨天|昨晚|前天|明天|后天|去年|明年|前年|上个?月|下个?月))",
    re.IGNORECASE,
)
_HINTS = ("yesterday", "tomorrow", "last ", "next ", "this ")
"""What `_RELATIVE` finds in English has one of these."""

_NAMED = rf"[0-9]{{1,2}} (?:{'|'.join(_MONTHS)})"
_NUMBERED = "[0-9]{1,2}-[0-9]{1,2}"
_SHOWN = regex(rf"(?P<day>{_NAMED}) (?P<year>[0-9]{{4}})|(?P<year_zh>[0-9]{{4}})-(?P<day_zh>{_NUMBERED})")
_YEARLESS = regex(f"{_NAMED}|{_NUMBERED}")
"""What `shown` makes, with its year and without."""

_BESIDE_DAYS = regex(
    r"\b(?:session|chat|conversation|date|time|day|on|at|the|[ap]m|utc|gmt|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6})\b"
    r"|(?:星期|周)[一二三四五六日天]|日期|时间|会话|对话|[上下]午|[日号时分]",
    re.IGNORECASE,
)
"""What stands beside a day in a heading."""

_DAYS_OFF = {"yesterday": -1, "last night": -1, "tomorrow": 1, "昨天": -1, "昨晚": -1, "前天": -2, "明天": 1, "后天": 2}
_YEARS_OFF = {"去年": -1, "明年": 1, "前年": -2}


def day_in(text: str) -> dt.date | None:
    """The day that a heading names with its year; None where it names none."""
    found = _DAY.search(text)
    return found and _day_of(found)


def days_in(text: str) -> Iterator[dt.date]:
    """The days that a text names with their years."""
    return (day for found in _DAY.finditer(text) if (day := _day_of(found)) is not None)


def _day_of(found: re.Match[str]) -> dt.date | None:
    import datetime as dt  # noqa: PLC0415 - only where a day is named

    parts = found.groupdict()
    named = (parts["n1"] or parts["n2"] or "").lower()
    month = next((at for at, name in enumerate(_MONTHS, 1) if name.lower()[:3] == named), 0) or int(parts["m"])
    try:
        return dt.date(
            *(int(parts["y"] or parts["y1"] or parts["y2"]), month, int(parts["d"] or parts["d1"] or parts["d2"]))
        )
    except ValueError:
        return None


def is_day(line: str) -> bool:
    """Whether a line names a day and says nothing else."""
    return day_in(line) is not None and not any(map(str.isalpha, _BESIDE_DAYS.sub("", _DAY.sub("", line))))


def shown(day: dt.date, language: str) -> str:
    """`8 May 2023`, or `2023-5-8`."""
    if language == "zh":
        return f"{day.year}-{day.month}-{day.day}"
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def without_year(heading: str, before: str) -> str:
    """A day as `shown`, without its year where the heading `before` it is a day of the same year."""
    one, other = _SHOWN.fullmatch(heading), _SHOWN.fullmatch(before)
    if one is None or other is None or _year(one) != _year(other):
        return heading
    return one["day"] or one["day_zh"]


def with_year(heading: str, before: str) -> str:
    """The reverse: a day that was shown without its year, with that of the day `before` it."""
    found = _SHOWN.fullmatch(before)
    if found is None or not _YEARLESS.fullmatch(heading):
        return heading
    return f"{_year(found)}-{heading}" if found["year_zh"] else f"{heading} {_year(found)}"


def _year(shown: re.Match[str]) -> str:
    return shown["year"] or shown["year_zh"]


def resolved(text: str, today: dt.date) -> str:
    """The text with `yesterday`, `last Friday`, `next month` and the like as the day, month or year they mean on that day."""
    if text.isascii() and not any(map(text.lower().__contains__, _HINTS)):
        return text
    return _RELATIVE.sub(lambda found: _meant(found, today), text)


def _meant(found: re.Match[str], today: dt.date) -> str:
    said = found[0].lower()
    try:
        if found["zh"]:
            return _meant_zh(said, today)
        if found["unit"]:
            off = {"last": -1, "this": 0, "next": 1}[found["which"].lower()]
            return str(today.year + off) if found["unit"].lower() == "year" else _MONTHS[(today.month - 1 + off) % 12]
        if found["weekday"]:
            weekday = next(at for at, name in enumerate(_DAYS) if name.lower() == found["weekday"][:3].lower())
            day = _later(today, -((today.weekday() - weekday - 1) % 7) - 1)
            return f"{_DAYS[weekday]} {day.day} {_MONTHS[day.month - 1]}"
        day = _later(today, _DAYS_OFF[said])
    except (OverflowError, ValueError):
        return found[0]
    return f"{day.day} {_MONTHS[day.month - 1]}" + (" night" if said == "last night" else "")


def _meant_zh(said: str, today: dt.date) -> str:
    if said in _YEARS_OFF:
        return f"{today.year + _YEARS_OFF[said]}年"
    if said.endswith("月"):
        return f"{(today.month - 1 + (-1 if said[0] == '上' else 1)) % 12 + 1}月"
    day = _later(today, _DAYS_OFF[said])
    return f"{day.month}月{day.day}日" + ("晚" if said == "昨晚" else "")


def _later(day: dt.date, days: int) -> dt.date:
    """The date so many days after another. Raises OverflowError or ValueError where the calendar has none."""
    return day.fromordinal(day.toordinal() + days)
