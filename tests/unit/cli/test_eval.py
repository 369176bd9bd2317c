"""`plimsoll eval`: tables, JSON, sheets, and what it refuses."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def chat(tmp_path):
    """A run whose user asks for much."""
    path = tmp_path / "asked.json"
    talk = [
        {
            "role": "user",
            "content": f"Please rename the harbour light number {n} and never touch pier {n}." + " It is dark." * 30,
        }
        for n in range(20)
    ]
    call = {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": "{}"}}
    tool = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "-"},
    ]
    path.write_text(json.dumps([talk[0], *tool, *talk[1:]]), encoding="utf-8")
    return path


def test_table(run, chat):
    """Ways beside each other, with kinds below."""
    ran = run("eval", chat, "--against", "clear-tool-results", "--against", "recency", "--share", "0.3")

    assert ran.status == 0
    assert all(word in ran.out for word in ("ours", "recency", "clear-tool-results", "needed next", "request"))


def test_json(run, chat):
    """The same as data, without texts."""
    ran = run("eval", chat, "--json")

    assert [score["way"] for score in ran.json["scores"]] == ["ours", "recency"]
    assert ran.json["conversations"][0]["probes"]
    assert "text" not in ran.json["scores"][0]


def test_sheets(run, chat, tmp_path):
    """--blind writes a folder, --grade says what it waits for."""
    assert run("eval", chat, "--blind", tmp_path / "sheets").status == 0
    ran = run("eval", "--grade", tmp_path / "sheets")

    assert ran.status == 0
    assert "answers.json is missing" in ran.out


def test_refusals(run, chat, tmp_path):
    """No file, both kinds of work, nothing to measure, and an unknown way."""
    short = tmp_path / "short.json"
    short.write_text(json.dumps([{"role": "user", "content": "hello"}]), encoding="utf-8")

    assert run("eval").status == 2
    assert run("eval", chat, "--grade", "x").status == 2
    assert run("eval", chat, "--share", "1.5").status == 2
    assert run("eval", short).status == 1
    assert "against" in run("eval", chat, "--against", "magic").err


@pytest.mark.slow
def test_report_on_a_compaction(run, session):
    """`history NAME ID`: counts, what is not in the view, and how to read what left."""
    done = run("compact", session, "--target", "1k", "--json").json
    ran = run("history", session, done["id"])

    assert ran.status == 0
    assert "what left" in ran.out
    assert f"plimsoll read {session}" in ran.out
    assert run("history", session, done["id"], "--json").json["compaction"] == done["id"]
    assert run("history", session, "c999999").status == 1


def test_a_file_that_is_no_conversation_is_named(run, tmp_path):
    """Of several files the one that cannot be read is named."""
    (tmp_path / "odd.json").write_text('{"foo": 1}')

    assert run("eval", "odd.json").err.startswith("plimsoll: odd.json: no format recognises these messages")
    assert run("watch", "odd.json", "--once").err.startswith("plimsoll: odd.json: no format recognises these messages")
