"""The days that a question asks about, and the day a message was said."""

from __future__ import annotations

import datetime as dt
import re
from calendar import monthrange

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.summary.ledger.dates import day_in

_DAY_MS = 24 * 60 * 60 * 1000
_EPOCH = dt.date(1970, 1, 1).toordinal()

_HEADING = regex(r"\s{0,8}\[([^\]\n]{6,80})\]")

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = r"(?P<{}>jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|ust|ember|tember|ober)?"
_ASKED = regex(
    rf"\b(?:(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?{_MONTH.format('month')}\b\.?"
    r"(?:\s+(?P<after>[0-9]{1,2})(?:st|nd|rd|th)?\b(?!:))?(?:,?\s+(?P<year>(?:19|20)[0-9]{2})\b)?"
    r"|(?P<iso>(?:19|20)[0-9]{2}-[0-9]{1,2}(?:-[0-9]{1,2})?)\b"
    r"|(?:(?P<zhyear>(?:19|20)[0-9]{2})年)?(?P<zhmonth>[0-9]{1,2})月(?:(?P<zhday>[0-9]{1,2})[日号])?",
    re.IGNORECASE,
)
_LATER = regex(
    r"\b(?:last|this|in|on|during|since|by|until|before|after|from|of|early|late|mid|next)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_RELATIVE = regex(
    r"(?P<today>\btoday\b|今天)|(?P<yesterday>\byesterday\b|昨天)|(?P<before>\bday before yesterday\b|前天)"
    r"|(?P<week>\blast week\b|上(?:个?星期|周))|(?P<thisweek>\bthis week\b|这(?:个?星期|周)|本周)"
    r"|(?P<month>\blast month\b|上个?月)|(?P<thismonth>\bthis month\b|这个?月|本月)"
    r"|(?P<year>\blast year\b|去年)|(?P<thisyear>\bthis year\b|今年)",
    re.IGNORECASE,
)


class Days(NamedTuple):
    """A range of days as ordinals of the calendar, both included, and the words that named it."""

    first: int
    last: int
    words: str


def day_said(text: str) -> int:
    """The ordinal of the day that a message names in a bracket at its beginning, else 0."""
    found = _HEADING.match(text)
    day = day_in(found[1]) if found else None
    return day.toordinal() if day else 0


def day_of(at_ms: int) -> int:
    """The ordinal of the day, in UTC, of a time in milliseconds; 0 for a time that no calendar has."""
    day = _EPOCH + at_ms // _DAY_MS
    return day if 0 < day <= dt.date.max.toordinal() else 0


def asked_days(query: str, today: int) -> Days | None:
    """The days that a question names, as of the ordinal `today`; None if it names none or they cannot be known."""
    if today <= 0:
        return None
    now = dt.date.fromordinal(today)
    try:
        return _named(query, now) or _relative(query, now)
    except (ValueError, OverflowError):
        return None


def _named(query: str, now: dt.date) -> Days | None:
    for found in _ASKED.finditer(query):
        if found["iso"]:
            year, month, *days = map(int, found["iso"].split("-"))
            return _range(year, month, days[0] if days else 0, found[0])
        if found["zhmonth"]:
            year = int(found["zhyear"] or 0) or _year_of(int(found["zhmonth"]), now)
            return _range(year, int(found["zhmonth"]), int(found["zhday"] or 0), found[0])
        day = int(found["day"] or found["after"] or 0)
        if not (day or found["year"] or _LATER.search(query[: found.start()])):
            continue  # "may" is also a verb
        month = _MONTHS.index(found["month"][:3].lower()) + 1
        return _range(int(found["year"] or _year_of(month, now)), month, day, found[0])
    return None


def _year_of(month: int, now: dt.date) -> int:
    """The year of the newest such month that has begun."""
    return now.year if month <= now.month else now.year - 1


def _range(year: int, month: int, day: int, words: str) -> Days:
    first = dt.date(year, month, day or 1).toordinal()
    return Days(first, first if day else first + monthrange(year, month)[1] - 1, words)


def _relative(query: str, now: dt.date) -> Days | None:
    found = _RELATIVE.search(query)
    if found is None or found.lastgroup is None:
        return None
    today, monday = now.toordinal(), now.toordinal() - now.weekday()
    month = dt.date(now.year, now.month, 1).toordinal()
    before = dt.date.fromordinal(month - 1)
    ranges = {
        "today": (today, today),
        "yesterday": (today - 1, today - 1),
        "before": (today - 2, today - 2),
        "week": (monday - 7, monday - 1),
        "thisweek": (monday, today),
        "month": (month - before.day, month - 1),
        "thismonth": (month, today),
        "year": (dt.date(now.year - 1, 1, 1).toordinal(), dt.date(now.year - 1, 12, 31).toordinal()),
        "thisyear": (dt.date(now.year, 1, 1).toordinal(), today),
    }
    return Days(*ranges[found.lastgroup], found[0])
