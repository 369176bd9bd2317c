"""Properties of session files: any tree, any damage, any text."""

import contextlib
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from plimsoll.errors import PlimsollError
from plimsoll.formats.convert import validate
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.export import write
from plimsoll.transcripts.values import Meta, Outgoing, ToolCompaction, Transcript

TEXTS = st.text(st.characters(codec=None, categories=None), max_size=20)
WORDS = st.text("ab \n\u2028", min_size=1, max_size=6).filter(str.strip)
NAMES = st.sampled_from([f"u{n}" for n in range(8)])
CALLS = st.sampled_from(["c1", "c2", "c3"])
BLOCKS = st.one_of(
    st.builds(lambda t: {"type": "text", "text": t}, TEXTS),
    st.builds(lambda c: {"type": "tool_use", "id": c, "name": "f", "input": {}}, CALLS),
    st.builds(
        lambda c, e: {"type": "tool_result", "tool_use_id": c, "content": "r", "is_error": e}, CALLS, st.booleans()
    ),
    st.just({"type": "thinking", "thinking": "t", "signature": "s"}),
    st.just({"type": 5}),
    st.just(7),
)
CONTENTS = st.one_of(TEXTS, st.lists(BLOCKS, max_size=4), st.none())
TOOLS = st.sampled_from(["claude-code", "codex", "pi"])


@st.composite
def _claude_rows(draw):
    kind = draw(st.sampled_from(["user", "assistant", "progress", "system"]))
    row = {"type": kind, "uuid": draw(NAMES), "parentUuid": draw(st.one_of(st.none(), NAMES)), "sessionId": "s"}
    row["timestamp"] = draw(st.sampled_from(["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", "soon"]))
    row |= draw(st.fixed_dictionaries({}, optional={"isCompactSummary": st.booleans(), "isSidechain": st.booleans()}))
    if kind == "system":
        row["subtype"] = draw(st.sampled_from(["compact_boundary", "microcompact_boundary"]))
        segment = {"headUuid": draw(NAMES), "anchorUuid": draw(NAMES), "tailUuid": draw(NAMES)}
        listed = {"anchorUuid": draw(NAMES), "uuids": draw(st.lists(NAMES, max_size=4))}
        row["compactMetadata"] = draw(
            st.sampled_from([{}, {"preservedSegment": segment}, {"preservedMessages": listed}])
        )
        row["microcompactMetadata"] = {"compactedToolIds": draw(st.lists(CALLS, max_size=2))}
    else:
        answer = draw(st.sampled_from(["m1", "m2", None]))
        row["message"] = {"id": answer, "role": kind, "content": draw(CONTENTS)}
    return row


@st.composite
def _pi_rows(draw):
    kind = draw(st.sampled_from(["message", "compaction", "custom_message", "branch_summary", "label"]))
    row = {"type": kind, "id": draw(NAMES), "parentId": draw(st.one_of(st.none(), NAMES)), "timestamp": "t"}
    if kind == "message":
        role = draw(st.sampled_from(["user", "assistant", "toolResult", "bashExecution", "other"]))
        part = st.one_of(
            BLOCKS, st.builds(lambda c: {"type": "toolCall", "id": c, "name": "f", "arguments": {}}, CALLS)
        )
        row["message"] = {"role": role, "toolCallId": draw(CALLS), "isError": draw(st.booleans())}
        row["message"]["content"] = draw(st.one_of(TEXTS, st.lists(part, max_size=4)))
        row["message"]["stopReason"] = draw(st.sampled_from(["stop", "aborted"]))
    return row | {"summary": draw(WORDS), "firstKeptEntryId": draw(NAMES), "content": draw(WORDS)}


@st.composite
def _codex_rows(draw):
    kind = draw(st.sampled_from(["message", "call", "output", "reasoning", "rollback", "compacted", "start"]))
    text = draw(WORDS)
    message = {"type": "message", "role": draw(st.sampled_from(["user", "assistant"]))}
    part = "input_text" if message["role"] == "user" else "output_text"
    message["content"] = [{"type": part, "text": text}]
    payload = {
        "message": ("response_item", message),
        "call": ("response_item", {"type": "function_call", "name": "f", "arguments": "{}", "call_id": draw(CALLS)}),
        "output": ("response_item", {"type": "function_call_output", "call_id": draw(CALLS), "output": text}),
        "reasoning": ("response_item", {"type": "reasoning", "summary": [], "encrypted_content": "x"}),
        "rollback": ("event_msg", {"type": "thread_rolled_back", "num_turns": draw(st.integers(0, 3))}),
        "compacted": ("compacted", {"message": text, "replacement_history": draw(st.sampled_from([None, [message]]))}),
        "start": ("event_msg", {"type": "task_started", "turn_id": "t"}),
    }[kind]
    return {"timestamp": "t", "type": payload[0], "payload": payload[1]}


