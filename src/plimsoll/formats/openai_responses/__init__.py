"""OpenAI Responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plimsoll.formats.format import Rendered, SystemText, Violation
from plimsoll.formats.openai_responses.decode import decode
from plimsoll.formats.openai_responses.encode import encode
from plimsoll.formats.openai_responses.render import render
from plimsoll.formats.openai_responses.repair import is_sound, repair
from plimsoll.formats.openai_responses.validate import validate
from plimsoll.message import FormatName, Message, Wire


class OpenAIResponses:
    """The format `openai-responses`. One wire object is one item of the `input` list."""

    name: FormatName = "openai-responses"

    def decode(self, wire: Wire, position: int) -> Message:
        """Read one message. Raises FormatError."""
        return decode(wire, position)

    def encode(self, message: Message) -> dict[str, Any]:
        """Write one message."""
        return encode(message)

    def validate(
        self, wires: Sequence[Wire], *, system: SystemText = None, tools: Sequence[Wire] = ()
    ) -> list[Violation]:
        """What the API would refuse. The system text is among the messages here, so `system` is not looked at."""
        del system
        return validate(wires, tools)

    def is_sound(self, message: Message) -> bool:
        """Whether a glance is enough to see that nothing in the message itself is refused."""
        return is_sound(message)

    def repair(self, wire: Wire, repairs: list[str]) -> dict[str, Any]:
        """What is refused of a message by itself, in words or left out."""
        return repair(wire, repairs)

    def render(self, messages: Sequence[Message]) -> Rendered:
        """Write any conversation in this format."""
        return render(messages)
