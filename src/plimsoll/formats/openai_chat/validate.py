"""What the Chat Completions API refuses.

Rules from the request types of the official SDK and from the API's own error texts: an assistant message with calls
must be followed by one tool message for each, a tool message must answer such a call, `tool_calls` may not be empty,
names match `^[a-zA-Z0-9_-]+$`.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from plimsoll.formats.openai_chat.codec import ROLES, objects_in
from plimsoll.formats.rules import RULES
from plimsoll.formats.wire import ANY_BLOCKS, kind_of
from plimsoll.light.regex import regex
from plimsoll.message import Wire

_RULES: Final = RULES["openai-chat"]

_TEXT: Final = {"text": "text"}
BLOCKS: Final[dict[str, dict[str, str]]] = {
    "system": _TEXT,
    "developer": _TEXT,
    "tool": _TEXT,
    "function": _TEXT,
    "assistant": {"text": "text", "refusal": "refusal", "thinking": "thinking"},
    "user": {
        "text": "text",
        "image_url": "image_url",
        "input_audio": "input_audio",
        "file": "file",
        "video_url": "video_url",
    },
}
"""By role and type, the field that a block requires. `thinking` is Mistral's, a list; no server takes others in plain chat."""

SILENT: Final = ("tool_calls", "function_call", "audio", "refusal")
"""Fields with which the content of an assistant message may be null."""


_SPEAKER: Final = regex(rf"[^\s<|\\/>]{{1,{_RULES.tool_name_chars_max}}}")
"""The name of a message's author."""


def validate(wires: Sequence[Wire], *, system: SystemText = None, tools: Sequence[Wire] = ()) -> list[Violation]:
    """The violations: those of the tools first, then by position. System text is among the messages in this format."""
    del system
    checking = _Checking()
    check_tools(checking.findings, tools, chars_max=_RULES.tool_name_chars_max)
    for position, wire in enumerate(wires):
        checking.check(wire, position)
    checking.close()
    return checking.findings.sorted()


def has_any_blocks(wire: Wire) -> bool:
    """True if the blocks of the message are another's concern (see AnyBlocks), and there are some."""
    content = wire.get("content")
    named = wire.get(ANY_BLOCKS) is True and wire.get("role") != "function"
    return named and isinstance(content, list) and bool(content)


def is_speaker(value: object) -> bool:
    """True if the name is valid for a message."""
    return isinstance(value, str) and _SPEAKER.fullmatch(value) is not None


class _Checking:
    def __init__(self) -> None:
        self.findings = Findings()
        self._answers = Answers(
            self.findings,
            orphan="no assistant message directly before it makes this call",
            twice="this call is already answered",
            unanswered="no tool message directly after it answers {}",
            again="two calls of one message have the same id",
        )

    def check(self, wire: Wire, position: int) -> None:
        self.findings.position = position
        role = wire.get("role")
        if not isinstance(role, str) or role not in ROLES:
            self._answers.close()
            self.findings.add("unknown_role", f"role must be one of {', '.join(ROLES)}")
            return
        if role == "tool":
            self._check_answer(wire)
        else:
            self._answers.close()
        self._check_content(wire, role)
        check_fields(self.findings, objects_in(wire))
        if role == "assistant":
            self._check_calls(wire)
        elif wire.get("tool_calls"):
            self.findings.add("wrong_place", "only an assistant message may contain calls")
        if role == "function" and not (isinstance(wire.get("name"), str) and wire["name"]):
            self.findings.add("bad_name", "a function message needs a name")
        if wire.get("name") is not None and not is_speaker(wire["name"]):
            reason = f"a name is 1 to {_RULES.tool_name_chars_max} characters without white space, <, |, \\, / and >"
            self.findings.add("bad_name", reason)

    def close(self) -> None:
        self._answers.close()

    def _check_answer(self, wire: Wire) -> None:
        id = checked_id(self.findings, wire.get("tool_call_id"), "tool_call_id", chars_max=_RULES.call_id_chars_max)
        self._answers.answer(id)

    def _check_content(self, wire: Wire, role: str) -> None:
        content = wire.get("content")
        if content is None:
            silent = role == "assistant" and any(wire.get(field) for field in SILENT)
            if not silent and role != "function":
                self.findings.add("empty_content", f"a message of role {role} needs content")
        elif isinstance(content, list) and role != "function":
            if not has_any_blocks(wire):
                check_blocks(self.findings, content, BLOCKS[role])
        elif not isinstance(content, str):
            self.findings.add("wrong_type", f"content must be text or a list, not {kind_of(content)}")

    def _check_calls(self, wire: Wire) -> None:
        calls = wire.get("tool_calls")
        if calls is None:
            return
        if not isinstance(calls, list):
            self.findings.add("wrong_type", f"tool_calls must be a list, not {kind_of(calls)}")
            return
        if not calls:
            self.findings.add("empty_tool_calls", "tool_calls may be left out, but not empty")
        for call in calls:
            self._check_call(call)

    def _check_call(self, call: Any) -> None:
        if not isinstance(call, dict):
            self.findings.add("wrong_type", f"a call must be an object, not {kind_of(call)}")
            return
        kind, field = ("custom", "input") if call.get("type") == "custom" else ("function", "arguments")
        function = call.get(kind)
        if call.get("type") not in ("function", "custom") or not isinstance(function, dict):
            self.findings.add("wrong_type", "a call needs a type, function or custom, and the object of that name")
            return
        check_tool_name(self.findings, function.get("name"), chars_max=_RULES.tool_name_chars_max)
        if not isinstance(function.get(field), str):
            self.findings.add("wrong_type", f"{field} must be text, not {kind_of(function.get(field))}")
        self._answers.ask(
            checked_id(self.findings, call.get("id"), "the call's id", chars_max=_RULES.call_id_chars_max)
        )
