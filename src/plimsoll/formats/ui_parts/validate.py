"""What the AI SDK rejects as UI messages, and what a provider rejects after the SDK has converted them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from plimsoll.formats.checks import Findings, checked_id
from plimsoll.formats.format import SystemText, Violation
from plimsoll.formats.ui_parts.codec import ID_FIELDS, ROLES, is_tool, tool_name
from plimsoll.formats.wire import kind_of
from plimsoll.message import Wire

TEXT_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "text": ("text",),
    "reasoning": ("text",),
    "custom": ("kind",),
    "source-url": ("sourceId", "url"),
    "source-document": ("sourceId", "mediaType", "title"),
    "file": ("mediaType", "url"),
    "reasoning-file": ("mediaType", "url"),
    "step-start": (),
}
STATES: Final = {
    "input-streaming": "",
    "input-available": "input",
    "approval-requested": "approval",
    "approval-responded": "approval",
    "output-available": "output",
    "output-error": "errorText",
    "output-denied": "approval",
}
_UNANSWERED: Final = frozenset({"input-available", "approval-requested"})


def validate(wires: Sequence[Wire], *, system: SystemText = None, tools: Sequence[Wire] = ()) -> list[Violation]:
    """The violations, in order of position. System text is a message in this format; the SDK checks tools itself."""
    del system, tools
    findings = Findings()
    for position, wire in enumerate(wires):
        findings.position = position
        _check(findings, wire, is_last=position == len(wires) - 1)
    return findings.sorted()


def _check(findings: Findings, wire: Wire, *, is_last: bool) -> None:
    role = wire.get("role")
    if not isinstance(role, str) or role not in ROLES:
        findings.add("unknown_role", f"role must be one of {', '.join(ROLES)}")
    checked_id(findings, wire.get("id"), "the message's id")
    parts = wire.get("parts")
    if not isinstance(parts, list):
        findings.add("wrong_type", f"parts must be a list, not {kind_of(parts)}")
        return
    if not parts:
        findings.add("empty_content", "a message needs at least one part")
    seen: set[str] = set()
    for part in parts:
        if isinstance(part, dict):
            _check_part(findings, part, role, seen, is_last=is_last)
        else:
            findings.add("wrong_type", f"a part must be an object, not {kind_of(part)}")


def _check_part(findings: Findings, part: dict[str, Any], role: object, seen: set[str], *, is_last: bool) -> None:
    kind = part.get("type")
    if isinstance(kind, str) and (is_tool(part) or kind.startswith("tool-")):
        if role != "assistant":
            findings.add("wrong_place", "only an assistant message may contain tool parts")
        _check_tool(findings, part, seen, is_last=is_last)
    elif isinstance(kind, str) and kind.startswith("data-"):
        return
    elif not isinstance(kind, str) or kind not in TEXT_FIELDS:
        findings.add("unknown_block", f"{ascii(kind)[:40]} is not a UI message part")
    else:
        for field in TEXT_FIELDS[kind]:
            if not isinstance(part.get(field), str):
                findings.add("wrong_type", f"{field} must be text, not {kind_of(part.get(field))}")


def _check_tool(findings: Findings, part: dict[str, Any], seen: set[str], *, is_last: bool) -> None:
    state = part.get("state")
    if not isinstance(state, str) or state not in STATES:
        findings.add("wrong_type", f"state must be one of {', '.join(STATES)}")
        return
    if not _name_of(part):
        findings.add("bad_name", "a tool part needs the tool's name")
    field = STATES[state]
    if field and field not in part:
        findings.add("wrong_type", f"a part in state {state} needs {field}")
    elif field == "errorText" and not isinstance(part[field], str):
        findings.add("wrong_type", f"errorText must be text, not {kind_of(part[field])}")
    call_id = checked_id(findings, next((part[name] for name in ID_FIELDS if name in part), None), "toolCallId")
    if call_id is not None:
        if call_id in seen:
            findings.add("duplicate_id", "another tool part of the message has the same toolCallId")
        seen.add(call_id)
    if needs_result(part, is_last):
        findings.add("call_without_result", f"a call in state {state} has no result")


def needs_result(part: Wire, is_last: bool) -> bool:  # noqa: FBT001 - as Format.needs_result
    """Whether a tool part without a result is refused. In the last message, an approved call may still be run."""
    state = part.get("state")
    waits = state in _UNANSWERED or (state == "approval-responded" and not is_last)
    return waits and part.get("providerExecuted") is not True


def _name_of(part: dict[str, Any]) -> object:
    return tool_name(part) if part.get("type") != "dynamic-tool" else part.get("toolName", part.get("tool_name"))
