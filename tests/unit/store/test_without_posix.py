"""On a system without POSIX's calls, such as Windows, everything but stores on disk works, and those say what is needed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[3] / "src"

LACKING = """
import os, sys
import asyncio, getpass, logging, multiprocessing, platform, random, shutil, sqlite3, subprocess, tempfile  # they ask what there is
for module in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules[module] = None
for name in (
    "O_NOFOLLOW O_CLOEXEC O_NONBLOCK O_DIRECTORY pread pwrite fdatasync fchmod fchown getuid geteuid getgid uname register_at_fork "
    "statvfs posix_fallocate sched_getaffinity"
).split():
    if hasattr(os, name):
        delattr(os, name)
os.supports_dir_fd = set()
os.supports_follow_symlinks = set()


def refusing(call):
    def refused(*arguments, dir_fd=None, **options):
        if dir_fd is not None:
            raise NotImplementedError("dir_fd unavailable on this platform")
        return call(*arguments, **options)

    return refused


for name in ("open", "mkdir", "unlink", "rmdir", "stat"):
    setattr(os, name, refusing(getattr(os, name)))
"""
"""Takes away what Windows does not have."""


def run(program, folder, *, status=0):
    """The output of a program on such a system."""
    done = subprocess.run(
        [sys.executable, "-c", LACKING + textwrap.dedent(program)],
        cwd=folder,
        env={
            "PYTHONPATH": str(SOURCES),
            "PATH": "",
            "PLIMSOLL_HOME": str(folder / "home"),
            "SYSTEMROOT": "",
            "HOME": str(folder),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_what_needs_no_disk_works(tmp_path):
    """`fit`, sessions in memory, recall, import of a file and export work as everywhere; `read_files` says what it needs."""
    printed = run(
        """
        import json, plimsoll
        messages = [{"role": ("user", "assistant")[n % 2], "content": f"entry {n} of the log " * 40} for n in range(40)]
        assert plimsoll.count_tokens(plimsoll.fit(messages, max_tokens=2_000).messages) <= 2_000
        with plimsoll.open(store="memory:", max_tokens=2_000) as session:
            session.extend(messages)
            session.view()
            assert session.recall("entry 3")
            assert session.fork().history() == messages
        open("chat.json", "w").write(json.dumps(messages))
        with plimsoll.import_file("chat.json", store="memory:") as session:
            assert session.export(to="claude-code").data
            session.export(to="pi", path="out.jsonl")
        assert plimsoll.inspect("chat.json", max_tokens=2_000).html()
        try:
            plimsoll.read_files(["chat.json"], root=".")
        except plimsoll.errors.SettingError as error:
            print(error)
        """,
        tmp_path,
    )
    assert "WSL" in printed


@pytest.mark.slow
@pytest.mark.parametrize("store", ["None", "'folder'", "'sqlite:///file.db'"])
def test_stores_on_disk_say_what_they_need(tmp_path, store):
    """A session on disk is refused with the systems that have it, and what works instead; nothing is made."""
    printed = run(
        f"""
        import plimsoll
        try:
            plimsoll.open("pier", store={store})
        except plimsoll.errors.StoreUnusable as error:
            print(error)
        """,
        tmp_path,
    )
    assert "WSL" in printed
    assert 'store="memory:"' in printed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_command_line_says_it_in_one_line(tmp_path):
    """Commands on files work; one on sessions ends with status 1 and one line."""
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "hello"}]')
    fit = "from plimsoll.cli.main import main; sys.exit(main(['fit', 'chat.json', '--max-tokens', '2k']))"
    assert "hello" in run(fit, tmp_path)
    said = run("from plimsoll.cli.main import main; sys.exit(main(['import', 'chat.json']))", tmp_path, status=1)
    assert said.count("\n") == 1
    assert "WSL" in said
