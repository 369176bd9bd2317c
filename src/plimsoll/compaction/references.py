"""References: the short stable names under which text that left the view is read back.

`m12.0-3fa9c1d2` is part 0 of message 12 of the history, `c40-3fa9c1d2` what was written for the summary of compaction c40; the last
eight digits are the beginning of the SHA-256 of the text, so that what is read is what was meant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from plimsoll.compaction.view_message import ViewMessage
from plimsoll.errors import ReferenceNotFound
from plimsoll.formats.words import words_of, words_once
from plimsoll.message import Message, ToolCall, ToolResult
from plimsoll.regex import regex
from plimsoll.validation import short_repr

_SUMMARY = regex(r"c([0-9]{1,15})-([0-9a-f]{8})")
_MESSAGE = regex(r"m?([0-9]{1,12})")
_REFERENCE = regex(r"m([0-9]{1,12})\.([0-9]{1,6})-([0-9a-f]{8})")


def position_named(name: object) -> int | None:
    """The position that a message's name says: `m12`, `12` or the number itself; None for anything else."""
    if isinstance(name, int) and not isinstance(name, bool):
        return name if name >= 0 else None
    match = _MESSAGE.fullmatch(name) if isinstance(name, str) else None
    return int(match[1]) if match else None


def named(positions: Iterable[int]) -> str:
    """The names of messages, neighbours as a run: `m3, m5-m8`."""
    runs: list[list[int]] = []
    for position in sorted(positions):
        if runs and position - runs[-1][-1] <= 1:
            runs[-1] = [runs[-1][0], position]
        else:
            runs.append([position])
    return ", ".join(f"m{run[0]}" if run[0] == run[-1] else f"m{run[0]}-m{run[-1]}" for run in runs)


def name_of(position: int, part: int, text: str) -> str:
    """The reference of one part of a message."""
    return f"m{position}.{part}-{_digest(text)}"


def summary_name_of(seq: int, text: str) -> str:
    """The reference of what was written for the summary in compaction record `seq`."""
    return f"c{seq}-{_digest(text)}"


def summary_of(reference: str) -> int | None:
    """The number of the compaction record whose summary a reference names; None for other references."""
    match = _SUMMARY.fullmatch(reference) if isinstance(reference, str) else None
    return None if match is None else int(match[1])


def reference_of(piece: ViewMessage, index: int, read: Callable[[int], Message | None]) -> str | None:
    """The reference of what was said at part `index` of a piece, though the piece may show less of it by now.

    `read` gives a message of the history by position, None where it cannot be read. None for what was not said there.
    """
    if piece.position is None or piece.origin != "history":
        return None
    if piece.whole:
        return name_of(piece.position, index, words_of(piece.message.parts[index]))
    original = read(piece.position)
    place = None if original is None else _place_in(original, piece.message, index)
    return (
        None if original is None or place is None else name_of(piece.position, place, words_of(original.parts[place]))
    )


def _place_in(original: Message, shown: Message, index: int) -> int | None:
    """Which part of the original a part of what is shown is, or was cut from: by its words, its call, or its place."""
    part = shown.parts[index]
    alike = [place for place, other in enumerate(original.parts) if type(other) is type(part)]
    for place in alike:
        other = original.parts[place]
        answers = isinstance(part, ToolResult) and isinstance(other, ToolResult) and other.call_id == part.call_id
        if answers or words_of(other) == words_of(part):
            return place
    beside = [place for place, other in enumerate(shown.parts) if type(other) is type(part)]
    return alike[beside.index(index)] if len(alike) == len(beside) else None


def place_of(reference: str) -> tuple[int, int]:
    """Position of the message and index of the part. Raises ReferenceNotFound for anything that is no reference."""
    match = _REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
    if match is None:
        raise ReferenceNotFound(reference if isinstance(reference, str) else short_repr(reference))
    return int(match[1]), int(match[2])


def text_of(message: Message, reference: str) -> str:
    """The text a reference names. Raises ReferenceNotFound, also for one of another session: records are checked as a whole."""
    text = named_text(message, reference)
    if text is None:
        raise ReferenceNotFound(reference)
    return text


def named_text(message: Message, reference: str) -> str | None:
    """The same; None where the message says no such thing."""
    _, index = place_of(reference)
    if index >= len(message.parts):
        return None
    part = message.parts[index]
    is_named = reference.endswith(tuple(map(_digest, (words_of(part), words_once(part)))))
    return words_of(part) if is_named else None


def checked(text: str, reference: str, *others: str) -> str:
    """The text, if its reference, or that of one of the `others`, is this one. Raises ReferenceNotFound.

    Records are checked as a whole: where a hash is another, it is another session's reference.
    """
    if not reference.endswith(tuple(map(_digest, (text, *others)))):
        raise ReferenceNotFound(reference)
    return text


def text_said(message: Message) -> str:
    """All that is said in a message, part by part; calls as the tool's name and its arguments."""
    said = (f"{part.name} {part.arguments}" if isinstance(part, ToolCall) else words_of(part) for part in message.parts)
    return "\n\n".join(text for text in said if text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
