"""What a question asks for besides its words: the first or the last of something, a number, a time, a day, a speaker."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.recall.days import Days, asked_days

_FIRST = regex(
    r"\b(?:original(?:ly)?|initial(?:ly)?|at the (?:very )?(?:start|beginning|outset)|to begin with|(?:very )?first "
    r"(?:message|request|ask|question|thing|prompt|instruction|task)|(?:start|beginning) of (?:the|this|our))\b"
    r"|最初|一开始|最开始|最早|第一(?:句|次|个问题|条|件)",
    re.IGNORECASE,
)
_LAST = regex(r"\b(?:last|final(?:ly)?|latest|most recent(?:ly)?|newest)\b|最后|最近|最新", re.IGNORECASE)
_HOW_MANY = regex(
    r"\b(?:how (?:many|much|long|often|old|far|big|large)|number|price|cost|phone|amount|total)\b"
    r"|多少|几|电话|号码|价格|多久|多长|多大",
    re.IGNORECASE,
)
_WHEN = regex(
    r"\b(?:when|(?:what|which) (?:year|date|time|day|month))\b|什么时候|何时|哪[年天月]|日期|时间", re.IGNORECASE
)

SPOKEN_MIN = 3
"""A name before a colon is a speaker's from this many messages on; fewer are headings such as `Note:`."""


STRINGS_MAX = 8
"""Strings of a question that are looked for word for word."""

_VERBATIM = regex(
    r"[\"“”`「《]([^\"“”`「」《》\n]{3,80})[\"“”`」》]|([\w.~-]{0,80}(?:\w[/\\_.:-]\w|[a-z][A-Z])[\w./\\:~-]{0,160}\w)"
)
"""What is in quotation marks, or has a separator or a capital inside."""

_CORE = regex(r"[!-~].{0,160}[./\\_:-].{0,160}[!-~]")
"""From the first ASCII character to the last one, with a separator."""


class Cues(NamedTuple):
    """What a question asks for besides its words."""

    first: bool
    last: bool
    number: bool
    time: bool
    days: Days | None
    speakers: frozenset[str]
    """The terms of the question that are names of speakers."""
    dated: frozenset[str]
    """The terms of the question that name its days."""


def cues_of(
    query: str, asked: set[str], spoken: Mapping[str, int], today: int, terms_of: Callable[[str], set[str]]
) -> Cues:
    """The cues of a question, whose terms are `asked`. `spoken` has the number of messages by the terms of their speakers."""
    days = asked_days(query, today)
    return Cues(
        first=bool(_FIRST.search(query)),
        last=bool(_LAST.search(query)),
        number=bool(_HOW_MANY.search(query)),
        time=bool(_WHEN.search(query)),
        days=days,
        speakers=frozenset(term for term in asked if spoken.get(term, 0) >= SPOKEN_MIN),
        dated=frozenset(terms_of(days.words)) if days else frozenset(),
    )


def strings_of(query: str) -> list[str]:
    """The paths, identifiers and quotations of a question, as they are compared."""
    found = (quoted or _bare(plain) for quoted, plain in _VERBATIM.findall(query))
    return list(dict.fromkeys(one.casefold() for one in found))[:STRINGS_MAX]


def _bare(name: str) -> str:
    """A path or identifier without the words of a script without spaces around it: `改了src/a.py文件` names `src/a.py`."""
    core = None if name.isascii() else _CORE.search(name)
    return core[0] if core else name
