"""Finding the sessions on a computer."""

import json
import os
from pathlib import Path

import pytest

import plimsoll
from plimsoll.transcripts.discover import discover, session_path


def _put(path, rows, modified):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(path, (modified, modified))
    return path


def _home(tmp_path):
    user = {"uuid": "u", "parentUuid": None, "sessionId": "other", "cwd": "/w/app", "type": "user"}
    claude = [user | {"isMeta": True, "message": {"role": "user", "content": "a note"}}]
    claude += [user | {"message": {"role": "user", "content": "<command-name>/clear</command-name>"}}]
    claude += [user | {"message": {"role": "user", "content": "fix  the\nbug"}}]
    codex = [
        {"timestamp": "t", "type": "session_meta", "payload": {"id": "cx", "cwd": "/w/cx"}},
        {"timestamp": "t", "type": "event_msg", "payload": {"type": "user_message", "message": "build it"}},
    ]
    pi = [{"type": "session", "version": 3, "id": "pi1", "timestamp": "t", "cwd": "/w/pi"}]
    pi += [{"type": "session_info", "id": "a", "parentId": None, "name": "named"}]
    _put(tmp_path / ".claude/projects/-w-app/aaaa.jsonl", claude, 1000)
    _put(tmp_path / ".codex/sessions/2026/01/02/rollout-2026-01-02-cx.jsonl", codex, 3000)
    _put(tmp_path / ".pi/agent/sessions/--w-pi--/t_pi1.jsonl", pi, 2000)
    return tmp_path


def test_sessions_of_all_tools_are_listed_newest_first(tmp_path):
    """Tool, id, folder, title and size of each, by the file's time."""
    found = discover(_home(tmp_path), env={})
    assert [(f.tool, f.session_id, f.cwd, f.title) for f in found] == [
        ("codex", "cx", "/w/cx", "build it"),
        ("pi", "pi1", "/w/pi", "named"),
        ("claude-code", "aaaa", "/w/app", "fix the bug"),
    ]
    assert [int(f.modified.timestamp()) for f in found] == [3000, 2000, 1000]
    assert all(f.size_bytes > 0 for f in found)


@pytest.mark.parametrize("tool", ["claude-code", "codex", "pi"])
def test_an_imported_session_has_the_title_it_was_listed_by(tmp_path, tool):
    """A name that was given, or the first request where none was, on one line and cut at a word."""
    home = _home(tmp_path / "home")
    long = {"type": "user_message", "message": "build\nthe pier " * 20}
    codex = [{"timestamp": "t", "type": "event_msg", "payload": long}]
    said = {"role": "user", "content": [{"type": "text", "text": "mend the\nlamp"}]}
    pi = [{"type": "session", "version": 3, "id": "p", "timestamp": "t", "cwd": "/w"}]
    pi += [{"type": "message", "id": "b", "parentId": None, "timestamp": "t", "message": said}]
    _put(home / ".codex/sessions/2026/01/02/rollout-2026-01-02-cx.jsonl", codex, 1)
    _put(home / ".pi/agent/sessions/--w-pi--/t_pi1.jsonl", pi, 1)
    found = next(file for file in discover(home, env={}) if file.tool == tool)

    with plimsoll.import_file(found.path, name="it", store=str(tmp_path / "store")):
        assert found.title is not None
        assert [info.title for info in plimsoll.sessions(str(tmp_path / "store"))] == [found.title]


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic", "ui-parts"])
def test_a_session_of_plain_messages_has_its_first_request_as_title(tmp_path, format):
    """On one line, in every format: such a file has no title of its own."""
    said = [{"role": "user", "content": "Mend the\nlamp at berth 9."}, {"role": "assistant", "content": "Done."}]
    path = tmp_path / "plain.json"
    path.write_text(json.dumps(plimsoll.convert(said, to=format).messages))

    with plimsoll.import_file(path, name="it", store=str(tmp_path / "store"), format=format):
        assert [info.title for info in plimsoll.sessions(str(tmp_path / "store"))] == ["Mend the lamp at berth 9."]


def test_the_tools_own_settings_move_their_places(tmp_path):
    """CODEX_HOME and its kin are looked at first."""
    home = _home(tmp_path / "home")
    moved = tmp_path / "elsewhere"
    (home / ".codex").rename(moved)
    assert {f.tool for f in discover(home, env={})} == {"claude-code", "pi"}
    env = {"CODEX_HOME": str(moved), "CLAUDE_CONFIG_DIR": str(tmp_path / "none")}
    assert {f.tool for f in discover(home, env=env)} == {"codex", "pi"}
    assert discover(tmp_path / "empty", env={}) == []


def test_titles_are_read_at_the_end_of_a_long_file(tmp_path):
    """A title given late in a large file is found without reading the middle."""
    row = {
        "uuid": "u",
        "parentUuid": None,
        "sessionId": "s",
        "type": "user",
        "message": {"role": "user", "content": "x" * 5000},
    }
    rows = [*[row] * 100, {"type": "custom-title", "customTitle": "late", "sessionId": "s"}]
    _put(tmp_path / ".claude/projects/-w/s.jsonl", rows, 1)
    assert [f.title for f in discover(tmp_path, env={})] == ["late"]


def test_links_and_strange_files_are_passed_by(tmp_path):
    """Symbolic links, sub-agents' files, folders and broken files do no harm."""
    home = _home(tmp_path / "home")
    projects = home / ".claude/projects"
    outside = _put(tmp_path / "outside/x.jsonl", [{"type": "user"}], 1)
    (projects / "-w-app/link.jsonl").symlink_to(outside)
    (projects / "linked").symlink_to(outside.parent)
    (projects / "-w-app/agent-1.jsonl").write_text("{}")
    (projects / "-w-app/folder.jsonl").mkdir()
    (projects / "-w-app/broken.jsonl").write_bytes(b"\xff\x00[[[[")
    assert sorted(f.session_id for f in discover(home, env={}) if f.tool == "claude-code") == ["aaaa", "broken"]


def test_folders_of_claude_code_are_named_as_it_names_them(tmp_path):
    """A character beyond the basic plane is two, and a long name is cut and ends in a hash, if no folder is there already."""
    env = {"HOME": str(tmp_path)}
    folder = lambda cwd: Path(session_path("claude-code", "s.jsonl", cwd, env)).parent.name  # noqa: E731

    assert folder("/home/ann/né 💡") == "-home-ann-n----"
    assert folder("/" + "a" * 199) == "-" + "a" * 199
    long = "/" + "ab" * 100
    assert folder(long) == "-" + ("ab" * 100)[:199] + "-" + "8vo0h9"
    (tmp_path / ".claude/projects" / f"-{'ab' * 99}a-bun").mkdir(parents=True)
    assert folder(long) == f"-{'ab' * 99}a-bun"
