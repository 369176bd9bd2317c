"""Whether a tool call succeeded, told from its result where the format has no field that says so."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from plimsoll.message import ToolResult
from plimsoll.regex import regex
from plimsoll.summary.ledger.calls import Call
from plimsoll.summary.ledger.commands import failed

_JSON_CHARS_MAX = 200_000
_EDGE_CHARS = 600
_OUTCOMES_MAX = 64

_REPORT_FIELDS_MAX = 4
"""An object with more fields that a tool for reading gave is what it read, and no report on how that went."""

_FLAGS = ("is_error", "isError", "error", "errors", "exception", "failure")
"""Fields that say that something went wrong: true, or any text, object or list that is not empty."""

_SUCCESS = ("success", "ok", "succeeded")
"""Fields that say false where it did."""

_CODES = ("exit_code", "exitCode", "exit_status", "exitStatus", "returncode", "return_code", "exit")
_FAILED_STATES = frozenset(
    {"error", "failed", "failure", "errored", "fail", "timeout", "cancelled", "denied", "refused"}
)
_INNER = ("metadata", "outcome", "result", "meta")
"""Objects inside a result that hold such fields in their turn, as Codex and the Responses API write them."""

_EXIT_CODE = regex(
    r"(?:process |command )?(?:exited with|exit)[ _-]?(?:status|code)?[:= ]{1,3}(-?[0-9]{1,5})\b"
    r"|returncode[:= ]{1,3}(-?[0-9]{1,5})\b",
    re.IGNORECASE,
)
_OPENS_AS_FAILURE = regex(
    r"(?:\[(?:tool[ _])?error\]|(?:tool[ _])?error\s*(?:[:(]|- )|<(?:tool_use_)?error>"
    r"|error (?:executing|calling|running|while|in tool)\b|traceback\b|exception in\b"
    r"|(?:uncaught |unhandled )?[\w.]{0,60}(?:Error|Exception)\b(?:\s*[:(]|\s*$)|(?-i:E[A-Z]{3,12}: )|fatal:|panic:"
    r"|failed to\b|failed:|failure:|command (?:failed|aborted|timed out)\b|permission denied\b|access denied\b"
    r"|invalid (?:arguments?|parameters?|input)\b|argument validation error\b|unknown tool\b"
    r"|no such (?:tool|file|function)\b|timed? ?out\b|错误[:：]|失败[:：]|执行失败|操作失败)",
    re.IGNORECASE | re.MULTILINE,
)
"""How a failure begins. Anywhere else such words may be what the tool was asked to read."""

_COMPLAINS = regex(
    r"^[\w./+-]{1,60}: (?:[^\n:]{0,200}: )?(?:No such file or directory|command not found|not found|Permission denied"
    r"|Is a directory|operation not permitted|cannot [a-z]+ |invalid option|unrecognized option|missing operand|syntax error)",
    re.MULTILINE,
)
"""How Unix programs complain: the program, what it could not use, and why."""

_PRINTERS = frozenset(
    {
        "cat",
        "head",
        "tail",
        "less",
        "more",
        "bat",
        "nl",
        "grep",
        "egrep",
        "rg",
        "ag",
        "find",
        "ls",
        "tree",
        "awk",
        "sed",
        "jq",
        "diff",
    }
)
"""Programs that print what others wrote: an error in that is none of theirs."""


def succeeded(call: Call, result: ToolResult, said: Mapping[str, Any] | None = None) -> bool:
    """Whether a result tells of a success. What the format or the result states is believed; else the text is looked at.

    A result is a failure when it states an error, a status other than success or an exit code other than 0, when it begins as
    failures do, or when a command printed what only failures print. What a tool merely read or found is no evidence.
    `said` is the wire object of the message, for hosts that put `is_error` there.
    """
    if result.is_error:
        return False
    stated = _by_wire(result.wire or said)
    if stated is None:
        stated = _by_object(call, _json(result.content))
    if stated is None:
        stated = _by_exit_code(result.content, call)
    return stated if stated is not None else not _reads_as_failure(call, result.content)


def _by_wire(wire: Mapping[str, Any] | None) -> bool | None:
    """What the result's own wire object says: its `is_error`, or its status."""
    if wire is None:
        return None
    for name in ("is_error", "isError"):
        if isinstance(wire.get(name), bool):
            return not wire[name]
    return False if wire.get("status") in _FAILED_STATES else None


def _json(text: str) -> object:
    if len(text) > _JSON_CHARS_MAX or text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _by_object(call: Call, value: object) -> bool | None:
    """What JSON states of the call that gave it; None where it says nothing, or is a document that was read."""
    if isinstance(value, list):
        ends = [found for item in value[:_OUTCOMES_MAX] if isinstance(item, dict) and (found := item.get("outcome"))]
        return all(_by_fields({"outcome": end}) is not False for end in ends) if ends else None
    if not isinstance(value, dict) or (call.action in ("read", "search") and len(value) > _REPORT_FIELDS_MAX):
        return None
    return _by_fields(value)


def _by_fields(value: Mapping[str, Any]) -> bool | None:
    if any(_is_said(value.get(name)) for name in _FLAGS):
        return False
    for name in _SUCCESS:
        if isinstance(value.get(name), bool):
            return bool(value[name])
    codes = [code for name in _CODES if isinstance(code := value.get(name), int) and not isinstance(code, bool)]
    if codes:
        return not any(codes)
    if any(
        isinstance(state := value.get(name), str) and state.lower() in _FAILED_STATES for name in ("status", "type")
    ):
        return False
    inner = (_by_fields(found) for name in _INNER if isinstance(found := value.get(name), dict))
    return next((said for said in inner if said is not None), None)


def _is_said(value: object) -> bool:
    """Whether a field reports an error: it is true, or says which."""
    return value is True or (isinstance(value, (str, dict, list)) and len(value) > 0)


def _by_exit_code(text: str, call: Call) -> bool | None:
    """The exit code that a shell tool reports in its first or last lines; None where it reports none."""
    if call.action not in ("shell", "other"):
        return None
    found = _EXIT_CODE.findall(text[:_EDGE_CHARS]) or _EXIT_CODE.findall(text[-_EDGE_CHARS:])
    return all(int(code) == 0 for code in map("".join, found)) if found else None


def _reads_as_failure(call: Call, text: str) -> bool:
    beginning = text.lstrip()[:_EDGE_CHARS]
    if _OPENS_AS_FAILURE.match(beginning):
        return True
    if call.action != "shell" and call.name:
        return False
    if _COMPLAINS.search(beginning.split("\n", 1)[0]) or _COMPLAINS.search(
        text.rstrip()[-_EDGE_CHARS:].rsplit("\n", 1)[-1]
    ):
        return True
    return not _only_prints(call.command) and failed(text, is_error=False)


def _only_prints(command: str) -> bool:
    """Whether a command's last program shows what is in files, or what stands in its own words."""
    steps = re.split(r"&&|\|\||;|\n", command[:4_000])
    words = [word.rsplit("/", 1)[-1] for word in steps[-1].split("|")[0].split() if "=" not in word]
    return bool(words) and words[0] in {*_PRINTERS, "echo", "printf"}
