"""The commands on sessions: import, export, sessions, show, compact, history, rollback, verify, delete."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from pathlib import Path

import pytest

import plimsoll
from plimsoll.cli.commands.compact import EDIT_HINT

COMMANDS = ("show", "history", "compact", "rollback", "verify", "delete")


def claude_lines(texts):
    """A session file of Claude Code, with one message for each text."""
    lines = []
    for number, text in enumerate(texts):
        role = ("user", "assistant")[number % 2]
        content = text if role == "user" else [{"type": "text", "text": text}]
        lines.append({
            "parentUuid": f"u{number - 1}" if number else None, "isSidechain": False, "type": role, "uuid": f"u{number}",
            "sessionId": "s-1", "cwd": "/harbour", "version": "2.0.0", "timestamp": f"2026-01-01T00:00:{number:02}.000Z",
            "message": {"role": role, "content": content, **({"id": f"msg{number}"} if number % 2 else {})},
        })  # fmt: skip
    return "".join(f"{json.dumps(line)}\n" for line in lines)


@pytest.fixture
def claude(home):
    """A Claude Code session where that tool keeps it."""
    folder = home / "home" / ".claude" / "projects" / "-harbour"
    folder.mkdir(parents=True)
    path = folder / "5b0a1b9e-0000-4000-8000-000000000001.jsonl"
    path.write_text(claude_lines(["Where is the light?", "On the pier.", "Thanks.", "Any time."]))
    return path


# --- import and export


def test_import_messages(run, messages, session):
    """An imported file is a session with all of its messages."""
    assert plimsoll.open(session).history() == messages


def test_import_takes_the_name_of_the_file(run, chat):
    """Without --as the session is called as the file is."""
    assert run("import", chat, "--json").json["name"] == "chat"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "field", "value"),
    [(("--max-tokens", "3k"), "max_tokens", 3_000), (("--model", "gpt-4"), "max_tokens", 4_096), ((), "level", "none")],
)
def test_import_options_are_remembered(run, chat, options, field, value):
    """Budget and model given at import are the session's own."""
    run("import", chat, "--as", "x", *options)

    with plimsoll.open("x") as session:
        assert str(getattr(session.status(), field)) == str(value)


def test_import_policy(run, chat):
    """The policy given at import is the session's own."""
    run("import", chat, "--as", "x", "--policy", "five-turns")

    assert run("show", "x", "--json").json["policy"] == "five-turns"


def test_import_tools_session(run, claude):
    """A Claude Code session comes with what it would send next, and goes back byte for byte."""
    ran = run("import", claude, "--as", "light", "--json")

    assert (ran.json["format"], ran.json["messages"]) == ("anthropic", 4)
    assert run("export", "light", "--to", "claude-code").out == claude.read_text()


def test_import_lists_this_computer(run, claude):
    """Without a file, the sessions of other tools are listed with a number that import takes."""
    listed = run("import", "--json").json

    assert [(row["number"], row["tool"], row["path"]) for row in listed] == [(1, "claude-code", str(claude))]
    assert "Where is the light?" in run("import").out
    assert run("import", "1", "--as", "first").status == 0
    assert run("show", "first", "--json").json["history_messages"] == 4


def test_import_list_of_another_project(run, claude):
    """Where there are sessions, but not of that project, nobody is told that there are none."""
    assert run("import", "--project", "elsewhere").out == "none of the 1 session here is of that tool and project\n"
    assert run("import", "--tool", "pi").out.startswith("none of the 1 session")


def test_import_list_is_newest_first(run, claude):
    """The newest session has number 1."""
    older = claude.with_name("5b0a1b9e-0000-4000-8000-000000000002.jsonl")
    older.write_text(claude_lines(["Older."]))
    os.utime(older, (1_000_000_000, 1_000_000_000))

    assert [row["path"] for row in run("import", "--json").json] == [str(claude), str(older)]


def test_import_nothing_there(run):
    """With no sessions on this computer, that is said; a number that is not in the list is refused."""
    out = run("import").out
    assert out.startswith("no sessions of Claude Code, Codex or pi in ")
    assert ".codex/sessions" in out
    assert run("import", "3").status == 1


