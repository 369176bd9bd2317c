"""The process that a hook begins: it outlives the hook, holds nothing of the agent's open, and gives way to it."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest

from plimsoll.hooks import background, importing
from plimsoll.hooks.background import begin
from plimsoll.hooks.run import take_in_file

REPORT = """
import os, sys
with open(sys.argv[1] + ".draft", "w") as out:
    streams = [os.readlink(f"/proc/self/fd/{fd}") for fd in range(3)] if os.path.isdir("/proc/self/fd") else []
    held = 0
    try:
        os.fstat(int(sys.argv[2]))
        held = 1
    except OSError:
        pass
    print(os.getsid(0) == os.getpid(), held, set(streams) <= {os.devnull}, file=out)
os.rename(sys.argv[1] + ".draft", sys.argv[1])
"""


def told(path, **options):
    """What a begun process says of itself."""
    pipe = os.pipe()
    os.set_inheritable(pipe[1], True)
    begin([sys.executable, "-S", "-E", "-c", REPORT, str(path), str(pipe[1])], **options)
    end = time.monotonic() + 20
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.005)
    os.close(pipe[0])
    os.close(pipe[1])
    return path.read_text().split()


@pytest.mark.skipif(sys.platform == "win32", reason="sessions, priorities and descriptors are those of POSIX")
@pytest.mark.parametrize("is_spawned", [True, False], ids=["spawned", "elsewhere"])
def test_it_is_on_its_own(is_spawned, tmp_path, monkeypatch):
    """It has a session of its own, no stream of the agent's, and not the pipe that the agent left open."""
    if not is_spawned:
        monkeypatch.setattr(background, "_spawned", lambda _: (_ for _ in ()).throw(NotImplementedError))

    assert told(tmp_path / "told", wait_s=20.0) == ["True", "0", "True"]


@pytest.mark.skipif(not hasattr(signal, "SIGCHLD"), reason="signals of ended children are those of POSIX")
def test_an_agent_that_ignores_the_end_of_its_children(tmp_path):
    """Then the system keeps nothing of a process that has ended, and it is not waited for any longer."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert told(tmp_path / "told", wait_s=20.0) == ["True", "0", "True"]
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_program_that_is_not_there_is_an_error():
    """The hook's caller writes it to its log."""
    with pytest.raises(OSError, match="No such file"):
        begin(["/nowhere/python"])


def test_it_gives_way_once_nothing_waits_for_it(tmp_path, monkeypatch):
    """The facts, whose lock a hook may wait for, are read at the priority of the hook; what takes long comes after that."""
    done = []
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "home"))
    read = importing.take_in
    monkeypatch.setattr(importing, "take_in", lambda path: (done.append("facts"), read(path))[1])
    monkeypatch.setattr(importing, "_import", lambda *_: done.append("messages"))
    monkeypatch.setattr(os, "nice", lambda by: done.append("lower" if by > 0 else "higher"), raising=False)
    file = tmp_path / "one.jsonl"
    file.touch()

    take_in_file(str(file), gives_way=True)
    take_in_file(str(file))
    assert done == ["facts", "lower", "messages", "facts", "messages"]


def test_an_unchanged_file_is_not_read_while_it_waits(tmp_path, monkeypatch):
    """Waiting for a compaction holds no lock."""
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(importing, "_import", lambda *_: None)
    monkeypatch.setattr(importing, "_STEP_S", 0.005)
    monkeypatch.setattr(importing, "_COMPACTION_S", 0.05)
    file, reads = tmp_path / "one.jsonl", []
    file.write_bytes(b'{"type":"user","message":{"role":"user","content":"Lights."}}\n')
    read = importing.take_in
    monkeypatch.setattr(importing, "take_in", lambda path: (reads.append(path), read(path))[1])

    take_in_file(str(file), wait=True)
    assert len(reads) == 1
