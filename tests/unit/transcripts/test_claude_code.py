"""Reading Claude Code session files."""

import json

import pytest

from plimsoll.formats.convert import validate
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.values import Transcript


class _Session:
    """Writes the lines of a session, each following the one before it."""

    def __init__(self):
        self.rows = []
        self.leaf = None

    def line(self, kind, *, parent="leaf", **fields):
        uuid = f"u{len(self.rows)}"
        at = f"2026-01-01T00:00:{len(self.rows):02d}.000Z"
        row = {"parentUuid": self.leaf if parent == "leaf" else parent, "isSidechain": False, "sessionId": "s1"}
        self.rows.append(
            {**row, "cwd": "/w", "version": "2.1.7", "type": kind, **fields, "uuid": uuid, "timestamp": at}
        )
        self.leaf = uuid
        return uuid

    def user(self, content, **fields):
        return self.line("user", message={"role": "user", "content": content}, **fields)

    def answer(self, id, *blocks, **fields):
        message = {
            "id": id,
            "role": "assistant",
            "model": "claude-x",
            "content": list(blocks),
            "usage": {"input_tokens": 9},
        }
        return self.line("assistant", message=message, **fields)

    def result(self, call, content="done", **fields):
        return self.user([{"type": "tool_result", "tool_use_id": call, "content": content}], **fields)

    def boundary(self, **metadata):
        metadata = {"trigger": "auto", "preTokens": 900, **metadata}
        fields = {"subtype": "compact_boundary", "compactMetadata": metadata, "logicalParentUuid": self.leaf}
        return self.line("system", parent=None, content="Conversation compacted", **fields)

    def data(self):
        return "".join(json.dumps(row) + "\n" for row in self.rows).encode()

    def read(self) -> Transcript:
        found = load_file(self.data())
        assert isinstance(found, Transcript)
        assert found.tool == "claude-code"
        assert validate(found.view(), format="anthropic") == []
        return found


def _text(words):
    return {"type": "text", "text": words}


def _call(id, name="Bash"):
    return {"type": "tool_use", "id": id, "name": name, "input": {"a": 1}}


def _words(wire):
    content = wire["content"]
    return (
        content
        if isinstance(content, str)
        else " ".join(str(b.get("text", b.get("content", b.get("id")))) for b in content)
    )


def _said(transcript):
    return [_words(wire) for wire in transcript.view()]


def _kinds(transcript):
    return sorted({finding.kind for finding in transcript.findings})


def test_a_plain_conversation_is_sent_as_it_was_said():
    """Messages come out in order, in the wire format, with nothing else in them."""
    s = _Session()
    s.user("hello")
    s.answer("m1", _text("hi"))
    found = s.read()
    assert found.view() == [{"role": "user", "content": "hello"}, {"role": "assistant", "content": [_text("hi")]}]
    assert found.meta.session_id == "s1"
    assert found.meta.model == "claude-x"
    assert found.findings == ()


def test_lines_of_one_answer_are_one_message():
    """Text, call and call on three lines with one message id are one answer."""
    s = _Session()
    s.user("go")
    s.answer("m1", _text("look"))
    s.answer("m1", _call("c1"))
    s.answer("m1", _call("c2"))
    s.result("c1")
    s.result("c2")
    found = s.read()
    assert [m.wire["role"] for m in found.messages] == ["user", "assistant", "user", "user"]
    assert found.messages[1].lines == (1, 2, 3)
    assert _said(found) == ["go", "look c1 c2", "done done"]


def test_parallel_calls_on_branches_are_gathered():
    """Each result is the child of its own call's line; the walk to the root sees one branch, the view has both."""
    s = _Session()
    root = s.user("go")
    first = s.answer("m1", _call("c1"), parent=root)
    second = s.answer("m1", _call("c2"), parent=first)
    s.result("c1", "one", parent=first)
    s.result("c2", "two", parent=second)
    s.answer("m2", _text("both"))
    found = s.read()
    assert _said(found) == ["go", "c1 c2", "one two", "both"]
    assert all(message.on_path for message in found.messages)


def test_lines_that_are_no_message_link_the_ones_that_are():
    """Progress lines between two messages are walked through and never sent."""
    s = _Session()
    s.user("go")
    s.line("progress", data={"type": "hook_progress"})
    s.answer("m1", _text("went"))
    assert _said(s.read()) == ["go", "went"]