HEADS = {
    "claude-code": {"type": "file-history-snapshot", "messageId": "m"},
    "codex": {"timestamp": "t", "type": "session_meta", "payload": {"id": "x"}},
    "pi": {"type": "session", "version": 3, "id": "x", "timestamp": "t", "cwd": "/"},
}
ROWS = {"claude-code": _claude_rows(), "codex": _codex_rows(), "pi": _pi_rows()}


def _file(tool, rows):
    return "".join(json.dumps(row) + "\n" for row in [HEADS[tool], *rows]).encode()


def _read(data) -> Transcript:
    found = load_file(data)
    assert isinstance(found, Transcript)
    return found


def _check(tool, rows):
    data = _file(tool, rows)
    found = _read(data)
    assert found.tool == tool
    assert len(found.entries) == len(rows) + 1
    assert write(found, to=tool).data == data
    shown = [index for viewed in found.viewed for index in viewed.messages]
    assert all(0 <= index < len(found.messages) for index in shown)
    for compaction in found.compactions:
        assert all(0 <= start < end <= len(found.messages) for start, end in compaction.kept)
    return found


@given(st.lists(_claude_rows(), max_size=12))
@settings(max_examples=examples(150), deadline=None)
def test_any_tree_of_claude_code_gives_a_valid_view(rows):
    """Cycles, forks, missing parents, any blocks: the view would be accepted, and the file survives byte for byte."""
    assert validate(_check("claude-code", rows).view(), format="anthropic") == []


@given(st.lists(_pi_rows(), max_size=12))
@settings(max_examples=examples(100), deadline=None)
def test_any_tree_of_pi_gives_a_valid_view(rows):
    """Cycles, branches, compactions anywhere: the view would be accepted, and the file survives byte for byte."""
    assert validate(_check("pi", rows).view(), format="anthropic") == []


@given(st.lists(_codex_rows(), max_size=14))
@settings(max_examples=examples(100), deadline=None)
def test_any_log_of_codex_gives_a_valid_view(rows):
    """Calls and outputs in any order, rollbacks and compactions anywhere: the view would be accepted."""
    assert validate(_check("codex", rows).view(), format="openai-responses") == []


@given(st.data(), TOOLS, TOOLS)
@settings(max_examples=examples(100), deadline=None)
def test_any_session_becomes_a_session_of_any_tool(data, tool, to):
    """Whatever a file holds, the other tool's file is read back as that tool's, undamaged, with a valid view."""
    source = _read(_file(tool, data.draw(st.lists(ROWS[tool], max_size=10))))
    found = _read(write(source, to=to).data)
    assert found.tool == to
    assert validate(found.view(), format=found.format) == []


@given(st.binary(max_size=200), TOOLS)
@settings(max_examples=examples(150), deadline=None)
def test_any_bytes_are_read_or_refused(noise, tool):
    """Noise is a typed error; noise inside a session is findings, and comes back out byte for byte."""
    with contextlib.suppress(PlimsollError):
        load_file(noise)
    data = _file(tool, []) + noise
    try:
        found = load_file(data)
    except PlimsollError:
        return
    assert not isinstance(found, Transcript) or write(found, to=tool).data == data


@given(st.lists(WORDS, min_size=1, max_size=6), TOOLS, st.data())
@settings(max_examples=examples(100), deadline=None)
def test_a_plain_conversation_comes_back(words, tool, data):
    """Every word said is read back in order, with the compaction at its place."""
    messages = tuple(
        {"role": "assistant" if index % 2 else "user", "content": [{"type": "text", "text": word}]}
        for index, word in enumerate(words)
    )
    position = data.draw(st.integers(1, len(words)))
    start = data.draw(st.integers(0, position))
    compaction = ToolCompaction(position=position, summary="S", kept=((start, position),) if start < position else ())
    outgoing = Outgoing(messages=messages, format="anthropic", compactions=(compaction,), meta=Meta(session_id="x"))
    found = _read(write(outgoing, to=tool).data)
    said = [part["text"] for m in found.messages if m.kind == "message" for part in m.wire["content"]]
    assert said == words
    (read_back,) = found.compactions
    assert (read_back.position, read_back.summary, read_back.kept) == (position, "S", compaction.kept)
