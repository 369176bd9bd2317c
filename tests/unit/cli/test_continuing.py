"""Going on in the tool a session came from, on the command line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.tool_sessions import TOOLS, session_file

import plimsoll
from plimsoll.transcripts.detect import load_file


@pytest.fixture(params=TOOLS)
def tool(request):
    """Each tool."""
    return request.param


@pytest.fixture
def file(home, tool):
    """A session file of that tool."""
    path = home / "there.jsonl"
    path.write_bytes(session_file(tool))
    return path


@pytest.mark.slow
def test_compacted_exported_in_place_and_taken_in_again(run, file, tool):
    """Import, compact to a target, write in place, and take in what the tool has added: each says what it did and how to go on."""
    raw = file.read_bytes()
    assert run("import", file, "--as", "s", "--max-tokens", "30k").status == 0
    made = run("compact", "s", "--target", "9k", "--json").json
    assert 5_000 < made["tokens_after"] <= 9_000
    written = run("export", "s", "--in-place")

    assert (written.status, written.out) == (0, "")
    assert "what was there:" in written.err
    assert "go on with:" in written.err
    assert file.read_bytes().startswith(raw)
    assert len(load_file(file).view()) == len(run("show", "s", "--json").json["messages"])
    assert "nothing new to write" in run("export", "s", "--in-place").err
    assert run("import", "--update", file, "--as", "s", "--json").json["messages_added"] == 0


@pytest.mark.slow
def test_a_moved_file_is_named_by_an_update(run, file, tool):
    """The file that an update names is the one that is written from then on; a folder and a file that is not there are refused."""
    run("import", file, "--as", "s")
    moved = file.rename(file.with_name("moved.jsonl"))
    assert run("export", "s", "--in-place").status == 1
    assert run("import", "--update", file.parent, "--as", "s").status == 1
    assert run("import", "--update", file, "--as", "s").status == 1
    assert run("import", "--update", moved, "--as", "s").status == 0
    assert "moved.jsonl" in run("export", "s", "--in-place").err


@pytest.mark.slow
def test_a_file_packed_by_gzip_is_a_file(run, home, tool):
    """Sessions and messages, imported under the name they had, counted and fitted; one that is cut is read as far as it goes."""
    Path("s.jsonl.gz").write_bytes(gzip.compress(session_file(tool)))
    assert run("import", "s.jsonl.gz").out.startswith("s: ")
    Path("m.json.gz").write_bytes(gzip.compress(json.dumps([{"role": "user", "content": "light"}]).encode()))
    assert run("fit", "m.json.gz", "--max-tokens", "1k").json == [{"role": "user", "content": "light"}]
    Path("cut.jsonl.gz").write_bytes(gzip.compress(session_file(tool))[:-300])
    assert "archive" in run("import", "cut.jsonl.gz").err


@pytest.mark.slow
def test_what_its_tool_cannot_hold_is_said_before_a_compaction(run, home):
    """A line of `compact` and of its preview names it, before anything is recorded; an export ends with status 3."""
    Path("f.jsonl").write_bytes(session_file("pi"))
    run("import", "f.jsonl", "--as", "s", "--max-tokens", "30k")
    pdf = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}
    with plimsoll.open("s") as session:
        session.append({"role": "user", "content": [pdf]})
    for words in (("compact", "s", "--preview"), ("compact", "s")):
        assert "document left out: pi supports text and images" in run(*words).err
    assert run("export", "s", "--to", "pi", "-o", "out.jsonl").status == 3
    assert run("export", "s", "--in-place").status == 1


@pytest.mark.slow
def test_where_it_belongs_is_said(run, file, tool):
    """After any export to a tool standard error says where the file belongs and the command that goes on with it."""
    run("import", file, "--as", "s", "--max-tokens", "30k")
    for to in TOOLS:
        said = run("export", "s", "--to", to, "-o", f"{to}.out").err
        assert "it belongs at:" in said
        assert {"claude-code": "claude --resume", "codex": "codex resume", "pi": "pi --session"}[to] in said
    found = run("export", "s", "--to", tool, "--json").json
    assert {"name", "lines", "losses", "place", "resume", "path", "backup"} == set(found)


@pytest.mark.slow
def test_grown_and_changed_files_are_refused(run, file, tool):
    """Written over is only what was read, and taken in only what goes on from it: else one line says why and what to do."""
    raw = file.read_bytes()
    run("import", file, "--as", "s", "--max-tokens", "30k")
    run("compact", "s")
    file.write_bytes(raw + b"{}\n")
    grown = run("export", "s", "--in-place")
    assert (grown.status, grown.err.count("\n")) == (1, 1)
    assert "import --update" in grown.err
    file.write_bytes(b"{}\n" + raw)
    for words in (("export", "s", "--in-place"), ("import", "--update", file, "--as", "s")):
        refused = run(*words)
        assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert run("import", "--update", file, "--as", "none").status == 1


@pytest.mark.parametrize(
    "words",
    [
        ("export", "s"),
        ("export", "s", "--in-place", "--view"),
        ("export", "s", "--in-place", "-o", "f"),
        ("import", "--update"),
        ("import", "--update", "-"),
        ("import", "--update", "f", "--max-tokens", "9"),
        ("compact", "s", "--target", "0"),
    ],
)
def test_options_that_do_not_go_together(run, home, words):
    """Wrong usage is status 2 and one line."""
    Path("f").write_text("{}")
    assert run(*words).status == 2


@pytest.mark.slow
def test_the_written_file_weighs_what_the_session_does(run, file):
    """Tokens, window and what is not in the file are the same, though the newest report is of before the compaction."""
    run("import", file, "--as", "s")
    for words in ((), ("--policy", "threshold-80", "--target", "4k")):
        run("compact", "s", *words)
        run("export", "s", "--to", load_file(file).tool, "-o", "out.jsonl")
        found = [run("count", source, "--json").json for source in ("out.jsonl", "s")]
        same = ("tokens", "unseen_tokens", "window_tokens", "base", "base_tokens", "messages")
        assert {key: found[0][key] for key in same} == {key: found[1][key] for key in same}
        for source in ("out.jsonl", "s"):
            said = run("count", source).out
            assert ("as the provider counted it" in said) == ("before the newest compaction" in said)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["home/.codex/sessions/2026/03/02", "elsewhere"])
def test_a_file_belongs_where_it_was(run, home, folder):
    """Under the name that its tool gave it, by a clock of another zone: another name would be a second file of the same session."""
    name = "rollout-2026-03-02T23-30-00-019c8a4c-ed82-79a1-aa28-7738fc5ab61a.jsonl"
    path = home / folder / name
    path.parent.mkdir(parents=True)
    path.write_bytes(session_file("codex"))
    run("import", path, "--as", "s", "--max-tokens", "30k")
    found = run("export", "s", "--to", "codex", "--json").json

    assert found["name"] == name
    assert found["place"] == str(home / "home/.codex/sessions/2026/03/02" / name)


@pytest.mark.slow
def test_a_view_that_is_due_for_a_compaction_is_exported(run, home):
    """The view of a session that is over its budget is what the next request is made of; looking at it records nothing."""
    with plimsoll.open("due", max_tokens=2_000, project=False) as session:
        session.extend([{"role": "user", "content": f"say {n} " * 60} for n in range(40)])
    found = run("export", "due", "--to", "openai-chat", "--view")

    assert found.status == 0
    assert plimsoll.count_tokens(json.loads(found.out)) <= 2_000
    with plimsoll.open("due", create=False) as session:
        assert session.compactions() == []
        assert session.view() == json.loads(found.out)


def test_repeated_findings_are_one_line(run, home):
    """What is wrong with many lines in the same way is said once, with how many and where the first is."""
    lines = [
        {
            "type": "user",
            "uuid": f"u{n}",
            "parentUuid": f"gone{n}",
            "timestamp": f"2026-01-01T00:00:{n:02}.000Z",
            "sessionId": "s",
        }
        for n in range(9)
    ]
    text = "".join(json.dumps({**line, "message": {"role": "user", "content": "hello"}}) + "\n" for line in lines)
    Path("f.jsonl").write_text(text + "{broken\n")
    notes = [line for line in run("import", "f.jsonl").err.splitlines() if line.startswith("note:")]

    assert len(notes) == 2
    assert any("9 × line follows one that is not in this file (line 1 first)" in note for note in notes)


def test_a_raised_budget_is_said(run, home):
    """A file whose view is larger than its model's window is imported, and a line says what the budget is and how to come down."""
    lines = [
        {"type": "session", "version": 3, "id": "p", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"},
        {
            "type": "model_change",
            "id": "a",
            "parentId": None,
            "timestamp": "2026-01-01T00:00:00Z",
            "provider": "x",
            "modelId": "gpt-4",
        },
    ]
    message = {"role": "user", "content": "harbour light " * 40_000}
    lines.append(
        {"type": "message", "id": "b", "parentId": "a", "timestamp": "2026-01-01T00:00:01Z", "message": message}
    )
    Path("big.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    noted = run("import", "big.jsonl")

    assert noted.status == 0
    (line,) = [line for line in noted.err.splitlines() if "--max-tokens" in line]
    words = line.partition("plimsoll ")[2].split()
    made = run(*words, "--json").json
    assert made["tokens_after"] <= int(words[-1])
