"""Convert Anthropic's system text, which is separate from the messages, to a message and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plimsoll.errors import FormatError
from plimsoll.formats.cache_marks import NO_MARKS, keep_last, leading_marks
from plimsoll.formats.checks import in_words
from plimsoll.formats.format import SystemText
from plimsoll.formats.rules import RULES
from plimsoll.formats.wire import copied, exact
from plimsoll.message import Message, Opaque, Part, Text


def checked_system(system: SystemText) -> SystemText:
    """The system text in JSON's own types. Raises FormatError for anything but text or a list."""
    if system is None or type(system) is str:
        return system
    if not isinstance(system, (str, list)):
        raise FormatError(_NOT_SYSTEM.format(type(system).__name__))
    found: SystemText = exact(system)
    return found


_NOT_SYSTEM = "system must be text or a list of text blocks, not {}"


def system_message(system: SystemText) -> Message:
    """The system text as a message. Raises FormatError if it is neither text nor a list of blocks."""
    if isinstance(system, str):
        return Message(role="system", parts=(Text(text=system),))
    if isinstance(system, list):
        return Message(role="system", parts=tuple(_part(block) for block in system))
    raise FormatError(_NOT_SYSTEM.format(type(system).__name__))


def repaired(system: SystemText) -> SystemText:
    """The system text without blank blocks, and with other blocks as text, as Anthropic requires. Unchanged if valid."""
    if not isinstance(system, list):
        return system
    if not all(map(_is_taken, system)):
        system = [block if _is_taken(block) else _in_words(block) for block in system if not _is_blank(block)]
    marks_max = RULES["anthropic"].cache_marks_max or 0
    if leading_marks(system, ()).number > marks_max:
        system = [copied(block) for block in system]
        keep_last([{"content": system}], NO_MARKS, marks_max)
    return system


def _is_taken(block: object) -> bool:
    if not isinstance(block, Mapping):
        return True  # system_message reports what is wrong with it
    text = block.get("text")
    return block.get("type") == "text" and isinstance(text, str) and bool(text.strip())


def _is_blank(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text" and not str(block.get("text") or "").strip()


def _in_words(block: Mapping[str, Any]) -> dict[str, Any]:
    text = block.get("text")
    return {"type": "text", "text": text if isinstance(text, str) and text.strip() else in_words(block)}


def _part(block: object) -> Part:
    if not isinstance(block, Mapping):
        raise FormatError(f"a system block must be an object, not {type(block).__name__}")
    text = block.get("text")
    return Text(text=text, wire=block) if isinstance(text, str) else Opaque(wire=block)


def system_text(message: Message, system: SystemText) -> SystemText:
    """The system text of a message: unchanged, or in the same shape with cut text."""
    if not message.edited:
        return system
    if isinstance(system, str):
        return message.text
    return [
        {**part.wire, "text": part.text}
        if isinstance(part, Text) and part.wire
        else {"type": "text", "text": part.text}
        for part in message.parts
        if isinstance(part, Text)
    ]
