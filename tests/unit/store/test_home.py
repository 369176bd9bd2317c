"""Where the user's files are when the environment says nothing useful of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import SettingError
from plimsoll.hooks.install import Registration, plan_install
from plimsoll.store.paths import data_dir, home_dir
from plimsoll.transcripts.discover import folder_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="$HOME is that of POSIX")


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that knows the user, and no other settings."""
    import pwd

    for name in ("PLIMSOLL_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    keeper = pwd.struct_passwd(("keeper", "x", 1, 1, "", "/users/keeper", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: keeper)


@pytest.mark.parametrize("given", ["", "here", "./here", None])
def test_a_home_that_is_no_absolute_path_leads_nowhere_else(given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither into the root nor into the current folder: what the system knows of the user holds for all that looks for it."""
    monkeypatch.delenv("HOME") if given is None else monkeypatch.setenv("HOME", given)

    assert home_dir() == Path("/users/keeper")
    assert data_dir() == Path("/users/keeper/.local/share/plimsoll")
    assert folder_of("claude-code") == Path("/users/keeper/.claude/projects")
    assert plan_install(Registration(tool="codex"))[0].path == "/users/keeper/.codex/hooks.json"


def test_a_user_of_whom_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that says what to set."""

    def unknown(_: int) -> Any:
        raise KeyError

    monkeypatch.setenv("HOME", "")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(SettingError, match="PLIMSOLL_HOME"):
        data_dir()


def test_a_folder_that_is_given_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is below the current one, as every path is."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "user" / ".claude" / "projects" / "-a" / "one.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text('{"type":"user","cwd":"/a","message":{"role":"user","content":"Lights."}}\n')

    assert [found.path for found in plimsoll.discover("user")] == [os.fspath(file)]


@pytest.mark.parametrize(
    "use",
    [
        lambda: plimsoll.open_store("here"),
        lambda: plimsoll.open_store("sqlite:///here.db"),
        lambda: plimsoll.open_memory("here.db"),
        lambda: plimsoll.open_memory("memory:", project=True),
    ],
    ids=["folder", "database", "memories", "project"],
)
def test_a_current_folder_that_is_gone(use: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be below it is refused in words, and an absolute path serves as ever."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(SettingError, match="the current folder"):
        use()
    assert plimsoll.sessions(tmp_path / "store") == []
    with plimsoll.open_memory(tmp_path / "memory.db") as memories:
        assert memories.list() == []