def test_an_edited_history_is_shown_as_it_reads_now(run):
    """What a host took back or changed is not among the messages, is counted, and can be read by its number."""
    said = [{"role": ("user", "assistant")[number % 2], "content": f"message {number}"} for number in range(12)]
    with plimsoll.open("host", max_tokens=4_000, default_filter={"max_messages": 2}) as session:
        session.sync(said)
        session.sync([*said[:4], {"role": "user", "content": "reworded"}, *said[5:12]])
        session.sync([*said[:4], {"role": "user", "content": "reworded"}, *said[5:9]])
        states = {one.id: one.state for one in session.messages(all=True)}
    shown = run("show", "host", "--full", "--json").json

    assert [message["content"] for message in shown["messages"]] == [
        *(f"message {number}" for number in range(4)), "reworded", *(f"message {number}" for number in range(5, 9))
    ]  # fmt: skip
    assert (shown["history_messages"], shown["edited_away_messages"]) == (9, 3)
    assert run("show", "host", "--last", "2", "--json").json["origins"] == [[7], [8]]
    assert "9 messages" in run("show", "host").out
    assert "3 more messages edited away" in run("show", "host", "--full").out
    assert "message 11" in run("read", "host", "m11").out
    assert {id for id, state in states.items() if state == "left"} == {"m9", "m10", "m11"}
    assert states["m4"] == "changed"


@pytest.mark.slow
def test_import_does_not_overwrite(run, session, chat):
    """A name that is taken is refused and its session stays as it was."""
    before = run("show", session, "--full", "--json").json
    ran = run("import", chat, "--as", session)

    assert ran.status == 1
    assert len(ran.err.splitlines()) == 1
    assert run("show", session, "--full", "--json").json == before


def test_import_as_needs_a_file(run):
    """--as without FILE is wrong usage."""
    assert run("import", "--as", "x").status == 2


@pytest.mark.slow
@pytest.mark.parametrize("to", ["openai-chat", "openai-responses", "anthropic", "ui-parts"])
def test_export_messages(run, messages, session, to):
    """An export in a message format is what `convert` makes of the history."""
    made = run("export", session, "--to", to).json
    wanted = plimsoll.convert(messages, to=to)

    assert (made["messages"] if isinstance(made, dict) else made) == wanted.messages
    assert not isinstance(made, dict) or made["system"] == wanted.system


@pytest.mark.slow
@pytest.mark.parametrize("to", ["claude-code", "codex", "pi"])
def test_export_to_a_tool_is_read_back(run, messages, session, tmp_path, to):
    """A tool's file has what was said, and losses are listed on standard error."""
    ran = run("export", session, "--to", to, "-o", "out.jsonl")

    assert (ran.status, ran.out) == (3 if "not carried" in ran.err else 0, "")
    assert run("export", session, "--to", to, "-o", "out.jsonl", "--lossy").status == 0
    assert "light on the pier" in (tmp_path / "out.jsonl").read_text()
    assert run("import", "out.jsonl", "--as", "back").status == 0


def test_export_losses(run, messages, session):
    """What could not be carried is listed, and is data with --json."""
    told = run("export", session, "--to", "claude-code")
    data = run("export", session, "--to", "claude-code", "--json").json

    assert "not carried" in told.err
    assert told.status == 3
    assert {loss["what"] for loss in data["losses"]}
    assert [json.loads(line)["type"] for line in data["lines"]] == [
        json.loads(line)["type"] for line in told.out.splitlines()
    ]


@pytest.mark.slow
def test_export_preview(run, session, tmp_path):
    """--preview lists what an export would not carry, ends as that would, and writes nothing."""
    for to in ("claude-code", "openai-responses", "anthropic"):
        made = run("export", session, "--to", to)
        said = run("export", session, "--to", to, "--preview")
        assert (said.status, said.out, said.err) == (made.status, "", made.err)
        whole = run("export", session, "--to", to, "--json").json
        data = run("export", session, "--to", to, "--preview", "--json").json
        assert data == {key: value for key, value in whole.items() if key not in {"lines", "system", "messages"}}
    assert run("export", session, "--to", "pi", "--preview", "-o", "x").status == 2
    assert not (tmp_path / "x").exists()


def test_export_view(run, session):
    """--view exports what the model is sent and not the history; a tool's file is refused as wrong usage."""
    run("compact", session)
    view = run("export", session, "--to", "openai-chat", "--view").json

    assert view == run("show", session, "--json").json["messages"]
    assert view != run("export", session, "--to", "openai-chat").json
    assert run("export", session, "--to", "pi", "--view").status == 2


