"""A memory as JSON text, and back."""

from __future__ import annotations

import json
from typing import Any, TypeGuard, get_args

from plimsoll.protocols import Memory, MemoryKind, MemoryOrigin, Speaker


def memory_text(memory: Memory) -> str:
    """A memory as one line of ASCII."""
    return json.dumps(memory.to_dict())


def memory_of(text: str) -> Memory | None:
    """Inverse of `memory_text`; None for damaged text."""
    try:
        data = json.loads(text)
        data["origins"] = tuple(MemoryOrigin(**origin) for origin in data["origins"])
        memory = Memory(**data)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return memory if _is_sound(memory) else None


def _is_sound(memory: Memory) -> bool:
    """Whether the fields of a memory that was read have the types and values that the rest of the package relies on."""
    texts = (memory.id, memory.text, memory.scope)
    numbers = (memory.time_ms, memory.hits, memory.importance, *(origin.time_ms for origin in memory.origins))
    return (
        all(isinstance(text, str) for text in texts)
        and memory.kind in get_args(MemoryKind)
        and memory.by in get_args(Speaker)
        and all(type(number) is int for number in numbers)
        and isinstance(memory.confidence, float | int)
        and all(map(_is_text_or_none, (memory.superseded_by, *_names(memory))))
    )


def _names(memory: Memory) -> list[Any]:
    return [name for origin in memory.origins for name in (origin.session, origin.message, origin.tool)]


def _is_text_or_none(value: object) -> TypeGuard[str | None]:
    return value is None or isinstance(value, str)
