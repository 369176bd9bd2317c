"""What the Responses API refuses, for input that refers to no earlier response.

Rules from the request types of the official SDK and from the API's own error texts: every call has an output after it
and every output a call before it, a reasoning item is followed by what it led to, content parts fit the role.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any, Final

from plimsoll.formats.checks import (
    Answers,
    Findings,
    check_blocks,
    check_fields,
    check_tool_name,
    check_tools,
    checked_id,
)
from plimsoll.formats.format import SystemText, Violation
from plimsoll.formats.openai_responses.codec import ROLES
from plimsoll.formats.openai_responses.fields import CALLS, RESULTS, objects_in
from plimsoll.formats.rules import RULES
from plimsoll.formats.wire import kind_of
from plimsoll.message import Wire

_RULES: Final = RULES["openai-responses"]

INPUT: Final = {"input_text": "text", "input_image": "", "input_file": "", "input_audio": ""}
OUTPUT: Final = {"output_text": "text", "refusal": "refusal"}
TEXT_CALLS: Final = frozenset({"function_call", "custom_tool_call"})
NATIVE_RESULTS: Final[dict[str, type]] = {
    "shell_call_output": list,
    "local_shell_call_output": str,
    "computer_call_output": dict,
    "tool_search_output": list,
    "program_output": str,
}
"""Required output fields of built-in tools."""

TEXT_OR_NULL: Final[dict[str, str]] = {
    "mcp_call": "output",
    "apply_patch_call_output": "output",
    "image_generation_call": "result",
    "code_interpreter_call": "code",
}
"""Items of the provider's own tools that hold text or null, and the field that does."""

TEXT_RESULTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})
_NOT_LED_TO: Final = frozenset(
    {"additional_tools", "configuration_update", "mcp_approval_response", "compaction_trigger", *RESULTS}
)


def follows_reasoning(wire: Wire) -> bool:
    """True if an item can be the output that the reasoning before it belongs to: the agent's text or call, or an item reference."""
    kind = wire.get("type")
    if kind == "message" or (kind is None and "role" in wire):
        return wire.get("role") == "assistant"
    return kind not in _NOT_LED_TO


def validate(wires: Sequence[Wire], *, system: SystemText = None, tools: Sequence[Wire] = ()) -> list[Violation]:
    """The violations: those of the tools first, then by position. System text is among the messages in this format."""
    del system
    checking = _Checking()
    check_tools(checking.findings, tools, chars_max=_RULES.tool_name_chars_max)
    for position, wire in enumerate(wires):
        checking.check(wire, position)
    checking.close()
    return checking.findings.sorted()


class _Checking:
    def __init__(self) -> None:
        self.findings = Findings()
        self._answers = Answers(
            self.findings,
            orphan="no call before it has this call_id",
            twice="this call already has an output",
            unanswered="no output after it answers {}",
            again="a call before it has the same call_id and no output yet",
        )
        self._thought: int | None = None

    def check(self, wire: Wire, position: int) -> None:
        self.findings.position = position
        kind = wire.get("type")
        if kind is not None and not isinstance(kind, str):
            self.findings.add("wrong_type", f"type must be text, not {kind_of(kind)}")
            return
        self._follow_reasoning(wire, kind)
        check_fields(self.findings, objects_in(wire))
        if kind in TEXT_OR_NULL and not isinstance(wire.get(TEXT_OR_NULL[kind]), (str, NoneType)):
            field = TEXT_OR_NULL[kind]
            self.findings.add("wrong_type", f"{field} of {kind} must be text or null, not {kind_of(wire[field])}")
        if kind == "message" or (kind is None and "role" in wire):
            self._check_message(wire)
        elif kind in CALLS:
            self._check_call(wire, kind)
        elif kind in RESULTS:
            self._check_result(wire, kind)
        elif kind == "reasoning":
            self._check_reasoning(wire)
        elif kind is None and not isinstance(wire.get("id"), str):
            self.findings.add("unknown_block", "an item needs a type, a role, or the id it refers to")

    def close(self) -> None:
        """Close the conversation: calls without an output are violations now."""
        self._report_thought()
        self._answers.close()

    def _follow_reasoning(self, wire: Wire, kind: str | None) -> None:
        """Reasoning must be followed by the message or call it belongs to; other reasoning may come between."""
        if kind == "reasoning":
            return
        if not follows_reasoning(wire):
            self._report_thought()
        self._thought = None

    def _report_thought(self) -> None:
        if self._thought is not None:
            self.findings.add(
                "reasoning_alone", "the item that this reasoning belongs to does not follow it", self._thought
            )
        self._thought = None

    def _check_message(self, wire: Wire) -> None:
        role = wire.get("role")
        if not isinstance(role, str) or role not in ROLES:
            self.findings.add("unknown_role", f"role must be one of {', '.join(ROLES)}")
            return
        content = wire.get("content")
        if content is None:
            self.findings.add("empty_content", "a message needs content")
        elif isinstance(content, list):
            check_blocks(self.findings, content, OUTPUT if role == "assistant" else INPUT)
        elif not isinstance(content, str):
            self.findings.add("wrong_type", f"content must be text or a list, not {kind_of(content)}")

    def _check_call(self, wire: Wire, kind: str) -> None:
        asked = wire.get(CALLS[kind])
        if kind in TEXT_CALLS:
            check_tool_name(self.findings, wire.get("name"), chars_max=_RULES.tool_name_chars_max)
            if not isinstance(asked, str):
                self.findings.add("wrong_type", f"{CALLS[kind]} must be text, not {kind_of(asked)}")
        call_id = wire.get("call_id")
        if kind == "tool_search_call" and call_id is None:
            return
        self._answers.ask(checked_id(self.findings, call_id, "call_id", chars_max=_RULES.call_id_chars_max))

    def _check_result(self, wire: Wire, kind: str) -> None:
        self._check_output(wire.get(RESULTS[kind]), kind)
        call_id: Any = wire.get("call_id")
        if kind == "tool_search_output" and call_id is None:
            return
        if kind == "local_shell_call_output" and call_id is None:
            call_id = wire.get("id")
        self._answers.answer(checked_id(self.findings, call_id, "call_id", chars_max=_RULES.call_id_chars_max))

    def _check_output(self, output: object, kind: str) -> None:
        if kind not in TEXT_RESULTS:
            wanted = NATIVE_RESULTS.get(kind, object)
            if not isinstance(output, wanted):
                self.findings.add("wrong_type", f"{RESULTS[kind]} of {kind} may not be {kind_of(output)}")
            return
        if isinstance(output, list):
            check_blocks(self.findings, output, INPUT)
        elif not isinstance(output, str):
            self.findings.add("wrong_type", f"output must be text or a list, not {kind_of(output)}")

    def _check_reasoning(self, wire: Wire) -> None:
        self._thought = self.findings.position
        if not isinstance(wire.get("summary"), list):
            self.findings.add("wrong_type", "a reasoning item needs its summary, a list")