# --- looking


def test_sessions(run, chat):
    """All sessions are listed, the last changed first; with none, that is said."""
    assert run("sessions").out.startswith("no sessions in ")
    run("import", chat, "--as", "one")
    run("import", chat, "--as", "two")

    assert [row["name"] for row in run("sessions", "--json").json] == ["two", "one"]
    assert "one" in run("sessions").out


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["elsewhere", "sqlite:///sessions.db"])
@pytest.mark.parametrize("command", ["show", "history", "compact", "verify", "inspect", "export", "delete"])
def test_archived_sessions(run, chat, spec, command):
    """Archived sessions have a list of their own, and any command that names one finds it and lists it again."""
    run("import", chat, "--as", "old", "--max-tokens", "4k", "--store", spec)
    plimsoll.open("new", store=spec, max_sessions=1).close()

    def listed(*more):
        return [row["name"] for row in run("sessions", "--store", spec, "--json", *more).json]

    assert (listed(), listed("--archived")) == (["new"], ["old"])
    assert "old" in run("sessions", "--archived", "--store", spec).out
    more = {"export": ("--to", "pi", "--lossy"), "delete": ("--yes",)}.get(command, ())
    assert run(command, "old", *more, "--store", spec).status == 0
    assert (sorted(listed()), listed("--archived")) == (["new"] if command == "delete" else ["new", "old"], [])
    assert "no archived sessions" in run("sessions", "--archived", "--store", spec).out


@pytest.mark.spec("S1-34")
def test_project_sessions(run, chat, tmp_path, monkeypatch):
    """`--store project:` is another place in each project, and none of them is the user's own (S1-34)."""
    for name in ("one", "two"):
        (tmp_path / name / ".git").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / name)
        assert run("import", chat, "--as", name, "--store", "project:").status == 0
        assert [row["name"] for row in run("sessions", "--store", "project:", "--json").json] == [name]
    assert run("sessions", "--json").json == []
    assert run("show", "one", "--store", "project:").status == 1
    assert run("show", "one", "--store", f"project:{tmp_path / 'one'}").status == 0


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["elsewhere", "sqlite:///sessions.db"])
def test_store(run, chat, spec):
    """--store keeps sessions in another place, on every command."""
    assert run("import", chat, "--as", "there", "--max-tokens", "4k", "--store", spec).status == 0
    assert run("sessions", "--json").json == []
    assert [row["name"] for row in run("sessions", "--store", spec, "--json").json] == ["there"]
    for command in ("show", "history", "compact", "history", "rollback", "verify", "inspect", "count"):
        assert run(command, "there", "--store", spec).status == 0, command
        assert run(command, "there").status == 1, command
    assert run("fit", "there", "--max-tokens", "2k", "--store", spec).status == 0
    assert run("export", "there", "--to", "pi", "--lossy", "--store", spec).status == 0
    assert run("delete", "there", "--yes", "--store", spec).status == 0
    assert run("sessions", "--store", spec, "--json").json == []


def test_show_view_and_history(run, messages, session):
    """Shown is the view; --full shows the whole history, --last its end."""
    run("compact", session)
    with plimsoll.open(session) as opened:
        view = opened.view()

    assert run("show", session, "--json").json["messages"] == view != messages
    assert run("show", session, "--full", "--json").json["messages"] == messages
    assert run("show", session, "--last", 2, "--json").json["messages"] == messages[-2:]
    assert run("show", session, "--last", 999, "--json").json["messages"] == messages


def test_show_for_people(run, session):
    """Long messages are cut in the view and say so; --full has every word under the message's own id."""
    short, whole = run("show", session).out, run("show", session, "--full").out

    assert "more characters; --full shows all" in short
    assert whole.count("light on the pier") == 12 * 120
    assert "m3 tool" in whole
    assert run("show", session, "--last", 1).out.splitlines()[-2:] == ["m37 user", "And number 11?"]


@pytest.mark.spec("S2-18", "S2-19")
def test_show_says_whether_a_compaction_is_due(run, session):
    """The check is shown: the line that was passed, how urgent that is, and what to do (S2-18, S2-19)."""
    check = run("show", session, "--json").json["check"]
    with plimsoll.open(session) as opened:
        assert check == opened.check().to_dict()

    assert (check["should_compact"], check["urgency"]) == (True, "hard")
    assert check["recommendation"].startswith("CRITICAL")
    assert check["recommendation"] in run("show", session).out
    run("compact", session)
    assert run("show", session, "--json").json["check"]["should_compact"] is False


