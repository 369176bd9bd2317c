"""What a conversation says, to be asked whether it holds a path, an identifier, a number or a date, in whatever style."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.coverage import terms
from plimsoll.summary.ledger.dates import day_in, days_in
from plimsoll.summary.quantities import Quantities

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_KNOWN = regex(r"(?:utf|sha|md|aes|rsa|iso|rfc|http|ipv|base|x|arm|win|gpt|tls)-?\d{1,4}(?:_64)?")
"""What is known by its number."""

_SIZE = regex(r"~?(?:eur|usd|gbp|chf|cny|rmb|jpy|inr|cad|aud)?(\d[\d,]*\d)[a-z]{0,4}")
_SERIAL = regex(r"(#|[a-z ]+ |.*[a-z]{2}[-_](?:\d{1,9}[-_])?|.*/)(?!20[0-4]\d$)(\d{2,})")
"""A name that ends with a number. A year is none."""

_DAY = regex(r"\d{4}-\d\d-\d\d(?:t\d\d)?")
_DOTTED = regex(r"v?(?:(\d+\.\d+\.)\d+|\d+(?:\.\d+){3})")
_SERIES = regex(r"(?<!\d)(?<!\d\.)(?:\d+\.){2}")
_ADDRESS = regex(r"(?<!\d)(?<!\d\.)(?:\d+\.){3}\d+")
"""Of a version two numbers are asked, of an address four."""

_SHORT_DATE = regex(r"[0-3]?\d\.[01]?\d\.\d\d")
_MAIL = regex(r"[\w.+-]+@[\w.-]+\.[a-z]{2,}")
_FILE = regex(
    r"(?<![\w-])[\w-]{4,80}\.(?:[jt]sx?|py|go|rs|md|json|ya?ml|toml|txt|html|css|java|cpp|rb|php|sh|sql|csv)(?![\w.])",
    re.ASCII,
)
_PLAIN_NUMBER = regex(r"[a-z]?\d{1,4}[a-z]?", re.ASCII)
"""Such as a line, an hour or a step. Ranges of them are in no conversation."""

_SEPARATOR = regex(r"[^0-9A-Za-z]+|_")
_GROUPED = regex(r"(?<=\d),(?=\d{3})")
_BETWEEN_DIGITS = regex(r"(?<=\d)[-./ ](?=\d)")
_BETWEEN_WORDS = regex(r"[\W_]+")
_TOKEN = regex(r"[0-9a-z]+")

_DAYS_MAX = 62
"""So far from a day that is named may be one that words such as `last month` mean."""

_PART_CHARS_MIN, _DIGITS_MIN, _SQUEEZED_CHARS_MIN = 4, 5, 6


class Grounds:
    """The texts of a conversation, and those of them that user and assistant spoke."""

    def __init__(self, texts: Iterable[str], spoken: Iterable[str]) -> None:
        self._folded = "\n".join(texts).casefold()
        self.spoken = tuple(spoken)

    @cached_property
    def spoken_terms(self) -> frozenset[str]:
        """The terms of what user and assistant said."""
        return frozenset[str]().union(*(terms(text.casefold()) for text in self.spoken))

    @cached_property
    def _digits(self) -> str:
        return _GROUPED.sub("", self._folded)

    @cached_property
    def _joined_digits(self) -> str:
        """The text with each date and telephone number as one number."""
        return _BETWEEN_DIGITS.sub("", self._folded)

    @cached_property
    def _squeezed(self) -> str:
        """The text without anything between its words, for names in another style."""
        return _BETWEEN_WORDS.sub("", self._folded)

    @cached_property
    def _tokens(self) -> frozenset[str]:
        """The words and numbers as they stand: two line numbers in a list are not one large number."""
        return frozenset(_TOKEN.findall(self._folded))

    @cached_property
    def _quantities(self) -> Quantities:
        return Quantities(self._folded)

    @cached_property
    def _days(self) -> frozenset[int]:
        return frozenset(day.toordinal() for day in days_in(self._folded))

    @cached_property
    def _series(self) -> frozenset[str]:
        return frozenset(_SERIES.findall(self._folded))

    @cached_property
    def _addresses(self) -> frozenset[str]:
        return frozenset(_ADDRESS.findall(self._folded))

    @cached_property
    def _files(self) -> frozenset[str]:
        """The names of files without their suffixes."""
        return frozenset(name.rsplit(".", 1)[0] for name in _FILE.findall(self._folded))

    def mentions(self, term: str) -> bool:
        """Whether a stem stands anywhere in the conversation, a tool's text included."""
        return term in self._folded

    def holds(self, claim: str, beside: Sequence[float] = ()) -> bool:
        """Whether a path, identifier, number or date stands in the conversation in any style, or each of its longer parts does.

        A number may also be one of the conversation's, rounded or in another unit, or follow from those `beside` it in its
        statement.
        """
        own = claim.casefold().strip(".-_")
        if version := _DOTTED.fullmatch(own):
            return self._holds_dotted(own, version[1])
        if own in self._folded or _KNOWN.fullmatch(own):
            return True
        if size := _SIZE.fullmatch(own):
            return len(size[1]) < _DIGITS_MIN or self._holds_number(size[1], beside)
        if _DAY.fullmatch(own):
            return self._holds_day(own)
        squeezed = _BETWEEN_WORDS.sub("", own)
        if len(squeezed) >= _SQUEEZED_CHARS_MIN and squeezed.removesuffix("s") in self._squeezed:
            return True
        return not self._holds_another(own) and self._holds_parts(own)

    def _holds_number(self, number: str, beside: Sequence[float]) -> bool:
        bare = _GROUPED.sub("", number)
        if bare in self._digits or bare in self._joined_digits:
            return True
        return (bare != number and self._tokens.issuperset(number.split(","))) or self._quantities.support(
            number, beside
        )

    def _holds_dotted(self, own: str, series: str | None) -> bool:
        if series is None:
            return own.removeprefix("v") in self._addresses
        return series in self._series or _SHORT_DATE.fullmatch(own) is not None

    def _holds_day(self, own: str) -> bool:
        day = day_in(own)
        return not self._days or (day is not None and any(abs(day.toordinal() - at) <= _DAYS_MAX for at in self._days))

    def _holds_another(self, own: str) -> bool:
        """Whether the conversation names another address, a file of another type, or another number of the kind instead."""
        if serial := _SERIAL.fullmatch(own):
            return serial[2] not in self._tokens or (serial[1][-1] not in "# " and serial[1] in self._folded)
        name = own.rsplit("/", 1)[-1]
        is_other_file = _FILE.fullmatch(name) and name.rsplit(".", 1)[0] in self._files and name not in self._folded
        return bool(is_other_file or _MAIL.fullmatch(own))

    def _holds_parts(self, own: str) -> bool:
        parts = [part for part in _SEPARATOR.split(own) if part and _PLAIN_NUMBER.fullmatch(part) is None]
        telling = [
            part for part in parts if len(part) >= (_DIGITS_MIN if any(map(str.isdigit, part)) else _PART_CHARS_MIN)
        ]
        if telling or _SERIAL.fullmatch(own):
            return all(part in self._folded for part in telling)
        return self._tokens.issuperset(parts)
