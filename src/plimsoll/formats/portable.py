"""Prepare turns for one format: what it cannot represent becomes text or a reported loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, Protocol, TypeAlias

from plimsoll.formats.checks import is_name, tool_name
from plimsoll.formats.exchange import NO_RESULT
from plimsoll.formats.format import Converted, Loss
from plimsoll.formats.ids import shortened
from plimsoll.formats.media import MediaSource, source_of
from plimsoll.formats.rules import RULES
from plimsoll.formats.turns import Turn, kind_of_opaque, spoken, turns_of
from plimsoll.formats.wire import copied_value
from plimsoll.light.dataclass import replace
from plimsoll.message import FormatName, Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult, Wire

ContentPart: TypeAlias = Text | Media | ToolCall | Reasoning
"""What is left of a turn once it is portable."""

Block: TypeAlias = dict[str, Any]

ERROR_MARK: Final = "[tool error] "
"""Prefix of a failed call's result in formats without a field for failure."""

_LOST_FIELDS: Final = {
    "cache_control": "cache marker",
    "prompt_cache_breakpoint": "cache marker",
    "citations": "citations",
    "annotations": "citations",
    "providerMetadata": "provider metadata",
    "callProviderMetadata": "provider metadata",
    "resultProviderMetadata": "provider metadata",
}


def is_native(messages: list[Message], format: FormatName) -> bool:
    """True if every message can be written separately: it is of this format, or plain text made by plimsoll."""
    return all(message.format == format or (message.format is None and _is_plain(message)) for message in messages)


def _is_plain(message: Message) -> bool:
    """True if the message was made by plimsoll and is one wire object in any format: text, or a single call or result."""
    parts = message.parts
    made = message.wire is None and all(
        isinstance(part, (Text, ToolCall, ToolResult)) and part.wire is None for part in parts
    )
    return made and (len(parts) <= 1 or all(isinstance(part, Text) for part in parts))


class TurnWriter(Protocol):
    """Writes turns, one after the other, as messages of a format."""

    def write(self, turn: Turn) -> Iterable[Block]:
        """The messages of a turn."""


def rendered(
    messages: Sequence[Message],
    name: FormatName,
    encode: Callable[[Message], Block],
    writer: Callable[[list[Loss]], TurnWriter],
) -> Converted:
    """Convert any conversation to a format that keeps its system text among the messages."""
    if is_native(list(messages), name):
        return Converted(messages=[encode(message) for message in messages], losses=[])
    losses: list[Loss] = []
    writing = writer(losses)
    wires = [wire for turn in turns_of(messages, losses) for wire in writing.write(turn)]
    return Converted(messages=wires, losses=sorted(losses, key=lambda loss: loss.position or 0))


