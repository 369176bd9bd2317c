"""Session files that other tools really wrote, read from beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import plimsoll
from plimsoll.transcripts import load_file

SESSIONS = Path(__file__).parents[3].parent / "shared" / "evals" / "sessions"


def smallest(tool):
    """The smallest session of a tool that is more than a fixture of a few lines."""
    found = sorted((path.stat().st_size, path) for path in (SESSIONS / tool).glob("*.jsonl"))
    path = next((path for size, path in found if size > 50_000), None)
    return path or pytest.skip(f"no sessions of {tool} beside the checkout")


@pytest.mark.parametrize("tool", ["claude-code", "codex", "pi"])
def test_fit_and_inspect_take_them_as_they_are(run, tool):
    """`fit` and `inspect` read the file's current view; what comes out fits and is valid."""
    path = smallest(tool)
    shown = run("inspect", path, "--max-tokens", "8k", "--json").json
    made = run("fit", path, "--max-tokens", "8k", "--model", "gpt-4o", "--json").json

    assert shown["messages"] == len(load_file(path).view())
    assert made["report"]["tokens_after"] <= 8_000
    assert plimsoll.validate(made["messages"], format=made["format"], system=made["system"]) == []


@pytest.mark.parametrize("tool", ["claude-code", "codex", "pi"])
def test_import_and_export_give_the_file_back(run, tool):
    """A session imported and exported to its own tool is the same file, and its first view is the tool's."""
    path = smallest(tool)
    run("import", path, "--as", "real", "--max-tokens", "2m")
    transcript = load_file(path)

    assert run("export", "real", "--to", tool, "-o", "back.jsonl").status == 0
    assert Path("back.jsonl").read_bytes() == path.read_bytes()
    assert run("show", "real", "--json").json["messages"] == json.loads(json.dumps(transcript.view()))
    assert run("verify", "real").status == 0