def test_show_full_or_last(run, session):
    """--full with --last is wrong usage."""
    assert run("show", session, "--full", "--last", 2).status == 2


def test_show_does_not_compact(run, session):
    """Looking at a session that is over its budget leaves it alone."""
    run("show", session)

    assert run("history", session).out == f"{session}: no compactions\n"


# --- compact, history, rollback


def test_compact(run, session):
    """A compaction is recorded and the view is smaller."""
    done = run("compact", session, "--json").json

    assert done["tokens_after"] < done["tokens_before"]
    assert [row["id"] for row in run("history", session, "--json").json] == [done["id"]]


def test_compact_says_how_to_undo(run, session):
    """People are told the sizes and the way back."""
    assert f"undo with: plimsoll rollback {session}" in run("compact", session).out


def test_nothing_to_compact(run, tmp_path):
    """A session without anything to gain says so and records nothing."""
    (tmp_path / "small.json").write_text('[{"role": "user", "content": "hello"}]')
    run("import", "small.json")

    assert "nothing was done" in run("compact", "small").out
    assert run("history", "small", "--json").json == []


def test_preview_is_what_is_done(run, session):
    """--preview shows the plan and changes nothing; carrying it out gives what it said."""
    plan = run("compact", session, "--preview", "--json").json
    assert run("history", session, "--json").json == []
    done = run("compact", session, "--json").json

    assert (plan["tokens_after"], plan["summary"]) == (done["tokens_after"], done["summary"])


def test_preview_for_people(run, session):
    """The preview shows the groups of actions."""
    assert "offload" in run("compact", session, "--preview").out


def test_focus(run, session):
    """--focus changes what stays."""
    plain = run("compact", session, "--preview", "--json").json["actions"]
    focused = run("compact", session, "--preview", "--focus", "line 2 number 2", "--json").json["actions"]

    assert plain != focused


@pytest.mark.slow
@pytest.mark.spec("S2-20")
def test_policy_for_once(run, session):
    """--policy plans by another policy, in the preview and in what is done; an unknown one is refused (S2-20)."""
    plain = run("compact", session, "--preview", "--json").json
    other = run("compact", session, "--preview", "--policy", "five-turns", "--json").json

    assert plain["actions"] != other["actions"]
    assert run("compact", session, "--policy", "nonsense").status == 1
    assert run("compact", session, "--policy", "five-turns", "--json").json["tokens_after"] == other["tokens_after"]


def test_history_for_people(run, session):
    """The list has id, sizes and whether a compaction is undone."""
    run("compact", session)
    run("rollback", session)
    out = run("history", session).out

    assert "manual" in out
    assert "undone" in out


def test_a_compaction_that_is_not_there_is_said_in_plain_words(run, session):
    """People did not type `compaction_id`: the reason stands alone."""
    assert run("rollback", session).err == "plimsoll: no compaction is in force\n"
    assert run("rollback", session, "c999").err == "plimsoll: 'c999' is not a compaction in force\n"
    assert run("history", session, "c999").err == "plimsoll: 'c999' is not a compaction of this session\n"


@pytest.mark.slow
def test_rollback_and_reapply(run, session):
    """A rollback gives the view back as it was, --reapply undoes that."""
    before = run("show", session, "--json").json["messages"]
    id = run("compact", session, "--json").json["id"]
    compacted = run("show", session, "--json").json["messages"]
    undone = run("rollback", session, id, "--json").json

    assert (undone["id"], undone["undone"]) == (id, True)
    assert run("show", session, "--json").json["messages"] == before
    assert "in force again" in run("rollback", session, "--reapply").out
    assert run("show", session, "--json").json["messages"] == compacted


def test_rollback_of_nothing(run, session):
    """Without a compaction, or with an id that is none, a rollback is refused."""
    assert run("rollback", session).status == 1
    assert run("rollback", session, "c999").status == 1
    assert run("rollback", session, "--reapply").status == 1


# --- edit


