"""Going on in the tool a session came from: what `compact` led to is what the tool reads in the exported file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.tool_sessions import REQUESTS, TOOLS, pi_file, session_file

import plimsoll
from plimsoll.session.transfer.import_file import import_file
from plimsoll.transcripts.codex_write import response_item
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.values import Transcript

SESSIONS = Path(__file__).parents[3].parent / "shared/evals/sessions"
FILES = sorted(SESSIONS.glob("*/*.jsonl"))
AT = "2026-05-01T00:00:00.000Z"
needs_files = pytest.mark.skipif(not FILES, reason=f"the real session files are not at {SESSIONS}")
real_files = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[-24:])


def loaded(data) -> Transcript:
    """The bytes read as their tool reads them."""
    found = load_file(data)
    assert isinstance(found, Transcript)
    return found


def sent(wires, format):
    """Messages as bytes, in the one shape among those the provider takes that tools write. Neighbours of one role are one."""
    if format == "openai-responses":
        return json.dumps([response_item(wire) for wire in wires])
    messages = []
    for wire in wires:
        if messages and messages[-1]["role"] == wire["role"]:
            messages[-1]["content"] += as_blocks(wire["content"])
        else:
            messages.append({"role": wire["role"], "content": [*as_blocks(wire["content"])]})
    return json.dumps(messages)


def as_blocks(content):
    """A content that is text alone as one block of text, also inside results."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [{**block, "content": as_blocks(block["content"])} if "content" in block else block for block in content]


def goes_on(session, tool, raw):
    """Check that the exported file begins with the bytes there were, and that its tool and a new session have the session's view."""
    exported = session.export(to=tool, at=AT)
    read = loaded(exported.data)

    assert exported.data.startswith(raw)
    assert sent(read.view(), session.format) == sent(session.peek(), session.format)
    assert tokens(read.view(), session.format) == tokens(session.peek(), session.format)
    assert plimsoll.validate(read.view(), format=session.format) == []
    with import_file(exported.data, name="again", store="memory:") as again:
        assert sent(again.peek(), again.format) == sent(session.peek(), session.format)
    return exported


def tokens(wires, format):
    """What a view costs, exactly."""
    messages = json.loads(sent(wires, format))
    return plimsoll.count_tokens(messages, model="gpt-4o") if messages else 0


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_the_tool_reads_the_compacted_view(tool):
    """After a compaction the exported file is the old bytes and then the view, word for word."""
    raw = session_file(tool)
    with import_file(raw, name="x", store="memory:", max_tokens=30_000) as session:
        assert sent(session.peek(), session.format) == sent(loaded(raw).view(), session.format)
        before = session.status().current_tokens
        compaction = session.compact()
        exported = goes_on(session, tool, raw)

    assert exported.losses == ()
    assert compaction.tokens_after < before
    assert loaded(exported.data).meta == loaded(raw).meta


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_what_is_said_after_the_compaction_follows_it(tool):
    """Messages of after the compaction are lines of their own behind the view."""
    raw = session_file(tool)
    with import_file(raw, name="x", store="memory:", max_tokens=30_000) as session:
        session.compact()
        session.append({"role": "user", "content": "LATER"})
        session.append({"role": "assistant", "content": "Yes."})
        exported = goes_on(session, tool, raw)

    assert [said for said in loaded(exported.data).messages if "LATER" in str(said.wire)]
    assert "LATER" in exported.lines[-3] + exported.lines[-2] + exported.lines[-4]


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_a_shortened_result_is_shortened_in_the_file(tool):
    """A result that is cut when it arrives is read as it is shown, not as it was said."""
    raw = session_file(tool)
    with import_file(raw, name="x", store="memory:", max_tokens=30_000) as session:
        call = loaded(raw).format == "openai-responses"
        session.extend(_call_and_result("word " * 40_000, responses=call))
        assert "[shrunk from 4" in str(session.peek()[-1])
        goes_on(session, tool, raw)


