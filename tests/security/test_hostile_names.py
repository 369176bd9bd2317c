"""Thousands of hostile paths and forged references in what tools print: none is opened, none is resolved."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import ReferenceNotFound

SECRET = "hunter2-and-nothing-else"
NAMES = 2_000


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one honest file, links, a pipe, and secrets beside it."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "app.py").write_text("print('honest')\n")
    (tmp_path / "outside.py").write_text(SECRET)
    (root / ".env").write_text(SECRET)
    (root / "id_rsa").write_text(SECRET)
    (root / "linked.py").symlink_to(tmp_path / "outside.py")
    (root / "linked").symlink_to(tmp_path)
    (root / "loop.py").symlink_to(root / "loop.py")
    os.mkfifo(root / "pipe.py")  # whoever opens it waits for ever
    return root


def hostile(root: Path, rng: random.Random) -> str:
    """A path that leads out of a project, to a device, a pipe, a link or a secret, spelled in one of many ways."""
    target = rng.choice(
        [
            *("/etc/passwd.conf", "/dev/zero.bin", "/dev/stdin.txt", "/proc/self/environ.txt", "/proc/self/mem.log"),
            *(f"{root}/linked.py", f"{root}/linked/outside.py", f"{root}/pipe.py", f"{root}/loop.py", f"{root}/.env"),
            *(f"{root}/../outside.py", f"{root}/id_rsa", "~/.ssh/config.txt", "../outside.py", "linked/outside.py"),
            *("C:\\Windows\\win.ini", "\\\\host\\share\\a.txt", "file:///etc/hosts.conf", "src/../../outside.py"),
        ]
    )
    twist = rng.choice(
        ["{}", "{}", "./{}", "{}\0.py", "src/{}", "{}/.", "{}\ud800.py", "//{}", "{}" + "/x" * 40 + ".py"]
    )
    dots = "../" * rng.randrange(4)
    return twist.format(f"{dots}{target}" if not target.startswith("/") else target)


@pytest.mark.slow
@pytest.mark.spec("W1-28")
@pytest.mark.skipif(sys.platform == "win32", reason="pipes and links as POSIX has them")
def test_thousands_of_hostile_paths_are_read_by_nobody(project: Path, tmp_path: Path) -> None:
    """Of 2,000 hostile paths in calls and results none is read, by a session or by `read_files`; the honest file is."""
    rng = random.Random(7)
    paths = [hostile(project, rng) for _ in range(NAMES)]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at src/app.py."}]
    for number, start in enumerate(range(0, NAMES, 100)):
        some = paths[start : start + 100]
        call = {"name": "Read", "arguments": json.dumps({"file_path": some[0]})}
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
            }
        )
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "\n".join(some)})
    with plimsoll.open("a", store=tmp_path / "store", max_tokens=4_000, memory=tmp_path / "m.db") as session:
        session.extend(messages)
        shown = json.dumps(session.view()) + json.dumps([hit.to_dict() for hit in session.recall("outside secret app")])
    mentioned = plimsoll.files_mentioned(messages, limit=NAMES)
    read = plimsoll.read_files([*mentioned, *paths], root=project)

    assert SECRET not in shown
    assert [file.content for file in read if file.content] == ["print('honest')\n"]
    assert all(file.problem for file in read if not file.content)


@pytest.mark.slow
def test_thousands_of_forged_references_resolve_to_nothing(tmp_path: Path) -> None:
    """Of 2,000 names that look like references, also true ones of another session, none gives a text."""
    rng = random.Random(9)
    with plimsoll.open("theirs", store=tmp_path) as theirs:
        theirs.extend([{"role": "user", "content": f"{SECRET} {number}"} for number in range(20)])
        names = [hit.reference for hit in theirs.recall("hunter2")] or ["m0.0-00000000"]
        blob = theirs.put_blob(SECRET.encode())
    with plimsoll.open("mine", store=tmp_path) as session:
        session.extend([{"role": "user", "content": f"harbour {number}"} for number in range(20)])
        digests = [f"{rng.getrandbits(32):08x}" for _ in range(NAMES)]
        forged = [
            *names,
            blob,
            blob[:16],
            "c0-00000000",
            "../theirs/m0",
            "m0.0",
            "m-1",
            "m99",
            "",
            "\0",
            "mem-000000000000",
        ]
        forged += [f"m{rng.randrange(30)}.{rng.randrange(3)}-{digest}" for digest in digests]
        for name in forged:
            with pytest.raises(ReferenceNotFound):
                session.read(name)
        text = "\n".join(f"[shortened, reference {name} 00000000]" for name in forged[:200])
        session.append({"role": "assistant", "content": text})
        assert SECRET not in json.dumps(session.view())
