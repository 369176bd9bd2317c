"""The settings files of coding agents: where they are, how they are read, and which of them decides whether hooks run."""

from __future__ import annotations

import codecs
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from plimsoll.errors import FormatError, SettingsRefused
from plimsoll.hooks.settings import Kind, hooks_switch, managed_switch
from plimsoll.store.paths import home_dir

Tool: TypeAlias = Literal["claude-code", "codex"]

_BYTES_MAX = 64 * 1024 * 1024
_MANAGED_BY_PLATFORM = {"darwin": "/Library/Application Support/ClaudeCode", "win32": "C:/Program Files/ClaudeCode"}
_MANAGED = _MANAGED_BY_PLATFORM.get(sys.platform, "/etc/claude-code")
"""The folder of the settings that an administrator gives Claude Code: https://code.claude.com/docs/en/settings."""


def settings_folder(tool: Tool, project: str | None) -> Path:
    """The folder of a tool's settings: a project's, or the user's if `project` is None."""
    name, variable = (".claude", "CLAUDE_CONFIG_DIR") if tool == "claude-code" else (".codex", "CODEX_HOME")
    return Path(project) / name if project is not None else Path(os.environ.get(variable) or home_dir() / name)


def read(path: str) -> bytes | None:
    """A file's bytes, links followed; None where there is none. Raises SettingsRefused."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - a Path would be made only to be taken apart
            raise SettingsRefused(path, "it is not a file")
        with Path(path).open("rb") as file:
            raw = file.read(_BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsRefused(path, error.strerror or "it cannot be read") from None
    if len(raw) > _BYTES_MAX:
        raise SettingsRefused(path, "it is too large for settings")
    return raw


def settings_text(path: str, raw: bytes) -> tuple[bytes, str]:
    """A byte-order mark, and the text after it. Raises SettingsRefused."""
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    try:
        return mark, raw[len(mark) :].decode()
    except UnicodeDecodeError:
        raise SettingsRefused(path, "it is not UTF-8") from None


def switched_off(
    tool: Tool, project: str | None, known: Mapping[str, bytes | None], *, of_user: bool
) -> dict[str, str]:
    """The files that keep a tool from running the hooks registered, each with its setting.

    Of the files that apply, the one that comes first in the tool's order decides. Files that cannot be read decide nothing.

    Args:
        tool: The tool.
        project: The folder of the project whose settings apply, too; None: none.
        known: What files will hold, by path.
        of_user: Whether the hooks are registered for the user, so that they run in other projects as well.

    """
    chains = [_files(tool, project), *([_files(tool, None)] if of_user else [])]
    found = (_decided(chain, known) for chain in chains)
    return dict(filter(None, found))


def _files(tool: Tool, project: str | None) -> Iterator[tuple[str, Kind]]:
    """The files that may switch hooks off, those that decide before others first."""
    local: tuple[str, ...] = ("settings.local.json", "settings.json") if tool == "claude-code" else ("config.toml",)
    kind: Kind = "json" if tool == "claude-code" else "toml"
    if tool == "claude-code":
        yield f"{_MANAGED}/managed-settings.json", kind
    if project is not None:
        yield from ((str(settings_folder(tool, project) / name), kind) for name in local)
    yield str(settings_folder(tool, None) / local[-1]), kind


def _decided(files: Iterator[tuple[str, Kind]], known: Mapping[str, bytes | None]) -> tuple[str, str] | None:
    """The first file that says whether hooks run, if it says that they do not, and the setting that says so."""
    for path, kind in files:
        if (found := _switch(path, kind, known)) is not None:
            return None if found[1] else (path, found[0])
    return None


def _switch(path: str, kind: Kind, known: Mapping[str, bytes | None]) -> tuple[str, bool] | None:
    try:
        raw = known[path] if path in known else read(path)
        text = settings_text(path, raw or b"")[1]
        find = managed_switch if path.startswith(_MANAGED) else hooks_switch
        return find(text, kind) if text.strip() else None
    except (FormatError, SettingsRefused):
        return None
