"""Anthropic's system text, which travels beside the messages: to a message and back."""

from __future__ import annotations

from collections.abc import Mapping

from plimsoll.errors import FormatError
from plimsoll.formats.format import SystemText
from plimsoll.message import Message, Opaque, Part, Text


def system_message(system: SystemText) -> Message:
    """The system text as a message. Raises FormatError when it is neither text nor a list of blocks."""
    if isinstance(system, str):
        return Message(role="system", parts=(Text(text=system),))
    if isinstance(system, list):
        return Message(role="system", parts=tuple(_part(block) for block in system))
    raise FormatError(f"system must be text or a list of text blocks, not {type(system).__name__}")


def _part(block: object) -> Part:
    if not isinstance(block, Mapping):
        raise FormatError(f"a system block must be an object, not {type(block).__name__}")
    text = block.get("text")
    return Text(text=text, wire=block) if isinstance(text, str) else Opaque(wire=block)


def system_text(message: Message, system: SystemText) -> SystemText:
    """The system text that a message holds: as it was given, or in the same shape with what was cut."""
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
