"""Texts that plimsoll puts into messages: for a result without its call, a missing opening, an empty message."""

from __future__ import annotations

from dataclasses import replace

from plimsoll.formats.turns import OPENING
from plimsoll.message import Message, Part, Text, ToolResult
from plimsoll.provenance import notice, verified_notice
from plimsoll.regex import regex

EMPTY = "(empty)"
OPENER = "[The conversation begins with the assistant's message below.]"
BEGINNINGS = ("[", OPENING, EMPTY)
"""What our words in messages begin with, summaries included. Any other text was said by somebody else."""

_NOTE = regex(r"Result(?: of .{1,200})? of a call that is not shown|Result of an unknown tool call")
"""The words of a notice before a result without its call: ours, and those of a conversion to UI messages."""

_NOT_IN_A_NAME = regex(r"[\[\]\n]")


def note_of(result: ToolResult) -> str:
    """A result without its call as words that say what they are. `as_said` reads it back."""
    name = f" of {_NOT_IN_A_NAME.sub(' ', result.name)[:200]}" if result.name else ""
    return f"{notice(f'Result{name} of a call that is not shown')}\n{result.content}".rstrip()


def is_note(part: Part) -> bool:
    """Whether a text was made here and is no request: a result without its call, the opening, the words for nothing.

    Only what carries content carries a tag: the opening and the words for nothing say the same whoever wrote them.
    """
    if not isinstance(part, Text):
        return False
    return part.text in (OPENER, OPENING, EMPTY) or _NOTE.fullmatch(verified_notice(part.text) or "") is not None


def says_nothing(message: Message) -> bool:
    """Whether a message is only the words for nothing."""
    return message.text == EMPTY and len(message.parts) == 1


def as_said(message: Message) -> Message:
    """The message with the notes in it as the tool results that they replaced. A tool's words never become a user's."""
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
