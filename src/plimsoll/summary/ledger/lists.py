"""What an assistant's list names: the heads of its items on one line, behind what the list is of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.summary.ledger.prose import plain
from plimsoll.summary.ledger.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ITEM = regex(r"([ \t]{0,12})(?:[-*+•]|[0-9]{1,3}[.)、])[ \t]{1,4}(?=\S)")
_STRONG = regex(r"(?:\*\*|__)([^*_\n]{2,80})(?:\*\*|__)")
_HEAD = regex(r"([^\n]{2,80}?)(?:\s[-–—]\s|:\s|：)")
_LEAD = regex(r"(?i:[^\n]*\b(?:here|below)(?:['’]s| are| is) (?:some |a few |a list of |[0-9]{1,2} )?)")
_TO_YOU = regex(r",? (?:(?:that|which) )?you (?:might|may|could|can|should|would|will)\b|,? (?:to consider|for you)\b")
_ITEMS_MIN, _WHOLE_CHARS_MAX, _LEAD_CHARS_MAX = 3, 40, 90
"""Items of a list whose heads are told; the length of an item that is a head itself; that of what a list is of."""


class _Item(NamedTuple):
    indent: int
    head: str


def named_in_lists(text: str) -> list[str]:
    """A line for each list of names in a text: "a trip of a day: Bend, Astoria, Hood River". Linear."""
    return [told for lead, items in _lists(text) if (told := _told(lead, items))] if "\n" in text else []


def _lists(text: str) -> Iterator[tuple[str, list[_Item]]]:
    """The items of each list, and the line in front of it."""
    lead, items = "", list[_Item]()
    for raw in text.split("\n"):
        found = _ITEM.match(raw)
        if found is not None:
            items.append(_Item(len(found[1]), _head(raw[found.end() :])))
        elif raw and not raw[0].isspace():
            if items:
                yield lead, items
            lead, items = raw, []
    if items:
        yield lead, items


def _told(lead: str, items: Sequence[_Item]) -> str:
    """The heads of the outermost items, if a third of them or more are names."""
    outermost = min(item.indent for item in items)
    heads = [item.head for item in items if item.indent == outermost and item.head]
    if len(heads) < _ITEMS_MIN or 3 * sum(map(_is_name, heads)) < len(heads):
        return ""
    return f"{_subject(lead)}{', '.join(heads)}"


def _head(item: str) -> str:
    """What an item names in front of what it says of it; "" where it is a sentence."""
    strong = _STRONG.match(item)
    if strong is not None:
        return plain(strong[1]).rstrip(" :：.-–—")
    found = _HEAD.match(item)
    if found is not None:
        return plain(found[1]).strip()
    return plain(item).rstrip(" .") if len(item) <= _WHOLE_CHARS_MAX else ""


def _is_name(head: str) -> bool:
    """Whether a head names something: it has a capital behind its first word, quotes, or letters without case."""
    later = head.partition(" ")[2]
    return any(map(str.isupper, later)) or head[0] in "\"'“«„「『《" or head.upper() == head.lower()


def _subject(lead: str) -> str:
    """What a list is of, by the line in front of it: "Here are some trips:" is "trips: "."""
    said = sentences(plain(lead))
    if not said or not said[-1].endswith((":", "：")) or len(said[-1]) > _LEAD_CHARS_MAX:
        return ""
    subject = _TO_YOU.split(_LEAD.sub("", said[-1].rstrip(":： ")), 1)[0]
    return f"{subject}: " if subject else ""
