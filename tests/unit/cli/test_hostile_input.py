"""Files that nobody should have to read, and text that would like to be more than text."""

from __future__ import annotations

import io
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import plimsoll
from plimsoll.cli.main import main
from plimsoll.hooks.run import HookSettings

SOURCES = Path(__file__).parents[3] / "src"

ATTACKS = {
    "colour": "\x1b[31mred\x1b[0m",
    "clear": "\x1b[2J\x1b[H",
    "clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "link": "\x1b]8;;http://x\x1b\\y\x1b]8;;\x1b\\",
    "c1": "\x9b31m\x9d52;c;x\x9c",
    "bell": "\x07\x08\x00\x7f\r",
    "bidi": "\u202e\u2066\u200f\u061c",
    "hidden": "\u200b\ufeff\U000e0041\u2028",
    "surrogate": "\ud800",
    "markup": "[bold red]x[/] [/nothing] :boom:",
}
FORBIDDEN = set("\x00\x07\x08\x1b\r\x7f\x9b\x9c\x9d\u061c\u200b\u200f\u2028\u202e\u2066\ufeff\ud800\U000e0041")

BROKEN = {
    "binary": bytes(range(256)) * 20,
    "empty": b"",
    "blank": b" \n\n ",
    "torn": b'[{"role": "user", "content": "hel',
    "deep": b"[" * 100_000,
    "deep message": b'[{"role": "user", "content": ' + b"[" * 100 + b"]" * 100 + b"}]",
    "nan": b'[{"role": "user", "content": NaN}]',
    "infinity": b'[{"role": "user", "content": "x", "n": 1e999}]',
    "latin-1": '[{"role": "user", "content": "H\u00e4fen"}]'.encode("latin-1"),
    "utf-16": '[{"role": "user", "content": "x"}]'.encode("utf-16"),
    "number": b"3",
    "text": b'"hello"',
    "null": b"null",
    "numbers": b"[1, 2, 3]",
    "some object": b'{"a": 1}',
    "no role": b'[{"content": "x"}]',
    "wrong content": b'[{"role": "user", "content": 7}]',
    "long line": b"x" * 20_000_000,
}


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "command", [("count",), ("inspect",), ("fit", "--max-tokens", "2k"), ("import",)], ids=lambda c: c[0]
)
@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(run, tmp_path, command, name):
    """A file that is no conversation is refused in one line that names it, and leaves nothing behind."""
    path = tmp_path / "broken.json"
    path.write_bytes(BROKEN[name])
    ran = run(command[0], path, *command[1:])

    assert (ran.status, ran.out) == (1, "")
    assert ran.err.count("\n") == 1
    assert "broken.json" in ran.err or "message 0" in ran.err
    assert run("sessions", "--json").json == []


def test_nothing_to_import(run, tmp_path):
    """A list without messages makes no session."""
    (tmp_path / "broken.json").write_text("[]")
    ran = run("import", tmp_path / "broken.json")

    assert (ran.status, ran.out) == (1, "")
    assert "broken.json: there are no messages in it" in ran.err
    assert run("sessions", "--json").json == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [(".", "is a directory"), ("/dev/zero", "is a device"), ("none.json", "no file"), ("a/b", "no such file")],
)
def test_no_files(run, name, expected):
    """What is no file is refused by name."""
    ran = run("count", name)

    assert ran.status == 1
    assert expected in ran.err


def test_damaged_lines_are_noted(run, tmp_path):
    """Lines that cannot be read are passed by, and noted by number."""
    (tmp_path / "chat.jsonl").write_text(
        '{"role": "user", "content": "one"}\n{"role": "us\n{"role": "user", "content": "two"}\n'
    )
    ran = run("fit", "chat.jsonl", "--max-tokens", "1k")

    assert [json.loads(line)["content"] for line in ran.out.splitlines()] == ["one", "two"]
    assert "(line 2)" in ran.err