def test_the_newest_leaf_is_the_conversation():
    """After a rewind the branch that was left stays in the history and leaves the view."""
    s = _Session()
    root = s.user("go")
    s.answer("m1", _text("left"), parent=root)
    s.answer("m2", _text("taken"), parent=root)
    found = s.read()
    assert _said(found) == ["go", "taken"]
    assert [m.on_path for m in found.messages] == [True, False, True]


def test_api_errors_stay_in_the_history_only():
    """An API error is a message that was never the model's, so it is not sent back to it."""
    s = _Session()
    s.user("go")
    s.answer("m1", _text("API Error: 500"), isApiErrorMessage=True)
    s.user("again")
    found = s.read()
    assert _said(found) == ["go again"]
    assert [m.kind for m in found.messages] == ["message", "error", "message"]


def test_notes_of_the_tool_to_the_model_are_sent():
    """`isMeta` hides a message from the user's eyes and not from the model's."""
    s = _Session()
    s.user("note", isMeta=True)
    s.answer("m1", _text("ok"))
    assert _said(s.read()) == ["note", "ok"]


def test_a_boundary_cuts_what_came_before():
    """After a compaction the view is the summary and what came after; the history is whole."""
    s = _Session()
    s.user("old")
    s.answer("m1", _text("older"))
    s.boundary(postTokens=90)
    s.user("the summary", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    s.answer("m2", _text("new"))
    found = s.read()
    assert _said(found) == ["the summary", "new"]
    (compaction,) = found.compactions
    assert (compaction.position, compaction.summary, compaction.kept) == (2, "the summary", ())
    assert (compaction.trigger, compaction.tokens_before, compaction.tokens_after) == ("auto", 900, 90)
    assert [m.kind for m in found.messages] == ["message", "message", "summary", "message"]
    assert all(m.on_path for m in found.messages)


@pytest.mark.parametrize("listed", [False, True])
def test_preserved_messages_follow_the_summary(listed):
    """A preserved segment, by its ends or by a list, is linked in again after the summary it is anchored to."""
    s = _Session()
    s.user("old")
    head = s.answer("m1", _call("c1"))
    tail = s.result("c1", "kept")
    anchor = f"u{len(s.rows) + 1}"
    segment = {"preservedSegment": {"headUuid": head, "anchorUuid": anchor, "tailUuid": tail}}
    listing = {"preservedMessages": {"anchorUuid": anchor, "uuids": [head, tail], "allUuids": [head, tail]}}
    s.boundary(**(listing if listed else segment))
    s.user("summary", isCompactSummary=True)
    s.answer("m2", _text("new"))
    found = s.read()
    assert _said(found) == ["summary", "c1", "kept", "new"]
    assert found.compactions[0].kept == ((1, 3),)


def test_a_preserved_segment_that_cannot_be_walked_is_left_out():
    """A broken segment is a finding; what follows the summary is still right."""
    s = _Session()
    s.user("old")
    s.boundary(preservedSegment={"headUuid": "gone", "anchorUuid": "u2", "tailUuid": "u0"})
    s.user("summary", isCompactSummary=True)
    s.answer("m2", _text("new"))
    found = s.read()
    assert _said(found) == ["summary", "new"]
    assert _kinds(found) == ["preserved-broken"]


def test_only_the_newest_of_two_boundaries_counts():
    """Two compactions: both are recorded, the second is the view."""
    s = _Session()
    s.user("first")
    for number in (1, 2):
        s.boundary()
        s.user(f"summary {number}", isCompactSummary=True)
        s.answer(f"m{number}", _text(f"after {number}"))
    found = s.read()
    assert _said(found) == ["summary 2", "after 2"]
    assert [(c.position, c.summary) for c in found.compactions] == [(1, "summary 1"), (3, "summary 2")]


def test_cleared_results_are_empty_in_the_view_only():
    """A microcompact boundary clears the named results; the history keeps their text."""
    s = _Session()
    s.user("go")
    s.answer("m1", _call("c1"), _call("c2"))
    s.result("c1", "long")
    s.result("c2", "short")
    metadata = {"trigger": "auto", "preTokens": 50, "tokensSaved": 20, "compactedToolIds": ["c1"]}
    s.line("system", subtype="microcompact_boundary", microcompactMetadata=metadata)
    s.answer("m2", _text("on"))
    found = s.read()
    assert _said(found) == ["go", "c1 c2", "[Old tool result content cleared] short", "on"]
    assert _words(found.messages[2].wire) == "long"
    assert found.compactions[0].cleared == ("c1",)
    assert found.compactions[0].tokens_after == 30


def test_replaced_results_are_sent_as_the_text_that_replaces_them():
    """A content-replacement line holds what the tool sends for a result; the history keeps its text. Clearing comes after it."""
    s = _Session()
    s.user("go")
    s.answer("m1", _call("c1"), _call("c2"), _call("c3"))
    s.result("c1", "long")
    s.result("c2", "longer")
    s.result("c3", "of an agent")
    replaced = [
        {"kind": "tool-result", "toolUseId": call, "replacement": f"kept in {call}.txt"} for call in ("c1", "c2")
    ]
    odd = [
        {"kind": "image", "toolUseId": "c3", "replacement": "x"},
        {"kind": "tool-result", "toolUseId": 3},
        None,
        "c3",
    ]
    s.rows.append({"type": "content-replacement", "sessionId": "s1", "replacements": [*replaced, *odd]})
    of_agent = [{"kind": "tool-result", "toolUseId": "c3", "replacement": "not here"}]
    s.rows.append({"type": "content-replacement", "sessionId": "s1", "agentId": "a1", "replacements": of_agent})
    metadata = {"trigger": "auto", "compactedToolIds": ["c2"]}
    s.line("system", subtype="microcompact_boundary", microcompactMetadata=metadata)
    s.answer("m2", _text("on"))
    found = s.read()
    assert _said(found) == ["go", "c1 c2 c3", "kept in c1.txt [Old tool result content cleared] of an agent", "on"]
    assert [_words(message.wire) for message in found.messages[2:4]] == ["long", "longer"]
    before, after = (
        [_words(shown.wire) for shown in view()][2]
        for view in (found.compactions[0].view_before, found.compactions[0].view_after)
    )
    assert before == "kept in c1.txt kept in c2.txt of an agent"
    assert after == "kept in c1.txt [Old tool result content cleared] of an agent"


def test_an_interrupted_call_gets_a_result():
    """A call without a result is answered by an error that says so, and the repair is a finding."""
    s = _Session()
    s.user("go")
    s.answer("m1", _call("c1"))
    s.user("stop")
    found = s.read()
    assert found.view()[2]["content"][0]["is_error"] is True
    assert _said(found)[2].endswith("stop")
    assert _kinds(found) == ["no-result"]


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (lambda s: (s.user("a"), s.result("ghost")), "orphan-result"),
        (
            lambda s: (s.user("a"), s.answer("m1", {"type": "thinking", "thinking": "t", "signature": "x"})),
            "thinking-only",
        ),
        (lambda s: (s.answer("m1", _text("b")),), "no-opening"),
        (
            lambda s: (s.user("a"), s.answer("m1", _call("c")), s.answer("m2", _call("c")), s.result("c")),
            "duplicate-call",
        ),
        (lambda s: (s.user("a"), s.answer("m1", _call("c")), s.result("c"), s.result("c", "2")), "duplicate-result"),
        (lambda s: (s.user("a"), s.user(7)), "bad-message"),
        (lambda s: (s.user("a", parent="gone"), s.user("b")), "missing-parent"),
        (lambda s: (s.user("a", parent="u1"), s.user("b", parent="u0")), "cycle"),
    ],
)
def test_what_cannot_be_sent_is_left_out_and_reported(build, kind):
    """Each kind of damage becomes its finding, and the view stays valid."""
    s = _Session()
    build(s)
    assert kind in _kinds(s.read())


