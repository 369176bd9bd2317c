"""Placeholders for missing tool results."""

from __future__ import annotations

from typing import Any

from plimsoll.message import ToolCall, ToolResult

NO_RESULT = "[No result: the call was interrupted or its result was not recorded.]"


def placeholder(call: ToolCall) -> ToolResult:
    """A placeholder result of the type that answers the call."""
    wire = answer_to(call, NO_RESULT)
    return ToolResult(call_id=call.id, name=call.name, content=NO_RESULT, is_error=True, wire=wire)


def is_legacy(call: ToolCall) -> bool:
    """True for a legacy `function_call`, which needs no result. It has no id except the one assigned when decoding."""
    return "function_call" in (call.wire or {})


def answers_by_name(result: ToolResult) -> bool:
    """True for a `function` message, which is accepted without a call."""
    return (result.wire or {}).get("role") == "function"


def answer_to(call: ToolCall, words: str) -> dict[str, Any] | None:
    """An output item with this text, for calls that require their own output type; None for all others."""
    kind, named = (call.wire or {}).get("type"), {"call_id": call.id}
    match kind:
        case "custom_tool_call":
            return {"type": "custom_tool_call_output", **named, "output": words}
        case "local_shell_call":
            return {"type": "local_shell_call_output", "id": call.id, **named, "output": words}
        case "shell_call":
            outcome = {"type": "exit", "exit_code": 1}
            return {
                "type": "shell_call_output",
                **named,
                "output": [{"stdout": "", "stderr": words, "outcome": outcome}],
            }
        case "apply_patch_call":
            return {"type": "apply_patch_call_output", **named, "status": "failed", "output": words}
        case "program":
            return {"type": "program_output", "id": call.id, **named, "result": words, "status": "incomplete"}
        case _:
            return None
