"""References: short stable names under which removed text can be read back.

`m12.0-3fa9c1d2` is part 0 of message 12 of the history, `c40-3fa9c1d2` the text written for the summary of compaction c40. The
last eight digits are the start of the text's SHA-256, so that a reference never resolves to a different text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from plimsoll.compaction.view_message import ViewMessage
from plimsoll.errors import ReferenceNotFound
from plimsoll.formats.words import words_of, words_once
from plimsoll.light.regex import regex
from plimsoll.message import Message, Part, ToolCall, ToolResult
from plimsoll.policy.validation import short_repr

_SUMMARY = regex(r"c([0-9]{1,15})-([0-9a-f]{8})")
_MESSAGE = regex(r"m?([0-9]{1,12})")
_REFERENCE = regex(r"m([0-9]{1,12})\.([0-9]{1,6})-([0-9a-f]{8})")


def position_named(name: object) -> int | None:
    """The position in a message name: `m12`, `12` or an integer; None for anything else."""
    if isinstance(name, int) and not isinstance(name, bool):
        return name if name >= 0 else None
    match = _MESSAGE.fullmatch(name) if isinstance(name, str) else None
    return int(match[1]) if match else None


def merged_runs(runs: Iterable[tuple[int, int]], gap: int = 0) -> list[tuple[int, int]]:
    """Runs `[start, stop)` of positions in order, without empty ones; those that overlap or are at most `gap` apart as one."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(runs):
        if found and start <= found[-1][1] + gap:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        elif start < stop:
            found.append((start, stop))
    return found


def runs_of(positions: Iterable[int], gap: int = 0) -> list[tuple[int, int]]:
    """Positions as runs, see `merged_runs`."""
    return merged_runs(((position, position + 1) for position in positions), gap)


def named(positions: Iterable[int]) -> str:
    """The names of messages, with runs shortened: `m3, m5-m8`."""
    return ", ".join(
        f"m{start}" if stop - start == 1 else f"m{start}-m{stop - 1}" for start, stop in runs_of(positions)
    )


def name_of(position: int, part: int, text: str) -> str:
    """The reference of one part of a message."""
    return f"m{position}.{part}-{_digest(text)}"


def summary_name_of(seq: int, text: str) -> str:
    """The reference of the text written for the summary of compaction record `seq`."""
    return f"c{seq}-{_digest(text)}"


def summary_of(reference: str) -> int | None:
    """The compaction record number that a summary's reference names; None for other references."""
    match = _SUMMARY.fullmatch(reference) if isinstance(reference, str) else None
    return None if match is None else int(match[1])


def reference_of(entry: ViewMessage, index: int, read: Callable[[int], Message | None]) -> str | None:
    """The reference of the original text of part `index` of a view message, which may show less of it.

    `read` returns a message of the history by position, or None if it cannot be read. None if the history has no such text.
    """
    if entry.position is None or entry.origin != "history":
        return None
    if entry.whole:
        return name_of(entry.position, index, words_of(entry.message.parts[index]))
    original = read(entry.position)
    place = None if original is None else _place_in(original, entry.message, index)
    return (
        None if original is None or place is None else name_of(entry.position, place, words_of(original.parts[place]))
    )


def _place_in(original: Message, shown: Message, index: int) -> int | None:
    """Index of the original part that a shown part is or was cut from, found by text, call id or position."""
    part = shown.parts[index]
    alike = [place for place, other in enumerate(original.parts) if type(other) is type(part)]
    for place in alike:
        other = original.parts[place]
        answers = isinstance(part, ToolResult) and isinstance(other, ToolResult) and other.call_id == part.call_id
        if answers or words_of(other) == words_of(part):
            return place
    same_type = [place for place, other in enumerate(shown.parts) if type(other) is type(part)]
    return alike[same_type.index(index)] if len(alike) == len(same_type) else None


def place_of(reference: str) -> tuple[int, int]:
    """The message position and part index of a reference. Raises ReferenceNotFound for an invalid reference."""
    match = _REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
    if match is None:
        raise ReferenceNotFound(reference if isinstance(reference, str) else short_repr(reference))
    return int(match[1]), int(match[2])


def text_of(message: Message, reference: str) -> str:
    """The text that a reference names. Raises ReferenceNotFound, also if the hash does not match (another session's reference)."""
    text = named_text(message, reference)
    if text is None:
        raise ReferenceNotFound(reference)
    return text


def named_text(message: Message, reference: str) -> str | None:
    """Like `text_of`, but None if the message has no such text.

    Where another part has it, that one is meant: earlier versions read some messages' parts in another order.
    """
    _, index = place_of(reference)
    if index >= len(message.parts):
        return None
    return next((words_of(part) for part in (message.parts[index], *message.parts) if _is_named(part, reference)), None)


def _is_named(part: Part, reference: str) -> bool:
    return reference.endswith(tuple(map(_digest, (words_of(part), words_once(part)))))


def checked(text: str, reference: str, *others: str) -> str:
    """The text if its hash, or that of one of `others`, matches the reference. Raises ReferenceNotFound.

    Records are verified as a whole, so a mismatch means that the reference belongs to another session.
    """
    if not reference.endswith(tuple(map(_digest, (text, *others)))):
        raise ReferenceNotFound(reference)
    return text


def text_said(message: Message) -> str:
    """All text of a message, part by part; a call as its tool name and arguments."""
    texts = (
        f"{part.name} {part.arguments}" if isinstance(part, ToolCall) else words_of(part) for part in message.parts
    )
    return "\n\n".join(text for text in texts if text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
