"""Shared parts of the validators: collecting findings, and checks of ids, names and blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from plimsoll.formats.fields import Fields, extra
from plimsoll.formats.format import Code, Violation
from plimsoll.formats.ids import SAFE
from plimsoll.formats.wire import kind_of


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

    def __init__(self, findings: Findings, *, orphan: str, twice: str, unanswered: str) -> None:
        """The reasons for a result without a call, for a second result, and for a call without one (with `{}` for its id)."""
        self._findings = findings
        self._orphan, self._twice, self._unanswered = orphan, twice, unanswered
        self._answered: set[str] = set()
        self.open: dict[str, int] = {}
        """The position of each open call, by id."""

    def ask(self, id: str) -> None:
        """Record a call in the message being checked."""
        self.open[id] = self._findings.position or 0
        self._answered.discard(id)

    def answer(self, id: str) -> None:
        """Record a result."""
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
        if isinstance(name, str) and name in seen:
            findings.add("duplicate_tool", f"two tools are called {ascii(name)[:60]}")
        seen.add(str(name))


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
        if not field:
            continue
        wanted = str if field in ("text", "refusal") else dict
        if not isinstance(block.get(field), wanted):
            findings.add("wrong_type", f"{field} must be {'text' if wanted is str else 'an object'}")
