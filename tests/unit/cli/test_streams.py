"""Standard streams that are closed, full or broken: one line that says so and a status of the command's own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from plimsoll.cli.commands import watch
from plimsoll.cli.main import main

SOURCES = Path(__file__).parents[3] / "src"

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")

LINUX = pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file that cannot be read")


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """A file of messages."""
    path = tmp_path / "chat.json"
    path.write_text('[{"role": "user", "content": "hello"}]')
    return path


def shell(words: str, *, buffered: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the program in a shell, which closes and redirects its streams."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    environment.pop("PYTHONUNBUFFERED", None)
    if not buffered:
        environment["PYTHONUNBUFFERED"] = "1"
    command = f'"{sys.executable}" -m plimsoll {words}'
    return subprocess.run(["bash", "-c", command], env=environment, check=False, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ("hook <&-", 0, ""),
        ("hook <&- >/dev/full", 0, ""),
        ("count - <&-", 1, "plimsoll: standard input: it is empty"),
        ("delete nothing <&-", 1, "plimsoll: no session"),
        ("sessions >&-", 1, "plimsoll: standard output: Bad file descriptor"),
        ("fit {chat} --max-tokens 100 >&-", 1, "plimsoll: standard output: Bad file descriptor"),
        ("fit {chat} --max-tokens 100 -o out.json >&-", 0, None),
        ("fit {chat} --max-tokens 100 2>&-", 0, ""),
        ("sessions >/dev/full", 1, "plimsoll: standard output: No space left on device"),
        ("--version >/dev/full", 1, "plimsoll: standard output: No space left on device"),
        ("fit {chat} --max-tokens 100 -o /dev/full", 1, "plimsoll: /dev/full: No space left on device"),
        ("nonsense 2>/dev/full", 2, ""),
        ("count - 0>out.json", 1, "plimsoll: standard input: Bad file descriptor"),
        pytest.param("count /proc/self/mem", 1, "plimsoll: /proc/self/mem: Input/output error", marks=LINUX),
        pytest.param("count --text /proc/self/mem", 1, "plimsoll: /proc/self/mem: Input/output error", marks=LINUX),
    ],
)
@pytest.mark.parametrize("buffered", [True, False])
def test_closed_and_full_streams(chat: Path, words: str, status: int, says: str | None, buffered: bool) -> None:
    """Closed input is empty, output that cannot be written is one line and status 1, and errors may be unwritable."""
    done = shell(words.format(chat=chat), buffered=buffered)

    assert done.returncode == status
    if says is not None:
        assert done.stderr.startswith(says)
        assert done.stderr.count("\n") == bool(says)


def test_help_that_cannot_be_written(monkeypatch: Any) -> None:
    """Help ends as any other output does that nobody reads."""
    with monkeypatch.context() as patched:
        patched.setattr(sys.stdout, "flush", _broken)
        status = main(["--help"])

    assert status == 141


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_watch_ends_with_its_reader(run: Any, tmp_path: Path, monkeypatch: Any, as_json: tuple[str, ...]) -> None:
    """Watching ends when nobody reads it any more, instead of noting so at every change."""
    session = tmp_path / "session.jsonl"
    line = (
        '{"type":"user","uuid":"u%d","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hello"}}\n'
    )
    session.write_text(line % 0)
    steps = iter(range(5))

    def slept(_seconds: float) -> None:
        """The file grows, and its reader goes away."""
        with session.open("a") as file:
            file.write(line % (next(steps) + 1))
        monkeypatch.setattr(watch, "_show", _broken)

    monkeypatch.setattr(time, "sleep", slept)
    ran = run("watch", session, *as_json)

    assert (ran.status, ran.err) == (141, "")


def test_watch_notes_trouble_once(run: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """A file that is gone is noted once, not at every step; it is shown again when it is there again."""
    session = tmp_path / "session.jsonl"
    text = '{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hello"}}\n'
    session.write_text(text)
    steps = iter([session.unlink, _nothing, _nothing, lambda: session.write_text(text * 2), session.unlink, _nothing])

    def slept(_seconds: float) -> None:
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(time, "sleep", slept)
    ran = run("watch", session)

    assert ran.out.count("\n") == 2
    assert ran.err.count("No such file") == 2


def _nothing() -> None:
    """A step in which nothing happens."""


def _broken(*_: object, **__: object) -> None:
    raise BrokenPipeError
