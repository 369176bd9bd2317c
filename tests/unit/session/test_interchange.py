"""Sessions made of other tools' files: what that tool would send is the first view, and the file comes back as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import plimsoll
from plimsoll.session.transfer.import_file import import_file
from plimsoll.transcripts.codex_write import response_item
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.values import Transcript

SESSIONS = Path(__file__).parents[3].parent / "shared/evals/sessions"
FILES = sorted(SESSIONS.glob("*/*.jsonl"))


def same(one, other):
    """Whether two lists of messages are the same bytes of JSON."""
    return json.dumps(one) == json.dumps(other)


@pytest.mark.slow
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
        assert session.export(to=found.tool).data == path.read_bytes()
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


def test_a_session_without_messages_is_taken_too(tmp_path):
    """A session that is there is nobody's to fill or to remove, also while nothing has been said in it."""
    store = str(tmp_path)
    plimsoll.open("taken", store=store, user_id="u-7").close()
    for file in (chat(4), b'[{"role": "user", "content": 5}]'):
        with pytest.raises(plimsoll.errors.PlimsollError):
            import_file(file, name="taken", store=store)
    with plimsoll.open("taken", store=store) as session:
        assert (session.history(), session.context().session.user_id) == ([], "u-7")


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


@pytest.mark.slow
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
        exported = session.export(to="codex", at="2026-01-01T00:00:00.000Z")
    written = load_file(exported.data)

    assert isinstance(written, Transcript)
    assert same(written.view(), view)
    assert [loss for loss in exported.losses if loss.kind == "view"] == []


CLAUDE_LINES = [
    {"type": "custom-title", "customTitle": "Tide tables", "sessionId": "s-1"},
    {"type": "user", "uuid": "u1", "parentUuid": None, "timestamp": "2026-02-03T10:00:00.000Z"},
    {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "timestamp": "2026-02-03T10:00:07.500Z"},
    {"type": "user", "uuid": "u3", "parentUuid": "u2", "timestamp": "no time"},
    {"type": "user", "uuid": "u4", "parentUuid": "u3", "timestamp": "2026-02-04T00:00:00.000Z"},
]
WORDS = ["When is ebb?", [{"type": "text", "text": "At nine."}], "Thanks.", "And today?"]
TIMES = [1_770_112_800_000, 1_770_112_807_500, 1_770_112_807_500, 1_770_163_200_000]


