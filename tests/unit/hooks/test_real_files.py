"""Genuine session files, whole and cut anywhere: the hook hands back something valid, or nothing."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import plimsoll
from plimsoll.hooks import run
from plimsoll.hooks.run import NOTES_TOKENS, HookSettings, run_hook

SESSIONS = Path(__file__).resolve().parents[4] / "shared" / "evals" / "sessions"
FILES = [path for tool in ("claude-code", "codex", "pi") for path in sorted((SESSIONS / tool).glob("*.jsonl"))]

if not FILES:
    pytest.skip("the recorded session files are not beside this checkout", allow_module_level=True)


def name(path):
    """A file as a test id."""
    return f"{path.parent.name}-{path.name[:24]}"


def answers(file, **fields):
    """What the hook says of a file at each event, checked."""
    found = []
    for event in (
        {"hook_event_name": "PostCompact"},
        {"source": "compact"},
        {"source": "resume"},
        {"source": "startup"},
    ):
        told = {"hook_event_name": "SessionStart", "transcript_path": str(file), "session_id": "s", **event, **fields}
        answer = run_hook(json.dumps(told).encode(), HookSettings())
        found.append(answer)
        if answer:
            assert answer.isascii()
            value = json.loads(answer)["hookSpecificOutput"]
            assert value["hookEventName"] == "SessionStart"
            text = value["additionalContext"]
            text.encode("utf-8")
            assert text.startswith("<plimsoll-notes id=")
            assert text.count("</plimsoll-notes") == 1
            assert len(text) <= 10_000
            assert plimsoll.count_tokens([{"role": "user", "content": text}]) <= NOTES_TOKENS
    assert found[0] == found[3] == ""
    return found


def check_cuts(path, cuts, tmp_path, monkeypatch):
    """The file as it grows from cut to cut, some of them in the middle of a line, and then whole."""
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(run, "_begin_import", lambda *_, **__: None)
    lines = path.read_bytes().splitlines(keepends=True)
    chance = random.Random(path.name)
    file = tmp_path / path.name
    said = []
    for cut in sorted(chance.choices(range(len(lines) + 1), k=cuts)):
        torn = b"" if cut == len(lines) else lines[cut][: chance.randrange(len(lines[cut]))]
        file.write_bytes(b"".join(lines[:cut]) + torn)
        said += answers(file)
    file.write_bytes(path.read_bytes())
    said += answers(file)
    assert not (tmp_path / "home" / "hooks" / "log").exists()
    return said


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FILES, key=lambda path: path.stat().st_size)[:4], ids=name)
def test_a_file_cut_anywhere(path, tmp_path, monkeypatch):
    """A few cuts of the smallest files."""
    check_cuts(path, 3, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name == "claude-code"][:1], ids=name)
def test_a_large_file_gets_notes(path, tmp_path, monkeypatch):
    """Of a session that compacted twice something was lost each time."""
    assert any(check_cuts(path, 4, tmp_path, monkeypatch))


@pytest.mark.soak
@pytest.mark.parametrize("path", FILES, ids=name)
def test_every_file_cut_at_two_hundred_lines(path, tmp_path, monkeypatch):
    """Every file at two hundred cuts."""
    check_cuts(path, 200, tmp_path, monkeypatch)
