"""Convert view messages to output messages, merging those the provider would read as one.

Anthropic reads neighbouring messages of one role as one. An inserted message (a summary, a placeholder result) next to one of
the same role is therefore merged with it, so that roles alternate wherever they did in the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import itemgetter

from plimsoll.compaction.notes import BEGINNINGS, is_marker, is_note
from plimsoll.compaction.settle import ordered
from plimsoll.compaction.summary_message import is_summary_or_notice
from plimsoll.compaction.view_message import CountMessage, Origin, Origins, ViewMessage
from plimsoll.formats.format import Format
from plimsoll.light.dataclass import replace
from plimsoll.message import Message, Part, Reasoning, Role, Text, ToolResult
from plimsoll.summary.frame import divided


def outgoing(entries: Sequence[ViewMessage], format: Format) -> Iterator[Message]:
    """The messages to encode, in order. Only messages adjacent in the history stay separate neighbours of one role."""
    return (as_one(run, format) for run in runs(entries, format))


def origins(entries: Sequence[ViewMessage], format: Format) -> Origins:
    """For each message of `outgoing`, the positions of the messages it was made from, in order."""
    awake = [entry.awake() for entry in entries] if format.rules.joins_roles else entries
    return tuple(
        tuple(sorted({entry.position for entry in run if entry.position is not None})) for run in runs(awake, format)
    )


def runs(entries: Sequence[ViewMessage], format: Format) -> Iterator[Sequence[ViewMessage]]:
    """Groups of view messages; each group is sent as one message."""
    if not format.rules.joins_roles:
        yield from ((entry,) for entry in entries)
        return
    run: list[ViewMessage] = []
    for entry in entries:
        if run and not _merges(run[-1], entry, format):
            yield run
            run = []
        run.append(entry)
    if run:
        yield run


def kept_apart(entries: Sequence[ViewMessage], format: Format) -> list[ViewMessage]:
    """Messages for which no merging is possible."""
    if not format.rules.joins_roles:
        return list(entries)
    kept = list(entries[:1])
    for before, after in pairwise(entries):
        apart = _merges(before, after, format) and not (
            after.joined or _answer_one_message(before.message, after.message)
        )
        kept.append(replace(after, apart=True) if apart else after)
    return kept


def origin_of(message: Message) -> Origin:
    """Origin of an input message. Text written by plimsoll that comes back in a history does not count as a request."""
    for part in message.parts:
        if isinstance(part, (Text, ToolResult)):
            text = part.text if isinstance(part, Text) else part.content
            if text.startswith(BEGINNINGS):
                break
    else:
        return "history"
    if message.role == "user" and message.parts and all(is_note(part) or is_marker(part) for part in message.parts):
        return "made"  # a note may have been cut to its marker, and a request cut that far asks for nothing
    return "summary" if len(message.parts) == 1 and is_summary_or_notice(message.text) else "history"


def entry_of(
    message: Message,
    position: int | None,
    count_message: CountMessage,
    repairs: tuple[str, ...] = (),
    *,
    is_note: bool = False,
) -> ViewMessage:
    """The view message for a message of an input history, or for an inserted one.

    `is_note` is True for a tool's output in the user's role, which does not count as a request.
    """
    return ViewMessage(
        shown=message,
        count_message=count_message,
        position=position,
        origin="made" if position is None or is_note else origin_of(message),
        whole=not repairs,
        repairs=repairs,
    )


def split_joined(entries: Sequence[ViewMessage], format: Format, *, divides: bool = True) -> list[ViewMessage]:
    """Split messages into plimsoll's own text and the rest, for a view that comes back as a history.

    A summary in it becomes a summary again and the user's text a request. Applies where the format merges neighbours and where
    the caller merged texts, as parts of one message or, if `divides`, as one text.
    """
    joins = format.rules.joins_roles
    parts = [part for entry in entries for part in _parted(entry, joins=joins, divides=divides)]
    return ordered(parts, format) if len(parts) > len(entries) and joins else parts


def _parted(entry: ViewMessage, *, joins: bool, divides: bool) -> Iterator[ViewMessage]:
    if entry.origin != "history" or not (joins or entry.message.role == "user"):
        yield entry
        return
    if not joins and not any(map(_may_hold_summary, entry.message.parts)):
        yield entry
        return
    divides = divides and entry.message.role == "user"
    parts = [own for part in entry.message.parts for own in (_divided(part) if divides else [part])]
    origins = _origins_of(parts, joins=joins)
    if "summary" not in origins and len(set(origins)) <= 1:
        yield entry
        return
    for (origin, _), run in groupby(zip(_numbered(origins, parts), parts, strict=True), key=itemgetter(0)):
        message = entry.message.with_parts(tuple(part for _, part in run))
        yield replace(entry, shown=message, origin=origin, whole=False)


def _may_hold_summary(part: Part) -> bool:
    return isinstance(part, Text) and "[" in part.text


def _divided(part: Part) -> list[Part]:
    """Split a text that contains a summary into the texts it was merged from."""
    if not isinstance(part, Text):
        return [part]
    texts = divided(part.text)
    return [part] if len(texts) == 1 and texts[0] == part.text else [replace(part, text=text) for text in texts]


def _numbered(origins: Sequence[Origin], parts: Sequence[Part]) -> list[tuple[Origin, int]]:
    """Group parts: each summary with the reasoning before it; other neighbours of one origin together."""
    numbered: list[tuple[Origin, int]] = []
    for origin, part in zip(reversed(origins), reversed(parts), strict=True):
        leads = bool(numbered) and isinstance(part, Reasoning)
        numbered.append(numbered[-1] if leads else (origin, len(numbered) if origin == "summary" else -1))
    return numbered[::-1]


def _origins_of(parts: Sequence[Part], *, joins: bool) -> list[Origin]:
    """The origin of each part. Reasoning gets the origin of the part after it, since no message may end in reasoning.

    plimsoll's own notes are separated only where the format merged them with their neighbours.
    """
    origins: list[Origin] = []
    for part in reversed(parts):
        origin = _origin_of(part)
        origin = "history" if origin == "made" and not joins else origin
        origins.append(origins[-1] if origins and isinstance(part, Reasoning) else origin)
    return origins[::-1]


def _origin_of(part: Part) -> Origin:
    if isinstance(part, Text) and is_summary_or_notice(part.text):
        return "summary"
    return "made" if is_note(part) else "history"


def _merges(before: ViewMessage, after: ViewMessage, format: Format) -> bool:
    """True if two messages are merged on output: same role, and not adjacent in the history unless both hold results."""
    one, other = before.message, after.message
    role = _output_role(one, format)
    if after.apart or role == "system" or role != _output_role(other, format):
        return False
    if after.joined or before.position is None or after.position is None:
        return True
    return after.position != before.position + 1 or _answer_one_message(one, other)


def _answer_one_message(one: Message, other: Message) -> bool:
    """True if both hold tool results, and so answer the same assistant message."""
    return bool(one.results and other.results)


def _output_role(message: Message, format: Format) -> str:
    if message.role == "user" and format.labelled(message) is not None:
        return "system"
    return "user" if message.role == "tool" else message.role


def as_one(run: Sequence[ViewMessage], format: Format) -> Message:
    """Merge a group of view messages into one output message."""
    if len(run) == 1:
        return run[0].message
    parts = _results_first(part for entry in run for part in entry.message.parts)
    role: Role = "user" if _output_role(run[0].message, format) == "user" else "assistant"
    return Message(role=role, parts=parts, format=format.name)


def _results_first(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Tool results must lead their message."""
    return tuple(sorted(parts, key=lambda part: not isinstance(part, ToolResult)))