@pytest.fixture
def long_session(run, tmp_path):
    """A session whose compaction writes a summary."""
    said = [
        {"role": ("user", "assistant")[n % 2], "content": f"{n}: " + "the light on the pier is out " * 20}
        for n in range(60)
    ]
    (tmp_path / "long.json").write_text(json.dumps(said))
    run("import", "long.json", "--as", "long", "--max-tokens", "3k")
    assert run("compact", "long", "--preview", "--json").json["summary"]
    return "long"


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """An editor that runs a line of Python on the file's `path`."""

    def use(body, variable="EDITOR"):
        script = tmp_path / f"{variable}.py"
        script.write_text(f"import pathlib, sys\npath = pathlib.Path(sys.argv[-1])\n{body}\n")
        monkeypatch.setenv(variable, f"{sys.executable} {script}")

    return use


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Where temporary files go, so that a test can see which are left."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.mark.slow
def test_edit_commits_what_is_saved(run, long_session, editor, scratch):
    """The summary that the editor saves is the one that is recorded; no file is left."""
    editor("path.write_text('Edited: the lamp is broken.')")
    done = run("compact", long_session, "--edit", "--json").json

    assert done["summary"] == "Edited: the lamp is broken."
    assert done["stage"] == "edited"
    assert "Edited: the lamp is broken." in run("show", long_session).out
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
def test_visual_before_editor(run, long_session, editor):
    """$VISUAL is asked before $EDITOR."""
    editor("path.write_text('by editor')")
    editor("path.write_text('by visual')", variable="VISUAL")

    assert run("compact", long_session, "--edit", "--json").json["summary"] == "by visual"


@pytest.mark.slow
def test_edit_file_is_private(run, long_session, editor, scratch, tmp_path):
    """Nobody else can read the summary while it is edited, and it is the plan's."""
    wanted = run("compact", long_session, "--preview", "--json").json["summary"]
    editor(f"import shutil; shutil.copy2(path, {str(tmp_path / 'seen')!r})")
    run("compact", long_session, "--edit")

    assert (tmp_path / "seen").read_text() == EDIT_HINT + wanted
    assert (tmp_path / "seen").stat().st_mode & 0o077 == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("sys.exit(3)", "ended with status 3"),
        ("path.write_text('  \\n')", "was emptied"),
        ("path.write_text('')", "was emptied"),
        ("path.unlink()", "No such file"),
    ],
)
def test_edit_refused(  # noqa: PLR0917 - fixtures
    run, long_session, editor, scratch, body, expected
):
    """An editor that fails, and a summary that was emptied or removed, leave the session alone."""
    editor(body)
    ran = run("compact", long_session, "--edit")

    assert ran.status == 1
    assert expected in ran.err
    assert len(ran.err.splitlines()) == 1
    assert run("history", long_session, "--json").json == []
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
def test_edit_without_a_terminal(run, long_session):
    """Without a terminal and without an editor of the user's nothing is started."""
    ran = run("compact", long_session, "--edit")

    assert (ran.status, "needs a terminal" in ran.err) == (1, True)
    assert run("history", long_session, "--json").json == []


@pytest.mark.slow
def test_edit_left_as_it_was_compacts(run, long_session, editor):
    """What is saved unchanged is the plan's own summary, without the line that says how to cancel."""
    wanted = run("compact", long_session, "--preview", "--json").json["summary"]
    editor("pass")

    assert run("compact", long_session, "--edit", "--json").json["summary"] == wanted


@pytest.mark.slow
def test_edit_without_an_editor(run, long_session, monkeypatch):
    """An editor that is not there is refused by name."""
    monkeypatch.setenv("EDITOR", "no-such-editor-anywhere")

    assert "no-such-editor-anywhere" in run("compact", long_session, "--edit").err


def test_edit_of_no_summary(run, chat):
    """Where nothing would be summarised there is nothing to edit."""
    session = run("import", chat, "--max-tokens", "100k", "--json").json["name"]
    assert run("compact", session, "--preview", "--json").json["summary"] is None
    assert "nothing to edit" in run("compact", session, "--edit").err


@pytest.mark.slow
def test_edit_loses_no_words(run, long_session, editor, scratch, monkeypatch):
    """When the session grew under the editor, the compaction is refused and the text kept where the message says."""
    monkeypatch.setenv("PYTHONPATH", str(Path(plimsoll.__file__).parents[1]))
    grow = f"import os, plimsoll; os.environ['PLIMSOLL_HOME'] = {os.environ['PLIMSOLL_HOME']!r}; "
    grow += f"plimsoll.open({long_session!r}).append({{'role': 'user', 'content': 'meanwhile'}})"
    editor(f"{grow}; path.write_text('hours of work')")
    ran = run("compact", long_session, "--edit")
    (kept,) = scratch.iterdir()

    assert ran.status == 1
    assert str(kept) in ran.err
    assert kept.read_text() == "hours of work"


