"""What the Anthropic Messages API refuses.

Rules from the request types of the official SDK and from the API's own error texts: every `tool_use` is answered at
the beginning of the next user turn and only there, ids match `^[a-zA-Z0-9_-]+$` and are unique, texts are not blank,
a failed result says something, an assistant message does not end in thinking, and the last one not in white space.
Messages of one role in a row are one turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from plimsoll.formats.anthropic.codec import BLOCKS, objects_in
from plimsoll.formats.cache_marks import check_marks, is_mark
from plimsoll.formats.checks import Answers, Findings, check_fields, check_tool_name, check_tools, checked_id
from plimsoll.formats.format import SystemText, Violation
from plimsoll.formats.ids import SAFE
from plimsoll.formats.rules import RULES
from plimsoll.formats.server_tools import answered_in, called_in
from plimsoll.formats.wire import kind_of
from plimsoll.message import Wire

_RULES: Final = RULES["anthropic"]

_ONLY_IN: Final = {
    "tool_use": "assistant",
    "server_tool_use": "assistant",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "tool_result": "user",
}
_IN_SYSTEM: Final = frozenset({"text", "tool_addition", "tool_removal"})
"""Block types allowed in a system message between others (anthropic.types.SystemMessageParam, including the beta)."""


_TOOL_NAME_CHARS_MAX: Final = 128
"""For tool definitions. A call in a message may have a longer name."""

_IN_RESULTS: Final = frozenset({"text", "image", "document", "search_result", "tool_reference", "browser_state"})
"""Block types allowed in a result (anthropic.types.ToolResultBlockParam)."""

_SOURCES: Final[dict[str, tuple[str, ...]]] = {
    "base64": ("media_type", "data"),
    "url": ("url",),
    "file": ("file_id",),
    "text": ("media_type", "data"),
}
"""Required fields of an image's or document's source, by source type."""


def validate(wires: Sequence[Wire], *, system: SystemText = None, tools: Sequence[Wire] = ()) -> list[Violation]:
    """The violations: those of the system text and the tools first, then by position."""
    checking = _Checking()
    checking.check_system(system)
    check_tools(checking.findings, tools, chars_max=_TOOL_NAME_CHARS_MAX)
    check_marks(checking.findings, wires, system, tools)
    for position, wire in enumerate(wires):
        checking.check(wire, position, is_last=position == len(wires) - 1)
    checking.close()
    return checking.findings.sorted()


def is_whole(block: Wire) -> bool:
    """True if thinking and media have the fields that their types require. Other blocks are not checked here."""
    match block.get("type"):
        case "thinking":
            return isinstance(block.get("thinking"), str) and isinstance(block.get("signature"), str)
        case "redacted_thinking":
            return isinstance(block.get("data"), str)
        case "image" | "document":
            return has_source(block)
        case _:
            return True


def has_source(block: Wire) -> bool:
    """Whether the source of an image or document is complete. Sources of unknown types are accepted."""
    source = block.get("source")
    if not isinstance(source, dict):
        return False
    kind = source.get("type")
    needed = _SOURCES.get(kind, ()) if isinstance(kind, str) else ("type",)
    return all(isinstance(source.get(field), str) and source[field] for field in needed)


def is_text(block: object) -> bool:
    """Whether it is a text block."""
    return isinstance(block, dict) and block.get("type") == "text"


def may_stand_in_result(kind: object) -> bool:
    """True if a result may contain a block of that type: any except those known to belong elsewhere."""
    return isinstance(kind, str) and (kind in _IN_RESULTS or kind not in BLOCKS)


def may_stand(kind: str, role: str) -> bool:
    """True if a message of that role may contain a block of that type."""
    return kind in _IN_SYSTEM if role == "system" else _ONLY_IN.get(kind, role) == role


class _Checking:
    def __init__(self) -> None:
        self.findings = Findings()
        self._begun = False
        """Whether there was a message other than system messages."""
        self._role = ""
        self._words_came = False
        self._seen: set[str] = set()
        self._calls: dict[str, int] = {}
        self._served: dict[str, tuple[int, int]] = {}
        """Server calls without a result: the turn and the position of each."""
        self._turn = 0
        self._answers = Answers(
            self.findings,
            orphan="the message before has no such call",
            twice="this call is already answered",
            unanswered="no tool_result at the beginning of the next message answers {}",
        )

    def check_system(self, system: object) -> None:
        """The `system` parameter: text or text blocks, none of them blank."""
        if isinstance(system, list):
            for block in system:
                if not isinstance(block, dict) or block.get("type") != "text":
                    self.findings.add("unknown_block", "system may contain only text blocks")
                else:
                    self._check_text(block.get("text"))
        elif system is not None and not isinstance(system, str):
            self.findings.add("wrong_type", f"system must be text or a list, not {kind_of(system)}")

    def check(self, wire: Wire, position: int, *, is_last: bool) -> None:
        self.findings.position = position
        role = wire.get("role")
        if role == "system":
            if not self._begun:
                self.findings.add("system_inside", "leading system text belongs in the system parameter")
        elif role not in ("user", "assistant"):
            self.findings.add("unknown_role", "role must be user or assistant")
        elif not self._begun and role != "user":
            self.findings.add("first_not_user", "the first message must be the user's")
        self._begun = self._begun or role != "system"
        self._begin(str(role))
        self._check_content(wire.get("content"), str(role), is_last=is_last)
        check_fields(self.findings, objects_in(wire))

    def _begin(self, role: str) -> None:
        """A change of role ends a turn: calls made in it now wait for results, and those that waited are overdue."""
        if role == self._role:
            return
        self._answers.close(self._calls)
        if self._role == "assistant":
            self._close_served()
        self._calls = {}
        self._turn += 1
        self._role, self._words_came = role, False

    def _close_served(self) -> None:
        """A result must come in the agent's turn of its call, or in the next one if that turn waits for a client's tool."""
        for id, (turn, position) in list(self._served.items()):
            if turn != self._turn or not self._calls:
                self.findings.add(
                    "call_without_result", f"no block after it holds the result of {ascii(id)[:60]}", position
                )
                del self._served[id]

    def close(self) -> None:
        """Close the conversation: calls without a result are violations now."""
        self._answers.open.update(self._calls)
        self._answers.close()

    def _check_content(self, content: object, role: str, *, is_last: bool) -> None:
        may_be_empty = is_last and role == "assistant"
        if isinstance(content, str):
            self._words_came = True
            if not content.strip() and not (may_be_empty and not content):
                self.findings.add("empty_content", "content must not be blank")
            elif may_be_empty and content != content.rstrip():
                self.findings.add("trailing_whitespace", "the last message may not end in white space")
        elif isinstance(content, list):
            self._check_blocks(content, role, is_last=is_last)
        elif content is None:
            self.findings.add("empty_content", "content is missing")
        else:
            self.findings.add("wrong_type", f"content must be text or a list, not {kind_of(content)}")

    def _check_blocks(self, blocks: list[Any], role: str, *, is_last: bool) -> None:
        if not blocks and not (is_last and role == "assistant"):
            self.findings.add("empty_content", "content may not be an empty list")
        for block in blocks:
            if isinstance(block, dict):
                self._check_block(block, role)
            else:
                self.findings.add("wrong_type", f"a block must be an object, not {kind_of(block)}")
        last = blocks[-1] if blocks and isinstance(blocks[-1], dict) else {}
        if role == "assistant" and last.get("type") in ("thinking", "redacted_thinking"):
            self.findings.add("thinking_last", "an assistant message may not end in thinking")
        text = last.get("text")
        if is_last and role == "assistant" and isinstance(text, str) and text.strip() and text != text.rstrip():
            self.findings.add("trailing_whitespace", "the last message may not end in white space")

    def _check_block(self, block: dict[str, Any], role: str) -> None:
        kind = block.get("type")
        if not isinstance(kind, str) or not kind:
            self.findings.add("unknown_block", "a block needs a type")
            return
        if not may_stand(kind, role):
            self.findings.add("wrong_place", f"{kind} is not allowed in a message of role {role}")
        if block.get("cache_control") is not None and not is_mark(block["cache_control"]):
            self.findings.add("wrong_type", "cache_control must be of type ephemeral, its ttl 5m or 1h")
        match kind:
            case "text":
                self._check_text(block.get("text"))
            case "tool_use":
                self._check_call(block)
            case "tool_result":
                self._check_result(block)
            case _ if not is_whole(block):
                self.findings.add("wrong_type", f"{kind} lacks fields required by its type")
        if kind != "tool_result":
            self._words_came = True
            self._pair_served(block)

    def _pair_served(self, block: dict[str, Any]) -> None:
        """A call that the API runs itself, and its result."""
        asked, answered = called_in(block), answered_in(block)
        if asked is not None:
            self._served[asked] = self._turn, self.findings.position or 0
        elif answered is not None and self._served.pop(answered, None) is None:
            self.findings.add("result_without_call", f"no block before it makes the call {ascii(answered)[:60]}")

    def _check_text(self, text: object) -> None:
        if not isinstance(text, str):
            self.findings.add("wrong_type", f"text must be text, not {kind_of(text)}")
        elif not text.strip():
            self.findings.add("empty_text", "a text block must not be blank")

    def _check_call(self, block: dict[str, Any]) -> None:
        check_tool_name(self.findings, block.get("name"), chars_max=_RULES.tool_name_chars_max)
        if not isinstance(block.get("input"), dict):
            self.findings.add("wrong_type", f"input must be an object, not {kind_of(block.get('input'))}")
        call_id = checked_id(self.findings, block.get("id"), "the id of tool_use", chars_max=_RULES.call_id_chars_max)
        if call_id is None:
            return
        if SAFE.fullmatch(call_id) is None:
            self.findings.add("bad_id", "an id must be letters, digits, _ and -")
        if call_id in self._seen:
            self.findings.add("duplicate_id", "another tool_use has the same id")
        self._seen.add(call_id)
        self._calls[call_id] = self.findings.position or 0

    def _check_result(self, block: dict[str, Any]) -> None:
        self._check_result_content(block)
        call_id = checked_id(self.findings, block.get("tool_use_id"), "tool_use_id")
        if call_id is None:
            return
        if self._words_came:
            self.findings.add("results_not_first", "tool_result blocks must come first")
        self._answers.answer(call_id)

    def _check_result_content(self, block: dict[str, Any]) -> None:
        content = block.get("content")
        if isinstance(content, list):
            for inner in content:
                self._check_inner(inner)
            if block.get("is_error") is True and not all(map(is_text, content)):
                self.findings.add("failed_result_not_text", "a failed tool_result may contain only text blocks")
        elif content is not None and not isinstance(content, str):
            self.findings.add(
                "wrong_type", f"the content of a tool_result must be text or a list, not {kind_of(content)}"
            )
        if block.get("is_error") is True and not (content.strip() if isinstance(content, str) else content):
            self.findings.add("empty_content", "a failed tool_result must not be empty")

    def _check_inner(self, inner: object) -> None:
        if not isinstance(inner, dict) or not isinstance(inner.get("type"), str):
            self.findings.add("wrong_type", "the content of a tool_result must be a list of blocks")
        elif not may_stand_in_result(inner["type"]):
            self.findings.add("wrong_place", f"{ascii(inner['type'])[:40]} is not allowed in a tool_result")
        elif inner["type"] == "text":
            self._check_text(inner.get("text"))
        elif not is_whole(inner):
            self.findings.add("wrong_type", f"{inner['type']} lacks fields required by its type")
