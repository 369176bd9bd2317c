"""The formats by name, and decoding of messages with a detected format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Final

from plimsoll.errors import SettingError
from plimsoll.formats.detect import NO_CONTEXT, RequestContext, detect
from plimsoll.formats.format import Format
from plimsoll.formats.intake import Received, decode_received, received
from plimsoll.formats.rules import RULES
from plimsoll.message import FormatName, Message
from plimsoll.policy.validation import short_repr


class _Formats(Mapping[FormatName, Format]):
    """The formats; each is imported on first access."""

    def __getitem__(self, name: FormatName) -> Format:
        return _loaded(name)

    def __iter__(self) -> Iterator[FormatName]:
        return iter(RULES)

    def __len__(self) -> int:
        return len(RULES)


@cache
def _loaded(name: FormatName) -> Format:
    """The FORMAT of the subpackage with that name. Raises KeyError for any other name."""
    folder = RULES[name].name.replace("-", "_")
    format: Format = import_module(f"plimsoll.formats.{folder}.format").FORMAT
    return format


FORMATS: Final[Mapping[FormatName, Format]] = _Formats()


def format_named(name: str) -> Format:
    """The format of that name. Raises SettingError for any other."""
    for known in FORMATS:
        if isinstance(name, str) and known == name:
            return FORMATS[known]
    raise SettingError("format", f"must be one of {', '.join(FORMATS)}, not {short_repr(name)}")


def decode_all(
    messages: object, format: str | None = None, context: RequestContext = NO_CONTEXT
) -> tuple[Format, list[Message]]:
    """The messages, and the format they are in: `format`, or the one detected from them and the rest of the request.

    Raises FormatError, naming the position, for anything but a list of messages of that format, also where one has calls of
    another; SettingError for an unknown format; LimitExceeded past limits.JSON_VALUES_MAX. Nothing given is kept or changed.
    """
    taken = received(messages)
    found = format_of(taken, format, context)
    return found, decode_received(taken, found)


def format_of(taken: Received, name: str | None, context: RequestContext = NO_CONTEXT) -> Format:
    """The named format, or the one found by looking. Raises SettingError or FormatError."""
    return format_named(name) if name is not None else FORMATS[taken.declared or detect(taken.wires, context)]