# --- verify and delete


def test_verify(run, session):
    """A whole session verifies."""
    ran = run("verify", session, "--json")

    assert (ran.status, ran.json["ok"], ran.json["messages"]) == (0, True, 38)
    assert "all of it is whole" in run("verify", session).out
    assert run("verify", session, "--repair", "--json").json["repaired"] is None


def test_repair_of_a_damaged_database(run, tmp_path):
    """Where the database itself cannot hold the copy, the command says that another store can; that one takes it."""
    file = tmp_path / "sessions.db"
    store = f"sqlite:///{file}"
    with plimsoll.open("harbour", store=store) as session:
        session.extend({"role": "user", "content": f"light {number} " * 400} for number in range(40))
    pages, middle = file.read_bytes(), file.stat().st_size // 32_768 * 16_384
    file.write_bytes(pages[:middle] + bytes(16_384) + pages[middle + 16_384 :])
    refused = run("verify", "harbour", "--store", store, "--repair")
    repaired = run("verify", "harbour", "--store", store, "--repair", "--into", tmp_path / "other")

    assert refused.status == 1
    assert refused.err.strip().endswith("; --into SPEC writes the copy to another store")
    assert (repaired.status, run("verify", "harbour.repaired", "--store", tmp_path / "other").status) == (0, 0)


def test_verify_damage_and_repair(run, session, home):
    """Damage is listed with status 1; --repair writes a copy of the rest and ends with 0."""
    log = next((home / "data").rglob("log.jsonl"))
    lines = log.read_bytes().split(b"\n")
    lines[4] = lines[4].replace(b"light", b"night", 1)
    log.write_bytes(b"\n".join(lines))
    found = run("verify", session)

    assert found.status == 1
    assert "unreadable" in found.out
    assert "is damaged; --repair" in found.err
    assert not run("verify", session, "--json").json["ok"]
    repaired = run("verify", session, "--repair", "--json")
    assert (repaired.status, repaired.json["repaired"]["lost"]) == (0, 1)
    assert run("verify", repaired.json["repaired"]["name"]).status == 0


def answering(text, monkeypatch):
    """Put somebody at a terminal who types this."""
    typed = io.StringIO(text)
    typed.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", typed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "gone"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_delete_asks(run, session, monkeypatch, typed, gone):
    """At a terminal, only a yes deletes."""
    answering(typed, monkeypatch)
    ran = run("delete", session)

    assert (ran.status == 0) == gone
    assert "its 38 messages for good? [y/N]" in ran.err
    assert (run("sessions", "--json").json == []) == gone


def test_delete_without_a_terminal(run, session, monkeypatch):
    """With nobody to ask, nothing is deleted, but with --yes."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))

    assert run("delete", session).status == 1
    assert run("sessions", "--json").json != []
    assert run("delete", session, "--yes", "--json").json == {"deleted": session, "messages": 38}
    assert run("sessions", "--json").json == []


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_session(run, command, home):
    """A name that is no session's is refused and no session is made of it."""
    ran = run(command, "nobody")

    assert ran.status == 1
    assert ran.err.count("\n") == 1
    assert "nobody" in ran.err
    assert run("sessions", "--json").json == []


@pytest.mark.slow
@pytest.mark.parametrize("command", [*COMMANDS, "count", "inspect"])
@pytest.mark.parametrize("name", ["../x", "a/../../b", "", ".", "a\nb", "CON", "x" * 65, "\x1b[2J", "\udcff"])
def test_hostile_names(run, command, name, home):
    """A name outside the whitelist is refused in one neutral line, and nothing is made anywhere."""
    before = sorted(home.rglob("*"))
    ran = run(command, name)

    assert ran.status == 1
    assert ran.err.count("\n") == 1
    assert "\x1b" not in ran.err
    assert sorted(home.rglob("*")) == before


# --- the list of what there is to import


