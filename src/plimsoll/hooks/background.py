"""A process that goes on when the hook has ended, and gives way to the agent."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

_NICENESS = 10
_STEP_S = 0.01


def begin(words: Sequence[str], *, wait_s: float = 0.0) -> None:
    """Start a program without standard streams, and wait for it at most `wait_s`. Raises OSError."""
    if hasattr(os, "posix_spawn") and sys.platform != "win32":
        with suppress(NotImplementedError):  # a system that cannot make a session of its own this way
            _wait(_spawned(words), wait_s)
            return
    _begin_elsewhere(words, wait_s)


def give_way() -> None:
    """Go on at a low priority. To be called without a lock that a hook waits for: on a busy computer it would wait long."""
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(_NICENESS)


def _spawned(words: Sequence[str]) -> int:
    """The process's id. `subprocess` does the same, and takes longer to import than this hook takes for an event."""
    _close_on_exec()
    streams = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
    return os.posix_spawn(words[0], list(words), os.environ, file_actions=streams, setsid=True)


def _close_on_exec() -> None:
    """Keep what the agent left open to this process from the next one: it may wait for the end of such a pipe."""
    with suppress(OSError):
        for name in os.listdir("/dev/fd"):  # noqa: PTH208 - names are all that is needed
            with suppress(OSError, ValueError):  # the listing itself
                if int(name) > 2:
                    os.set_inheritable(int(name), False)  # noqa: FBT003 - it takes nothing else


def _wait(pid: int, wait_s: float) -> None:
    end = time.monotonic() + wait_s
    with suppress(ChildProcessError):  # it has ended, and the agent ignores SIGCHLD: nothing is left to be waited for
        while time.monotonic() < end and not os.waitpid(pid, os.WNOHANG)[0]:
            time.sleep(_STEP_S)


def _begin_elsewhere(words: Sequence[str], wait_s: float) -> None:
    import subprocess  # noqa: PLC0415 - as above

    none = subprocess.DEVNULL
    done = subprocess.Popen(list(words), stdin=none, stdout=none, stderr=none, start_new_session=True)  # noqa: S603 - this program itself
    try:
        done.wait(wait_s)
    except subprocess.TimeoutExpired:
        done.returncode = 0  # it goes on by itself, and nobody waits for it
