"""Small session files of Claude Code, Codex and pi, with everything in them that makes such files hard to go on with.

Each has a long first half, a compaction of the tool's own, a result that is a picture, a message between a call and its result,
and a second half that is long again. Claude Code's has a sub-agent's lines, pi's has a branch that was left.
"""

from __future__ import annotations

import json
from typing import Any

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SUMMARY = "SUMMARY-OF-THE-TOOL: harbour lights 4417 and 4418 were checked; the keeper wants no red lamps."
REQUESTS = tuple(f"Request {n}: look at lamp {4400 + n} and write down what it says." for n in range(24))
LOG = "\n".join(f"2026-03-{1 + n % 28:02} lamp {n} read {n * 37 % 911} candela, ok" for n in range(90))
TOOLS = ("claude-code", "codex", "pi")


def session_file(tool: str) -> bytes:
    """A session file of that tool."""
    return {"claude-code": claude_file, "codex": codex_file, "pi": pi_file}[tool]()


def _at(number: int) -> str:
    return f"2026-03-01T{10 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"


def _lines(values: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(value, separators=(",", ":")) + "\n" for value in values).encode()


def _tool_result(number: int) -> str:
    return f"lamp {4400 + number}\n{LOG}\nend of lamp {4400 + number}"


class _Claude:
    """Writes lines, each the child of the one before."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.leaf: str | None = None

    def add(self, kind: str, **fields: Any) -> str:
        uuid = f"00000000-0000-4000-8000-{len(self.lines):012}"
        envelope = {"sessionId": "5e3c1a52-6d1f-4c58-9d3c-0a4f4a8f9f10", "cwd": "/harbour", "version": "2.1.0"}
        self.lines.append(
            {
                "parentUuid": self.leaf,
                "isSidechain": False,
                "type": kind,
                "uuid": uuid,
                "timestamp": _at(len(self.lines)),
                **envelope,
                **fields,
            }
        )
        self.leaf = uuid
        return uuid

    def user(self, content: Any, **fields: Any) -> str:
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def answer(self, id: str, *blocks: dict[str, Any]) -> None:
        usage = {"input_tokens": 9000, "output_tokens": 50}
        message = {"id": id, "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage}
        for block in blocks:
            self.add("assistant", message={**message, "content": [block]})

    def turn(self, number: int) -> None:
        self.user(REQUESTS[number])
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {"path": f"/lamps/{number}"}}
        self.answer(f"msg_{number}a", {"type": "text", "text": f"I look at lamp {number}."}, call)
        if number % 5 == 3:  # typed while the tool ran
            self.user(f"Aside {number}: mind the tide.")
        self.user([{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": _result_blocks(number)}])
        self.answer(f"msg_{number}b", {"type": "text", "text": f"Lamp {4400 + number} burns."})


def _result_blocks(number: int) -> Any:
    if number % 7 != 2:
        return _tool_result(number)
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
    return [{"type": "text", "text": _tool_result(number)}, picture]


def claude_file() -> bytes:
    """A file of Claude Code's."""
    file = _Claude()
    for number in range(10):
        file.turn(number)
    file.add("user", isSidechain=True, message={"role": "user", "content": "SIDE: count the gulls"})
    file.leaf = file.lines[-2]["uuid"]
    last, file.leaf = file.leaf, None
    metadata = {"trigger": "auto", "preTokens": 90000}
    file.add("system", subtype="compact_boundary", logicalParentUuid=last, compactMetadata=metadata)
    file.user(SUMMARY, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    for number in range(10, len(REQUESTS)):
        file.turn(number)
    return _lines(file.lines)


def codex_file() -> bytes:
    """A rollout file of Codex's."""
    rows: list[tuple[str, dict[str, Any]]] = [
        ("session_meta", {"id": "019c8a4c-ed82-79a1-aa28-7738fc5ab61a", "timestamp": _at(0), "cwd": "/harbour"})
    ]
    for number in range(10):
        rows += _codex_turn(number)
    kept = [_said("user", REQUESTS[number]) for number in range(10)]
    history = [*kept, _said("user", f"{_CODEX_PREFIX}\n{SUMMARY}")]
    rows.append(("compacted", {"message": f"{_CODEX_PREFIX}\n{SUMMARY}", "replacement_history": history}))
    for number in range(10, len(REQUESTS)):
        rows += _codex_turn(number)
    return _lines([{"timestamp": _at(n), "type": kind, "payload": payload} for n, (kind, payload) in enumerate(rows)])


_CODEX_PREFIX = (
    "Another language model started to solve this problem and produced a summary of its thinking process. You also have access "
    "to the state of the tools that were used by that language model. Use this to build on the work that has already been done "
    "and avoid duplicating work. Here is the summary produced by the other language model, use the information in this summary "
    "to  assist with your own analysis:"
)


def _said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _codex_turn(number: int) -> list[tuple[str, dict[str, Any]]]:
    call = f"call_{number}"
    output: Any = _tool_result(number)
    if number % 7 == 2:
        image = {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}"}
        output = [{"type": "input_text", "text": output}, image]
    items = [
        _said("user", REQUESTS[number]),
        {"type": "function_call", "name": "read", "arguments": f'{{"path":"/lamps/{number}"}}', "call_id": call},
        *([_said("developer", f"Aside {number}: mind the tide.")] if number % 5 == 3 else []),
        {"type": "function_call_output", "call_id": call, "output": output},
        _said("assistant", f"Lamp {4400 + number} burns."),
    ]
    rows = [("response_item", item) for item in items]
    started = {"type": "task_started", "turn_id": f"t{number}"}
    return [("event_msg", started), ("event_msg", {"type": "user_message", "message": REQUESTS[number]}), *rows]


def pi_file(version: int = 3) -> bytes:
    """A file of pi's; the first version of the format has no ids and no branches."""
    header: dict[str, Any] = {"type": "session", "id": "pi-1", "timestamp": _at(0), "cwd": "/harbour"}
    entries: list[dict[str, Any]] = [header if version == 1 else {**header, "version": version}]
    for number in range(10):
        entries += _pi_turn(number)
    if version > 1:
        entries.append({"left": True, "type": "message", "message": {"role": "user", "content": "LEFT: never mind"}})
    kept = len(entries) - 5
    cut = {"firstKeptEntryIndex": kept} if version == 1 else {"firstKeptEntryId": f"{kept:08x}"}
    entries.append({"type": "compaction", "summary": SUMMARY, "tokensBefore": 90000, **cut})
    for number in range(10, len(REQUESTS)):
        entries += _pi_turn(number)
    return _lines([_pi_entry(entries, number, version) for number in range(len(entries))])


def _pi_entry(entries: list[dict[str, Any]], number: int, version: int) -> dict[str, Any]:
    entry = {"timestamp": _at(number), **entries[number]}
    left = entry.pop("left", False)
    if number and version > 1:
        after_left = number > 1 and "left" in entries[number - 1]
        parent = number - 2 if after_left or left else number - 1
        entry |= {"id": f"{number:08x}", "parentId": f"{parent:08x}" if parent > 0 else None}
    return entry


def _pi_turn(number: int) -> list[dict[str, Any]]:
    call = f"call_{number}|fc_{number}"
    content: list[dict[str, Any]] = [{"type": "text", "text": _tool_result(number)}]
    if number % 7 == 2:
        content.append({"type": "image", "data": PICTURE, "mimeType": "image/png"})
    asks = {"type": "toolCall", "id": call, "name": "read", "arguments": {"path": f"/lamps/{number}"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": REQUESTS[number]}]},
        _pi_answer(asks, stop="toolUse"),
        *([{"role": "user", "content": f"Aside {number}: mind the tide."}] if number % 5 == 3 else []),
        {"role": "toolResult", "toolCallId": call, "toolName": "read", "content": content, "isError": False},
        _pi_answer({"type": "text", "text": f"Lamp {4400 + number} burns."}, stop="stop"),
    ]
    return [{"type": "message", "message": {**message, "timestamp": 1_700_000_000_000}} for message in messages]


def _pi_answer(part: dict[str, Any], *, stop: str) -> dict[str, Any]:
    usage = {"input": 9000, "output": 50, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 9050, "cost": {"total": 0}}
    maker = {"api": "openai-responses", "provider": "openai", "model": "gpt-5"}
    return {"role": "assistant", "content": [part], **maker, "usage": usage, "stopReason": stop}
