"""Registering plimsoll in the settings of a coding agent, and taking it out again.

Every file is changed by putting text in, and a record says where: taking the same bytes out gives the file as it was. A file that
was changed since then loses plimsoll's entries and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from plimsoll.errors import FormatError, SettingsRefused
from plimsoll.hooks.json_edits import without
from plimsoll.hooks.settings import Kind, SettingsEntries, has_toml_hooks, hooks_switch, put_in, taken_out
from plimsoll.hooks.settings_files import Tool, read, settings_folder, settings_text, switched_off
from plimsoll.hooks.state import folder, key_of, write_private
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.store.paths import home_dir
from plimsoll.transcripts.atomic_files import temporary_file

_IS_WINDOWS = os.name == "nt"
_EVENTS: dict[Tool, tuple[str, ...]] = {
    "claude-code": ("PreCompact", "SessionStart"),
    "codex": ("PreCompact", "PostCompact", "SessionStart"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One settings file, as it is and as it is to be. None: it does not exist."""

    path: str
    """As the tool names it; links are followed."""
    before: bytes | None
    after: bytes | None
    record: Mapping[str, Any] | None
    """Where plimsoll's entries are in it afterwards; None when there are none."""
    hooks_off: str | None = None
    """The setting in it that keeps the tool from running any hook; None where there is none."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return self.before == self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What is to be registered, and where."""

    tool: Tool
    project: str | None = None
    """The project's folder, for the project alone; None for the user."""
    folder: str | None = None
    """The folder of a project whose own settings may switch off what is registered for the user."""
    has_mcp: bool = False
    """Whether the MCP server is registered too."""
    options: tuple[str, ...] = ()
    """More words for the hook's command line."""
    store: str | None = None


def plan_install(wanted: Registration) -> list[Change]:
    """What registering changes; files that have it already do not change. Raises SettingsRefused."""
    wanted_in = dict(_targets(wanted))
    changes = [
        _checked(_installed(path, wanted_in[path]) if path in wanted_in else _undone(path, kind), kind)
        for path, kind in _all_places(wanted)
    ]
    return _with_switches(changes, wanted)


def plan_undo(wanted: Registration) -> list[Change]:
    """What taking it out again changes. Raises SettingsRefused."""
    return [_undone(path, kind) for path, kind in _all_places(wanted)]


def apply(changes: Sequence[Change]) -> None:
    """Write every file, whole or not at all; where one fails, those before it are as they were. Raises SettingsRefused."""
    for change in changes:
        _check(change)
    done: list[Change] = []
    known = [replace(change, record=_record(change.path)) for change in changes]
    try:
        for change in changes:
            if (
                change.record is not None
            ):  # before the file: what was put in without a record cannot be taken out exactly
                _keep_record(change)
            _write(change)
            done.append(change)
    except OSError as error:
        for change in reversed(done):
            _write(Change(path=change.path, before=change.after, after=change.before, record=None))
        with suppress(OSError):
            for before in known[: len(done) + 1]:
                _keep_record(before)
        reason = error.strerror or "it cannot be written"
        at = f" ({error.filename})" if error.filename else ""
        raise SettingsRefused(changes[len(done)].path, reason + at) from error
    with suppress(OSError):  # a record of what is not there says nothing
        for change in changes:
            if change.record is None:
                _keep_record(change)


def own_program() -> list[str]:
    """The words that start this program: the script beside the interpreter, else the interpreter with the module's name."""
    script = shutil.which("plimsoll", path=str(Path(sys.executable).parent))
    return [script] if script else [sys.executable, "-P", "-m", "plimsoll"]


def _targets(wanted: Registration) -> list[tuple[str, SettingsEntries]]:
    """The files of a tool, each with what goes into it."""
    program = ["plimsoll"] if wanted.project is not None and shutil.which("plimsoll") else own_program()
    stored = [] if wanted.store is None else ["--store", wanted.store]
    mark = ["--mcp"] if wanted.has_mcp else []
    command = _command_line(wanted.tool, [*program, "hook", *wanted.options, *mark, *stored])
    server = (*program, "mcp", *stored) if wanted.has_mcp else ()
    hooks, servers = _places(wanted)
    events = _EVENTS[wanted.tool]
    kind: Kind = "toml" if servers.endswith(".toml") else "json"
    if hooks == servers:
        return [(hooks, SettingsEntries(kind=kind, events=events, command=command, server=server))]
    found = [(hooks, SettingsEntries(kind="json", events=events, command=command))]
    return [*found, (servers, SettingsEntries(kind=kind, server=server))] if server else found


def _command_line(tool: Tool, words: Sequence[str]) -> str:
    """The words as the tool's shell reads them: on Windows that is Git's bash for Claude Code, and cmd.exe for Codex."""
    return subprocess.list2cmdline(words) if _IS_WINDOWS and tool == "codex" else shlex.join(words)


def _all_places(wanted: Registration) -> list[tuple[str, Kind]]:
    """Every file that something may be in."""
    hooks, servers = _places(wanted)
    beside = [str(Path(servers).with_name("hooks.json"))] if wanted.tool == "codex" else []
    return [(path, "toml" if path.endswith(".toml") else "json") for path in dict.fromkeys((hooks, *beside, servers))]


