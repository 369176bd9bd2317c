"""What is known of the format that a session is in."""

from __future__ import annotations

from plimsoll.dataclass import dataclass
from plimsoll.formats.detect import NOTHING, Beside, telling
from plimsoll.formats.format import Format
from plimsoll.formats.intake import Received, received
from plimsoll.formats.registry import format_named


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Who has said which format a session is in, if anybody has.

    Attributes:
        is_fixed: Whether a message or an option has said it.
        is_recorded: Whether the log says it.
        beside: What is sent beside the messages; it makes one format likely until a message tells.

    """

    is_fixed: bool
    is_recorded: bool
    beside: Beside = NOTHING

    def told(self, taken: Received, likely: Format) -> Format | None:
        """The format where the log does not say it yet: by an option, or as these messages tell; None where nothing is new."""
        if self.is_fixed:
            return None if self.is_recorded else likely
        told = taken.told or telling(taken.wires, self.beside)
        return None if told is None else format_named(told)

    def format_of(self, messages: object, likely: Format) -> Format:
        """The format that the log says, or that these messages are the first to tell. Raises FormatError."""
        return likely if self == FIXED else self.told(received(messages), likely) or likely


FIXED = Knowledge(is_fixed=True, is_recorded=True)
"""The log says it."""