class Portable:
    """The state of one conversion to one format. Collects the losses."""

    def __init__(self, format: FormatName, block_of: Callable[[MediaSource], Block | None], losses: list[Loss]) -> None:
        self.format = format
        self._rules = RULES[format]
        self.losses = losses
        self._block_of = block_of

    def lose(self, position: int | None, what: str, reason: str) -> None:
        """Report a loss."""
        self.losses.append(Loss(position=position, what=what, reason=reason))

    def content_parts(self, turn: Turn) -> Iterator[ContentPart]:
        """The parts of a turn. Opaque parts become text if they have any, otherwise a loss is reported."""
        if turn.name and not self._rules.has_names:
            self.lose(turn.position, "name", "this format has no message names")
        for before, part in pairwise((None, *turn.parts)):
            match part:
                case Opaque():
                    told = self._besides_name(before, part)
                    yield from () if told is None else self._words(told, turn.position)
                case ToolResult() | None:
                    pass
                case Text() | Media() | ToolCall() | Reasoning():
                    if not isinstance(part, Reasoning):
                        self.note_fields(part.wire, turn.position)
                    yield part

    def _besides_name(self, medium: Part | None, part: Opaque) -> Opaque | None:
        """A part without the title of the document before it, where this format writes that as the name of the file."""
        source = source_of(medium.wire or {}) if isinstance(medium, Media) else None
        if source is None or source.filename is None or not part.wire.keys() <= {"title", "context"}:
            return part
        if self._block_of(source) == self._block_of(replace(source, filename=None)):
            return part
        rest = {field: text for field, text in part.wire.items() if field != "title"}
        return Opaque(wire=rest) if rest else None

    def _words(self, part: Opaque, position: int) -> Iterator[Text]:
        words = spoken(part)
        kind = kind_of_opaque(part)
        if words:
            self.lose(position, kind, "kept as plain text")
            yield Text(text=words, wire={})
        elif kind != "step-start":
            self.lose(position, kind, "dropped: specific to its own format")

    def note_fields(self, wire: Wire | None, position: int) -> None:
        """Report the fields of a block that are dropped: cache markers of another provider, citations, metadata."""
        for field in (wire or {}).keys() & _LOST_FIELDS.keys():
            if (wire or {})[field] and field != self._rules.cache_field:
                self.lose(position, _LOST_FIELDS[field], "dropped: this format does not support it")

    def drop_reasoning(self, position: int) -> None:
        """Report thinking, which another provider does not accept."""
        self.lose(position, "reasoning", "dropped: only the provider that made it accepts it")

    def marker(self, wire: Wire | None) -> Block:
        """The cache marker of a block, if this format has the same one."""
        field = self._rules.cache_field
        value = (wire or {}).get(field) if field else None
        return {field: copied_value(value)} if isinstance(value, dict) else {}

    def medium(self, part: Media, position: int) -> Block | None:
        """The media part as a block of this format, or None, with a loss, if the format has none for it."""
        source = source_of(part.wire or {})
        block = self._block_of(source) if source is not None else None
        if block is None:
            self.lose(position, part.kind, "dropped: this format does not support it")
            return None
        return {**block, **self.marker(part.wire)}

    def content(self, parts: list[Text | Media], position: int, text_type: str) -> str | list[Block]:
        """Content in its original shape: plain text or blocks, with a note in place of an unsupported medium."""
        if not parts:
            return ""
        if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].wire is None:
            return parts[0].text
        blocks: list[Block] = []
        for part in parts:
            if isinstance(part, Text):
                blocks.append({"type": text_type, "text": part.text, **self.marker(part.wire)})
            else:
                note = {"type": text_type, "text": f"[{part.kind} left out]"}
                blocks.append(self.medium(part, position) or note)
        return blocks

    def named(self, call: ToolCall, position: int) -> ToolCall:
        """The call under a tool name that providers accept."""
        if is_name(call.name, self.format):
            return call
        self.lose(position, "tool name", "invalid characters became _, and an overlong name was cut")
        return replace(call, name=tool_name(call.name, self.format))

    def id(self, id: str) -> str:
        """An id within this format's length limit; the same id always gives the same result."""
        return shortened(id, self._rules.call_id_chars_max)

    def result_texts(self, result: ToolResult, position: int) -> str | list[str]:
        """The text of a result, or its texts if it has several unedited blocks. A failure is text if there is no flag for it."""
        self.note_fields(result.wire, position)
        texts = _texts_of(result)
        if not result.is_error or self._rules.has_error_flag or result.content == NO_RESULT:
            return texts
        self.lose(position, "error flag", "written into the text: this format has no field for it")
        if isinstance(texts, str):
            return ERROR_MARK + texts
        return [ERROR_MARK + texts[0], *texts[1:]]


def _texts_of(result: ToolResult) -> str | list[str]:
    wire = result.wire or {}
    blocks = wire.get("content", wire.get("output")) if "toolCallId" not in wire else None
    if not isinstance(blocks, list) or not blocks:
        return result.content
    texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    return texts if texts and "\n".join(texts) == result.content else result.content


def words_and_media(parts: list[ContentPart]) -> list[Text | Media]:
    """The parts that are content."""
    return [part for part in parts if isinstance(part, (Text, Media))]
