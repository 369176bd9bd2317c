"""UI messages of the AI SDK, made of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plimsoll.formats.format import Rendered, SystemText, Violation
from plimsoll.formats.ui_parts.decode import decode
from plimsoll.formats.ui_parts.encode import encode
from plimsoll.formats.ui_parts.render import render
from plimsoll.formats.ui_parts.repair import is_sound, repair
from plimsoll.formats.ui_parts.validate import validate
from plimsoll.message import FormatName, Message, Wire


class UIParts:
    """The format `ui-parts`. One wire object is one `UIMessage`."""

    name: FormatName = "ui-parts"

    def decode(self, wire: Wire, position: int) -> Message:
        """Read one message. Raises FormatError."""
        return decode(wire, position)

    def encode(self, message: Message) -> dict[str, Any]:
        """Write one message."""
        return encode(message)

    def validate(
        self, wires: Sequence[Wire], *, system: SystemText = None, tools: Sequence[Wire] = ()
    ) -> list[Violation]:
        """What the SDK or a provider behind it would refuse. System text is a message here, and tools are the SDK's business."""
        del system, tools
        return validate(wires)

    def is_sound(self, message: Message) -> bool:
        """Whether a glance is enough to see that nothing in the message itself is refused."""
        return is_sound(message)

    def repair(self, wire: Wire, repairs: list[str]) -> dict[str, Any]:
        """What is refused of a message by itself, in words or left out."""
        return repair(wire, repairs)

    def render(self, messages: Sequence[Message]) -> Rendered:
        """Write any conversation in this format."""
        return render(messages)
