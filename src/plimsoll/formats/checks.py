"""Shared parts of the validators and repairs: collecting findings, ids, names, blocks, and the fields that a provider accepts.

Fields are data. Other fields of a message are kept in the history and not sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from plimsoll.formats.format import Code, Format, Violation
from plimsoll.formats.ids import SAFE
from plimsoll.formats.media import media_of
from plimsoll.formats.rules import RULES
from plimsoll.formats.wire import json_text, kind_of
from plimsoll.light.regex import regex
from plimsoll.message import FormatName, Message, Wire

Fields: TypeAlias = frozenset[str]

ObjectsIn: TypeAlias = Callable[[Mapping[str, Any]], Iterable[tuple[dict[str, Any], Fields]]]
"""A message and the objects in it, each with the fields that the API accepts in it."""

ByType: TypeAlias = Mapping[str, Fields]
"""The fields of each type of block or item. For a type that is not listed (newer than this version), any field is accepted."""


def fields(words: str) -> Fields:
    """Parse field names separated by spaces. A name with `!` is optional but must not be null, as it is in dumps of responses."""
    return frozenset(words.split()) | frozenset(words.replace("!", "").split())


def extra(wire: Mapping[str, Any], allowed: Fields) -> list[str]:
    """Fields that are not allowed, or that are null and must not be, in order."""
    if wire.keys() <= allowed and None not in wire.values():
        return []
    return [field for field in wire if field not in allowed or (wire[field] is None and f"{field}!" in allowed)]


def trimmed(own: dict[str, Any], objects_in: ObjectsIn) -> dict[str, Any]:
    """Remove from a message written by plimsoll the fields that the API rejects in it and the objects in it.

    These are fields of responses, and the caller's own.
    """
    for wire, allowed in objects_in(own):
        for field in extra(wire, allowed):
            del wire[field]
    return own


def typed(blocks: object, by_type: ByType) -> Iterator[tuple[dict[str, Any], Fields]]:
    """The blocks of a list with a known type, each with the fields it may have."""
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, dict):
            kind = block.get("type")
            allowed = by_type.get(kind) if isinstance(kind, str) else None
            if allowed is not None:
                yield block, allowed


class Findings:
    """Collects violations. `position` is the message being checked."""

    def __init__(self) -> None:
        self.position: int | None = None
        self._found: list[Violation] = []

    def add(self, code: Code, reason: str, position: int | None = None) -> None:
        """Report a violation in the message being checked, or at the given position."""
        where = self.position if position is None else position
        self._found.append(Violation(position=where, code=code, reason=reason))

    def sorted(self) -> list[Violation]:
        """All violations: those of the system text first, then by position, in the order found."""
        return sorted(self._found, key=lambda found: -1 if found.position is None else found.position)


class Answers:
    """Tracks which calls have results. A provider accepts exactly one result for each call, while the call is open."""

    def __init__(self, findings: Findings, *, orphan: str, twice: str, unanswered: str, again: str = "") -> None:
        """The reasons for a result without a call, for a second result, for a call without one (with `{}` for its id), and for
        a call whose id an open one has.
        """
        self._findings = findings
        self._orphan, self._twice, self._unanswered, self._again = orphan, twice, unanswered, again
        self._answered: set[str] = set()
        self.open: dict[str, int] = {}
        """The position of each open call, by id."""

    def ask(self, id: str | None) -> None:
        """Record a call in the message being checked, if it has an id."""
        if id is not None:
            if id in self.open:
                self._findings.add("duplicate_id", self._again)
            self.open[id] = self._findings.position or 0
            self._answered.discard(id)

    def answer(self, id: str | None) -> None:
        """Record a result, if it has an id."""
        if id is None:
            return
        if id in self.open:
            del self.open[id]
            self._answered.add(id)
        elif id in self._answered:
            self._findings.add("duplicate_result", self._twice)
        else:
            self._findings.add("result_without_call", self._orphan)

    def close(self, following: Mapping[str, int] = MappingProxyType({})) -> None:
        """Report the open calls, which can get no more results. The calls in `following` are open from now on."""
        for id, position in self.open.items():
            self._findings.add("call_without_result", self._unanswered.format(ascii(id)[:60]), position)
        self.open, self._answered = dict(following), set()


def check_fields(findings: Findings, found: Iterable[tuple[Mapping[str, Any], Fields]]) -> None:
    """Check that objects have only the fields that they may have."""
    for wire, allowed in found:
        for field in extra(wire, allowed):
            kind = wire.get("type") or wire.get("role") or "it"
            fault = "may not be null in" if field in allowed else "is no field of"
            findings.add("unknown_field", f"{ascii(field)[:40]} {fault} {ascii(kind)[:40]} in a request")


def checked_id(findings: Findings, value: object, what: str, *, chars_max: int | None = None) -> str | None:
    """Check that an id is text and within the provider's length limit. Returns it, or None if it is not text or empty."""
    if isinstance(value, str) and chars_max is not None and len(value) > chars_max:
        findings.add("bad_id", f"{what} may have {chars_max} characters, not {len(value)}")
    if value is not None and not isinstance(value, str):
        findings.add("wrong_type", f"{what} must be text, not {kind_of(value)}")
    elif not value:
        findings.add("missing_id", f"{what} is missing or empty")
    return value if isinstance(value, str) and value else None