def hostile_messages(attack):
    """A conversation with the text wherever text can be."""
    call = {"id": "c1", "type": "function", "function": {"name": f"t{attack}", "arguments": json.dumps({"x": attack})}}
    return [
        {"role": "user", "content": attack},
        {"role": "assistant", "content": attack, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": attack * 300},
        {"role": "user", "content": f"{attack} last"},
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_text_is_neutral(run, tmp_path, name):
    """No command sends a control or invisible character of a conversation to the terminal, in reports or in JSON."""
    messages = hostile_messages(ATTACKS[name])
    (tmp_path / "x.json").write_text(json.dumps(messages))
    ran = [run("import", "x.json"), run("count", "x.json"), run("inspect", "x.json", "--max-tokens", "1k")]
    ran += [run("show", "x"), run("show", "x", "--full"), run("show", "x", "--json"), run("sessions")]
    ran += [
        run("fit", "x.json", "--max-tokens", "1k"),
        run("compact", "x", "--preview"),
        run("export", "x", "--to", "pi", "--lossy"),
    ]

    assert [one.status for one in ran] == [0] * len(ran)
    for one in ran:
        assert not FORBIDDEN & set(one.out + one.err), one


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_json_reads_back_as_it_was(run, tmp_path, name):
    """What is escaped in JSON is the same text to who reads it. (A tool's name with it in it is refused, and so repaired.)"""
    messages = hostile_messages(ATTACKS[name])
    messages[1]["tool_calls"][0]["function"]["name"] = "t"
    (tmp_path / "x.json").write_text(json.dumps(messages))

    assert run("fit", "x.json", "--max-tokens", "100k").json == messages


def test_markup_is_text(run, tmp_path):
    """Rich's own notation in a conversation is shown and not obeyed."""
    (tmp_path / "x.json").write_text(json.dumps(hostile_messages(ATTACKS["markup"])))
    run("import", "x.json")

    assert "[bold red]x[/] [/nothing] :boom:" in run("show", "x").out


def test_hostile_file_name(run, tmp_path):
    """A file's name is text of strangers too."""
    path = tmp_path / "\x1b[2J\u202e.json"
    path.write_text("nonsense")

    assert not FORBIDDEN & set(run("count", path).err)


# --- writing


@pytest.mark.parametrize("kind", ["directory", "link", "dangling link", "in no folder"])
def test_output_refused(run, chat, tmp_path, kind):
    """A directory, a link, and a file in no folder are refused, and what was there is as it was."""
    (tmp_path / "target").write_text("as it was")
    out = tmp_path / "out"
    match kind:
        case "directory":
            out.mkdir()
        case "link":
            out.symlink_to("target")
        case "dangling link":
            out.symlink_to("nothing")
        case _:
            out = tmp_path / "missing" / "out"
    before = sorted(tmp_path.rglob("*"))
    ran = run("fit", chat, "--max-tokens", "2k", "-o", out)

    assert ran.status == 1
    assert (tmp_path / "target").read_text() == "as it was"
    assert sorted(tmp_path.rglob("*")) == before


def test_output_keeps_modes(run, chat, tmp_path):
    """A file that is replaced keeps its modes; a new one has those of the umask."""
    (tmp_path / "old").write_text("x")
    (tmp_path / "old").chmod(0o640)
    mask = os.umask(0o027)
    try:
        for name in ("old", "new"):
            run("fit", chat, "--max-tokens", "2k", "-o", tmp_path / name)
    finally:
        os.umask(mask)

    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("old", "new")] == [0o640, 0o640]


def test_output_is_whole_or_not_there(run, chat, tmp_path, monkeypatch):
    """When writing fails, the old file is there and nothing else is."""
    (tmp_path / "out").write_text("as it was")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ran = run("fit", chat, "--max-tokens", "2k", "-o", tmp_path / "out")

    assert ran.status == 1
    assert ran.err.splitlines()[-1] == f"plimsoll: {tmp_path / 'out'}: No space left on device"
    assert (tmp_path / "out").read_text() == "as it was"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == []


def test_output_to_a_device(run, chat):
    """A device is written to and stays a device."""
    assert run("fit", chat, "--max-tokens", "2k", "-o", os.devnull).status == 0
    assert not Path(os.devnull).is_file()


# --- the process


def process(*words, **more):
    """Run the real program."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), **more.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "plimsoll", *map(str, words)], env=environment, check=False, capture_output=True, **more
    )


@pytest.mark.slow
def test_process(chat):
    """The program reads a file and prints JSON on standard output only."""
    done = process("count", chat, "--json")

    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["messages"] == 38


@pytest.mark.slow
def test_process_pipes(chat):
    """Standard input to standard output, whatever the locale says."""
    messages = json.dumps([{"role": "user", "content": "灯在码头 💡"}], ensure_ascii=False).encode()
    done = process("fit", "-", "--max-tokens", "1k", input=messages, env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii"})

    assert done.returncode == 0
    assert json.loads(done.stdout)[0]["content"] == "灯在码头 💡"


@pytest.mark.slow
def test_ascii_terminal(chat):
    """Bars are escaped where the output cannot hold them, instead of an error."""
    done = process("inspect", chat, env={"PYTHONIOENCODING": "ascii"})

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("words", [(), ("nonsense",), ("fit",), ("fit", "x", "--max-tokens", "-3"), ("fit", "x", "--max-tokens", "x"),
                                   ("show", "x", "--last", "0"), ("export", "x"), ("export", "x", "--to", "word")])  # fmt: skip
def test_wrong_usage(run, words):
    """Wrong usage is status 2, with the usage, or a reason that says what is missing."""
    ran = run(*words)

    assert ran.status == 2
    reasons = (
        "plimsoll: export: --to FORMAT is needed",
        "plimsoll: there is no command 'nonsense'; plimsoll --help lists",
    )
    assert ran.err.startswith(("usage: plimsoll", *reasons))


def test_help_for_who_does_not_know_the_commands(run):
    """No words at all print the commands, `help` is --help, and a slip of the pen is told what was meant."""
    assert "inspect" in run().err
    assert run("help").out == run("--help").out
    assert run("help", "fit").out == run("fit", "--help").out
    assert run("fitt").err == "plimsoll: there is no command 'fitt'; did you mean fit?\n"
    assert run("proxy").err == "plimsoll: there is no command 'proxy'; did you mean serve?\n"
    assert run("uninstall").err == "plimsoll: there is no command 'uninstall'; did you mean install --undo?\n"


@pytest.mark.parametrize(
    "words", [("fit", "a.json", "--budget", "8"), ("sessions", "more"), ("memory", "list", "--bogus")]
)
def test_what_a_command_does_not_take_is_told_with_its_own_usage(run, words):
    """The usage of the program names no option of the command."""
    refused = run(*words).err
    assert refused.startswith(f"usage: plimsoll {words[0]} ")
    assert f"plimsoll {words[0]}: error: unrecognized arguments: " in refused


def test_a_session_that_is_open_elsewhere_is_told_without_names_of_the_library(run, tmp_path):
    """The line says what is still true and what to do, and has no parameter of Python's in it."""
    store = str(tmp_path / "store")
    with plimsoll.open("pier", store=store) as session:
        session.append({"role": "user", "content": "hello"})
        refused = run("compact", "pier", "--store", store).err
        assert run("show", "pier", "--store", store).status == 0
    assert refused.endswith("; nothing was written; try again when the session is closed there\n")
    assert "wait_s" not in refused


def test_help_and_version(run):
    """-h and --version are status 0."""
    assert "inspect" in run("-h").out
    assert run("--version").out.startswith("plimsoll ")


@pytest.mark.slow
def test_unknown_model_is_one_line(chat):
    """A warning of the library is one line on standard error, without a place in its source."""
    done = process("count", chat, "--model", "nobody-knows-this")

    assert done.returncode == 0
    assert done.stderr.decode().count("\n") == 1
    assert done.stderr.startswith(b"note: unknown model 'nobody-knows-this'")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes of a shell")
def test_closed_pipe(chat):
    """A reader that goes away ends the program quietly."""
    command = f'"{sys.executable}" -m plimsoll fit "{chat}" --max-tokens 100k 2>err | head -c 10 >/dev/null; cat err'
    done = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        check=False,
        capture_output=True,
        text=True,
    )

    assert "Traceback" not in done.stdout
    assert "Broken pipe" not in done.stdout + done.stderr