def test_a_uuid_used_twice_is_reported_and_both_lines_stay():
    """The later line wins the name; neither message is lost from the history."""
    s = _Session()
    s.user("a")
    s.answer("m1", _text("b"))
    s.rows[1]["uuid"] = "u0"
    found = s.read()
    assert "duplicate-uuid" in _kinds(found)
    assert len(found.messages) == 2


@pytest.mark.parametrize("field", ["type", "sessionId", "cwd", "gitBranch", "version"])
def test_a_field_may_be_null_after_a_line_without_it(field):
    """Null is what a tool writes that does not know a value; lines of some types have none of these fields."""
    s = _Session()
    s.user("a")
    s.answer("m1", _text("b"))
    s.rows.insert(1, {"snapshot": {}, "messageId": "x"})
    s.rows[2][field] = None

    assert _words(s.read().view()[0]) == "a"


def test_lines_that_are_written_twice_are_said_once():
    """The tool writes some lines again, at once or when it goes on with a session; what they say is one message, and is sent once."""
    s = _Session()
    s.user("a")
    s.answer("m1", _text("b"))
    s.answer("m1", _call("c"))
    s.result("c")
    s.answer("m2", _text("d"))
    once = s.read()
    s.rows = [*s.rows[:2], s.rows[1], *s.rows[2:], *s.rows]
    found = s.read()

    assert found.view() == once.view()
    assert [message.wire for message in found.messages] == [message.wire for message in once.messages]
    assert all(message.on_path for message in found.messages)
    assert list(_kinds(found)) == ["duplicate-uuid"]
    side = _Session()
    side.user("a")
    side.line("user", parent=None, isSidechain=True, agentId="x", message={"role": "user", "content": "q"})
    side.answer("m3", _text("e"), isSidechain=True, agentId="x")
    side.rows.append(side.rows[-1])
    assert [message.wire["content"] for message in side.read().sidechains[0].messages] == ["q", [_text("e")]]


