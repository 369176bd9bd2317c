"""The fields that a provider accepts, as data. Other fields of a message are kept in the history and not sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

Fields: TypeAlias = frozenset[str]

ByType: TypeAlias = Mapping[str, Fields]
"""The fields of each type of block or item. For a type that is not listed (newer than this version), any field is accepted."""


def fields(words: str) -> Fields:
    """Parse field names separated by spaces. A name with `!` is optional but must not be null, as it is in dumps of responses."""
    return frozenset(words.split()) | frozenset(words.replace("!", "").split())


def extra(wire: Mapping[str, Any], allowed: Fields) -> list[str]:
    """Fields that are not allowed, or that are null and must not be, in order."""
    if wire.keys() <= allowed and None not in wire.values():
        return []
    return [field for field in wire if field not in allowed or (wire[field] is None and f"{field}!" in allowed)]


def trimmed(own: dict[str, Any], found: Iterable[tuple[dict[str, Any], Fields]]) -> dict[str, Any]:
    """Remove from a message written by plimsoll the fields that the API rejects in the objects `found` in it.

    These are fields of responses, and the caller's own.
    """
    for wire, allowed in found:
        for field in extra(wire, allowed):
            del wire[field]
    return own


def typed(blocks: object, by_type: ByType) -> Iterator[tuple[dict[str, Any], Fields]]:
    """The blocks of a list with a known type, each with the fields it may have."""
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, dict):
            kind = block.get("type")
            allowed = by_type.get(kind) if isinstance(kind, str) else None
            if allowed is not None:
                yield block, allowed
