"""`plimsoll watch` shows how full a session is, what fills it and what its last compaction lost, and follows it."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

import plimsoll
from plimsoll.cli.commands import watch
from plimsoll.cli.main import main
from plimsoll.hooks.watching import newest_of
from tool_sessions import session_file


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)


def placed(tmp_path, tool="claude-code"):
    """A session file where its tool keeps it."""
    folder = {
        "claude-code": ".claude/projects/-harbour",
        "codex": ".codex/sessions/2026/03/01",
        "pi": ".pi/agent/sessions/--harbour--",
    }
    name = {"codex": "rollout-2026-03-01T10-00-00-x.jsonl"}.get(tool, "one.jsonl")
    path = tmp_path / folder[tool] / name
    path.parent.mkdir(parents=True)
    path.write_bytes(session_file(tool))
    return path


@pytest.mark.parametrize("tool", ["claude-code", "codex", "pi"])
def test_once(tool, tmp_path, capsys):
    """The size by the provider's count where the file has it, the window, what fills it, and what the compaction lost."""
    path = placed(tmp_path, tool)

    assert main(["watch", str(path), "--once", "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    measured = plimsoll.measure(str(path))
    assert found["tool"] == tool
    assert found["tokens"] == measured.weights.total_tokens
    assert found["window_tokens"] == measured.base_tokens
    assert found["is_counted"] == (measured.usage is not None)
    assert found["compactions"] == 1
    assert sum(fill["tokens"] for fill in found["fills"]) == pytest.approx(found["tokens"], rel=0.05)
    if tool == "claude-code":
        assert found["lost"]["facts"]["request"] >= 9
        assert any("Request" in text for text in found["lost"]["first"])
    if tool == "pi":
        assert found["lost"] is None


def test_once_for_people(tmp_path, capsys):
    """The same as text."""
    path = placed(tmp_path)

    assert main(["watch", str(path), "--once"]) == 0

    out = capsys.readouterr().out
    assert " of 200,000 tokens" in out
    assert "tool Read" in out
    assert "compactions: 1" in out
    assert "the last compaction lost" in out


def test_a_pipe_gets_a_line_for_each_change(tmp_path, capsys, monkeypatch):
    """The newest session of the folder is followed; nothing is printed while nothing changes, and a damaged file is noted."""
    path = placed(tmp_path)
    whole = path.read_bytes()
    monkeypatch.setattr(watch.os, "getcwd", lambda: "/harbour")
    steps = iter(
        (
            lambda: None,
            lambda: path.write_bytes(whole[: len(whole) // 2]),
            lambda: path.write_bytes(b"nothing of a session's"),
            lambda: path.write_bytes(whole),
        )
    )

    def sleep(seconds):
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()
        os.utime(path)

    monkeypatch.setattr(watch.time, "sleep", sleep)
    monkeypatch.setattr(watch, "_mark", lambda file: Path(file).stat().st_size)

    assert main(["watch"]) == 0

    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert len(lines) == 3
    assert all(" of 200,000 tokens" in line for line in lines)
    assert lines[0][9:] == lines[2][9:] != lines[1][9:]
    assert err.startswith("note: ")


def test_a_folder_without_a_session_is_refused(tmp_path, capsys, monkeypatch):
    """Where nothing runs, that is said in one line."""
    placed(tmp_path)
    monkeypatch.chdir(tmp_path)

    assert main(["watch", "--once"]) == 1
    assert "no session of a coding agent runs in this folder" in capsys.readouterr().err
    assert main(["watch", "--once", "--tool", "codex"]) == 1


@pytest.mark.parametrize("content", [b"", b"[]", b'[{"role":"user","content":"hi"}]', b"\0\xff"])
def test_a_file_of_something_else_is_refused(content, tmp_path, capsys):
    """A file that is no session is named."""
    (tmp_path / "x.json").write_bytes(content)

    assert main(["watch", str(tmp_path / "x.json"), "--once"]) == 1
    assert main(["watch", str(tmp_path / "none"), "--once"]) == 1
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["folder", "pipe", os.devnull])
def test_what_is_no_file_is_refused(name, tmp_path, capsys, monkeypatch):
    """A pipe in which nobody writes would be waited for without end."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    os.mkfifo("pipe")

    assert main(["watch", name, "--once"]) == 1
    assert f"{name}: it is not a file" in capsys.readouterr().err


def test_the_newest_of_the_folder():
    """A session in the folder or below it is meant; one above it only where there is none."""

    def file(name, cwd, tool="codex"):
        at = datetime(2026, 1, 1, tzinfo=UTC)
        return plimsoll.SessionFile(
            tool=tool, path=name, session_id=name, cwd=cwd, modified=at, size_bytes=1, title=None
        )

    files = [
        file("a", "/"),
        file("b", None),
        file("c", "/srv/other"),
        file("d", "/srv/it/src", "pi"),
        file("e", "/srv/it"),
    ]

    assert newest_of(files, "/srv/it").path == "d"
    assert newest_of(files, "/srv/it", "codex").path == "e"
    assert newest_of(files, "/srv/it/src/deep", "codex").path == "a"
    assert newest_of(files[1:3], "/srv/it") is None
