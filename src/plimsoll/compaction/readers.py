"""Adapt a view to the way another tool reads it back from its own file.

pi begins every compacted context with the summary, in its own wording. Codex writes each message as a typed item with a list
of parts. The engine is independent of this: the tool's wording is removed before a compaction and added to its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from plimsoll.compaction.plan import Outline
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.formats.registry import format_named
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.message import Message, Text, text_message

if TYPE_CHECKING:
    from plimsoll.compaction.engine import Compacting

Reader: TypeAlias = Literal["pi", "codex"]
"""A tool that reads back a view with its own wording or message shape."""

READERS: tuple[Reader, ...] = get_args(Reader)

NOTHING_LEFT = "(No message has left the conversation. Some are shown shortened.)"
"""Summary of a compaction that only shortened messages; the file format requires one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surround:
    """Text that the tool puts before and after a summary."""

    before: str
    after: str

    def around(self, text: str) -> str:
        """The text as the tool sends it."""
        return f"{self.before}{text}{self.after}"

    def inside(self, text: str) -> str | None:
        """The summary in a text that `around` made; None for any other text."""
        if len(text) < len(self.before) + len(self.after):
            return None
        if not (text.startswith(self.before) and text.endswith(self.after)):
            return None
        return text[len(self.before) : len(text) - len(self.after)]


PI = Surround(
    before="The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    after="\n</summary>",
)

_SURROUNDS: Mapping[str, Surround] = {"pi": PI}


def reserve_tokens(reader: Reader | None, count_message: Callable[[Message], int]) -> int:
    """Maximum tokens of the tool's wording and of the summary for a view from which nothing was removed."""
    if reader is None:
        return 0
    made = text_message("user", NOTHING_LEFT)
    if reader == "codex":
        return count_message(_typed(made))
    return count_message(text_message("user", _SURROUNDS[reader].around(made.text)))


def bare(entries: Sequence[ViewMessage], reader: Reader | None) -> list[ViewMessage]:
    """The view without the tool's wording, as input of a compaction."""
    if reader is None or reader not in _SURROUNDS:
        return list(entries)
    found = [_bare(entry, _SURROUNDS[reader]) for entry in entries]
    return [entry for entry in found if not (entry.origin == "summary" and entry.message.text == NOTHING_LEFT)]


def _bare(entry: ViewMessage, surround: Surround) -> ViewMessage:
    inside = surround.inside(entry.message.text) if entry.origin == "summary" else None
    return entry if inside is None else _saying(entry, inside)


def planned(
    planning: Compacting, reader: Reader | None, entries: Sequence[ViewMessage], *, reserve_tokens: int, before: int
) -> Compacting:
    """Run a plan and adapt the resulting view to the tool. `entries` is the current view, `before` its tokens."""
    made = yield from planning
    outline = replace(made, count_before=lambda: before)
    if reader is None:
        return outline if outline.changed else replace(outline, tokens_after=before)
    if not outline.changed:
        return replace(outline, entries=tuple(entries), tokens_after=before)
    return as_read(outline, reader, reserve_tokens=reserve_tokens)


def as_read(outline: Outline, reader: Reader | None, *, reserve_tokens: int) -> Outline:
    """The outline with its view adapted to the tool."""
    if reader is None or not outline.entries:
        return outline
    entries = (
        tuple(map(_as_item, outline.entries)) if reader == "codex" else _surrounded(outline.entries, _SURROUNDS[reader])
    )
    return replace(outline, entries=entries, tokens_after=reserve_tokens + sum(entry.tokens for entry in entries))


def _as_item(entry: ViewMessage) -> ViewMessage:
    """Convert an inserted text to a typed item."""
    is_made = entry.message.wire is None and all(isinstance(part, Text) for part in entry.message.parts)
    return replace(entry, shown=_typed(entry.message)) if is_made else entry


def _typed(message: Message) -> Message:
    kind = "output_text" if message.role == "assistant" else "input_text"
    item = {"type": "message", "role": message.role, "content": [{"type": kind, "text": message.text}]}
    return format_named("openai-responses").decode(item, 0)


def _surrounded(entries: Sequence[ViewMessage], surround: Surround) -> tuple[ViewMessage, ...]:
    """The view with the summary first, in the tool's wording."""
    made = replace(entries[0], shown=text_message("user", NOTHING_LEFT), position=None, origin="summary", repairs=())
    summary = next((entry for entry in entries if _is_plain_summary(entry)), made)
    first = replace(_saying(summary, surround.around(summary.message.text)), joined=False)
    return (first, *(entry for entry in entries if entry is not summary))


def _is_plain_summary(entry: ViewMessage) -> bool:
    parts = entry.message.parts
    return entry.origin == "summary" and entry.message.role == "user" and len(parts) == 1 and isinstance(parts[0], Text)


def _saying(entry: ViewMessage, text: str) -> ViewMessage:
    """The message with another text, counted again."""
    (part,) = (part for part in entry.message.parts if isinstance(part, Text))
    message = entry.message.with_parts((replace(part, text=text),))
    return replace(entry, shown=message, whole=False)
