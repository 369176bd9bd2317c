"""The ledger as JSON values, and back. Damaged data is rejected entirely: a wrong fact is worse than a missing one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from plimsoll.errors import FormatError
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.limits import LEDGER_WORDS_CHARS_MAX
from plimsoll.summary.ledger.fact import (
    BEFORE_ALL,
    CAPS,
    KINDS,
    ORIGINS,
    Fact,
    Kind,
    Origin,
    request_key,
    row_key,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plimsoll.message import Message

VERSION = 1
"""Increased when a change makes old ledgers unreadable."""


_DIALOGUE_SHARE = 10
"""In a dialogue, at most one message in this number is a tool result."""


class Counts(NamedTuple):
    """Number of messages by role, and of tool results.

    Formats put results in messages of different roles. Here, each result counts as a tool's message, and a message with only
    results does not count for its role.
    """

    messages: int = 0
    user: int = 0
    assistant: int = 0
    tool: int = 0
    system: int = 0
    results: int = 0

    @property
    def is_dialogue(self) -> bool:
        """Whether at most one message in ten is a tool result."""
        return self.results * _DIALOGUE_SHARE <= self.messages

    def added(self, other: Counts, *, times: int = 1) -> Counts:
        """Return the sum, or with `times=-1` the difference."""
        return Counts(*(max(0, mine + times * theirs) for mine, theirs in zip(self, other, strict=True)))

    def plus(self, messages: Sequence[Message]) -> Counts:
        """Return the counts with these messages added."""
        results = [len(message.results) for message in messages]
        counted = zip(messages, results, strict=True)
        roles = [m.role for m, held in counted if not held or (m.role != "tool" and held < len(m.parts))]
        return Counts(
            self.messages + len(messages),
            self.user + roles.count("user"),
            self.assistant + roles.count("assistant"),
            self.tool + roles.count("tool") + sum(results),
            self.system + roles.count("system"),
            self.results + sum(results),
        )


NOTHING = Counts()


def to_dict(  # noqa: PLR0913, PLR0917 - the fields of a ledger
    facts: Mapping[Kind, tuple[Fact, ...]],
    counts: Counts,
    evicted: Mapping[Kind, int],
    end: int,
    asked: str,
    words: str,
) -> dict[str, Any]:
    """Return JSON values. To keep the record small, facts are lists without their kind, and a key that is usual is empty."""
    return {
        "version": VERSION,
        "end": end,
        "asked": asked,
        **({"words": words} if words else {}),
        "counts": list(counts),
        "evicted": dict(evicted),
        "facts": {
            kind: [
                [
                    "" if fact.key == _usual_key(kind, fact.text, fact.note) else fact.key,
                    fact.text,
                    fact.position,
                    fact.origin,
                    fact.weight,
                    fact.mentions,
                    fact.last,
                    fact.note,
                    fact.state,
                ]
                for fact in kept
            ]
            for kind, kept in facts.items()
        },
    }


def from_dict(
    data: object,
) -> tuple[dict[Kind, tuple[Fact, ...]], Counts, dict[Kind, int], int, str, str]:
    """Parse the result of `to_dict`. Raises FormatError for anything else, including facts beyond the caps."""
    root = _as_object(data, "ledger")
    if root.get("version") != VERSION:
        raise FormatError(f"ledger version {str(root.get('version'))[:20]} is not {VERSION}", format="ledger")
    counts = root.get("counts")
    if not isinstance(counts, list) or len(counts) != len(Counts._fields) or not all(map(_is_count, counts)):
        raise FormatError("counts are not six numbers", format="ledger")
    evicted = {_kind(kind): _as_count(number) for kind, number in _as_object(root.get("evicted"), "evicted").items()}
    facts = {_kind(kind): _facts(_kind(kind), rows) for kind, rows in _as_object(root.get("facts"), "facts").items()}
    asked, words = root.get("asked"), root.get("words", "")
    if not isinstance(asked, str) or not isinstance(words, str) or len(words) > LEDGER_WORDS_CHARS_MAX:
        raise FormatError("`asked` or `words` is not text", format="ledger")
    return facts, Counts(*counts), evicted, _as_count(root.get("end")), asked, words


def _facts(kind: Kind, rows: object) -> tuple[Fact, ...]:
    if not isinstance(rows, list) or len(rows) > CAPS[kind].facts_max:
        raise FormatError(f"{kind} facts are not a list within the cap", format="ledger")
    return tuple(_fact(kind, row) for row in rows)


def _usual_key(kind: Kind, text: str, note: str) -> str:
    """The key that most facts of a kind have."""
    match kind:
        case "constraint" | "decision":
            return text.casefold()[:160]
        case "request":
            return request_key(note, " ".join(text.split()))
        case "identifier" if (row := note.partition("\t"))[2]:
            return row_key(row[0], row[2], text)
        case _:
            return text


_ROWS: frozenset[tuple[type, ...]] = frozenset(
    (str, str, int, str, weight, int, int, str, str) for weight in (int, float)
)
"""Types of a row: comparing all at once is several times as fast as a pattern."""


def _fact(kind: Kind, row: object) -> Fact:
    if not isinstance(row, list) or tuple(map(type, row)) not in _ROWS:
        raise FormatError(f"a {kind} fact is damaged", format="ledger")
    key, text, position, origin, weight, mentions, last, note, state = row
    if not math.isfinite(weight) or mentions < 1 or position < BEFORE_ALL or last < -1:
        raise FormatError(f"a {kind} fact is damaged", format="ledger")
    key = key or _usual_key(kind, text, note)
    return Fact(kind, key, text, position, _origin(kind, origin), weight, mentions, last, note, state)


def _origin(kind: Kind, origin: str) -> Origin:
    for known in ORIGINS:
        if origin == known and not (kind in ("request", "constraint") and known != "user"):
            return known
    raise FormatError(f"a {kind} fact has origin {origin[:20]!r}", format="ledger")


def _kind(name: object) -> Kind:
    for kind in KINDS:
        if name == kind:
            return kind
    raise FormatError(f"unknown kind of fact {str(name)[:40]!r}", format="ledger")


def _as_object(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{name} is not an object", format="ledger")
    return value


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _as_count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise FormatError("a count is not a number", format="ledger")