def test_interrupt(run, chat, monkeypatch):
    """Ctrl-C is one line and status 130."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("plimsoll.fit", interrupted)
    ran = run("fit", chat, "--max-tokens", "2k")

    assert (ran.status, ran.err) == (130, "plimsoll: interrupted\n")


@pytest.mark.slow
def test_fault_is_one_line(chat, tmp_path):
    """A mistake of ours is one line that says where, and with PLIMSOLL_TRACEBACK all of it."""
    script = "import sys, plimsoll, plimsoll.cli.main as m\nplimsoll.fit = None\nsys.exit(m.main())"
    command = [sys.executable, "-c", script, "fit", str(chat), "--max-tokens", "2k"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    short = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    long = subprocess.run(
        command, env={**environment, "PLIMSOLL_TRACEBACK": "1"}, check=False, capture_output=True, text=True
    )

    assert (short.returncode, short.stderr.count("\n")) == (1, 1)
    assert re.search(r"a fault in plimsoll itself: TypeError: .* at fit\.py:[0-9]+; ", short.stderr)
    assert "Traceback" in long.stderr


def test_help_is_fast():
    """--help loads neither a tokenizer nor a terminal library nor the library itself, and no command."""
    script = "import sys\nfrom plimsoll.cli.main import main\nmain(['--help'])\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        check=False,
        capture_output=True,
        text=True,
    )
    loaded = set(done.stderr.split())

    assert loaded.isdisjoint(
        {"rich", "splintr", "json", "sqlite3", "subprocess", "plimsoll.session.session", "plimsoll.api.fit"}
    )
    own = {name for name in loaded if name.startswith("plimsoll")}
    assert not any(name.startswith("plimsoll.cli.commands") for name in own)
    assert len(own) < 12


@pytest.mark.slow
def test_no_colour_for_a_pipe(chat):
    """Output that is no terminal has no escape sequences."""
    assert b"\x1b" not in process("inspect", chat).stdout


def in_a_terminal(*words, **env):
    """Output and errors of the program as a terminal gets them."""
    import pty

    parent, child = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "TERM": "xterm-256color", **env}
    started = subprocess.Popen(
        [sys.executable, "-m", "plimsoll", *map(str, words)], env=environment, stdout=child, stderr=child, stdin=child
    )
    os.close(child)
    seen = b""
    while True:
        try:
            data = os.read(parent, 65_536)
        except OSError:
            break
        if not data:
            break
        seen += data
    os.close(parent)
    assert started.wait() == 0
    return seen.decode()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a terminal to look through")
@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_in_a_terminal(chat, env, coloured):
    """A terminal gets colour, and none with NO_COLOR."""
    assert ("\x1b[34m" in in_a_terminal("inspect", chat, **env)) == coloured


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a terminal to look through")
def test_progress_in_a_terminal(messages, tmp_path):
    """Long work shows that it goes on, in a terminal; short work and pipes see nothing of it."""
    short, long = tmp_path / "short.json", tmp_path / "long.json"
    short.write_text(json.dumps(messages))
    messages[1]["content"] = "the light on the pier " * 60_000
    long.write_text(json.dumps(messages))

    assert "counting 1.3 MB" in in_a_terminal("count", long)
    assert "counting" not in in_a_terminal("count", short)
    assert process("count", long).stderr == b""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a terminal to look through")
def test_long_work_on_sessions_shows_progress(home):
    """Every command that reads all of a long session says so in a terminal, and nothing of it in a pipe."""
    with plimsoll.open("pier", max_tokens=30_000) as session:
        session.extend([{"role": ("user", "assistant")[n % 2], "content": f"entry {n}"} for n in range(2_100)])
    doing = {
        ("recall", "pier", "entry"): "searching 2,100 messages",
        ("verify", "pier"): "checking",
        ("inspect", "pier"): "inspecting 2,100 messages",
        ("compact", "pier", "--preview"): "planning 2,100 messages",
        ("export", "pier", "--to", "codex", "--preview"): "exporting 2,100 messages",
    }
    shown = {words: in_a_terminal(*words) for words in doing}

    assert [words for words, text in doing.items() if text not in shown[words]] == []
    assert process("recall", "pier", "entry").stderr == b""


class Terminal(io.StringIO):
    """Text that goes to a terminal."""

    def isatty(self):
        """It is one."""
        return True


@pytest.mark.parametrize(
    ("stream", "what", "shown"),
    [(Terminal, 2_000_000, True), (Terminal, 2_000, False), (Terminal, None, True), (io.StringIO, 2_000_000, False)],
)
def test_progress_is_for_long_work_in_a_terminal(monkeypatch, stream, what, shown):
    """Standard error gets a line while long work goes on, if it is a terminal; else nothing."""
    from plimsoll.cli.output import working

    monkeypatch.setattr(sys, "stderr", stream())
    with working("reading", what):
        pass
    assert ("reading" in sys.stderr.getvalue()) == shown


def test_options_name_all_formats():
    """The names that the help gives are those of the library."""
    from plimsoll.cli.commands.hook import NOTES_TOKENS
    from plimsoll.cli.options import FORMAT_NAMES, TOOL_NAMES
    from plimsoll.formats.registry import FORMATS
    from plimsoll.session.transfer.export import TOOLS

    assert tuple(FORMATS) == FORMAT_NAMES
    assert HookSettings().max_tokens == NOTES_TOKENS
    assert TOOLS == TOOL_NAMES


@pytest.mark.slow
def test_hostile_session_names(tmp_path, monkeypatch, capsys):
    """2,000 hostile names through commands that take one: each is refused in one line, and nothing appears on the disk."""
    outside, store = tmp_path / "outside", tmp_path / "store"
    outside.mkdir()
    monkeypatch.chdir(outside)
    rng = random.Random(7)
    pieces = [
        "..",
        "/",
        "\\",
        "a",
        "~",
        "%2e",
        "\x00",
        "\n",
        "\u2215",
        "CON",
        ".",
        " ",
        "\u202e",
        "-x",
        "\ud800",
        "b" * 70,
    ]
    names = {"".join(rng.choices(pieces, k=rng.randrange(1, 6))) for _ in range(4_000)}
    hostile = [name for name in sorted(names) if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}", name)][:2_000]
    commands = (["show"], ["history"], ["rollback"], ["delete", "--yes"], ["verify"], ["compact"])
    for number, name in enumerate(hostile):
        command = commands[number % len(commands)]

        assert main([command[0], "--store", str(store), *command[1:], "--", name]) in (1, 2), ascii(name)
    capsys.readouterr()

    assert list(outside.iterdir()) == []
    assert not store.exists() or list(store.rglob("*.jsonl")) == []
