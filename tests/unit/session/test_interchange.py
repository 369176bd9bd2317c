"""Sessions made of other tools' files: what that tool would send is the first view, and the file comes back as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import plimsoll
from plimsoll.interchange import export, import_file
from plimsoll.transcripts import Transcript, load_file
from plimsoll.transcripts.codex_write import response_item

SESSIONS = Path(__file__).parents[3].parent / "shared/evals/sessions"
FILES = sorted(SESSIONS.glob("*/*.jsonl"))


def same(one, other):
    """Whether two lists of messages are the same bytes of JSON."""
    return json.dumps(one) == json.dumps(other)


@pytest.mark.skipif(not FILES, reason="the real session files are not beside the checkout")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[:24])
def test_real_file_becomes_a_session(path, tmp_path):
    """A real file's session has every message, the tool's own view, now and resumed, and exports to the same bytes."""
    found = load_file(path)
    assert isinstance(found, Transcript)
    with import_file(path, name="imported", store=str(tmp_path)) as session:
        view = session.view()

        assert same(view, found.view())
        assert plimsoll.validate(view, format=session.format) == []
        assert len(session.history()) == len(found.messages)
        assert export(session, to=found.tool).data == path.read_bytes()
    with plimsoll.open("imported", store=str(tmp_path)) as session:
        assert same(session.view(), view)


def chat(count):
    """A plain conversation of that many messages, as bytes of JSON."""
    roles = ("user", "assistant")
    return json.dumps([{"role": roles[n % 2], "content": f"said {n} " * 20} for n in range(count)]).encode()


def test_taken_name_is_refused(tmp_path):
    """Importing over a session that has messages is refused, and the session stays."""
    import_file(chat(4), name="taken", store=str(tmp_path)).close()

    with pytest.raises(plimsoll.errors.SessionExists):
        import_file(chat(6), name="taken", store=str(tmp_path))
    with plimsoll.open("taken", store=str(tmp_path)) as session:
        assert len(session.history()) == 4


def test_failed_import_leaves_nothing(tmp_path):
    """A file with a message that cannot be read leaves no session behind."""
    broken = json.dumps([{"role": "user", "content": "fine"}, {"role": "user", "content": 5}]).encode()

    with pytest.raises(plimsoll.errors.FormatError):
        import_file(broken, name="broken", store=str(tmp_path))
    assert plimsoll.sessions(str(tmp_path)) == []


def test_body_keeps_system_and_tools(tmp_path):
    """The system text and the tools of a request body count in the session that it becomes."""
    body = {
        "model": "claude-sonnet-4-5",
        "system": "Be brief. " * 50,
        "tools": [{"name": "look", "description": "looks " * 40, "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}]}
        ],
    }
    bare = {"messages": body["messages"], "model": body["model"]}
    with import_file(json.dumps(body).encode(), name="whole", store=str(tmp_path)) as session:
        whole = session.status()
        assert session.system == body["system"]
    with import_file(json.dumps(bare).encode(), name="bare", store=str(tmp_path)) as session:
        assert session.status().current_tokens < whole.current_tokens
        assert session.status().max_tokens > whole.max_tokens


def test_codex_keeps_the_very_view(tmp_path):
    """Codex records the whole context after a compaction, so an exported view comes back as it was."""
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"do {n} " * 60}]}
        for n in range(30)
    ]
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    with plimsoll.open("codex", store=str(tmp_path), format="openai-responses", max_tokens=4_000) as session:
        for item in items:
            session.extend([item, answer])
        session.compact()
        view = [response_item(item) for item in session.view()]
        exported = export(session, to="codex", at="2026-01-01T00:00:00.000Z")
    written = load_file(exported.data)

    assert isinstance(written, Transcript)
    assert same(written.view(), view)
    assert [loss for loss in exported.losses if loss.kind == "view"] == []


def test_a_view_in_other_terms_is_a_loss(tmp_path):
    """Where the tool would send something else than the session does, the export says so."""
    with plimsoll.open("claude", store=str(tmp_path), format="anthropic", max_tokens=4_000) as session:
        for number in range(30):
            session.append({"role": "user", "content": f"do {number} " * 60})
            session.append({"role": "assistant", "content": "done"})
        session.compact()
        losses = export(session, to="claude-code", at="2026-01-01T00:00:00.000Z").losses

    assert "view" in {loss.kind for loss in losses}
