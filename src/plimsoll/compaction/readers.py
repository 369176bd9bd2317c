"""What a tool makes of a view when it reads its own file: a view that it shall go on from has to say the same.

pi begins every compacted context with the summary, in words of its own. Codex writes each message as a typed item with a list of
parts. The engine knows nothing of that: it is given the view without these words, and what it makes is put into them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from plimsoll.compaction.plan import Outline
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.dataclass import dataclass
from plimsoll.formats.registry import format_named
from plimsoll.message import Message, Text, text_message

if TYPE_CHECKING:
    from plimsoll.compaction.engine import Compacting

Reader: TypeAlias = Literal["pi", "codex"]
"""A tool that reads a view back in words, or in a shape, of its own."""

READERS: tuple[Reader, ...] = get_args(Reader)

NOTHING_LEFT = "(No message has left the conversation. Some are shown shortened.)"
"""The summary of a compaction that only shortened messages: the file has no compaction without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surround:
    """The words before and after a summary."""

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


def reserve_tokens(reader: Reader | None, weigh: Callable[[Message], int]) -> int:
    """What the tool's words cost a view at most, and the summary that says that nothing left."""
    if reader is None:
        return 0
    made = text_message("user", NOTHING_LEFT)
    return (
        weigh(_typed(made)) if reader == "codex" else weigh(text_message("user", _SURROUNDS[reader].around(made.text)))
    )


def bare(pieces: Sequence[ViewMessage], reader: Reader | None) -> list[ViewMessage]:
    """The view without the tool's words: what a compaction goes on from."""
    if reader is None or reader not in _SURROUNDS:
        return list(pieces)
    found = [_bare(piece, _SURROUNDS[reader]) for piece in pieces]
    return [piece for piece in found if not (piece.origin == "summary" and piece.message.text == NOTHING_LEFT)]


def _bare(piece: ViewMessage, surround: Surround) -> ViewMessage:
    inside = surround.inside(piece.message.text) if piece.origin == "summary" else None
    return piece if inside is None else _saying(piece, inside)


def planned(
    planning: Compacting, reader: Reader | None, pieces: Sequence[ViewMessage], *, reserve_tokens: int, before: int
) -> Compacting:
    """The steps of a plan that leads to a view as the tool reads it back. `pieces` are the view now, `before` its tokens."""
    made = yield from planning
    outline = replace(made, count_before=lambda: before)
    if reader is None:
        return outline if outline.changed else replace(outline, tokens_after=before)
    if not outline.changed:
        return replace(outline, pieces=tuple(pieces), tokens_after=before)
    return as_read(outline, reader, reserve_tokens=reserve_tokens)


def as_read(outline: Outline, reader: Reader | None, *, reserve_tokens: int) -> Outline:
    """An outline whose view is as the tool reads it back."""
    if reader is None or not outline.pieces:
        return outline
    pieces = (
        tuple(map(_as_item, outline.pieces)) if reader == "codex" else _surrounded(outline.pieces, _SURROUNDS[reader])
    )
    return replace(outline, pieces=pieces, tokens_after=reserve_tokens + sum(piece.tokens for piece in pieces))


def _as_item(piece: ViewMessage) -> ViewMessage:
    """The piece with a text that was made here as a typed item."""
    is_made = piece.message.wire is None and all(isinstance(part, Text) for part in piece.message.parts)
    return replace(piece, message=_typed(piece.message)) if is_made else piece


def _typed(message: Message) -> Message:
    kind = "output_text" if message.role == "assistant" else "input_text"
    item = {"type": "message", "role": message.role, "content": [{"type": kind, "text": message.text}]}
    return format_named("openai-responses").decode(item, 0)


def _surrounded(pieces: Sequence[ViewMessage], surround: Surround) -> tuple[ViewMessage, ...]:
    """The view with its summary first, in the tool's words."""
    made = replace(pieces[0], message=text_message("user", NOTHING_LEFT), position=None, origin="summary", repairs=())
    summary = next((piece for piece in pieces if _is_plain_summary(piece)), made)
    first = replace(_saying(summary, surround.around(summary.message.text)), joined=False)
    return (first, *(piece for piece in pieces if piece is not summary))


def _is_plain_summary(piece: ViewMessage) -> bool:
    parts = piece.message.parts
    return piece.origin == "summary" and piece.message.role == "user" and len(parts) == 1 and isinstance(parts[0], Text)


def _saying(piece: ViewMessage, text: str) -> ViewMessage:
    """The piece with another text, weighed again."""
    (part,) = (part for part in piece.message.parts if isinstance(part, Text))
    message = piece.message.with_parts((replace(part, text=text),))
    return replace(piece, message=message, whole=False)
