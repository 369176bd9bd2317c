"""The commands of docs/coding-agents.md do what the page says, from top to bottom, in a user's folder of the test's own."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from plimsoll.cli.main import main

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "coding-agents.md"
LINES_MAX = 10


def test_the_commands_run(tmp_path, monkeypatch, capsys):
    """Every line of the first two blocks runs, there are few of them, and after the last the folder is as it was."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "home"))
    (tmp_path / "user").mkdir()
    blocks = re.findall(r"^```sh\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = "".join(blocks[:2]).splitlines()
    made = []

    for line in lines:
        words = shlex.split(line)
        assert words[0] == "plimsoll"
        assert main(words[1:]) == 0, line
        made.append(sorted(path.name for path in (tmp_path / "user").rglob("*") if path.is_file()))

    assert len(lines) <= LINES_MAX
    assert made[0] == made[-1] == []
    assert "settings.json" in made[1]
    assert "hooks.json" in made[2]
    assert list((tmp_path / "user").iterdir()) == []
    assert "SessionStart" in capsys.readouterr().out
