"""Reading pi session files."""

import json

import pytest

from plimsoll.formats.convert import validate
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.values import Transcript

HEADER = {"type": "session", "version": 3, "id": "p1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w"}


class _Session:
    """Writes entries, each the child of the one before."""

    def __init__(self, version=3):
        self.rows = (
            [HEADER | {"version": version}] if version > 1 else [{k: v for k, v in HEADER.items() if k != "version"}]
        )
        self.linear = version == 1
        self.leaf = None

    def entry(self, kind, *, parent="leaf", **fields):
        id = f"e{len(self.rows)}"
        links = {} if self.linear else {"id": id, "parentId": self.leaf if parent == "leaf" else parent}
        self.rows.append({"type": kind, **links, "timestamp": "2026-01-01T00:00:01.000Z", **fields})
        self.leaf = id
        return id

    def message(self, role, content=None, *, parent="leaf", **fields):
        content = {} if content is None else {"content": content}
        return self.entry("message", parent=parent, message={"role": role, **content, **fields})

    def user(self, text, **fields):
        return self.message("user", [{"type": "text", "text": text}], **fields)

    def answer(self, *parts, **fields):
        fields = {"api": "anthropic-messages", "model": "m", "stopReason": "stop", **fields}
        return self.message("assistant", list(parts), **fields)

    def result(self, call, text="done", **fields):
        content = [{"type": "text", "text": text}]
        return self.message("toolResult", content, toolCallId=call, toolName="bash", isError=False, **fields)

    def data(self):
        return "".join(json.dumps(row) + "\n" for row in self.rows).encode()

    def read(self) -> Transcript:
        found = load_file(self.data())
        assert isinstance(found, Transcript)
        assert found.tool == "pi"
        assert validate(found.view(), format="anthropic") == []
        return found


def _text(words):
    return {"type": "text", "text": words}


def _call(id):
    return {"type": "toolCall", "id": id, "name": "bash", "arguments": {"a": 1}}


def _said(transcript):
    shown = []
    for wire in transcript.view():
        content = wire["content"]
        content = [_text(content)] if isinstance(content, str) else content
        shown.append(" ".join(str(b.get("text", b.get("tool_use_id", b.get("id", b["type"])))) for b in content))
    return shown


def _kinds(transcript):
    return sorted({finding.kind for finding in transcript.findings})


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_is_read(version):
    """The list of the first version and the trees after it give the same conversation."""
    s = _Session(version)
    s.user("go")
    s.answer(_text("look"), _call("c1"), stopReason="toolUse")
    s.result("c1")
    s.answer(_text("went"))
    found = s.read()
    assert _said(found) == ["go", "look c1", "c1", "went"]
    assert [m.wire["role"] for m in found.messages] == ["user", "assistant", "user", "assistant"]
    assert found.meta.session_id == "p1"
    assert found.meta.version == str(version)


def test_the_newest_entry_is_the_leaf():
    """A branch that was left stays in the history; its summary is sent."""
    s = _Session()
    root = s.user("go")
    s.answer(_text("left"))
    s.entry("branch_summary", parent=root, fromId="e2", summary="tried it")
    s.user("other way")
    found = s.read()
    (only,) = _said(found)
    assert only.startswith("go The following is a summary of a branch")
    assert only.endswith("tried it</summary> other way")
    assert [m.on_path for m in found.messages] == [True, False, True, True]


def test_a_compaction_keeps_everything_from_one_entry_on():
    """The summary first, then the kept entries, then what came after."""
    s = _Session()
    s.user("old")
    s.answer(_text("older"))
    kept = s.user("kept")
    s.answer(_text("also"))
    s.entry("compaction", summary="the past", firstKeptEntryId=kept, tokensBefore=99)
    s.user("new")
    found = s.read()
    assert _said(found)[0].endswith("<summary>\nthe past\n</summary> kept")
    assert _said(found)[1:] == ["also", "new"]
    (compaction,) = found.compactions
    assert (compaction.position, compaction.summary, compaction.kept, compaction.tokens_before) == (
        4,
        "the past",
        ((2, 4),),
        99,
    )


def test_the_first_version_counts_entries():
    """`firstKeptEntryIndex` counts from the header."""
    s = _Session(1)
    s.user("old")
    s.user("kept")
    s.entry("compaction", summary="the past", firstKeptEntryIndex=2, tokensBefore=1)
    assert _said(s.read())[0].endswith("</summary> kept")


