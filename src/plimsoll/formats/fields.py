"""The fields that a provider accepts, as data. Other fields of a message are kept in the history and not sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

Fields: TypeAlias = frozenset[str]

ByType: TypeAlias = Mapping[str, Fields]
"""The fields of each type of block or item. A type that is not in it is newer than this version: nothing is known of its fields."""


def fields(words: str) -> Fields:
    """Names of fields, separated by spaces. One with `!` may be left out but not be null, as it is in the dump of a response."""
    return frozenset(words.split()) | frozenset(words.replace("!", "").split())


def extra(wire: Mapping[str, Any], allowed: Fields) -> list[str]:
    """Fields that are not among the allowed ones, or are null and may not be, in order."""
    if wire.keys() <= allowed and None not in wire.values():
        return []
    return [field for field in wire if field not in allowed or (wire[field] is None and f"{field}!" in allowed)]


def trimmed(own: dict[str, Any], found: Iterable[tuple[dict[str, Any], Fields]]) -> dict[str, Any]:
    """A message that plimsoll wrote without the fields that the API refuses in the objects `found` in it.

    Those are the fields of a response, and those that a host keeps for itself.
    """
    for wire, allowed in found:
        for field in extra(wire, allowed):
            del wire[field]
    return own


def typed(blocks: object, by_type: ByType) -> Iterator[tuple[dict[str, Any], Fields]]:
    """The blocks of a list whose type is known, each with the fields it may have."""
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, dict):
            kind = block.get("type")
            allowed = by_type.get(kind) if isinstance(kind, str) else None
            if allowed is not None:
                yield block, allowed