def check_tool_name(findings: Findings, value: object, *, chars_max: int | None) -> None:
    """A tool's name: letters, digits, `_` and `-`, no more than the provider takes."""
    if not isinstance(value, str) or SAFE.fullmatch(value) is None:
        findings.add("bad_name", "a tool's name must be letters, digits, _ and -")
    elif chars_max is not None and len(value) > chars_max:
        findings.add("bad_name", f"a tool's name may have {chars_max} characters, not {len(value)}")


def check_tools(findings: Findings, tools: Iterable[Mapping[str, Any]], *, chars_max: int | None) -> None:
    """Check the tool definitions: each name must be valid and unique."""
    seen: set[str] = set()
    for tool in tools:
        inner = tool.get("function")
        name = inner.get("name") if isinstance(inner, Mapping) else tool.get("name")
        if name is None:
            continue  # a tool of the provider's own
        check_tool_name(findings, name, chars_max=chars_max)
        if isinstance(name, str):
            if name in seen:
                findings.add("duplicate_tool", f"two tools are called {ascii(name)[:60]}")
            seen.add(name)


def check_blocks(findings: Findings, blocks: list[Any], allowed: Mapping[str, str]) -> None:
    """Check content blocks: at least one, each of an allowed type, with the field that its type requires, if any."""
    if not blocks:
        findings.add("empty_content", "content may not be an empty list")
    for block in blocks:
        if not isinstance(block, dict):
            findings.add("wrong_type", f"a content part must be an object, not {kind_of(block)}")
            continue
        kind = block.get("type")
        if not isinstance(kind, str) or kind not in allowed:
            findings.add("unknown_block", f"{ascii(kind)[:40]} is not allowed here; allowed: {', '.join(allowed)}")
            continue
        field = allowed[kind]
        if field and not has_value(block, field):
            findings.add("wrong_type", f"{field} must be {kind_of(_VALUES.get(field, dict)())}")


_VALUES: Final[Mapping[str, type]] = {"text": str, "refusal": str, "thinking": list}
"""The types of the fields that content blocks require. Others are objects."""


def has_value(block: Wire, field: str) -> bool:
    """True if the field that a block's type requires is in it and of the right type."""
    return isinstance(block.get(field), _VALUES.get(field, dict))


_ALONE: Final = frozenset(
    (
        *("wrong_type", "unknown_block", "wrong_place", "empty_content", "empty_tool_calls", "missing_id", "bad_name"),
        "failed_result_not_text",
    )
)
"""Violations of a single message; the others concern its neighbours."""

_UNSAFE: Final = regex(r"[^a-zA-Z0-9_-]")


def repaired(format: Format, message: Message, position: int, repairs: list[str]) -> Message:
    """Repair what the provider rejects in a message in any context; the same object if there is nothing to repair."""
    if format.is_sound(message) or message.edited or message.wire is None:
        return message
    if not any(found.code in _ALONE for found in format.validate([message.wire])):
        return message
    return format.decode(format.repair(message.wire, repairs), position)


def is_name(value: object, format: FormatName) -> bool:
    """True if the tool name is valid in a format."""
    most = RULES[format].tool_name_chars_max
    return isinstance(value, str) and SAFE.fullmatch(value) is not None and (most is None or len(value) <= most)


def tool_name(value: object, format: FormatName) -> str:
    """Convert to a valid tool name: invalid characters become `_`, and an overlong name is cut."""
    return _UNSAFE.sub("_", value if isinstance(value, str) else "")[: RULES[format].tool_name_chars_max] or "tool"


def in_words(block: Wire) -> str:
    """A block that is not allowed in its place, as text: a medium by its name, a refusal by its text, others as JSON."""
    medium = media_of(block)
    if medium is not None:
        return f"[{medium.kind} left out]"
    refusal = block.get("refusal")
    return refusal if isinstance(refusal, str) and refusal else json_text(block)
