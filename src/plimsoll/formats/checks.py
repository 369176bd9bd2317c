"""What the validators of all formats share: collecting findings, and checks on ids, names and blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from plimsoll.formats.fields import Fields, extra
from plimsoll.formats.format import Code, Violation
from plimsoll.formats.ids import SAFE
from plimsoll.formats.wire import kind_of


class Findings:
    """Violations as they are found. `position` is the message being looked at."""

    def __init__(self) -> None:
        self.position: int | None = None
        self._found: list[Violation] = []

    def add(self, code: Code, reason: str, position: int | None = None) -> None:
        """Report a violation, of the message being looked at unless another position is given."""
        where = self.position if position is None else position
        self._found.append(Violation(position=where, code=code, reason=reason))

    def sorted(self) -> list[Violation]:
        """All of them: the system text first, then by position, in the order found."""
        return sorted(self._found, key=lambda found: -1 if found.position is None else found.position)


class Answers:
    """Which calls have results, as they come. A provider takes one result for each, and each id for one open call."""

    def __init__(self, findings: Findings, *, orphan: str, twice: str, unanswered: str) -> None:
        """The reasons for a result without a call, for a second one, and for a call without any (with `{}` for its id)."""
        self._findings = findings
        self._orphan, self._twice, self._unanswered = orphan, twice, unanswered
        self._answered: set[str] = set()
        self.open: dict[str, int] = {}
        """The position of each open call, by id."""

    def ask(self, id: str) -> None:
        """A call is made in the message being looked at."""
        self.open[id] = self._findings.position or 0
        self._answered.discard(id)

    def answer(self, id: str) -> None:
        """A result comes."""
        if id in self.open:
            del self.open[id]
            self._answered.add(id)
        elif id in self._answered:
            self._findings.add("duplicate_result", self._twice)
        else:
            self._findings.add("result_without_call", self._orphan)

    def close(self, following: Mapping[str, int] = MappingProxyType({})) -> None:
        """No more results can come for the open calls; from now on those `following` are open."""
        for id, position in self.open.items():
            self._findings.add("call_without_result", self._unanswered.format(ascii(id)[:60]), position)
        self.open, self._answered = dict(following), set()


def check_fields(findings: Findings, found: Iterable[tuple[Mapping[str, Any], Fields]]) -> None:
    """Objects with the fields that each may have: others are refused."""
    for wire, allowed in found:
        for field in extra(wire, allowed):
            kind = wire.get("type") or wire.get("role") or "it"
            fault = "may not be null in" if field in allowed else "is no field of"
            findings.add("unknown_field", f"{ascii(field)[:40]} {fault} {ascii(kind)[:40]} in a request")


def has_text(value: object) -> bool:
    """Whether it is text with something in it."""
    return isinstance(value, str) and bool(value)


def check_id(findings: Findings, value: object, what: str, *, chars_max: int | None = None) -> bool:
    """Whether an id is there and is text; reported when not, and when it is longer than the provider takes."""
    if isinstance(value, str) and chars_max is not None and len(value) > chars_max:
        findings.add("bad_id", f"{what} may have {chars_max} characters, not {len(value)}")
    if value is not None and not isinstance(value, str):
        findings.add("wrong_type", f"{what} must be text, not {kind_of(value)}")
    elif not value:
        findings.add("missing_id", f"{what} is missing or empty")
    return has_text(value)


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
    """Content blocks: at least one, of an allowed type, each holding the field its type asks for, if any."""
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