@pytest.fixture
def elsewhere(home):
    """Three sessions of two tools in two projects, the newest last; what the provider counted is in two of them."""
    claude, codex = home / "home/.claude/projects/x", home / "home/.codex/sessions/2026/01/02"
    claude.mkdir(parents=True)
    codex.mkdir(parents=True)
    usage = {"input_tokens": 2, "cache_creation_input_tokens": 8, "cache_read_input_tokens": 1_224, "output_tokens": 1}
    said = {"type": "user", "uuid": "1", "parentUuid": None, "cwd": "/home/ann/harbour", "sessionId": "s"}
    first = {**said, "message": {"role": "user", "content": "/mode"}}
    second = {
        **said,
        "uuid": "2",
        "parentUuid": "1",
        "message": {"role": "user", "content": "Paint the light " + "red " * 60},
    }
    answer = {"role": "assistant", "id": "a", "content": "ok", "usage": usage}
    third = {**said, "type": "assistant", "uuid": "3", "parentUuid": "2", "message": answer}
    (claude / "one.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (first, second, third)))
    meta = {"type": "session_meta", "timestamp": "t", "payload": {"id": "x", "cwd": "/home/ann/pier"}}
    asked = {"type": "event_msg", "payload": {"type": "user_message", "message": "Mend the pier"}}
    info = {"last_token_usage": {"input_tokens": 5_000, "cached_input_tokens": 9, "output_tokens": 1}}
    count = {"type": "event_msg", "payload": {"type": "token_count", "info": info}}
    for place, rows in (("a", (meta, asked, count)), ("b", (meta, asked))):
        (codex / f"rollout-{place}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for age, path in enumerate((claude / "one.jsonl", codex / "rollout-a.jsonl", codex / "rollout-b.jsonl")):
        os.utime(path, (1_700_000_000 + age, 1_700_000_000 + age))


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ((), [1, 2, 3]),
        (("--tool", "codex"), [1, 2]),
        (("--project", "harbour"), [3]),
        (("--last", "2"), [1, 2]),
        (("--tool", "claude-code", "--last", "5"), [3]),
        (("--project", "nowhere"), []),
    ],
)
def test_import_list_is_filtered(run, elsewhere, options, numbers):
    """Filters choose rows and leave the numbers as they are, so that `import NO` means the same."""
    assert [row["number"] for row in run("import", *options, "--json").json] == numbers


def test_import_list_says_what_is_worth_knowing(run, elsewhere):
    """A row has a date, the newest request as it was counted, what was asked for and the project; a pipe the file, too."""
    rows = {row["number"]: row for row in run("import", "--json").json}
    out = run("import").out

    assert [rows[number]["tokens"] for number in (1, 2, 3)] == [None, 5_000, 1_234]
    assert rows[3]["title"].startswith("Paint the light red")
    assert rows[3]["title"].endswith("red…")
    assert "2023-11-1" in out
    assert "1,234" in out
    assert any("ann/harbour" in line and "one.jsonl" in line for line in out.splitlines())


def test_import_filters_are_for_the_list(run, chat):
    """With a FILE they are wrong usage."""
    assert run("import", chat, "--tool", "pi").status == 2


def test_what_a_compaction_lost_is_said_in_a_sentence(run, session):
    """How many facts left the view, and how many of them it still says, add up."""
    id = run("compact", session, "--json").json["id"]
    kinds = run("history", session, id, "--json").json["by_kind"].values()
    total, kept = (sum(kind[name] for kind in kinds) for name in ("total", "kept"))
    said = run("history", session, id).out.splitlines()[0]

    assert said.startswith(f"the messages that left the view hold {total:,} facts: ")
    assert said.endswith(f"it still says {kept:,} of them, and {total - kept:,} no more")


def test_importing_a_file_twice_names_both_ways_on(run, chat):
    """The refusal says how to take in what is new, and that another name makes another session."""
    run("import", chat, "--as", "harbour")
    again = run("import", chat, "--as", "harbour")

    assert again.status == 1
    assert "'harbour' already exists" in again.err
    assert "--update" in again.err
    assert "--as" in again.err


def test_times_have_one_form_in_every_command(run, elsewhere):
    """The day and time of a session, of a file and of a hit are written alike."""
    run("import", "3", "--as", "harbour")
    run("compact", "harbour", "--target", "50")
    said = run("sessions"), run("import"), run("recall", "harbour", "light")

    assert [bool(re.search(r" \d{4}-\d\d-\d\d \d\d:\d\d\b", ran.out)) for ran in said] == [True] * 3
