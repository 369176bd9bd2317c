"""The formats by name, and messages read in the one they are in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from plimsoll.errors import FormatError, SettingError
from plimsoll.formats.anthropic import Anthropic
from plimsoll.formats.detect import detect
from plimsoll.formats.format import Format
from plimsoll.formats.openai_chat import OpenAIChat
from plimsoll.formats.openai_responses import OpenAIResponses
from plimsoll.formats.ui_parts import UIParts
from plimsoll.formats.wire import plain
from plimsoll.message import FormatName, Message, Wire

FORMATS: Final[Mapping[FormatName, Format]] = {
    "openai-chat": OpenAIChat(),
    "openai-responses": OpenAIResponses(),
    "anthropic": Anthropic(),
    "ui-parts": UIParts(),
}


def format_named(name: str) -> Format:
    """The format of that name. Raises SettingError for any other."""
    for known, format in FORMATS.items():
        if known == name:
            return format
    raise SettingError("format", f"must be one of {', '.join(FORMATS)}, not {ascii(name)[:60]}")


def decode_all(messages: object, format: str | None = None) -> tuple[Format, list[Message]]:
    """The messages, and the format they are in: `format`, or the one found by looking.

    Raises FormatError, naming the position, for anything that is no list of messages of that format; SettingError for
    an unknown format; LimitExceeded past limits.JSON_VALUES_MAX. Nothing in `messages` is kept or changed.
    """
    wires = wires_of(messages)
    found = format_of(wires, format)
    return found, [found.decode(wire, position) for position, wire in enumerate(wires)]


def format_of(wires: list[Wire], name: str | None) -> Format:
    """The named format, or the one found by looking. Raises SettingError or FormatError."""
    return FORMATS[detect(wires)] if name is None else format_named(name)


def wires_of(messages: object) -> list[Wire]:
    """The objects of any iterable but text and objects, those of a provider's SDK as plain data. Raises FormatError."""
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise FormatError(f"messages must be a list, not {type(messages).__name__}")
    wires: list[Wire] = []
    for position, item in enumerate(messages):
        wire = plain(item)
        if not isinstance(wire, Mapping):
            raise FormatError(f"a message must be an object, not {type(wire).__name__}", position=position)
        wires.append(wire)
    return wires