def claude_file():
    """A file of Claude Code's with four messages, one of them without a time."""
    said = iter(WORDS)
    lines = [
        {**line, "sessionId": "s-1", "message": {"role": line["type"], "content": next(said)}}
        if "uuid" in line
        else line
        for line in CLAUDE_LINES
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


@pytest.mark.spec("W1-17")
def test_imported_messages_keep_their_times(tmp_path):
    """What was said elsewhere was said when its file says, and not now; a title comes along (W1-17)."""
    import_file(claude_file(), name="tides", store=str(tmp_path)).close()
    with plimsoll.open("tides", store=str(tmp_path)) as session:
        assert session.times_ms() == TIMES
        assert session.messages(since_ms=TIMES[3])[-1].message["content"] == "And today?"
        assert [said.id for said in session.messages(since_ms=TIMES[1])] == ["m1", "m2", "m3"]
    assert [info.title for info in plimsoll.sessions(str(tmp_path))] == ["Tide tables"]


@pytest.mark.spec("S1-17")
@pytest.mark.parametrize("to", ["claude-code", "codex", "pi"])
def test_exported_messages_keep_their_times(tmp_path, to):
    """Each line of a new file has the time its message was said at, or a little later, and lines are in order of time (S1-17)."""
    with plimsoll.open("x", store=str(tmp_path), format="anthropic") as session:
        session.extend([{"role": "user", "content": word} for word in "abcd"], times_ms=[5_000, 9_000, 7_000, 60_000])
        exported = session.export(to=to)
    stamps = [json.loads(line).get("timestamp") for line in exported.lines]
    known = [stamp for stamp in stamps if stamp]
    said = [json.loads(line)["timestamp"] for line in exported.lines if any(f'"{word}"' in line for word in "abcd")]

    assert known == sorted(known)
    assert {"1970-01-01T00:00:05", "1970-01-01T00:00:09", "1970-01-01T00:01:00"} == {stamp[:19] for stamp in said}
    assert len(said) >= 4


def test_what_is_new_is_exported_with_its_time(tmp_path):
    """Behind a file's own lines, which stay as they are, what was said since has the time it was said at."""
    with import_file(claude_file(), name="tides", store=str(tmp_path)) as session:
        session.extend([{"role": "assistant", "content": "At ten."}], times_ms=[TIMES[3] + 90_000])
        exported = session.export(to="claude-code")

    assert exported.data.startswith(claude_file())
    assert json.loads(exported.lines[-1])["timestamp"] == "2026-02-04T00:01:30.000Z"


@pytest.mark.parametrize("times", [[1], [1, 2, 3], [1, -1], [1, 1.5], [1, True], [1, 10**18], "ab", 5])
def test_impossible_times(tmp_path, times):
    """Times that are none, or not one for each message, are refused, and nothing is said."""
    with plimsoll.open("x", store=str(tmp_path)) as session:
        with pytest.raises(plimsoll.errors.SettingError):
            session.extend([{"role": "user", "content": word} for word in "ab"], times_ms=times)
        assert session.history() == []


@pytest.mark.slow
@pytest.mark.spec("S1-17")
@pytest.mark.parametrize("to", ["claude-code", "codex", "pi"])
def test_exported_sessions_are_told_apart(tmp_path, to):
    """Each session is exported under an id of its own, the same each time, and says where it comes from (S1-17)."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/side\n")
    found = {}
    for store in ("one", "two"):
        for name in ("a", "b"):
            with plimsoll.open(name, store=str(tmp_path / store), project=project, title="Tide tables") as session:
                session.append({"role": "user", "content": "hello"})
                found[store, name] = [load_file(session.export(to=to).data).meta for _ in range(2)]
    ids = {meta.session_id for metas in found.values() for meta in metas}
    meta = found["one", "a"][0]

    assert len(ids) == 4
    assert all(first.session_id == second.session_id for first, second in found.values())
    assert meta.cwd == str(project)
    assert meta.branch == (None if to == "pi" else "side")
    assert meta.title == ("hello" if to == "codex" else "Tide tables")


def test_a_file_given_as_bytes_grows(tmp_path):
    """What a session notes of a file without a path is read back, however often the file has grown."""
    lines = claude_file().splitlines(keepends=True)
    with import_file(b"".join(lines[:-1]), name="x", store=tmp_path) as session:
        assert session.update(b"".join(lines)) == 1
    with plimsoll.open("x", store=tmp_path) as session:
        assert (len(session.notes("source")), session.damage) == (2, ())
    assert plimsoll.verify("x", tmp_path).ok


def test_an_update_parses_each_state_of_the_file_once(tmp_path, monkeypatch):
    """What was imported and what is there now, and only the new messages are stored; an unchanged file is not parsed at all."""
    parsed: list[int] = []

    def counting(raw):
        parsed.append(len(raw))
        return load_file(raw)

    for module in ("source", "update"):
        monkeypatch.setattr(f"plimsoll.session.transfer.{module}.load_file", counting)
    lines = claude_file().splitlines(keepends=True)
    shorter, whole = b"".join(lines[:-1]), b"".join(lines)
    with import_file(shorter, name="grown", store=str(tmp_path)) as session:
        assert session.update(shorter) == 0
        assert parsed == []
        assert session.update(whole) == 1
        assert sorted(parsed) == [len(shorter), len(whole)]
        assert len(session.history()) == 4
