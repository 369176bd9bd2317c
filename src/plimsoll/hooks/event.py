"""The event a coding agent sends to a hook: one JSON object on standard input."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from plimsoll.errors import FormatError
from plimsoll.light.dataclass import dataclass, field

FENCE = "<plimsoll-notes id="
"""How the text begins that a hook hands back, by which it is known in the file."""

PRE_COMPACT, POST_COMPACT, SESSION_START = "PreCompact", "PostCompact", "SessionStart"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """What happened. Fields that a tool does not send are empty."""

    name: str
    """`PreCompact`, `PostCompact` or `SessionStart`; others are ignored."""
    transcript: str
    """Path of the session's file. Some versions of the tools leave it empty: then the next two say which it is."""
    session_id: str = ""
    cwd: str = ""
    agent_id: str = ""
    """Of a sub-agent, empty in the main conversation. What a sub-agent's context lost is not in the session's file, and what the
    session lost is none of its business."""
    source: str = ""
    """Of `SessionStart`: `startup`, `resume`, `clear` or `compact`."""
    summary: str = field(default="", repr=False)
    """Of `PostCompact`: the tool's own summary, where the tool sends it."""


def read_event(raw: bytes) -> HookEvent:
    """Read an event. Raises FormatError."""
    try:
        value = json.loads(raw)  # not by the reader of formats: most events need nothing that is loaded with it
    except (ValueError, RecursionError):
        raise FormatError("an event that is not JSON") from None
    if not isinstance(value, dict):
        raise FormatError("an event that is not a JSON object")
    return HookEvent(
        name=_text(value, "hook_event_name"),
        transcript=os.path.expanduser(_text(value, "transcript_path")),  # noqa: PTH111 - it need not be a path
        session_id=_text(value, "session_id"),
        cwd=_text(value, "cwd"),
        agent_id=_text(value, "agent_id"),
        source=_text(value, "source"),
        summary=_text(value, "compact_summary"),
    )


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""