def test_sidechains_are_kept_apart():
    """Lines of sub-agents in the file are conversations of their own."""
    s = _Session()
    s.user("go")
    s.answer("m1", _text("sent"))
    s.user("task", parent=None, isSidechain=True, agentId="a1")
    s.answer("m9", _text("did"), isSidechain=True, agentId="a1")
    found = s.read()
    assert _said(found) == ["go", "sent"]
    assert [(side.id, len(side.messages)) for side in found.sidechains] == [("a1", 2)]


def test_a_sub_agents_own_file_is_its_conversation():
    """Where every line is a sidechain's, it is the main conversation of that file."""
    s = _Session()
    s.user("task", isSidechain=True)
    s.answer("m1", _text("did"), isSidechain=True)
    assert _said(s.read()) == ["task", "did"]


def test_what_the_user_typed_while_it_worked_is_said():
    """A queued prompt is an attachment in the file and the user's message to the model."""
    s = _Session()
    s.user("go")
    s.answer("m1", _text("working"))
    s.line("attachment", attachment={"type": "queued_command", "prompt": "also this"})
    s.line("attachment", attachment={"type": "todo_reminder", "content": []})
    assert _said(s.read()) == ["go", "working", "also this"]


def test_a_session_continued_from_another_file_begins_with_its_summary():
    """A file that begins with a summary of another one has its compaction at the start."""
    s = _Session()
    s.user("the story so far", isCompactSummary=True)
    s.answer("m1", _text("on"))
    found = s.read()
    assert _said(found) == ["the story so far", "on"]
    assert [(c.position, c.summary) for c in found.compactions] == [(0, "the story so far")]


def test_the_title_is_the_last_one_given():
    """A custom title goes before a generated summary."""
    s = _Session()
    s.user("go")
    s.rows.append({"type": "summary", "summary": "A talk", "leafUuid": "u0"})
    assert s.read().meta.title == "A talk"
    s.rows.append({"type": "custom-title", "customTitle": "Mine", "sessionId": "s1"})
    assert s.read().meta.title == "Mine"


def test_unknown_lines_are_entries_and_nothing_else():
    """1,000 records of kinds from the future change nothing that is said."""
    s = _Session()
    s.user("go")
    s.rows += [{"type": f"future-{n}", "uuid": f"f{n}", "parentUuid": "u0", "payload": [n]} for n in range(1000)]
    found = s.read()
    assert _said(found) == ["go"]
    assert len(found.entries) == 1001


@pytest.mark.slow
def test_every_cut_of_a_file_can_be_read():
    """A file that ends after any of its lines, or in the middle of one, gives a valid view."""
    s = _Session()
    s.user("go")
    s.answer("m1", {"type": "thinking", "thinking": "t", "signature": "x"})
    s.answer("m1", _call("c1"))
    s.answer("m1", _call("c2"), parent="u2")
    s.result("c1", parent="u2")
    s.result("c2", parent="u3")
    s.boundary(preservedSegment={"headUuid": "u2", "anchorUuid": "u7", "tailUuid": "u5"})
    s.user("summary", isCompactSummary=True)
    s.answer("m2", _text("end "))
    data = s.data()
    first = data.index(b"\n") + 1
    for at in range(first, len(data) + 1):
        found = load_file(data[:at])
        assert isinstance(found, Transcript)
        assert validate(found.view(), format="anthropic") == []
        assert len(found.entries) == data[:at].count(b"\n") + (not data[:at].endswith(b"\n"))
        torn = data[:at].split(b"\n")[-1] not in data.split(b"\n")
        assert [f.kind for f in found.findings].count("torn-line") == torn
