"""Counting formulas that other systems use, bit by bit: what plimsoll's own counters are held against.

None of them decides anything. All count identifiers, JSON, code and base64 two to four times too low, so a
request that they call small enough is refused (WE-01). Each says below what else is known to be wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import ceil
from operator import add

from plimsoll.message import Message, Text, ToolCall


def two_thirds_of_han_quarter_of_rest_down(text: str) -> int:
    """Two tokens for three Han (U+4E00 to U+9FA5), one for four other code points, rounded down, at least 1 (S0-10).

    Rounding down each of many short texts loses up to a token a time (WE-05). Kana, Hangul, fullwidth punctuation and rarer
    Han count as letters.
    """
    if not text:
        return 0
    han = _between(text, 0x4E00, 0x9FA5)
    return max(1, int(han / 1.5 + (len(text) - han) / 4))


def two_thirds_of_han_quarter_of_rest_up(text: str) -> int:
    """The same with UTF-16 units for characters, rounded up (S1-23). Characters beyond U+FFFF count as two letters."""
    han = _between(text, 0x4E00, 0x9FA5)
    return ceil(han / 1.5 + (_utf16_units(text) - han) / 4)


def quarter_of_bytes(text: str) -> int:
    """UTF-8 bytes divided by four, rounded down, at least 1 (S0-36). Disagrees with the counter it stands in for."""
    return max(1, len(text.encode("utf-8", "surrogatepass")) // 4) if text else 0


def weight_per_character(text: str) -> int:
    """Over code points 1.5 for Han, 1 for CJK punctuation, 0.25 for space, tab, line feed, else 0.3; up (S2-06).

    Meant never to be low, and is for all that agents carry most. 0.3 is 3.3 characters a token, not 4 as its source says;
    kana, Hangul, fullwidth `，！？`, emoji and Cyrillic are all 0.3, and adding floats one by one can be off by one (WE-04).
    """
    return ceil(reduce(add, map(_weight, text), 0.0))


def blend_of_characters_per_token(text: str) -> int:
    """UTF-16 length over a mean of 1.8 and 4 characters a token by the share of Han (U+4E00 to U+9FFF), rounded up (S3-03).

    Averages characters per token where tokens should be added (WE-02): 50 Han and 200 letters are 71, not 78 as its own
    table says. Longer text can be fewer tokens (WE-03): 1,000 Han are 556, with 100 letters after them 550.
    """
    if not text:
        return 0
    length = _utf16_units(text)
    share = _between(text, 0x4E00, 0x9FFF) / length
    return ceil(length / (share * 1.8 + (1 - share) * 4))


FORMULAS: dict[str, Callable[[str], int]] = {
    formula.__name__: formula
    for formula in (
        two_thirds_of_han_quarter_of_rest_down,
        two_thirds_of_han_quarter_of_rest_up,
        quarter_of_bytes,
        weight_per_character,
        blend_of_characters_per_token,
    )
}
"""By name."""


def bytes_arguments(message: Message, count: Callable[[str], int]) -> int:
    """4 + content + name + for each call its name and a quarter of the bytes of its arguments (S0-11): no role, no ids."""
    calls = sum(count(call.name) + _quarter(call.arguments) for call in _calls(message))
    return 4 + _content(message, count) + (count(message.name) if message.name else 0) + calls


def ten_a_call(message: Message, count: Callable[[str], int]) -> int:
    """4 + role + content + for each call its name, its arguments and 10 (S1-20, S1-21)."""
    calls = sum(count(call.name) + count(call.arguments) + 10 for call in _calls(message))
    return 4 + count(message.role) + _content(message, count) + calls


def content_only(message: Message, count: Callable[[str], int]) -> int:
    """4 + content (S3-23)."""
    return 4 + _content(message, count)


def tool_schema(name: str, description: str, schema: str, count: Callable[[str], int]) -> int:
    """Name, description, a quarter of the schema's bytes, and ten (S0-13)."""
    return count(name) + count(description) + _quarter(schema) + 10


def _quarter(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass")) // 4


def _calls(message: Message) -> list[ToolCall]:
    return [part for part in message.parts if isinstance(part, ToolCall)]


def _content(message: Message, count: Callable[[str], int]) -> int:
    words = (part.text if isinstance(part, Text) else getattr(part, "content", "") for part in message.parts)
    return sum(map(count, words))


def _between(text: str, first: int, last: int) -> int:
    return 0 if text.isascii() else sum(first <= ord(character) <= last for character in text)


def _utf16_units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _weight(character: str) -> float:
    code = ord(character)
    if 0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF:
        return 1.5
    if 0x3000 <= code <= 0x303F:
        return 1.0
    return 0.25 if character in " \n\t" else 0.3
