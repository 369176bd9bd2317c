"""Settings files of every shape: plimsoll's entries go in and come out, and every other byte stays."""

from __future__ import annotations

import json
import os
import runpy
import sys
import tomllib
from pathlib import Path

import pytest

from plimsoll.cli.commands.install import TOOLS
from plimsoll.cli.main import main
from plimsoll.errors import SettingsRefused
from plimsoll.hooks import install, settings_files
from plimsoll.hooks.install import Registration, apply, plan_install, plan_undo
from plimsoll.hooks.json_edits import without
from spent import cpu_s

HOOK = {"type": "command", "command": "echo hi", "timeout": 5}
PRETTY = {"model": "opus", "hooks": {"SessionStart": [{"hooks": [HOOK]}], "Stop": [{"hooks": [HOOK]}]}, "z": [1, 2]}

JSON_SHAPES = {
    "absent": None,
    "empty": b"",
    "blank": b"\n\n",
    "empty object": b"{}",
    "empty object, line feed": b"{}\n",
    "empty object, spread": b"{\n}\n",
    "one member": b'{\n  "model": "opus"\n}\n',
    "no line feed at the end": b'{\n  "model": "opus"\n}',
    "four blanks": b'{\n    "model": "opus",\n    "env": {"A": "1"}\n}\n',
    "tabs": b'{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}\n',
    "minified": b'{"model":"opus","hooks":{"Stop":[{"hooks":[]}]}}',
    "minified, with ours to be": b'{"hooks":{"PreCompact":[{"hooks":[{"type":"command","command":"x"}]}],"SessionStart":[]}}',
    "other hooks": json.dumps(PRETTY, indent=2).encode(),
    "other hooks, one blank": json.dumps(PRETTY, indent=1).encode() + b"\n",
    "hooks on one line": json.dumps(PRETTY).encode(),
    "empty hooks": b'{\n  "hooks": {},\n  "a": 1\n}\n',
    "empty events": b'{\n  "hooks": {"SessionStart": [], "PreCompact": [ ]}\n}\n',
    "CRLF": json.dumps(PRETTY, indent=2).replace("\n", "\r\n").encode(),
    "BOM": b"\xef\xbb\xbf" + json.dumps(PRETTY, indent=2).encode(),
    "line comments": b'{ // mine\n  "a": 1, // one\n  // "hooks": {}\n  "b": 2 // two\n}\n// end\n',
    "block comments": b'/* top */ {\n  "hooks": /* here */ {\n    "SessionStart": [ /* none */ ]\n  }\n}\n',
    "commas before brackets": b'{\n  "a": [1, 2,],\n  "hooks": {\n    "Stop": [],\n  },\n}\n',
    "odd spacing": b'{   "a"  :1 ,\n\n\n "hooks"\n:\n{ "PreCompact" :[\n\n] } ,\n        "b":2}\n\n\n',
    "other scripts": '{"作者": "李", "emoji": "⚓", "hooks": {"SessionStart": [{"matcher": "наш"}]}}\n'.encode(),
    "escapes": b'{"path": "C:\\\\x \\u00e9 \\"q\\" {[", "hooks": {}}\n',
    "names twice": b'{"hooks": {"Stop": []}, "hooks": {"PreCompact": []}}\n',
    "deep": b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}\n",
    "numbers": b'{"a": -0.5e+10, "b": 1E5, "c": true, "d": null}\n',
    "a word of ours": b'{"note": "plimsoll hook is what I want"}\n',
    "a server of others": b'{\n  "mcpServers": {\n    "one": {"command": "x", "args": []}\n  }\n}\n',
    "long": json.dumps({f"key {n}": "v" * 100 for n in range(500)}, indent=2).encode(),
}

TOML_SHAPES = {
    "absent": None,
    "empty": b"",
    "one line": b'model = "o"\n',
    "no line feed at the end": b'model = "o"',
    "comments": b'# mine\nmodel = "o" # here\n\n[features] # more\nhooks = true\n\n\n',
    "CRLF": b'model = "o"\r\n[a]\r\nb = 1\r\n',
    "BOM": b'\xef\xbb\xbfmodel = "o"\n',
    "other servers": b'[mcp_servers.one]\ncommand = "x"\nargs = []\n',
    "other hooks": b'[[hooks.SessionStart]]\nmatcher = "startup"\n[[hooks.SessionStart.hooks]]\ntype = "command"\ncommand = "x"\n',
    "hook states": b'[hooks.state."/a:b:0"]\ntrusted_hash = "x"\n',
    "texts over lines": b"a = \"\"\"\n[mcp_servers.plimsoll]\n\"\"\"\nb = '''\n# plimsoll: end\n'''\n",
    "dates and nan": b"a = 2026-01-01\nb = nan\nc = inf\n",
    "dotted": b"a.b.c = 1\n[x.y]\nz = [1,\n 2, # two\n]\n",
}

