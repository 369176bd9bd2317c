"""The folders and names of each tool's session files, and the commands that resume them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from plimsoll.regex import regex
from plimsoll.transcripts.values import ToolName

_NOT_IN_A_FOLDER = regex(r"[^a-zA-Z0-9]")
_PATH_SIGNS = regex(r"[/\\:]")
_DAY = regex(r"rollout-([0-9]{4})-([0-9]{2})-([0-9]{2})T")


def folder_of(tool: ToolName, env: Mapping[str, str] | None = None) -> Path:
    """The folder of a tool's sessions. The tool's settings are read from `env` (None: those of the process)."""
    settings = os.environ if env is None else env
    home = Path(settings.get("HOME") or Path.home())
    match tool:
        case "claude-code":
            return Path(settings.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"
        case "codex":
            return Path(settings.get("CODEX_HOME") or home / ".codex") / "sessions"
        case "pi":
            return Path(settings.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent") / "sessions"


def session_path(tool: ToolName, name: str, cwd: str | None, env: Mapping[str, str] | None = None) -> str:
    """The path where the tool looks for a session file of that name, started in the folder `cwd`."""
    folder, begun = folder_of(tool, env), cwd or "/"
    match tool:
        case "claude-code":
            folder /= _NOT_IN_A_FOLDER.sub("-", begun)
        case "codex":
            day = _DAY.match(name)
            folder = folder.joinpath(*day.groups()) if day else folder
        case "pi":
            folder /= f"--{_PATH_SIGNS.sub('-', begun.lstrip('/'))}--"
    return str(folder / name)


def is_in_sessions_folder(tool: ToolName, path: str) -> bool:
    """Whether a file is below the tool's sessions folder."""
    return Path(path).is_relative_to(os.path.realpath(folder_of(tool)))


def codex_name(tool: ToolName, path: str | None, session_id: str) -> str | None:
    """A name given by Codex, which contains the start in an unknown time zone; None for other names."""
    name = Path(path).name if path is not None else ""
    is_given = tool == "codex" and _DAY.match(name) is not None and name.endswith(f"{session_id}.jsonl")
    return name if is_given else None


def resume_command(tool: ToolName, session_id: str, place: str, cwd: str | None) -> str:
    """The command line that resumes the session, once its file is in place."""
    there = f"cd {shlex.quote(cwd)} && " if cwd else ""
    match tool:
        case "claude-code":
            return f"{there}claude --resume {shlex.quote(session_id)}"
        case "codex":
            return f"{there}codex resume {shlex.quote(session_id)}"
        case "pi":
            return f"{there}pi --session {shlex.quote(place)}"
