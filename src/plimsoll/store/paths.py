"""Names and places: which session names are allowed, what their folders are called, and where the data directory is."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Final

from plimsoll.errors import SettingError, UnsafeName
from plimsoll.regex import regex

_NAME = regex(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
_FOLDER = regex(r"([a-z0-9_-][a-z0-9._-]{0,63})(?:~([0-9a-f]{1,16}))?")
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"com{digit}" for digit in range(10)), *(f"lpt{digit}" for digit in range(10))}
)
"""Names that Windows takes for devices, with any extension."""

_TAIL_CHARS_MAX: Final = 32


def safe_name(name: object) -> str:
    """The name, unchanged, if it may name a session. Raises UnsafeName. Nothing is ever made safe by rewriting it.

    One to 64 of A-Z, a-z, 0-9, '.', '_' and '-'; not beginning or ending with '.', without '..', and not a Windows
    device.
    """
    if not isinstance(name, str):
        raise UnsafeName(f"<{type(name).__name__}>")
    if not _NAME.fullmatch(name) or ".." in name or name.endswith("."):
        raise UnsafeName(name)
    if name.split(".", 1)[0].lower() in _DEVICES:
        raise UnsafeName(name)
    return name


def folder_of(name: str) -> str:
    """The folder of a session: its name in lower case and, if it has capitals, '~' and where they are.

    The places are a hexadecimal number with bit i set for a capital at i. So names that differ only by case get folders
    that differ by more, on any file system, and the name can be read back from the folder. '~' is in no name.
    """
    capitals = sum(1 << index for index, char in enumerate(name) if "A" <= char <= "Z")
    return f"{name.lower()}~{capitals:x}" if capitals else name


def name_of(folder: str) -> str | None:
    """The name a folder belongs to; None for one that no session has."""
    match = _FOLDER.fullmatch(folder)
    if match is None:
        return None
    capitals = int(match[2] or "0", 16)
    name = "".join(char.upper() if capitals >> index & 1 else char for index, char in enumerate(match[1]))
    try:
        return name if folder_of(safe_name(name)) == folder else None
    except UnsafeName:
        return None


def data_dir() -> Path:
    """The user's data directory: $PLIMSOLL_HOME, else plimsoll in $XDG_DATA_HOME or ~/.local/share.

    Raises SettingError when a variable is not an absolute path, or nobody knows the home directory.
    """
    home = os.environ.get("PLIMSOLL_HOME")
    if home:
        return _absolute("PLIMSOLL_HOME", home)
    shared = os.environ.get("XDG_DATA_HOME")
    if shared and Path(shared).is_absolute():  # the XDG specification: a relative path is invalid and must be ignored
        return Path(shared, "plimsoll")
    try:
        return Path.home() / ".local" / "share" / "plimsoll"
    except RuntimeError:
        raise SettingError("PLIMSOLL_HOME", "must be set, because there is no home directory") from None


def sessions_dir(project: str | os.PathLike[str] | None = None) -> Path:
    """Where sessions are kept by default: `sessions` in the data directory, or a folder of a project's own in
    `projects`.
    """
    if project is None:
        return data_dir() / "sessions"
    return data_dir() / "projects" / project_folder(project)


def project_folder(project: str | os.PathLike[str]) -> str:
    """A folder name for a project's directory: the end of its path, to read, and 128 bits of its SHA-256, to tell it
    apart.

    Two paths never share a folder, whatever characters, length or case they have. Links in the path are resolved, so a
    project reached another way is the same project.
    """
    try:
        path = os.path.realpath(project)
        digest = hashlib.sha256(os.fsencode(path)).hexdigest()
    except (ValueError, OSError) as error:
        raise SettingError("project", f"not a path: {error}") from None
    tail = re.sub(r"[^a-z0-9]+", "-", Path(path).name.lower())[:_TAIL_CHARS_MAX].strip("-")
    return f"{tail or 'root'}-{digest[:32]}"


def _absolute(variable: str, value: str) -> Path:
    path = Path(value)
    if not path.is_absolute():
        raise SettingError(variable, "must be an absolute path")
    return path
