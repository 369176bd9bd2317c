"""Detect whether a tool call succeeded from its result, for formats without an error field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from plimsoll.light.regex import regex
from plimsoll.message import ToolResult
from plimsoll.summary.ledger.calls import Call
from plimsoll.summary.ledger.commands import failed

_JSON_CHARS_MAX = 200_000  # bounds the time to parse
_EDGE_CHARS = 600  # reports are at the start or the end
_OUTCOMES_MAX = 64

_REPORT_FIELDS_MAX = 4
"""A larger object from a reading tool is the content that was read, not a report."""

_FLAGS = ("is_error", "isError", "error", "errors", "exception", "failure")
"""Fields that report an error if they are true, or a non-empty text, object or list."""

_SUCCESS = ("success", "ok", "succeeded")
"""Fields that report an error if they are false."""

_CODES = ("exit_code", "exitCode", "exit_status", "exitStatus", "returncode", "return_code", "exit")
_FAILED_STATES = frozenset(
    {"error", "failed", "failure", "errored", "fail", "timeout", "cancelled", "denied", "refused"}
)
_INNER = ("metadata", "outcome", "result", "meta")
"""Fields with nested objects of such fields, as in Codex and the Responses API."""

_EXIT_CODE = regex(
    r"(?:process |command )?(?:exited with|exit)[ _-]?(?:status|code)?[:= ]{1,3}(-?[0-9]{1,5})\b"
    r"|returncode[:= ]{1,3}(-?[0-9]{1,5})\b",
    re.IGNORECASE,
)
_FAILURE_PREFIX = regex(
    r"(?:\[(?:tool[ _])?error\]|(?:tool[ _])?error\s*(?:[:(]|- )|<(?:tool_use_)?error>"
    r"|error (?:executing|calling|running|while|in tool)\b|traceback\b|exception in\b"
    r"|(?:uncaught |unhandled )?[\w.]{0,60}(?:Error|Exception)\b(?:\s*[:(]|\s*$)|(?-i:E[A-Z]{3,12}: )|fatal:|panic:"
    r"|failed to\b|failed:|failure:|command (?:failed|aborted|timed out)\b|permission denied\b|access denied\b"
    r"|invalid (?:arguments?|parameters?|input)\b|argument validation error\b|unknown tool\b"
    r"|no such (?:tool|file|function)\b|timed? ?out\b|错误[:：]|失败[:：]|执行失败|操作失败)",
    re.IGNORECASE | re.MULTILINE,
)
"""The start of a failure message. Elsewhere, such text may be content the tool read."""

_UNIX_ERROR = regex(
    r"^[\w./+-]{1,60}: (?:[^\n:]{0,200}: )?(?:No such file or directory|command not found|not found|Permission denied"
    r"|Is a directory|operation not permitted|cannot [a-z]+ |invalid option|unrecognized option|missing operand|syntax error)",
    re.MULTILINE,
)
"""A Unix error message: the program, its operand, and the reason."""

_PRINTERS = frozenset("cat head tail less more bat nl grep egrep rg ag find ls tree awk sed jq diff".split())
"""Programs that print other content, whose errors are not their own."""


def succeeded(call: Call, result: ToolResult, wire: Mapping[str, Any] | None = None) -> bool:
    """Return whether a result reports success.

    A result fails if it or the format reports an error, a status other than success, or a non-zero exit code. Otherwise it fails
    if it starts like a failure, or if a command printed text that only failures print. Content that was read or found is ignored.
    `wire` is the wire object of the message, for hosts that put `is_error` there.
    """
    if result.is_error:
        return False
    stated = _by_wire(result.wire or wire)
    if stated is None:
        stated = _by_object(call, _json(result.content))
    if stated is None:
        stated = _by_exit_code(result.content, call)
    return stated if stated is not None else not _reads_as_failure(call, result.content)


def _by_wire(wire: Mapping[str, Any] | None) -> bool | None:
    """Return the success given by the wire object's `is_error` or status, or None."""
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
    """Return the success given by a JSON result, or None if it does not report any or is a document that was read."""
    if isinstance(value, list):
        ends = [found for item in value[:_OUTCOMES_MAX] if isinstance(item, dict) and (found := item.get("outcome"))]
        return all(_by_fields({"outcome": end}) is not False for end in ends) if ends else None
    if not isinstance(value, dict) or (call.action in ("read", "search") and len(value) > _REPORT_FIELDS_MAX):
        return None
    return _by_fields(value)


def _by_fields(value: Mapping[str, Any]) -> bool | None:
    if any(_is_error_value(value.get(name)) for name in _FLAGS):
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
    return next((found for found in inner if found is not None), None)


def _is_error_value(value: object) -> bool:
    """Return whether a field's value reports an error: true, or a non-empty description."""
    return value is True or (isinstance(value, (str, dict, list)) and len(value) > 0)


def _by_exit_code(text: str, call: Call) -> bool | None:
    """Return the success given by an exit code in the first or last lines of a shell result, or None."""
    if call.action not in ("shell", "other"):
        return None
    found = _EXIT_CODE.findall(text[:_EDGE_CHARS]) or _EXIT_CODE.findall(text[-_EDGE_CHARS:])
    return all(int(code) == 0 for code in map("".join, found)) if found else None


def _reads_as_failure(call: Call, text: str) -> bool:
    beginning = text.lstrip()[:_EDGE_CHARS]
    if _FAILURE_PREFIX.match(beginning):
        return True
    if call.action != "shell" and call.name:
        return False
    if _UNIX_ERROR.search(beginning.split("\n", 1)[0]) or _UNIX_ERROR.search(
        text.rstrip()[-_EDGE_CHARS:].rsplit("\n", 1)[-1]
    ):
        return True
    return not _only_prints(call.command) and failed(text, is_error=False)


def _only_prints(command: str) -> bool:
    """Return whether a command's last program prints file contents or its own arguments."""
    steps = re.split(r"&&|\|\||;|\n", command[:4_000])
    words = [word.rsplit("/", 1)[-1] for word in steps[-1].split("|")[0].split() if "=" not in word]
    return bool(words) and words[0] in {*_PRINTERS, "echo", "printf"}
