"""Looking at JSON nobody has named yet: which tool or which wire format is it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll.errors import FormatError
from plimsoll.formats.detect import NOTHING, Beside, detect
from plimsoll.message import FormatName, Wire
from plimsoll.transcripts.lines import text_of
from plimsoll.transcripts.values import ToolName

_CODEX_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_CLAUDE_LINES = frozenset(
    {
        "file-history-snapshot",
        "queue-operation",
        "progress",
        "attachment",
        "last-prompt",
        "pr-link",
        "custom-title",
        "ai-title",
        "saved_hook_context",
        "permission-mode",
        "agent-name",
    }
)


def tool_of(values: Sequence[Mapping[str, Any]]) -> ToolName | None:
    """The tool whose session file begins with these lines; None when no tool's does."""
    for number, value in enumerate(values):
        kind = text_of(value["type"]) if value.get("type") is not None else None
        if isinstance(value.get("payload"), dict) and kind in _CODEX_LINES:
            return "codex"
        if kind == "session" and isinstance(value.get("id"), str) and "timestamp" in value:
            return "pi"
        if _is_claude_line(value):
            return "claude-code"
        if (
            number == 0
            and kind is None
            and isinstance(value.get("id"), str)
            and {"timestamp", "instructions"} <= value.keys()
        ):
            return "codex"
    return None


def _is_claude_line(value: Mapping[str, Any]) -> bool:
    kind = text_of(value.get("type"))
    if kind == "summary":
        return isinstance(value.get("leafUuid"), str)
    if kind in ("user", "assistant", "system"):
        return "uuid" in value and ("parentUuid" in value or "sessionId" in value)
    return kind in _CLAUDE_LINES and ("sessionId" in value or "messageId" in value or "uuid" in value)


def is_pi_entry(value: Mapping[str, Any]) -> bool:
    """Whether this is a line of pi's after its first, which holds what a message of a provider's does not."""
    return value.get("type") in ("message", "compaction") and "timestamp" in value and "role" not in value


def format_of(messages: Sequence[Wire], beside: Beside = NOTHING) -> FormatName | None:
    """The wire format these messages are in; None when they are messages of none."""
    try:
        return detect(messages, beside) if messages else None
    except FormatError:
        return None
