"""A command line to call: `run("fit", ...)` gives status, output and errors; sessions live in a folder of the test's own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from plimsoll.cli.main import main

TOOLS = [{"type": "function", "function": {"name": "grep", "description": "Search.", "parameters": {"type": "object"}}}]


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)


def conversation(turns=12, words=120):
    """A request, then turns of grep calls with long results, then a question."""
    messages = [
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": "Find the harbour light."},
    ]
    for turn in range(turns):
        call = {
            "id": f"c{turn}",
            "type": "function",
            "function": {"name": "grep", "arguments": f'{{"for": "light {turn}"}}'},
        }
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": f"line {turn}: " + "light on the pier " * words},
            {"role": "user", "content": f"And number {turn}?"},
        ]
    return messages


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The user's data directory, and no colour or editor of the machine's."""
    for name in ("VISUAL", "EDITOR", "FORCE_COLOR", "NO_COLOR", "PLIMSOLL_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run a command in this process."""

    def run(*words: object) -> Ran:
        capsys.readouterr()
        status = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(status=status, out=captured.out, err=captured.err)

    return run


@pytest.fixture
def messages():
    """A conversation that is too long for 2,000 tokens."""
    return conversation()


@pytest.fixture
def tools():
    """Tool definitions as a request body has them."""
    return TOOLS


@pytest.fixture
def chat(tmp_path):
    """A file with a conversation that is too long for 2,000 tokens."""
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(conversation()), encoding="utf-8")
    return path


@pytest.fixture
def session(run, chat):
    """A session of the same messages, with room for 4,000 tokens."""
    assert run("import", chat, "--as", "pier", "--max-tokens", "4k").status == 0
    return "pier"
