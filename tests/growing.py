"""What a tool does with its session file after a session was made of it, and whether both then say the same."""

from __future__ import annotations

import json

from tests.unit.session.test_continuing import sent

from plimsoll.transcripts.detect import load_file

AT = "2026-05-01T00:00:00.000Z"
LATER = "2027-01-01T00:00:00.000Z"


def more_lines(raw, *texts):
    """Lines as the tool would write them behind those there are: a user's messages."""
    found = load_file(raw)
    lines = []
    for text in texts:
        id = f"99999999-0000-4000-8000-{len(lines):012}" if found.tool == "claude-code" else f"9999{len(lines):04}"
        parent = lines[-1].get("uuid", lines[-1].get("id")) if lines else found.leaf
        lines.append(_line(found.tool, id, parent, text))
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def _line(tool, id, parent, text):
    found_id = "5e3c1a52-6d1f-4c58-9d3c-0a4f4a8f9f10"
    if tool == "claude-code":
        message = {"role": "user", "content": text}
        return {
            "parentUuid": parent,
            "type": "user",
            "uuid": id,
            "timestamp": LATER,
            "sessionId": found_id,
            "message": message,
        }
    if tool == "pi":
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        return {"type": "message", "id": id, "parentId": parent, "timestamp": LATER, "message": message}
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"timestamp": LATER, "type": "response_item", "payload": item}


def tool_compacts(raw):
    """The line that says that the tool has compacted everything."""
    found = load_file(raw)
    if found.tool == "claude-code":
        cut = {"type": "system", "subtype": "compact_boundary", "uuid": "b" * 8, "parentUuid": None, "timestamp": LATER}
        told = {**_line("claude-code", "c" * 8, "b" * 8, "TOLD BY THE TOOL"), "isCompactSummary": True}
        return b"".join(json.dumps(line).encode() + b"\n" for line in (cut, told))
    if found.tool == "pi":
        fields = {"summary": "TOLD BY THE TOOL", "firstKeptEntryId": "none", "tokensBefore": 1}
        line = {"type": "compaction", "id": "cccccccc", "parentId": found.leaf, "timestamp": LATER, **fields}
    else:
        history = [_line("codex", "", "", "TOLD BY THE TOOL")["payload"]]
        payload = {"message": "TOLD BY THE TOOL", "replacement_history": history}
        line = {"timestamp": LATER, "type": "compacted", "payload": payload}
    return json.dumps(line).encode() + b"\n"


def same_as_the_tool(session, path):
    """Check that the session's view is what the tool would send from the file."""
    assert sent(session.peek(), session.format) == sent(load_file(path).view(), session.format)
