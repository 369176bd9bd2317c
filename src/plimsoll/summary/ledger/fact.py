"""One fact, and how many of each kind a ledger keeps."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

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
"""What sort of fact it is. `heading` is a date or session line that dates the chat facts after it; `activity` is what
happened last; `topic` is what an earlier summary said talk was about; `symbol` is a name in code; the rest are what they say."""

Origin: TypeAlias = Literal["user", "assistant", "tool"]
"""Who said it. Only `user` facts are ever requests or constraints."""

RECALLED, RECALLED_OF_PEERS = "recalled", "recalled of peers"
"""The states of a chat fact that was read back from a summary, which has peers in one section."""

BEFORE_ALL = -(10**9)
"""Position of the first fact that was read back from a summary. Such facts keep their order, and are last mentioned nowhere."""

KINDS: tuple[Kind, ...] = get_args(Kind)
ORIGINS: tuple[Origin, ...] = get_args(Origin)


class Fact(NamedTuple):
    """One thing worth remembering, with where it came from. A tuple, because extraction makes thousands in milliseconds."""

    kind: Kind
    key: str
    """Facts of one kind with equal keys are the same fact; the later one is merged into the earlier."""
    text: str
    """What to show: one line, control characters removed (requests may have several lines)."""
    position: int
    """Index in the history of the message it came from first; from BEFORE_ALL on, below 0, where that was a summary."""
    origin: Origin
    weight: float = 1.0
    """How much it matters on its own, about 0 to 10."""
    mentions: int = 1
    last: int = -1
    """Index of the message that mentioned it last."""
    note: str = ""
    """By kind: the question a short reply answers, a command's outcome, a chat fact's speaker, an earlier value, a name's file."""
    state: str = ""
    """By kind: `modified`, `read` or `seen`; `ok` or `failed`; `open` or `fixed`; `question`; a work item's status."""


def speaker_of(fact: Fact) -> str:
    """Who said a chat fact. Where it was read back from under a topic, its note has that too."""
    return fact.note.partition("\t")[0]


def topic_of(fact: Fact) -> str:
    """What a chat fact that was read back stood under; empty for others."""
    return fact.note.partition("\t")[2]


def is_recalled(fact: Fact) -> bool:
    """Whether a chat fact was read back from a summary."""
    return fact.state in (RECALLED, RECALLED_OF_PEERS)


def first_seen(fact: Fact) -> Fact:
    """The fact, last mentioned where it was first. Spelled out, because `_replace` takes three times as long."""
    kind, key, text, position, origin, weight, mentions, _, note, state = fact
    return Fact(kind, key, text, position, origin, weight, mentions, position, note, state)


class Cap(NamedTuple):
    """The most a ledger keeps of one kind."""

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
"""Chosen so that the whole ledger stays under half a megabyte of JSON however long the session grows."""
