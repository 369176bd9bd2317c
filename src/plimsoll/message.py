"""The values every other module speaks in: one message, and the parts it is made of.

A message is decoded from one wire object (an OpenAI chat message, a Responses item, an Anthropic message, a UI message) and
keeps that object as `wire`. Parts keep the wire block they were read from. So a message nobody edited goes out exactly as it
came in, and an edited one changes only what was edited: unknown fields survive both ways.

All values are immutable. `wire` objects are owned by the message: decoders copy what callers hand in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from plimsoll.dataclass import dataclass

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    M = TypeVar("M", default=Any)
else:
    from typing import TypeVar

    M = TypeVar("M")  # its default is for type checkers: before Python 3.13 there is none at run time

Wire: TypeAlias = Mapping[str, Any]
"""One JSON object in some provider's format. Never mutated once inside a message."""

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
"""Who speaks. `developer` decodes to `system`; the wire keeps the original word."""


class SdkObject(Protocol):
    """A message, an item or a whole response as an SDK hands it out: a pydantic model."""

    def model_dump(self) -> dict[str, Any]:
        """The object as JSON values."""
        ...


MessageLike: TypeAlias = Mapping[str, Any] | SdkObject
"""What callers hand over as a message: an object in a provider's format, or an SDK's own."""

FormatName: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic", "ui-parts"]
"""The formats that messages are read and written in."""

MediaKind: TypeAlias = Literal["image", "audio", "video", "file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Words that the model or the user sees."""

    text: str
    wire: Wire | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """The model's own thinking. Signed or encrypted reasoning may be dropped whole but never edited."""

    text: str
    signature: str | None = None
    """Signature or encrypted content exactly as the provider sent it."""
    wire: Wire | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A request to run a tool. `arguments` is JSON text, as sent when the provider sends text."""

    id: str
    name: str
    arguments: str
    wire: Wire | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """An image, sound, film or file. Its cost comes from a formula over its size, never from its base64 text."""

    kind: MediaKind
    mime: str | None = None
    width_px: int | None = None
    height_px: int | None = None
    size_bytes: int | None = None
    detail: str | None = None
    """OpenAI's `low`, `high`, `auto` or `original`, where given."""
    wire: Wire | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answered. `content` is its text; `media` what came beside the text."""

    call_id: str
    content: str
    name: str | None = None
    is_error: bool = False
    media: tuple[Media, ...] = ()
    wire: Wire | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """Something this version does not understand, or that nobody may edit: carried and counted as JSON, never changed."""

    wire: Wire


Part: TypeAlias = Text | Reasoning | ToolCall | ToolResult | Media | Opaque


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One thing said.

    `wire` is the object it was decoded from, in `format`; both are None for a message made here. `edited` says that `parts`
    no longer mirror `wire`, so an encoder has to patch it.
    """

    role: Role
    parts: tuple[Part, ...]
    name: str | None = None
    format: FormatName | None = None
    wire: Wire | None = field(default=None, repr=False)
    edited: bool = False

    @property
    def text(self) -> str:
        """The visible text: Text parts and tool results, joined by newlines. Reasoning and arguments are not in it."""
        return "\n".join(
            part.text if isinstance(part, Text) else part.content
            for part in self.parts
            if isinstance(part, (Text, ToolResult))
        )

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in it, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results in it, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))

    def with_parts(self, parts: tuple[Part, ...]) -> Message:
        """The same message saying something else: marked as edited, wire kept for what was not."""
        return replace(self, parts=parts, edited=True)


def text_message(role: Role, text: str) -> Message:
    """A message made here, not decoded from anywhere."""
    return Message(role=role, parts=(Text(text=text),))
