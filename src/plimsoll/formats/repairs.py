"""Shared parts of repairing a message that its provider rejects in any context."""

from __future__ import annotations

from typing import Final

from plimsoll.formats.format import Format
from plimsoll.formats.ids import SAFE
from plimsoll.formats.media import media_of
from plimsoll.formats.rules import RULES
from plimsoll.formats.wire import json_text
from plimsoll.message import FormatName, Message, Wire
from plimsoll.regex import regex

_ALONE: Final = frozenset(
    (
        *("wrong_type", "unknown_block", "wrong_place", "empty_content", "empty_tool_calls", "missing_id", "bad_name"),
        "failed_result_not_text",
    )
)
"""Violations of a single message; the others concern its neighbours."""

_UNSAFE: Final = regex(r"[^a-zA-Z0-9_-]")


def repaired(format: Format, message: Message, position: int, repairs: list[str]) -> Message:
    """Repair what the provider rejects in a message in any context; the same object if there is nothing to repair."""
    if message.edited or message.wire is None or format.is_sound(message):
        return message
    if not any(found.code in _ALONE for found in format.validate([message.wire])):
        return message
    return format.decode(format.repair(message.wire, repairs), position)


def is_name(value: object, format: FormatName) -> bool:
    """True if the tool name is valid in a format."""
    most = RULES[format].tool_name_chars_max
    return isinstance(value, str) and SAFE.fullmatch(value) is not None and (most is None or len(value) <= most)


def tool_name(value: object, format: FormatName) -> str:
    """Convert to a valid tool name: invalid characters become `_`, and an overlong name is cut."""
    return _UNSAFE.sub("_", value if isinstance(value, str) else "")[: RULES[format].tool_name_chars_max] or "tool"


def in_words(block: Wire) -> str:
    """A block that is not allowed in its place, as text: a medium by its name, a refusal by its text, others as JSON."""
    medium = media_of(block)
    if medium is not None:
        return f"[{medium.kind} left out]"
    refusal = block.get("refusal")
    return refusal if isinstance(refusal, str) and refusal else json_text(block)