def test_a_kept_entry_that_is_gone_keeps_nothing():
    """Only the summary stands when the first kept entry cannot be found."""
    s = _Session()
    s.user("old")
    s.entry("compaction", summary="the past", firstKeptEntryId="gone", tokensBefore=1)
    s.user("new")
    found = s.read()
    assert "old" not in _said(found)[0]
    assert found.compactions[0].kept == ()


def test_commands_the_user_ran_are_told_unless_excluded():
    """A shell command is a user message; one marked as excluded is history only."""
    s = _Session()
    shell = {"command": "ls", "output": "a", "exitCode": 2, "cancelled": False, "truncated": False}
    s.message("bashExecution", **shell)
    s.message("bashExecution", **shell, excludeFromContext=True)
    s.answer(_text("ok"))
    found = s.read()
    assert _said(found) == ["Ran `ls`\n```\na\n```\n\nCommand exited with code 2", "ok"]
    assert [m.kind for m in found.messages] == ["message", "excluded", "message"]


def test_extensions_speak_as_the_user():
    """`custom_message` entries are sent, `custom` entries are not; hooks of the second version are customs."""
    s = _Session(2)
    s.entry("custom_message", customType="x", content="from an extension", display=False)
    s.entry("custom", customType="x", data={"secret": 1})
    s.message("hookMessage", "from a hook")
    assert _said(s.read()) == ["from an extension from a hook"]


@pytest.mark.parametrize("reason", ["error", "aborted"])
def test_answers_that_failed_are_not_sent(reason):
    """An answer that failed stays in the history, and its calls need no results."""
    s = _Session()
    s.user("go")
    s.answer(_call("c1"), stopReason=reason)
    s.user("again")
    found = s.read()
    assert _said(found) == ["go again"]
    assert found.messages[1].kind == "error"


def test_images_thinking_and_failures_are_carried():
    """Images are base64 sources, signed thinking stays thinking, unsigned becomes text, failed results say so."""
    s = _Session()
    s.message("user", [_text("see"), {"type": "image", "data": "AAAA", "mimeType": "image/png"}])
    s.answer(
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
        {"type": "thinking", "thinking": "aloud"},
        _call("c1"),
    )
    s.message("toolResult", [], toolCallId="c1", toolName="bash", isError=True)
    view = s.read().view()
    assert view[0]["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert view[1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "sig"}
    assert view[1]["content"][1] == _text("aloud")
    assert view[2]["content"][0]["is_error"] is True


def test_calls_of_other_providers_get_ids_that_anthropic_takes():
    """Call and result keep the same id after it was put into the right letters."""
    s = _Session()
    s.user("go")
    s.answer(_call("call_1|fc_2"), api="openai-responses")
    s.result("call_1|fc_2")
    assert _said(s.read()) == ["go", "call_1_fc_2", "call_1_fc_2"]


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (lambda s: (s.user("a"), s.answer(_call("c"))), "no-result"),
        (lambda s: (s.user("a"), s.result("ghost")), "orphan-result"),
        (lambda s: (s.user("a", parent="gone"),), "missing-parent"),
        (lambda s: (s.user("a", parent="e2"), s.user("b", parent="e1")), "cycle"),
        (
            lambda s: (s.user("a"), s.rows.append({"type": "message", "message": {"role": "user", "content": "x"}})),
            "no-id",
        ),
        (lambda s: (s.user("a"), s.rows.append(s.rows[-1])), "duplicate-uuid"),
        (lambda s: (s.user("a"), s.message("future", "x")), "bad-message"),
    ],
)
def test_damage_is_reported(build, kind):
    """Each kind of damage becomes its finding, and the view stays valid."""
    s = _Session()
    build(s)
    assert kind in _kinds(s.read())


def test_unknown_entries_survive():
    """1,000 entries of kinds from the future are walked through."""
    s = _Session()
    s.user("go")
    for number in range(1000):
        s.entry(f"future-{number}", payload=number)
    s.answer(_text("went"))
    assert _said(s.read()) == ["go", "went"]


def test_every_cut_between_lines_can_be_read():
    """A file that ends after any of its lines gives a valid view."""
    s = _Session()
    s.user("go")
    s.answer(_call("c1"), _call("c2"))
    s.result("c1")
    s.result("c2")
    s.entry("compaction", summary="s", firstKeptEntryId="e2", tokensBefore=1)
    s.answer(_text("end"))
    rows = s.rows
    for end in range(1, len(rows) + 1):
        s.rows = rows[:end]
        s.read()
