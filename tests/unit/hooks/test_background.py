"""The process that a hook begins: it outlives the hook, holds nothing of the agent's open, and gives way to both."""

from __future__ import annotations

import os
import sys
import time

import pytest

from plimsoll.hooks import background
from plimsoll.hooks.background import begin

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
    print(os.getsid(0) == os.getpid(), held, os.getpriority(os.PRIO_PROCESS, 0), set(streams) <= {os.devnull}, file=out)
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

    is_leader, held, niceness, is_silent = told(tmp_path / "told", wait_s=20.0)

    assert (is_leader, held, is_silent) == ("True", "0", "True")
    assert int(niceness) > os.getpriority(os.PRIO_PROCESS, 0) or not is_spawned


def test_a_program_that_is_not_there_is_an_error():
    """The hook's caller writes it to its log."""
    with pytest.raises(OSError, match="No such file"):
        begin(["/nowhere/python"])
