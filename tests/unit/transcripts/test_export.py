"""Writing session files, and reading them again."""

import json
from dataclasses import replace

import pytest

from plimsoll.formats.convert import validate
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.export import write
from plimsoll.transcripts.values import Meta, Outgoing, ToolCompaction, Transcript

TOOLS = ("claude-code", "codex", "pi")
AT = "2026-02-01T00:00:00.000Z"
META = Meta(session_id="4b3c1a52-6d1f-4c58-9d3c-0a4f4a8f9f10", cwd="/w", model="m", branch="main", title="A title")


def _anthropic():
    """A conversation of two exchanges, in Anthropic blocks."""
    return (
        {"role": "user", "content": "first request"},
        {"role": "assistant", "content": [{"type": "text", "text": "look"}, _use("c1"), _use("c2")]},
        {"role": "user", "content": [_result("c1", "one"), _result("c2", "two")]},
        {"role": "assistant", "content": [{"type": "text", "text": "done with the first"}]},
        {"role": "user", "content": "second request"},
        {"role": "assistant", "content": [{"type": "text", "text": "done with the second"}]},
    )


def _use(id):
    return {"type": "tool_use", "id": id, "name": "bash", "input": {"command": "ls"}}


def _result(id, text):
    return {"type": "tool_result", "tool_use_id": id, "content": text}


def _load(exported) -> Transcript:
    found = load_file(exported.data)
    assert isinstance(found, Transcript)
    assert validate(found.view(), format=found.format) == []
    return found


def _texts(wires):
    return json.dumps([dict(wire) for wire in wires])


def _outgoing(*compactions):
    return Outgoing(messages=_anthropic(), format="anthropic", compactions=compactions, meta=META, at=AT)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_plain_conversation_becomes_a_session_file(tool):
    """A conversation that came from no file is a valid session of each tool, with everything said in it."""
    exported = write(_outgoing(), to=tool)
    found = _load(exported)
    assert found.tool == tool
    assert found.findings == ()
    assert exported.losses == ()
    shown = _texts(found.view())
    for text in ("first request", "look", "c1", "c2", "one", "two", "done with the first", "second request"):
        assert text in shown
    assert found.meta.session_id == META.session_id
    assert found.meta.cwd == "/w"
    assert found.meta.session_id in exported.name


@pytest.mark.parametrize("tool", TOOLS)
def test_writing_is_repeatable(tool):
    """The same conversation gives the same bytes: ids and times follow from it."""
    assert write(_outgoing(), to=tool) == write(_outgoing(), to=tool)


def test_anthropic_messages_survive_claude_code_unchanged():
    """What Claude Code reads back are the very messages."""
    assert tuple(_load(write(_outgoing(), to="claude-code")).view()) == _anthropic()


@pytest.mark.parametrize("tool", TOOLS)
def test_a_compaction_is_carried_with_what_it_kept(tool):
    """The view of the file is the summary, the kept messages and what came after; the history is whole."""
    compaction = ToolCompaction(position=5, summary="THE SUMMARY", kept=((4, 5),), trigger="manual", tokens_before=77)
    found = _load(write(_outgoing(compaction), to=tool))
    shown = _texts(found.view())
    assert "THE SUMMARY" in shown
    assert "first request" not in shown
    assert shown.index("THE SUMMARY") < shown.index("second request") < shown.index("done with the second")
    (read_back,) = found.compactions
    assert read_back.summary == "THE SUMMARY"
    ((start, end),) = read_back.kept
    assert "second request" in _texts(said.wire for said in found.messages[start:end])
    assert "first request" in _texts(said.wire for said in found.messages)


@pytest.mark.parametrize("tool", TOOLS)
def test_kept_messages_with_a_gap_between_them_stay_in_the_view(tool):
    """The first request and the tail both stay, as messages or, in pi, as text of the summary."""
    exported = write(_outgoing(ToolCompaction(position=5, summary="S", kept=((0, 1), (4, 5)))), to=tool)
    shown = _texts(_load(exported).view())
    assert "first request" in shown
    assert "second request" in shown
    assert "done with the first" not in shown
    assert [loss.kind for loss in exported.losses] == (["kept-as-text"] if tool == "pi" else [])


@pytest.mark.parametrize("tool", TOOLS)
def test_two_compactions_in_a_row(tool):
    """The newest one is the view, both are recorded."""
    compactions = (ToolCompaction(position=3, summary="S1"), ToolCompaction(position=5, summary="S2", kept=((4, 5),)))
    found = _load(write(_outgoing(*compactions), to=tool))
    assert [c.summary for c in found.compactions] == ["S1", "S2"]
    shown = _texts(found.view())
    assert "S2" in shown
    assert "S1" not in shown


def _with_noise(tool):
    """A file of that tool with unknown lines, a blank one, a broken one, and bytes that are not UTF-8."""
    lines = list(write(_outgoing(ToolCompaction(position=5, summary="S", kept=((4, 5),))), to=tool).lines)
    lines[3:3] = ['{"type":"from-the-future","b":1,"a":[1,2]}', "", "{broken", '{"type":"x","text":"\udcff"}']
    return "\n".join(lines).encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_file_written_back_to_its_tool_is_the_same_bytes(tool, end):
    """Unknown, blank and broken lines survive, and so does a last line without its line feed."""
    raw = _with_noise(tool) + end
    found = load_file(raw)
    assert write(found, to=tool).data == raw


