"""The values that all other modules exchange: a message, and its parts.

A message is decoded from one wire object (an OpenAI chat message, a Responses item, an Anthropic message, a UI message) and
keeps that object as `wire`; each part keeps its block. So an unedited message is encoded exactly as it was decoded, and an
edited one differs only in what was edited: unknown fields are kept in both cases.

All values are immutable. `wire` objects belong to the message: decoders copy what callers pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from plimsoll.light.dataclass import dataclass, field, replace

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    M = TypeVar("M", default=Any)
else:
    from typing import TypeVar

    M = TypeVar("M")  # `default` is for type checkers: typing.TypeVar has it from Python 3.13 on

Wire: TypeAlias = Mapping[str, Any]
"""One JSON object in a provider's format. Never mutated once it is part of a message."""

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
"""The author. `developer` is decoded to `system`; the wire keeps the original role."""


class SdkObject(Protocol):
    """A message, an item or a whole response as an SDK returns it: a pydantic model."""

    def model_dump(self) -> dict[str, Any]:
        """The object as JSON values."""


MessageLike: TypeAlias = Mapping[str, Any] | SdkObject
"""What callers pass as a message: a mapping in a provider's format, or an object of its SDK."""

FormatName: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic", "ui-parts"]
"""The supported message formats."""

MediaKind: TypeAlias = Literal["image", "audio", "video", "file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Text that the model or the user sees."""

    text: str
    wire: Wire | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """The model's reasoning. If it is signed or encrypted, it may be dropped whole but not edited."""

    text: str
    signature: str | None = None
    """Signature or encrypted content exactly as the provider sent it."""
    wire: Wire | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A request to run a tool. `arguments` is JSON text, verbatim if the provider sends text."""

    id: str
    name: str
    arguments: str
    wire: Wire | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """An image, audio, video or file. Its tokens are computed from its size, not from its base64 text."""

    kind: MediaKind
    mime: str | None = None
    width_px: int | None = None
    height_px: int | None = None
    size_bytes: int | None = None
    detail: str | None = None
    """OpenAI's `low`, `high`, `auto` or `original`, or None."""
    wire: Wire | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool call. `content` is its text; `media` are its other blocks."""

    call_id: str
    content: str
    name: str | None = None
    is_error: bool = False
    media: tuple[Media, ...] = ()
    wire: Wire | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """A block that this version does not know, or that must not be edited. It is carried and counted as JSON."""

    wire: Wire


Part: TypeAlias = Text | Reasoning | ToolCall | ToolResult | Media | Opaque


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation.

    `wire` is the object it was decoded from, in `format`; both are None for a message that plimsoll made. If `edited` is
    true, `parts` differ from `wire`, and an encoder has to patch it.
    """

    role: Role
    parts: tuple[Part, ...]
    name: str | None = None
    format: FormatName | None = None
    wire: Wire | None = field(default=None, repr=False)
    edited: bool = False

    @property
    def text(self) -> str:
        """The text of Text parts and tool results, joined by newlines. Reasoning and arguments are not included."""
        if len(self.parts) == 1 and type(part := self.parts[0]) is Text:
            return part.text
        return "\n".join(
            part.text if isinstance(part, Text) else part.content
            for part in self.parts
            if isinstance(part, (Text, ToolResult))
        )

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results, in order."""
        return tuple([part for part in self.parts if isinstance(part, ToolResult)])

    def with_parts(self, parts: tuple[Part, ...]) -> Message:
        """The message with other parts: marked as edited, and with its wire for the fields that are not parts."""
        return replace(self, parts=parts, edited=True)


def text_message(role: Role, text: str) -> Message:
    """A message of plain text that was not decoded from a wire object."""
    return Message(role=role, parts=(Text(text=text),))