BROKEN_JSON = {
    "cut": b'{"a": 1',
    "no object": b"[1, 2]",
    "a text": b'"x"',
    "two values": b"{} {}",
    "no colon": b'{"a" 1}',
    "no quotes": b"{a: 1}",
    "single quotes": b"{'a': 1}",
    "a comment without an end": b"{} /* ",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "Latin-1": b'{"a": "\xe9"}',
    "hooks is a list": b'{"hooks": []}',
    "hooks is null": b'{"hooks": null}',
    "an event is an object": b'{"hooks": {"SessionStart": {}}}',
    "deep": b"[" * 100_000,
    "NUL": b'{"a": "\x00"}',
}

BROKEN_TOML = {
    "cut": b"[a",
    "twice": b"a = 1\na = 2\n",
    "ours by hand": b'[mcp_servers.plimsoll]\ncommand = "mine"\n',
    "an inline table": b"mcp_servers = { one = { command = 'x' } }\n",
    "Latin-1": b'a = "\xe9"\n',
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A user's folder; the tool's own are in it."""
    there = tmp_path / "user"
    there.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(there))
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "home"))
    return there


def put(path, content):
    """A file, or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is not None:
        path.write_bytes(content)


def tree(folder):
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def commands(value, event):
    """The commands that are called at an event."""
    return [hook["command"] for group in value["hooks"][event] for hook in group.get("hooks", [])]


def read_json(raw):
    """What a tool reads: comments and commas before brackets aside."""
    from plimsoll.hooks.json_edits import parse

    return parse(raw.decode("utf-8-sig")).data()


@pytest.mark.parametrize("text", ["abcdefgh", b"abcdefgh"])
def test_spans_are_cut_out_of_text_and_bytes(text):
    """They may come in any order, at either end too."""
    assert without(text, [(6, 8), (0, 1), (2, 4)]) == text[1:2] + text[4:6]


def test_many_spans_are_cut_out_in_linear_time():
    """A file may hold any number of entries; the text around each is copied once."""
    spans = [(at, at + 90) for at in range(0, 20_000_000, 100)]
    assert cpu_s(lambda text: without(text, spans), "x" * 20_000_000) < 3


@pytest.mark.parametrize(
    "name",
    [
        ".claude/settings.json",
        pytest.param(".claude.json", marks=pytest.mark.slow),
        pytest.param(".codex/hooks.json", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("shape", JSON_SHAPES)
def test_json_settings_come_back_byte_for_byte(shape, name, home):
    """What was in a file is in it still, ours is in it once, and undoing gives the very bytes."""
    path = home / name
    put(path, JSON_SHAPES[shape])
    before = tree(home)
    wanted = Registration(tool="codex" if "codex" in name else "claude-code", has_mcp=True)

    apply(plan_install(wanted))
    installed = read_json(path.read_bytes())
    apply(plan_install(wanted))
    assert read_json(path.read_bytes()) == installed
    if name == ".claude.json":
        assert installed["mcpServers"]["plimsoll"]["args"] == ["mcp"]
    else:
        assert all(" hook" in commands(installed, event)[-1] for event in ("PreCompact", "SessionStart"))
    old = read_json(JSON_SHAPES[shape]) if (JSON_SHAPES[shape] or b"").strip() else {}
    assert all(installed[key] == value for key, value in old.items() if key not in ("hooks", "mcpServers"))

    apply(plan_undo(wanted))

    assert tree(home) == before
    assert all(change.is_empty for change in plan_undo(wanted))


@pytest.mark.slow
@pytest.mark.parametrize("shape", TOML_SHAPES)
def test_toml_settings_come_back_byte_for_byte(shape, home):
    """The same for Codex's configuration, whose hooks are where it has hooks already."""
    path = home / ".codex" / "config.toml"
    put(path, TOML_SHAPES[shape])
    before = tree(home)
    wanted = Registration(tool="codex", has_mcp=True)

    apply(plan_install(wanted))
    apply(plan_install(wanted))

    installed = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    assert installed["mcp_servers"]["plimsoll"]["args"] == ["mcp"]
    assert ("SessionStart" in installed.get("hooks", {})) == (shape == "other hooks")
    assert (path.parent / "hooks.json").exists() == (shape != "other hooks")
    apply(plan_undo(wanted))
    assert tree(home) == before


@pytest.mark.parametrize("shape", BROKEN_JSON)
def test_broken_json_is_refused(shape, home):
    """A file that cannot be read as the tool reads it is named, with its line, and nothing is written anywhere."""
    put(home / ".claude" / "settings.json", BROKEN_JSON[shape])
    before = tree(home)

    with pytest.raises(SettingsRefused, match=r"settings\.json: .*nothing was written"):
        plan_install(Registration(tool="claude-code", has_mcp=True))

    assert tree(home) == before


@pytest.mark.parametrize("shape", BROKEN_TOML)
def test_broken_toml_is_refused(shape, home):
    """The same for Codex's configuration."""
    put(home / ".codex" / "config.toml", BROKEN_TOML[shape])
    before = tree(home)

    with pytest.raises(SettingsRefused, match=r"config\.toml"):
        plan_install(Registration(tool="codex", has_mcp=True))

    assert tree(home) == before


def test_a_server_of_that_name_is_left_alone(home):
    """An entry that somebody made by hand is not replaced."""
    put(home / ".claude.json", b'{"mcpServers": {"plimsoll": {"command": "mine", "args": []}}}')

    with pytest.raises(SettingsRefused, match=r"mcpServers\.plimsoll is there already"):
        plan_install(Registration(tool="claude-code", has_mcp=True))


def test_links_stay_links(home, tmp_path):
    """A settings file that is a link, as those of dotfiles are, is changed where it is."""
    real = tmp_path / "dotfiles" / "claude.json"
    put(real, b'{"a": 1}\n')
    real.chmod(0o640)
    link = home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    wanted = Registration(tool="claude-code")

    apply(plan_install(wanted))

    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert commands(read_json(real.read_bytes()), "PreCompact")
    apply(plan_undo(wanted))
    assert link.is_symlink()
    assert real.read_bytes() == b'{"a": 1}\n'
    assert [path.name for path in real.parent.iterdir()] == ["claude.json"]


def test_read_only_settings_are_refused(home):
    """A file that its owner made read-only is not replaced by one that is not, nor is the other file changed."""
    put(home / ".claude" / "settings.json", b"{}")
    put(home / ".claude.json", b"{}")
    (home / ".claude.json").chmod(0o444)

    with pytest.raises(SettingsRefused, match="read-only"):
        apply(plan_install(Registration(tool="claude-code", has_mcp=True)))

    assert (home / ".claude" / "settings.json").read_bytes() == b"{}"


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_refused(make, home):
    """A folder or a pipe in the place of the settings is named, and nothing waits for it."""
    (home / ".claude").mkdir()
    make(home / ".claude" / "settings.json")

    with pytest.raises(SettingsRefused, match="not a file"):
        plan_install(Registration(tool="claude-code"))


def test_settings_that_were_changed_meanwhile_keep_the_change(home):
    """A file that was written again since, in another style, loses plimsoll's entries and nothing else."""
    path, wanted = home / ".claude" / "settings.json", Registration(tool="claude-code")
    put(path, json.dumps(PRETTY, indent=2).encode())
    apply(plan_install(wanted))
    value = json.loads(path.read_bytes())
    value["hooks"]["SessionStart"][-1]["hooks"].append(HOOK)
    path.write_text(json.dumps({"new": True, **value}, indent=7))

    apply(plan_undo(wanted))

    left = json.loads(path.read_bytes())
    assert left.pop("new") is True
    assert left["hooks"].pop("SessionStart") == [
        *PRETTY["hooks"]["SessionStart"],
        {"matcher": "compact|resume|clear", "hooks": [HOOK]},
    ]
    assert left == {**PRETTY, "hooks": {"Stop": PRETTY["hooks"]["Stop"]}}


def test_comments_beside_the_entries_stay(home):
    """Comments that were written before and after plimsoll's entries since are still there when these are taken out."""
    path, wanted = home / ".claude" / "settings.json", Registration(tool="claude-code")
    handler = '{"hooks": [{"type": "command", "command": "%s"}]}'
    put(path, ('{"hooks": {"PreCompact": [\n%s\n], "SessionStart": []}}' % (handler % "a")).encode())
    apply(plan_install(wanted))
    text = path.read_text().replace(f"{handler % 'a'},", f"{handler % 'a'}, // first, second")
    at = text.rindex("]")
    path.write_text(f"{text[:at]}, /* third, */ {handler % 'b'}{text[at:]}")

    apply(plan_undo(wanted))

    left = path.read_text()
    assert "// first, second" in left
    assert "/* third, */" in left
    assert "plimsoll" not in left
    assert json.loads(left.replace("// first, second", "").replace("/* third, */", "")) == {
        "hooks": {"PreCompact": [json.loads(handler % "a")], "SessionStart": [json.loads(handler % "b")]}
    }


def test_a_new_file_that_was_added_to_stays(home):
    """A file that plimsoll made is removed again, unless somebody else has written in it since."""
    path, wanted = home / ".claude" / "settings.json", Registration(tool="claude-code")
    apply(plan_install(wanted))
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "model": "opus"}))

    apply(plan_undo(wanted))

    assert json.loads(path.read_bytes()) == {"model": "opus"}


def test_a_codex_configuration_that_was_changed_meanwhile_keeps_the_change(home):
    """The same for a table of TOML."""
    path, wanted = home / ".codex" / "config.toml", Registration(tool="codex", has_mcp=True)
    put(path, b'model = "o"\n')
    apply(plan_install(wanted))
    path.write_bytes(path.read_bytes() + b"\n[tui]\ntheme = 1\n")

    apply(plan_undo(wanted))

    assert path.read_bytes() == b'model = "o"\n\n[tui]\ntheme = 1\n'


def test_files_are_written_all_or_none(home, monkeypatch):
    """Where the second file cannot be written, the first is as it was."""
    put(home / ".claude" / "settings.json", b"{}")
    put(home / ".claude.json", b"{}")
    changes = plan_install(Registration(tool="claude-code", has_mcp=True))
    write, written = install._write, []

    def failing(change):
        if len(written) == 1:
            written.append(change)
            raise OSError(28, "No space left on device")
        written.append(change)
        write(change)

    monkeypatch.setattr(install, "_write", failing)
    with pytest.raises(SettingsRefused, match="No space left"):
        apply(changes)

    assert (home / ".claude" / "settings.json").read_bytes() == b"{}"
    assert (home / ".claude.json").read_bytes() == b"{}"


def test_nothing_is_put_in_without_a_record_of_it(home):
    """Where it cannot be noted what was put in, the settings stay as they were, for undo would not be exact."""
    path, wanted = home / ".claude" / "settings.json", Registration(tool="claude-code", has_mcp=True)
    put(path, b"{}")
    install._record_path(str(home / ".claude.json")).mkdir()

    with pytest.raises(SettingsRefused):
        apply(plan_install(wanted))

    assert path.read_bytes() == b"{}"
    assert not (home / ".claude.json").exists()
    assert not install._record_path(str(path)).exists()


def test_a_file_that_changes_under_the_hand_is_refused(home):
    """Between what was shown and what is written nothing is lost."""
    put(home / ".claude" / "settings.json", b"{}")
    changes = plan_install(Registration(tool="claude-code"))
    put(home / ".claude" / "settings.json", b'{"a": 1}')

    with pytest.raises(SettingsRefused, match="changed meanwhile"):
        apply(changes)


def test_where_the_tools_look(home, tmp_path, monkeypatch):
    """The folders that the tools' own variables name are used, and the project's for a project."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "c"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "x"))

    found = {
        (tool, project): [
            os.path.relpath(change.path, tmp_path)
            for change in plan_install(Registration(tool=tool, project=project, has_mcp=True))
            if not change.is_empty
        ]
        for tool in TOOLS
        for project in (None, str(tmp_path / "p"))
    }

    assert found == {
        ("claude-code", None): ["c/settings.json", "c/.claude.json"],
        ("claude-code", str(tmp_path / "p")): ["p/.claude/settings.json", "p/.mcp.json"],
        ("codex", None): ["x/hooks.json", "x/config.toml"],
        ("codex", str(tmp_path / "p")): ["p/.codex/hooks.json", "p/.codex/config.toml"],
    }


def test_the_command_shows_before_it_does(home, capsys):
    """`--print` shows the change and makes none; without it the same is shown and made; `--undo` takes it out."""
    put(home / ".claude" / "settings.json", b'{\n  "model": "opus"\n}\n')
    before = tree(home)

    assert main(["install", "claude-code", "--print"]) == 0
    shown = capsys.readouterr().out
    assert tree(home) == before
    assert '+    "PreCompact": [' in shown
    assert '-  "model": "opus"\n+  "model": "opus",\n' in shown

    assert main(["install", "claude-code", "--max-tokens", "800", "--store", "memory:"]) == 0
    assert '+    "PreCompact": [' in capsys.readouterr().out
    command = commands(read_json((home / ".claude" / "settings.json").read_bytes()), "SessionStart")[0]
    assert " hook --max-tokens 800 " in f"{command} "
    assert command.endswith("--store memory:")

    assert main(["install", "claude-code", "--undo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done"] is True
    assert tree(home) == before


@pytest.mark.parametrize(
    ("settings", "is_off"),
    [
        ('{"disableAllHooks": true}', True),
        ('{\n  // for now\n  "disableAllHooks" : /* all */ true,\n}', True),
        ('{"disableAllHooks": false, "disable\\u0041llHooks": true}', True),
        ('{"disableAllHooks": false}', False),
        ('{\n  // "disableAllHooks": true\n}', False),
        ('{"env": {"disableAllHooks": true}}', False),
        ('{"env": {"NOTE": "\\"disableAllHooks\\": true"}}', False),
        ('{"disableAllHooks": true, "disableAllHooks": false}', False),
        ('{"disableAllHooks": "true"}', False),
    ],
)
def test_settings_that_switch_hooks_off_are_named(settings, is_off, home, capsys):
    """What is registered there never runs, which nobody would notice before a compaction. Comments and other keys say nothing."""
    put(home / ".claude" / "settings.json", settings.encode())

    assert main(["install", "claude-code"]) == 0
    assert ("disableAllHooks): where it applies, nothing runs" in capsys.readouterr().err) == is_off
    assert main(["install", "claude-code", "--undo"]) == 0
    assert "nothing runs" not in capsys.readouterr().err


ON, OFF = '{"disableAllHooks": false}', '{"disableAllHooks": true}'


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", "/etc/claude-code"),
        ("darwin", "/Library/Application Support/ClaudeCode"),
        ("win32", "C:/Program Files/ClaudeCode"),
    ],
)
def test_the_settings_of_an_administrator_are_looked_for_where_the_system_has_them(platform, folder, monkeypatch):
    """The folder that Claude Code documents for each system."""
    monkeypatch.setattr(sys, "platform", platform)

    assert runpy.run_path(settings_files.__file__)["_MANAGED"] == folder


LOCAL, SHARED, USERS, MANAGED = (
    "w/.claude/settings.local.json",
    "w/.claude/settings.json",
    "home/.claude/settings.json",
    "m",
)


@pytest.fixture
def places(home, tmp_path, monkeypatch):
    """The files that may switch hooks off, in the folder of a project, which is the current one."""
    monkeypatch.setattr("plimsoll.hooks.settings_files._MANAGED", str(tmp_path / "etc"))
    (tmp_path / "w").mkdir()
    monkeypatch.chdir(tmp_path / "w")
    users, managed = home / ".claude" / "settings.json", tmp_path / "etc" / "managed-settings.json"
    return {USERS: users, MANAGED: managed} | {name: tmp_path / name for name in (LOCAL, SHARED)}


@pytest.mark.parametrize(
    ("files", "of_user", "of_project"),
    [
        ({LOCAL: OFF}, [LOCAL], [LOCAL]),
        ({SHARED: OFF}, [SHARED], [SHARED]),
        ({LOCAL: ON, SHARED: OFF, USERS: OFF}, [USERS], []),
        ({SHARED: ON, USERS: OFF}, [USERS], []),
        ({LOCAL: OFF, USERS: OFF}, [LOCAL, USERS], [LOCAL]),
        ({MANAGED: OFF, LOCAL: ON}, [MANAGED], [MANAGED]),
        ({MANAGED: '{"allowManagedHooksOnly": true}'}, [MANAGED], [MANAGED]),
        ({MANAGED: ON, LOCAL: OFF, USERS: OFF}, [], []),
        ({LOCAL: '{"allowManagedHooksOnly": true}'}, [], []),
        ({LOCAL: "{oops", SHARED: ON}, [], []),
    ],
)
def test_the_settings_that_decide_whether_hooks_run_are_named(files, of_user, of_project, places, capsys):
    """An administrator's come first, then the project's local ones, its shared ones, the user's; each holds against those after it."""
    for name, text in files.items():
        put(places[name], text.encode())

    for options, named in (([], of_user), (["--project"], of_project)):
        assert main(["install", "claude-code", *options, "--print", "--json"]) == 0
        told = [file["path"] for file in json.loads(capsys.readouterr().out)["files"] if file["hooks_off"]]
        assert sorted(told) == sorted(str(places[name]) for name in named)
    assert main(["install", "claude-code"]) == 0
    assert capsys.readouterr().err.count("nothing runs") == len(of_user)
    assert {name: places[name].read_text() for name in files if name != USERS} == {
        name: text for name, text in files.items() if name != USERS
    }


def test_a_named_file_keeps_what_was_noted_of_it(places, capsys):
    """Registering for the user leaves the record of the project's own registration, by which undoing is exact."""
    put(places[SHARED], OFF.encode())
    assert main(["install", "claude-code", "--project"]) == 0
    noted = install._record(str(places[SHARED]))

    assert main(["install", "claude-code"]) == 0
    assert f"{places[SHARED]} switches hooks off" in capsys.readouterr().err
    assert noted is not None
    assert install._record(str(places[SHARED])) == noted


def test_hooks_of_codex_that_its_project_switches_off_are_named(home, tmp_path, monkeypatch, capsys):
    """The configuration of the project in the current folder comes before the user's."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path / ".codex" / "config.toml", b"[features]\nhooks = false\n")

    assert main(["install", "codex"]) == 0
    assert f"{tmp_path / '.codex' / 'config.toml'} switches hooks off (features.hooks)" in capsys.readouterr().err


def test_a_refusal_is_one_line(home, capsys):
    """What stands in the way is said in one line, with the file and its line."""
    put(home / ".claude" / "settings.json", b'{\n  "a": oops\n}')

    assert main(["install", "claude-code"]) == 1

    assert "settings.json: line 2: not JSON; nothing was written" in capsys.readouterr().err


@pytest.mark.slow
def test_the_registered_command_answers(home, tmp_path):
    """The command line that is put into the settings runs and answers an event with nothing, whatever the folder it runs in."""
    import subprocess

    apply(plan_install(Registration(tool="claude-code")))
    value = read_json((home / ".claude" / "settings.json").read_bytes())
    (tmp_path / "plimsoll.py").write_text("raise SystemExit(7)")

    done = subprocess.run(
        commands(value, "PreCompact")[0], check=False, shell=True, input=b"{}", capture_output=True, cwd=tmp_path
    )

    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ("[features]\nhooks = false\n", "features.hooks"),
        ("features = { codex_hooks = false }\n", "features.codex_hooks"),
        ("[features]\nhooks = true\n", None),
        ("# features.hooks = false\nfeatures = 1\n", None),
    ],
)
def test_a_configuration_of_codex_that_switches_hooks_off_is_named(settings, named, home, capsys):
    """Hooks are in another file than the switch."""
    put(home / ".codex" / "config.toml", settings.encode())

    assert main(["install", "codex", "--json"]) == 0
    assert [file["hooks_off"] for file in json.loads(capsys.readouterr().out)["files"]] == [None, named]
    assert main(["install", "codex"]) == 0
    told = capsys.readouterr().err
    assert ("nothing runs" in told, f"({named})" in told) == (named is not None, named is not None)


@pytest.mark.parametrize(
    ("tool", "program", "written"),
    [
        ("codex", r"C:\py\plimsoll.EXE", r"C:\py\plimsoll.EXE hook"),
        ("codex", r"C:\my py\plimsoll.EXE", r'"C:\my py\plimsoll.EXE" hook'),
        ("claude-code", r"C:\py\plimsoll.EXE", r"'C:\py\plimsoll.EXE' hook"),
    ],
)
def test_a_command_on_windows_is_quoted_for_the_shell_that_reads_it(tool, program, written, home, monkeypatch):
    """cmd.exe takes single quotes for a part of the name. What was registered so is found again."""
    monkeypatch.setattr(install, "_IS_WINDOWS", True)
    monkeypatch.setattr(install, "own_program", lambda: [program])
    wanted = Registration(tool=tool)
    apply(plan_install(wanted))
    path = home / ".codex" / "hooks.json" if tool == "codex" else home / ".claude" / "settings.json"
    assert commands(read_json(path.read_bytes()), "PreCompact") == [written]

    install._record_path(str(path)).unlink()
    apply(plan_undo(wanted))
    assert path.read_text().split() == ["{", "}"]