def _places(wanted: Registration) -> tuple[str, str]:
    """The file with a tool's hooks, and the one with its MCP servers."""
    there = settings_folder(wanted.tool, wanted.project)
    if wanted.tool == "claude-code":
        own = os.environ.get("CLAUDE_CONFIG_DIR") or home_dir()
        servers = Path(own) / ".claude.json" if wanted.project is None else Path(wanted.project) / ".mcp.json"
        return str(there / "settings.json"), str(servers)
    config = str(there / "config.toml")
    raw = read(config)
    in_config = not (there / "hooks.json").exists() and raw is not None and _has_own_hooks(config, raw)
    return (config if in_config else str(there / "hooks.json")), config


def _has_own_hooks(path: str, raw: bytes) -> bool:
    """Whether a Codex configuration has hooks besides plimsoll's. Raises SettingsRefused."""
    with _readable(path):
        return has_toml_hooks(taken_out(settings_text(path, raw)[1], "toml"))


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Refuses a settings file where its text is not what its tool reads."""
    try:
        yield
    except FormatError as error:
        raise SettingsRefused(path, error.reason) from None


def _installed(path: str, entries: SettingsEntries) -> Change:
    current = read(path)
    clean = _undone(path, entries.kind)
    mark, text = settings_text(path, clean.after or b"")
    with _readable(path):
        after, spans = put_in(text, entries)
    raw = mark + after.encode()
    spans_bytes = [[len(mark + after[:place].encode()) for place in span] for span in spans]
    record = {
        "path": os.path.realpath(path),
        "digest": hashlib.sha256(raw).hexdigest(),
        "spans": spans_bytes,
        "is_new": clean.after is None,
        "folder_is_new": _made_folder(path, clean),
    }
    return Change(path=path, before=current, after=raw, record=record)


def _checked(change: Change, kind: Kind) -> Change:
    """The change, if what the file holds then can be read. Raises SettingsRefused."""
    text = settings_text(change.path, change.after or b"")[1]
    with _readable(change.path):
        if text.strip():
            hooks_switch(text, kind)
    return change


def _with_switches(changes: Sequence[Change], wanted: Registration) -> list[Change]:
    """The changes with what keeps the tool from running hooks; a file that says so and does not change is added."""
    after = {change.path: change.after for change in changes}
    off = switched_off(wanted.tool, wanted.project or wanted.folder, after, of_user=wanted.project is None)
    others = [_unchanged(path) for path in off if path not in after]
    return [replace(change, hooks_off=off.get(change.path)) for change in (*changes, *others)]


def _unchanged(path: str) -> Change:
    """A file as it is, with what was noted of it."""
    raw = read(path)
    return Change(path=path, before=raw, after=raw, record=_record(path))


def _made_folder(path: str, clean: Change) -> bool:
    """Whether the folder of the file is made for it: now, or by the installation that this one replaces."""
    known = _record(path)
    there = Path(os.path.realpath(path)).parent
    return not there.is_dir() or (clean.after is None and known is not None and bool(known.get("folder_is_new")))


def _undone(path: str, kind: Kind) -> Change:
    """A file without what plimsoll put into it."""
    current, known = read(path), _record(path)
    if current is None or (known is None and b"plimsoll" not in current):
        return Change(path=path, before=current, after=current, record=None)
    if known is not None and hashlib.sha256(current).hexdigest() == known["digest"]:
        after = without(current, known["spans"])
        is_gone = known["is_new"] and not after.strip()
        return Change(path=path, before=current, after=None if is_gone else after, record=None)
    mark, text = settings_text(path, current)
    with _readable(path):
        left = taken_out(text, kind)
    is_gone = known is not None and known["is_new"] and left.split() in ([], ["{}"], ["{", "}"])
    return Change(path=path, before=current, after=None if is_gone else mark + left.encode(), record=None)


def _check(change: Change) -> None:
    """Raises SettingsRefused, before anything is written."""
    if change.is_empty:
        return
    if read(change.path) != change.before:
        raise SettingsRefused(change.path, "it has changed meanwhile; try again")
    if change.before is None:
        return
    real = os.path.realpath(change.path)
    if not os.stat(real).st_mode & 0o222 or not os.access(real, os.W_OK):  # noqa: PTH116 - as above
        raise SettingsRefused(change.path, "it is read-only")


def _write(change: Change) -> None:
    """Write one file in the place of what is there, with its modes. Raises OSError."""
    if change.is_empty:
        return
    real = Path(os.path.realpath(change.path))
    if change.after is None:
        known = _record(change.path)
        real.unlink()
        if known is not None and known.get("folder_is_new"):
            with suppress(OSError):  # something else is in it by now
                real.parent.rmdir()
        return
    real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    old = real.stat() if change.before is not None else None
    with temporary_file(real, None if old is None else old.st_mode, change.after) as draft:
        if old is not None:
            with suppress(OSError):
                os.chown(draft, old.st_uid, old.st_gid)
        draft.replace(real)


def _record_path(path: str) -> Path:
    return folder() / f"{key_of(path)}.installed"


def _record(path: str) -> Mapping[str, Any] | None:
    """What was noted of a file; None where nothing was, or not in a usable way."""
    try:
        value = json.loads(_record_path(path).read_bytes())
        spans = [(int(start), int(end)) for start, end in value["spans"]]
        return {**value, "digest": str(value["digest"]), "spans": spans, "is_new": bool(value["is_new"])}
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _keep_record(change: Change) -> None:
    place = _record_path(change.path)
    if change.record is None:
        place.unlink(missing_ok=True)
    else:
        write_private(place, json.dumps(change.record).encode())
