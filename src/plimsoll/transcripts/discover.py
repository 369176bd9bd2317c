"""Where the session files of Claude Code, Codex and pi are, how they are resumed, and which there are on this computer.

Reads only a few kilobytes at both ends of each file. Follows no symbolic links below a tool's own folder.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any

from plimsoll.errors import MissingExtra, PlimsollError
from plimsoll.light.dataclass import dataclass
from plimsoll.light.regex import regex
from plimsoll.store.paths import home_dir
from plimsoll.transcripts import lines
from plimsoll.transcripts.codex import kind_and_payload
from plimsoll.transcripts.source import read_head
from plimsoll.transcripts.usages import newest_prompt
from plimsoll.transcripts.values import Conversation, ToolName, Transcript

_NOT_IN_A_FOLDER = regex(r"[^a-zA-Z0-9]")
_PATH_SIGNS = regex(r"[/\\:]")
_CLAUDE_FOLDER_CHARS_MAX = 200
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_SESSION_ID = regex(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")
_DAY = regex(r"rollout-([0-9]{4})-([0-9]{2})-([0-9]{2})T")


def folder_of(tool: ToolName, env: Mapping[str, str] | None = None) -> Path:
    """The folder of a tool's sessions. The tool's settings are read from `env` (None: those of the process)."""
    settings = os.environ if env is None else env
    given = Path(settings.get("HOME") or ".")
    home = given if given.is_absolute() else home_dir()
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
            folder /= _claude_folder(folder, begun)
        case "codex":
            day = _DAY.match(name)
            folder = folder.joinpath(*day.groups()) if day else folder
        case "pi":
            folder /= f"--{_PATH_SIGNS.sub('-', begun.lstrip('/'))}--"
    return str(folder / name)


def _claude_folder(projects: Path, cwd: str) -> str:
    """Claude Code's name for the folder of a project. A long one is cut and ends in a hash, which differs between its versions."""
    name = _NOT_IN_A_FOLDER.sub(lambda found: "-" * len(_units(found[0])), cwd)
    if len(name) <= _CLAUDE_FOLDER_CHARS_MAX:
        return name
    cut = f"{name[:_CLAUDE_FOLDER_CHARS_MAX]}-"
    usual = f"{cut}{_hash(cwd)}"
    with suppress(OSError, ValueError):
        there = sorted(found.name for found in projects.iterdir() if found.name.startswith(cut))
        return there[0] if there and usual not in there else usual
    return usual


def _units(text: str) -> list[int]:
    """The UTF-16 code units of a text, which JavaScript counts as its characters."""
    return memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H").tolist()


def _hash(text: str) -> str:
    """The hash of a text that ends a cut name: 32 bits with a sign, which is left out, to the base of 36."""
    whole = reduce(lambda so_far, unit: (31 * so_far + unit) % (1 << 32), _units(text), 0)
    rest, digits = min(whole, (1 << 32) - whole), ""
    while rest or not digits:
        rest, digit = divmod(rest, 36)
        digits = _DIGITS[digit] + digits
    return digits


def file_of_session(session_id: str, cwd: str | None, env: Mapping[str, str] | None = None) -> str | None:
    """The file in which Claude Code or Codex keeps a running session, by its id; None where there is none."""
    settings = os.environ if env is None else env
    if not _SESSION_ID.fullmatch(session_id):
        return None
    usual = Path(session_path("claude-code", f"{session_id}.jsonl", cwd, settings))
    if usual.is_file():
        return str(usual)
    names = {"claude-code": f"{session_id}.jsonl", "codex": f"-{session_id}.jsonl"}
    found = (path for tool, path in _files(settings) if tool in names and path.name.endswith(names[tool]))
    return next(map(str, found), None)


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