def _call_and_result(text, *, responses):
    if responses:
        return [
            {"type": "function_call", "name": "read", "arguments": "{}", "call_id": "call_new"},
            {"type": "function_call_output", "call_id": "call_new", "output": text},
        ]
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "new", "name": "read", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "new", "content": text}]},
    ]


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_an_untouched_session_is_the_same_bytes(tool):
    """Without anything new the file comes back byte for byte; with a message more it is the old bytes and that message."""
    raw = session_file(tool)
    with import_file(raw, name="x", store="memory:") as session:
        assert session.export(to=tool).data == raw
        session.append({"role": "user", "content": "MORE"})
        exported = goes_on(session, tool, raw)
    assert len(exported.lines) <= raw.count(b"\n") + 2


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_a_compaction_is_read_back_as_one(tool):
    """Imported again, the exported file has one compaction more, with our summary, and goes on from the same view."""
    raw = session_file(tool)
    with import_file(raw, name="x", store="memory:", max_tokens=30_000) as session:
        made = session.compact(policy={"steps": ("summarise",)})
        view, exported = session.peek(), session.export(to=tool, at=AT)
    read = loaded(exported.data)

    assert len(read.compactions) == len(loaded(raw).compactions) + 1
    assert made.summary is not None
    with import_file(exported.data, name="y", store="memory:", max_tokens=30_000) as again:
        assert sent(again.peek(), again.format) == sent(view, again.format)
        again.compact(policy={"steps": ("summarise",)})
        assert str(again.peek()).count(REQUESTS[10]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_a_compaction_after_a_turn_was_taken_back(tool):
    """A compaction is no part of the turn before it, so it stays where the user has taken that turn back."""
    raw = session_file(tool)
    if tool == "codex":
        event = {"type": "event_msg", "timestamp": AT, "payload": {"type": "thread_rolled_back", "num_turns": 1}}
        raw += json.dumps(event).encode() + b"\n"
    with import_file(raw, name="x", store="memory:", max_tokens=30_000) as session:
        session.compact()
        goes_on(session, tool, raw)


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("to", TOOLS)
def test_another_tool_reads_the_compacted_view_too(tool, to):
    """A compacted session becomes a file of any tool that reads the view, converted once."""
    with import_file(session_file(tool), name="x", store="memory:", max_tokens=30_000) as session:
        session.compact()
        view, format = session.peek(), session.format
        exported = session.export(to=to, at=AT)
    read = loaded(exported.data)
    expected = plimsoll.convert(view, to=read.format, format=format).messages

    assert "view" not in {loss.kind for loss in exported.losses}
    assert texts(read.view()) == texts(expected)


def texts(value):
    """Every text in a message, in order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key in ("content", "text", "output", "arguments", "input") for text in texts(value.get(key))]
    return [text for item in value or [] for text in texts(item)] if isinstance(value, list) else []


@pytest.mark.slow
def test_usage_of_repeated_answers_is_not_counted_again():
    """The tool would compact at once if the lines of the view said what their originals had used."""
    for tool in ("claude-code", "pi"):
        raw = session_file(tool)
        with import_file(raw, name="x", store="memory:", max_tokens=30_000) as session:
            session.compact()
            lines = session.export(to=tool, at=AT).lines[raw.count(b"\n") :]
        assert lines
        assert '"usage"' in "".join(lines)
        assert "9000" not in "".join(lines)


@pytest.mark.slow
def test_codex_is_told_how_large_the_view_is():
    """It goes by the newest count in its file: that of the compacted view, or it would compact again at once. Totals go on."""
    told = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens"), 9000)
    payload = {"type": "token_count", "info": {"total_token_usage": told, "last_token_usage": told}}
    raw = (
        session_file("codex") + json.dumps({"timestamp": AT, "type": "event_msg", "payload": payload}).encode() + b"\n"
    )
    with import_file(raw, name="x", store="memory:", max_tokens=30_000) as session:
        after = session.compact().tokens_after
        session.append({"role": "user", "content": "And?"})
        session.view()
        session.append({"role": "assistant", "content": "Done."})
        session.record_usage(5_000, 70, 640)
        exported = goes_on(session, "codex", raw)
    lines = map(json.loads, exported.lines[raw.count(b"\n") :])
    counts = [line["payload"]["info"] for line in lines if line["payload"].get("type") == "token_count"]

    assert [info["last_token_usage"]["total_tokens"] for info in counts] == [after, 5_070]
    assert [info["total_token_usage"]["total_tokens"] for info in counts] == [9_000, 14_070]


@pytest.mark.slow
@needs_files
@real_files
def test_the_tool_reads_the_compacted_view_of_a_real_session(path):
    """Import, compact, export, read as the tool does: the old bytes, and then our view in tokens and text."""
    raw = path.read_bytes()
    with import_file(raw, name="x", store="memory:") as session:
        session.compact()
        exported = goes_on(session, path.parent.name, raw)
        assert loaded(exported.data).view() == session.peek()
    assert exported.losses == ()


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_who_speaks_in_a_merged_message_is_known(tool):
    """What a tool sends in one message with results or with a summary stays a request, with its number in the history."""
    with import_file(session_file(tool), name="x", store="memory:", max_tokens=30_000) as session:
        newest = session.append({"role": "user", "content": "NEWEST"})
        session.compact()
        plan = session.preview()
        requests = [n for n, message in enumerate(session.history()) if "Request 23" in str(message)]

    assert {action.first for action in plan.actions} >= set(requests)
    assert newest == f"m{len(session_history(tool))}"


def session_history(tool):
    """The messages of a file of that tool."""
    return loaded(session_file(tool)).messages


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("policy", [{}, {"steps": ("collapse", "offload")}, {"steps": ("summarise",)}])
def test_pi_reads_every_view_whatever_its_version_and_however_it_was_made(version, policy):
    """Its summary stands first and in words of its own: so it does in the view, also where results were only shortened."""
    raw = pi_file(version)
    with import_file(raw, name="x", store="memory:", max_tokens=30_000) as session:
        for number in range(3):
            compaction = session.compact(policy=policy)
            exported = goes_on(session, "pi", raw)
            assert exported.losses == ()
            assert compaction.tokens_after == session.status().current_tokens
            session.append({"role": "user", "content": f"More {number}. " + "word " * 2_000})
            goes_on(session, "pi", raw)
        opening = texts(session.peek()[0])[0]

    assert opening.startswith("The conversation history before this point was compacted")
    assert str(session_view(raw)).count("<summary>") == 1


def session_view(raw):
    """The view after one compaction of a session that goes on from a file of pi's."""
    with import_file(raw, name="x", store="memory:", max_tokens=30_000) as session:
        session.compact(policy={"steps": ("summarise",)})
        session.compact(policy={"steps": ("summarise",)})
        return session.peek()


@pytest.mark.slow
def test_an_edited_summary_is_in_the_words_of_pi_too():
    """A plan with somebody's own summary leads to a view that pi reads back."""
    raw = pi_file()
    with import_file(raw, name="x", store="memory:", max_tokens=30_000) as session:
        session.compact(session.preview(policy={"steps": ("summarise",)}).with_summary("MINE"))
        goes_on(session, "pi", raw)
        assert "MINE" in texts(session.peek()[0])[0]


def test_a_plan_for_pi_says_what_is_done():
    """Previewed and carried out, a view that is kept for pi is the same, and costs what the plan says."""
    with import_file(pi_file(), name="x", store="memory:", max_tokens=30_000) as session:
        plan = session.preview()
        promised = plan.apply()
        session.compact(plan)
        assert session.peek() == promised.messages
        assert promised.report.tokens_after == session.status().current_tokens


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_an_earlier_summary_of_the_tool_is_carried_on(tool):
    """The tool's own summary, and every request it spoke for, are in ours, one compaction after the other."""
    with import_file(session_file(tool), name="x", store="memory:", max_tokens=30_000) as session:
        for _ in range(3):
            session.compact(policy={"steps": ("summarise",)})
            shown = "\n".join(texts(session.peek()))
            assert "the keeper wants no red lamps" in shown
            assert [request for request in REQUESTS if request not in shown] == []
            session.append({"role": "user", "content": "Go on."})
        assert "LEFT: never mind" not in shown
        assert "SIDE: count the gulls" not in shown