@pytest.mark.parametrize("tool", TOOLS)
def test_new_messages_are_appended_to_the_lines_there_were(tool):
    """The old lines stay byte for byte; the new message follows the view there was."""
    raw = _with_noise(tool) + b"\n"
    source = _load_raw(raw)
    content = [{"type": "input_text", "text": "third"}] if tool == "codex" else "third"
    new = (
        {"type": "message", "role": "user", "content": content}
        if tool == "codex"
        else {"role": "user", "content": content}
    )
    messages = (*(said.wire for said in source.messages), new)
    more = Outgoing(
        messages=messages, format=source.format, compactions=source.compactions, source=source, at=AT, meta=source.meta
    )
    exported = write(more, to=tool)
    assert exported.data.startswith(raw)
    again = _load(exported)
    assert _texts(again.view())[: len(_texts(source.view())) - 1] == _texts(source.view())[:-1]
    assert "third" in _texts(again.view()[-1:])
    assert again.compactions == source.compactions
    assert all(said.on_path for said in again.messages)


def _load_raw(raw):
    found = load_file(raw)
    assert isinstance(found, Transcript)
    return found


@pytest.mark.parametrize("tool", TOOLS)
def test_a_new_compaction_is_appended(tool):
    """A compaction made after the import is the newest of the file, and keeps messages of the old lines."""
    source = _load(write(_outgoing(), to=tool))
    total = len(source.messages)
    made = ToolCompaction(position=total, summary="LATER", kept=((total - 1, total),))
    more = replace(_from(source), compactions=(*source.compactions, made))
    again = _load(write(more, to=tool))
    shown = _texts(again.view())
    assert "LATER" in shown
    assert "done with the second" in shown
    assert "first request" not in shown
    assert again.compactions[-1].kept == made.kept


def _from(source):
    return Outgoing(
        messages=tuple(said.wire for said in source.messages),
        format=source.format,
        compactions=source.compactions,
        meta=source.meta,
        source=source,
        at=AT,
    )


def test_the_first_version_of_pi_is_appended_to_in_its_own_way():
    """A list without ids stays a list, and a compaction in it counts entries."""
    rows = [
        {"type": "session", "id": "x", "timestamp": AT, "cwd": "/w"},
        {"type": "message", "timestamp": AT, "message": {"role": "user", "content": "old"}},
        {"type": "message", "timestamp": AT, "message": {"role": "user", "content": "kept"}},
    ]
    source = _load_raw("\n".join(["{broken", *map(json.dumps, rows)]).encode())
    again = _load(
        write(replace(_from(source), compactions=(ToolCompaction(position=2, summary="S", kept=((1, 2),)),)), to="pi")
    )
    shown = _texts(again.view())
    assert "kept" in shown
    assert "old" not in shown


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("to", TOOLS)
def test_every_tool_to_every_other_carries_the_view(tool, to):
    """Summary, kept messages and the newest words are in the other tool's view too."""
    source = _load(write(_outgoing(ToolCompaction(position=5, summary="THE SUMMARY", kept=((4, 5),))), to=tool))
    found = _load(write(source, to=to))
    assert found.tool == to
    shown = _texts(found.view())
    assert shown.index("THE SUMMARY") < shown.index("second request") < shown.index("done with the second")
    assert shown.count("THE SUMMARY") == 1
    assert "first request" not in shown
    assert "first request" in _texts(said.wire for said in found.messages)


def test_what_another_tool_cannot_carry_is_said():
    """System text, opaque summaries, left branches and failed answers are losses by name."""
    opaque = {"type": "compaction", "encrypted_content": "x"}
    rows = [
        ("session_meta", {"id": "x", "timestamp": AT, "base_instructions": {"text": "rules"}}),
        ("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]}),
        ("compacted", {"message": "", "replacement_history": [opaque]}),
        ("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "two"}]}),
        ("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
        ("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "three"}]}),
    ]
    lines = [json.dumps({"timestamp": AT, "type": kind, "payload": payload}) for kind, payload in rows]
    exported = write(_load_raw("\n".join(lines).encode()), to="claude-code")
    assert {"system", "opaque-summary", "left-branch"} <= {loss.kind for loss in exported.losses}
    shown = _texts(_load(exported).view())
    assert "one" in shown
    assert "two" not in shown
    assert "three" in shown


def test_a_history_that_was_changed_is_written_anew():
    """Messages that are not the source's any more do not pretend to be its lines."""
    source = _load(write(_outgoing(), to="claude-code"))
    changed = replace(_from(source), messages=({"role": "user", "content": "other"}, *_anthropic()[1:]))
    found = _load(write(changed, to="claude-code"))
    assert found.view()[0] == {"role": "user", "content": "other"}


def test_preserved_answers_have_no_usage():
    """Usage of messages from before a compaction would make Claude Code compact again at once."""
    exported = write(_outgoing(ToolCompaction(position=6, summary="S", kept=((5, 6),))), to="claude-code")
    usages = [json.loads(line)["message"]["usage"] for line in exported.lines if '"usage"' in line]
    assert usages
    assert all(set(usage.values()) == {0} for usage in usages)


def test_new_lines_are_later_than_every_line_before_them():
    """A caller's clock that is behind the file's does not make the new message an old branch."""
    source = _load(write(_outgoing(), to="claude-code"))
    late = replace(
        _from(source), messages=(*_anthropic(), {"role": "user", "content": "new"}), at="1999-01-01T00:00:00Z"
    )
    assert _load(write(late, to="claude-code")).view()[-1]["content"] == "new"
