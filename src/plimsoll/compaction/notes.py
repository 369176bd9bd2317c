"""Texts that plimsoll inserts into messages: a result without its call, a missing opening, an empty message."""

from __future__ import annotations

from plimsoll.formats.provenance import notice, verified_notice
from plimsoll.formats.turns import OPENING
from plimsoll.light.dataclass import replace
from plimsoll.light.regex import regex
from plimsoll.message import Message, Part, Text, ToolResult
from plimsoll.truncation.marker import SHORT, SHORTEST

EMPTY = "(empty)"
OPENER = "[The conversation begins with the assistant's message below.]"
BEGINNINGS = ("[", OPENING, EMPTY, SHORTEST)
"""Prefixes of texts that plimsoll inserts, summaries included."""

_NOTE = regex(
    r"Result(?: of .{1,200})? of a call that is not shown|Result of an unknown tool call"
    r"|Notes of earlier sessions, kept by machine\. .{1,100}|早先会话的笔记，.{1,40}"
)
"""The text of a notice before a result without its call, also as a conversion to UI messages writes it, and before memories."""

_NOT_IN_A_NAME = regex(r"[\[\]\n]")


def note_of(result: ToolResult) -> str:
    """A result without its call as labelled text. `restore_results` reverses it."""
    name = f" of {_NOT_IN_A_NAME.sub(' ', result.name)[:200]}" if result.name else ""
    return f"{notice(f'Result{name} of a call that is not shown')}\n{result.content}".rstrip()


def is_note(part: Part) -> bool:
    """True for text inserted by plimsoll that is no request: results without a call, memories, the opening, the empty-message text.

    Only notes with content carry a tag. The other two are constant, so it does not matter who wrote them.
    """
    if not isinstance(part, Text):
        return False
    return part.text in (OPENER, OPENING, EMPTY) or _NOTE.fullmatch(verified_notice(part.text) or "") is not None


def is_marker(part: Part) -> bool:
    """True for a text of which only the marker of a cut is left."""
    return isinstance(part, Text) and part.text in (SHORT, SHORTEST)


def is_filler(message: Message) -> bool:
    """True if a message holds only the empty-message text."""
    return message.text == EMPTY and len(message.parts) == 1


def restore_results(message: Message) -> Message:
    """The message with its notes converted back to tool results, so that tool output never counts as a user's text."""
    if message.role != "user" or not any(is_note(part) for part in message.parts):
        return message
    parts = [_unnoted(part) for part in message.parts]
    return replace(message.with_parts(tuple(parts)), role="tool" if all(map(is_note, message.parts)) else "user")


def _unnoted(part: Part) -> Part:
    return (
        ToolResult(call_id="", content=part.text.partition("\n")[2])
        if isinstance(part, Text) and is_note(part)
        else part
    )