_HEAD_BYTES = 64 * 1024
_TAIL_BYTES = 32 * 1024
_DEPTH_MAX = 5
_NO_REQUEST = regex(r"/[\w:-]{1,64}|\[Request interrupted[^\]]{0,80}\]")
"""User messages that are not requests: commands and notices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """A session file. `modified` is its time in UTC; `title` is its name, or the start of the first request.

    `tokens` is the size of the newest request as reported by its provider, if the end of the file has it.
    """

    tool: ToolName
    path: str
    session_id: str
    cwd: str | None
    modified: datetime
    size_bytes: int
    tokens: int | None = None
    title: str | None


def discover(home: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None) -> list[SessionFile]:
    """Every session file of the three tools, newest first.

    `home` is the folder to search (None: the user's). `env` has the tools' settings (None: those of the process):
    CLAUDE_CONFIG_DIR, CODEX_HOME, PI_CODING_AGENT_DIR. Unreadable folders are skipped.
    """
    settings = {
        **(os.environ if env is None else env),
        **({} if home is None else {"HOME": str(Path(home).absolute())}),
    }
    found = [session for tool, path in _files(settings) if (session := _session_file(tool, path)) is not None]
    return sorted(found, key=lambda session: (session.modified, session.path), reverse=True)


def _files(env: Mapping[str, str]) -> Iterator[tuple[ToolName, Path]]:
    for path in regular_files(folder_of("claude-code", env), depth=1):
        if path.name.endswith(".jsonl") and not path.name.startswith("agent-"):
            yield "claude-code", path
    codex = folder_of("codex", env)
    for folder in (codex, codex.with_name("archived_sessions")):
        for path in regular_files(folder, depth=_DEPTH_MAX):
            if path.name.startswith("rollout-") and path.name.endswith((".jsonl", ".jsonl.zst")):
                yield "codex", path
    for path in regular_files(folder_of("pi", env), depth=1):
        if path.name.endswith(".jsonl"):
            yield "pi", path


def regular_files(folder: Path, *, depth: int) -> Iterator[Path]:
    """The regular files below a folder, at most `depth` levels down. Links are not followed, nor errors raised."""
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except (OSError, ValueError):
        return
    for entry in entries:
        if entry.is_file(follow_symlinks=False):
            yield Path(entry.path)
        elif depth > 0 and entry.is_dir(follow_symlinks=False):
            yield from regular_files(Path(entry.path), depth=depth - 1)


def _session_file(tool: ToolName, path: Path) -> SessionFile | None:
    try:
        status = path.lstat()
        head, tail = _ends(path, status.st_size)
    except (OSError, PlimsollError):
        return None
    values, end = (lines.objects_in(data.split(b"\n")) for data in (head, tail))
    facts = _FACTS[tool](values, end)
    return SessionFile(
        tool=tool,
        path=str(path),
        session_id=facts["session_id"] or path.name.removesuffix(".zst").removesuffix(".jsonl"),
        cwd=facts["cwd"],
        modified=datetime.fromtimestamp(status.st_mtime, tz=UTC),
        size_bytes=status.st_size,
        title=lines.title(facts["title"]),
        tokens=newest_prompt(end or values),
    )


def title_of(content: Transcript | Conversation) -> str | None:
    """The title of a file that was read: the name of the session, or the start of the first request, as `discover` gives it."""
    if isinstance(content, Conversation):
        said = ({"type": "user", "message": {"content": wire.get("parts"), **wire}} for wire in content.messages)
        return lines.title(_first_prompt(said))
    return lines.title(content.meta.title or _first_prompt(lines.mapping_of(line.value) for line in content.entries))


def _ends(path: Path, size_bytes: int) -> tuple[bytes, bytes]:
    try:
        head = read_head(path, _HEAD_BYTES)
    except MissingExtra:
        return b"", b""
    if path.name.endswith(".zst") or size_bytes <= len(head):
        return head, b""
    with path.open("rb") as file:
        file.seek(max(0, size_bytes - _TAIL_BYTES))
        return head, file.read(_TAIL_BYTES)


def _claude_facts(head: list[Mapping[str, Any]], tail: list[Mapping[str, Any]]) -> dict[str, str | None]:
    named = [*reversed(tail), *reversed(head)]
    return {
        "session_id": None,  # use the file's name: lines copied from a parent session have another id
        "cwd": lines.first_text(head, "cwd") or lines.first_text(tail, "cwd"),
        "title": lines.first_text(named, "customTitle")
        or lines.first_text(named, "aiTitle")
        or _first_prompt(head)
        or lines.first_text(named, "summary"),
    }


def _first_prompt(values: Iterable[Mapping[str, Any]]) -> str | None:
    """The start of the first request, or of a command or notice if there is no request."""
    spare = None
    for value in values:
        message = lines.mapping_of(value.get("message"))
        if value.get("type") not in ("user", "message") or message.get("role") != "user" or value.get("isMeta") is True:
            continue
        text = lines.text_in(message.get("content")).strip()
        if not text or text.startswith("<"):
            continue
        if not _NO_REQUEST.fullmatch(text):
            return text
        spare = spare or text
    return spare


def _codex_facts(head: list[Mapping[str, Any]], _tail: list[Mapping[str, Any]]) -> dict[str, str | None]:
    pairs = [kind_and_payload(value) for value in head]
    meta = next((payload for kind, payload in pairs if kind == "session_meta"), {})
    prompts = [payload for kind, payload in pairs if kind == "event_msg" and payload.get("type") == "user_message"]
    return {
        "session_id": lines.maybe_text(meta.get("id")),
        "cwd": lines.maybe_text(meta.get("cwd")),
        "title": lines.first_text(prompts, "message"),
    }


def _pi_facts(head: list[Mapping[str, Any]], tail: list[Mapping[str, Any]]) -> dict[str, str | None]:
    header = next((value for value in head if value.get("type") == "session"), {})
    names = [value for value in (*reversed(tail), *reversed(head)) if value.get("type") == "session_info"]
    return {
        "session_id": lines.maybe_text(header.get("id")),
        "cwd": lines.maybe_text(header.get("cwd")),
        "title": lines.first_text(names, "name") or _first_prompt(head),
    }


_FACTS = {"claude-code": _claude_facts, "codex": _codex_facts, "pi": _pi_facts}
