"""Session files that other tools really wrote, read from beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import plimsoll
from plimsoll.transcripts.detect import load_file

SESSIONS = Path(__file__).parents[3].parent / "shared" / "evals" / "sessions"


def smallest(tool):
    """The smallest session of a tool that is more than a fixture of a few lines."""
    found = sorted((path.stat().st_size, path) for path in (SESSIONS / tool).glob("*.jsonl"))
    path = next((path for size, path in found if size > 50_000), None)
    return path or pytest.skip(f"no sessions of {tool} beside the checkout")


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["claude-code", "codex", "pi"])
def test_fit_and_inspect_take_them_as_they_are(run, tool):
    """`fit` and `inspect` read the file's current view; what comes out fits and is valid."""
    path = smallest(tool)
    shown = run("inspect", path, "--max-tokens", "8k", "--json").json
    made = run("fit", path, "--max-tokens", "8k", "--model", "gpt-4o", "--json").json

    assert shown["messages"] == len(load_file(path).view())
    assert made["report"]["tokens_after"] <= 8_000
    assert plimsoll.validate(made["messages"], format=made["format"], system=made["system"]) == []


def reported(path):
    """The prompt of the newest request that the lines of a file report, read without anything of ours."""
    newest = None
    for line in path.read_text(encoding="utf-8").splitlines():
        value = json.loads(line)
        if path.parent.name == "codex":
            told = ((value.get("payload") or {}).get("info") or {}).get("last_token_usage") or {}
            newest = told.get("input_tokens") or newest
            continue
        usage = (value.get("message") or {}).get("usage") or {}
        names = (
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "input",
            "cacheRead",
            "cacheWrite",
        )
        if value.get("isSidechain") is not True:
            newest = sum(usage.get(name, 0) for name in names) or newest
    return newest


@pytest.mark.slow
@pytest.mark.skipif(not SESSIONS.is_dir(), reason=f"the real session files are not at {SESSIONS}")
@pytest.mark.parametrize("path", sorted(SESSIONS.glob("*/*.jsonl")), ids=lambda path: path.stem[-24:])
def test_sizes_of_a_file_and_its_session_are_the_same(run, path):
    """Both show the newest request as the file reports it, and the same tokens of the same window. So does the file written back."""
    run("import", path, "--as", "real")
    file, session = (run("count", source, "--json").json for source in (path, "real"))
    same = ("tokens", "unseen_tokens", "window_tokens", "base", "base_tokens", "messages")

    assert {key: file[key] for key in same} == {key: session[key] for key in same}
    assert [found["usage"] and found["usage"]["prompt_tokens"] for found in (file, session)] == [reported(path)] * 2
    run("compact", "real")
    run("export", "real", "--to", path.parent.name, "-o", "back.jsonl")
    file, session = (run("count", source, "--json").json for source in ("back.jsonl", "real"))
    assert {key: file[key] for key in same} == {key: session[key] for key in same}


@pytest.mark.slow
@pytest.mark.skipif(not SESSIONS.is_dir(), reason=f"the real session files are not at {SESSIONS}")
@pytest.mark.filterwarnings("ignore::plimsoll.errors.UnseenTokensWarning")
def test_a_preview_of_a_long_session_is_shown_whole(run):
    """What leaves is named by its references, for which messages of long ago are read again."""
    path = max(SESSIONS.glob("claude-code/*.jsonl"), key=lambda path: path.stat().st_size)
    run("import", path, "--as", "real")
    for more in ((), ("--json",)):
        assert run("compact", "real", "--preview", "--target", "20k", "--max-tokens", "30k", *more).status == 0


@pytest.mark.slow
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
