"""What a command's process does not wait for, at its start and at its end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from plimsoll.limits import COUNT_TABLE_WORK_MAX

RUN = """
import atexit, gc, sys
from plimsoll.cli.main import main
sys.argv = ["plimsoll", *sys.argv[1:]]
assert main() == 0
absent = [name for name in ("splintr", "pkgutil", "importlib.util", "inspect", "shutil", "pathlib", "datetime") if name not in sys.modules]
atexit._run_exitfuncs()
print("\\n" + " ".join(absent), gc.get_freeze_count() > 1_000)
"""


def ended(*words: str) -> str:
    """The last line of a process that runs a command: what it did not load, and whether the collector has nothing left to do."""
    done = subprocess.run([sys.executable, "-c", RUN, *words], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "more"), [(["fit", "--max-tokens", "900"], " pathlib datetime"), (["count"], ""), (["inspect"], "")]
)
def test_a_command_on_a_small_file_loads_no_tokenizer(tmp_path: Path, words: list[str], more: str) -> None:
    """Nor other modules that take milliseconds to import; and when it ends nothing is collected before its memory is given back."""
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([{"role": "user", "content": "The tide is high; größer. " * 99}] * 9), "utf-8")
    assert ended(words[0], str(file), *words[1:]) == f"splintr pkgutil importlib.util inspect shutil{more} True"


COLLECTING = """
import gc, sys
from plimsoll.cli.main import main
before = gc.get_threshold()[0]
sys.argv = ["plimsoll", *sys.argv[1:]]
assert main() == 0
print("\\n" + ("less" if gc.get_threshold()[0] > 20 * before else "as ever"))
"""


@pytest.mark.parametrize(
    ("words", "collects"),
    [(["count", "--help"], "less"), (["serve", "--help"], "as ever"), (["mcp", "--help"], "as ever")],
)
def test_a_command_that_ends_collects_less_garbage(words: list[str], collects: str) -> None:
    """A command that goes on until it is stopped leaves the collector as it is, so that its memory stays small."""
    done = subprocess.run(
        [sys.executable, "-c", COLLECTING, *words], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == collects


def test_a_command_on_a_large_file_loads_the_tokenizer(tmp_path: Path) -> None:
    """A file that is more than the table counts is counted by the tokenizer."""
    file = tmp_path / "chat.json"
    file.write_text(
        json.dumps([{"role": "user", "content": "The tide is high. " * (COUNT_TABLE_WORK_MAX // 17)}]), "utf-8"
    )
    assert "splintr" not in ended("count", str(file))


ENDING = """
import atexit, runpy, threading, time
atexit.register(print, "registered before")
threading.Thread(target=lambda: (time.sleep(0.2), print("a thread"))).start()
runpy.run_module("plimsoll", run_name="__main__")
"""


@pytest.mark.parametrize(("words", "status"), [(["--help"], 0), (["count", "none.json"], 1), (["unknown"], 2)])
def test_a_command_ends_when_nothing_is_left_to_do(words: list[str], status: int, tmp_path: Path) -> None:
    """Threads have ended, and what was registered for the end of the process before the command began is done."""
    done = subprocess.run(
        [sys.executable, "-c", ENDING, *words], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
    )
    said = done.stdout.splitlines()
    assert said[-2:] == ["a thread", "registered before"]
    assert (len(said) > 20) == (words == ["--help"])
    assert done.returncode == status
