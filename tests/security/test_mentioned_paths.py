"""A path in a message is words: whoever wrote it, nothing opens it, and nothing of what it names goes anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import plimsoll

SECRET = "hunter2-and-nothing-else"
BUDGET = 3_000

WATCHING: list[set[str]] = []
"""The paths that are watched now."""
OPENED: list[tuple[str, str]] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if not WATCHING or event.partition(".")[0] not in ("open", "os", "subprocess", "shutil", "socket", "pathlib"):
        return
    OPENED.extend((event, path) for path in WATCHING[0] if any(path in str(argument) for argument in arguments))


@pytest.fixture
def watched(tmp_path: Path):
    """Files that are mentioned and none of anybody's business: what opens them is noted in OPENED."""
    place = tmp_path / "private"
    place.mkdir()
    for name in ("id_rsa", "notes.md", ".env"):
        (place / name).write_text(SECRET)
    os.mkfifo(place / "pipe.log")  # whoever opens it waits for ever
    (place / "linked.py").symlink_to(place / "notes.md")
    paths = [str(place / name) for name in ("id_rsa", "notes.md", ".env", "pipe.log", "linked.py")]
    sys.addaudithook(_watch)
    WATCHING.append(set(paths))
    yield paths
    WATCHING.clear()
    OPENED.clear()


def conversation(paths: list[str]) -> list[dict[str, Any]]:
    """Everybody names the paths: the user, the model, calls, and what tools print, as relative paths and references too."""
    messages: list[dict[str, Any]] = []
    for number, path in enumerate(paths * 6):
        near = os.path.relpath(path)
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {
                "name": ("Read", "Edit", "bash")[number % 3],
                "arguments": json.dumps({"path": path, "command": f"cat {near}"}),
            },
        }
        messages += [
            {"role": "user", "content": f"Look at {path}, file://{path} and @{near}; see [it]({path}:1). " * 5},
            {"role": "assistant", "content": f"I read {path} first.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"{path}:1: import\nopen {near} now\n" * 40},
        ]
    return messages


@pytest.mark.slow
@pytest.mark.spec("W1-28")
@pytest.mark.skipif(sys.platform == "win32", reason="pipes and links as POSIX has them")
def test_nothing_opens_what_a_message_names(watched: list[str], tmp_path: Path) -> None:
    """Fitting, a whole session's life and its exports open no file that a message names, and ask no model about it (W1-28)."""
    messages, asked = conversation(watched), []
    place = tmp_path / "store"

    def summarizer(request: Any) -> str:
        asked.append(json.dumps(request.prompt))
        return "They looked at some files."

    made = [plimsoll.fit(messages, max_tokens=BUDGET, summarizer=summarizer).messages]
    with plimsoll.open("a", store=str(place), max_tokens=BUDGET, summarizer=summarizer, project=False) as session:
        for message in messages:
            session.append(message)
            made.append(session.view())
        session.preview()
        session.compact(focus=watched[0])
        made.append([hit.text for hit in session.recall(watched[0])])
        session.files()
        session.context()
        made += [session.export(to=to).lines for to in ("claude-code", "codex", "pi")]
    with plimsoll.open("a", store=str(place)) as session:
        made.append(session.view())

    assert OPENED == []
    assert len(asked) > 2
    assert SECRET not in json.dumps(made) + "".join(asked)
    assert all(SECRET.encode() not in file.read_bytes() for file in place.rglob("*") if file.is_file())


def test_the_watch_would_notice(watched: list[str]) -> None:
    """The test above is no blind one: opening a watched file in any way is seen."""
    Path(watched[1]).read_text()
    with os.fdopen(os.open(watched[0], os.O_RDONLY)):
        pass
    subprocess.run(["cat", watched[2]], check=True, capture_output=True)

    assert {path for _, path in OPENED} == {watched[0], watched[1], watched[2]}
