"""A fact, and the limits of a ledger by kind of fact."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.summary.ledger.sentences import line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from plimsoll.message import Message

Kind: TypeAlias = Literal[
    "request",
    "constraint",
    "decision",
    "file",
    "command",
    "error",
    "identifier",
    "work",
    "chat",
    "heading",
    "language",
    "activity",
    "topic",
    "symbol",
]
"""`heading` is a date or session line for the following chat facts, `activity` a latest step, `topic` a topic listed by an
earlier summary, and `symbol` a name in code."""

Origin: TypeAlias = Literal["user", "assistant", "tool"]
"""Author of a fact. `request` and `constraint` facts are always the user's."""

RECALLED, RECALLED_OF_PEERS = "recalled", "recalled of peers"
"""States of chat facts parsed from a summary; the second is of summaries with peers in one section."""

_ROLES = ("user", "assistant", "tool")

LIST = "list"
"""State of a chat fact that names what an assistant's list has."""

BEFORE_ALL = -(10**9)
"""Position of the first fact parsed from a summary. These facts keep their order and have no last mention."""

KINDS: tuple[Kind, ...] = get_args(Kind)
ORIGINS: tuple[Origin, ...] = get_args(Origin)


ID_ENDINGS = ("id", "Id", "ID", "number", "key", "code", "uuid", "sha", "url", "path", "email")
"""Ends of the names of columns that identify a row."""


class Fact(NamedTuple):
    """A fact with its origin. A tuple, because extraction creates thousands in milliseconds."""

    kind: Kind
    key: str
    """Facts of one kind with equal keys are merged."""
    text: str
    """Text to show, without control characters. One line, except for requests."""
    position: int
    """Index of the first message with the fact; negative, from BEFORE_ALL on, for a fact from a summary."""
    origin: Origin
    weight: float = 1.0
    """Importance, about 0 to 10."""
    mentions: int = 1
    last: int = -1
    """Index of the last message with the fact."""
    note: str = ""
    """By kind: the question a reply answers, a command's outcome, a chat fact's speaker, a previous value, or a symbol's file.
    A request, a constraint and a decision of a message with a name have that name and a tab in front.
    """
    state: str = ""
    """By kind: `modified`, `read` or `seen`; `ok` or `failed`; `open` or `fixed`; `question`; or the status of a work item."""


Fields: TypeAlias = tuple[Kind, str, str, int, Origin, float, int, int, str, str]

fact_of: Callable[[Fields], Fact] = partial(tuple.__new__, Fact)
"""Make a fact of all its fields, in a third of the time that `Fact` takes: for the loops that make thousands."""


def speaker_of(fact: Fact) -> str:
    """Return the speaker of a chat fact, without the topic that facts from a summary may add to the note."""
    return fact.note.partition("\t")[0]


def speakers_of(facts: Iterable[Fact]) -> set[str]:
    """Return the speakers of chat facts. Few notes are different."""
    return {note.partition("\t")[0] for note in set(map(attrgetter("note"), facts))}


def topic_of(fact: Fact) -> str:
    """Return the topic of a chat fact from a summary, or ""."""
    return fact.note.partition("\t")[2]


_SEPARATORS = regex(r"[\s:：;,=()\[\]]+")
_NAME_CHARS_MAX = 32


def author_in(message: Message) -> str:
    """Return the name of a message, without the characters that separate names and statements in a summary, or ""."""
    return line(_SEPARATORS.sub(" ", message.name), _NAME_CHARS_MAX) if message.name else ""


def by(name: str, note: str = "") -> str:
    """Return the note of a fact whose message gives the name of its author, or none."""
    return f"{name}\t{note}" if name else note


def author_of(fact: Fact) -> str:
    """Return the name that the message of a fact gives its author, or ""."""
    name, mark, _ = fact.note.partition("\t")
    return name if (mark or is_recalled(fact)) and name.casefold() not in _ROLES else ""


def is_recalled(fact: Fact) -> bool:
    """Return whether a chat fact was parsed from a summary."""
    return fact.state in (RECALLED, RECALLED_OF_PEERS)


def request_key(note: str, bare: str) -> str:
    """Return the key of a request: the question that it answers, and its words."""
    return f"{note[:40]}|{bare[:400]}"


def row_key(heading: str, schema: str, text: str, *, is_nested: bool = False) -> str:
    """Return the key of a row: its columns and first id, so that a changed value replaces the old one.

    A row nested in an object belongs to that object: equal ids in others are not its older values.
    """
    for named in schema.split(" "):
        at = text.find(f"{named} ") if named.endswith(ID_ENDINGS) else -1
        cell = text[at : at + 80].partition(",")[0]
        if at >= 0 and not is_flag(cell[len(named) + 1 :]):
            return f"{heading if is_nested else ''}{schema[:60]}|{cell}"
    return f"{heading}|{text}"


def is_flag(cell: str) -> bool:
    """Return whether a cell is a yes or a no, which names nothing: `paid` and `valid` end like the name of an id."""
    return cell in ("yes", "no")


def first_seen(fact: Fact) -> Fact:
    """Set the last mention to the first. Written out, because `_replace` takes three times as long."""
    kind, key, text, position, origin, weight, mentions, _, note, state = fact
    return fact_of((kind, key, text, position, origin, weight, mentions, position, note, state))


class Cap(NamedTuple):
    """Limits for one kind of fact."""

    facts_max: int
    chars_max: int
    text_chars_max: int


CAPS: dict[Kind, Cap] = {
    "request": Cap(240, 80_000, 6_000),
    "constraint": Cap(160, 24_000, 400),
    "decision": Cap(240, 40_000, 320),
    "file": Cap(500, 50_000, 260),
    "command": Cap(200, 40_000, 300),
    "error": Cap(100, 20_000, 260),
    "identifier": Cap(900, 90_000, 320),
    "work": Cap(60, 8_000, 240),
    "chat": Cap(2_400, 160_000, 320),
    "heading": Cap(160, 10_000, 100),
    "language": Cap(24, 600, 24),
    "activity": Cap(12, 3_000, 240),
    "topic": Cap(60, 2_400, 40),
    "symbol": Cap(400, 24_000, 64),
}
"""Keep the ledger under half a megabyte of JSON for a session of any length."""
