"""Valid session names, the folder names derived from them, and the location of the data directory."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Final

from plimsoll.errors import SettingError, UnsafeName
from plimsoll.light.regex import regex

_NAME = regex(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
_FOLDER = regex(r"([a-z0-9_-][a-z0-9._-]{0,63})(?:~([0-9a-f]{1,16}))?")
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"com{digit}" for digit in range(10)), *(f"lpt{digit}" for digit in range(10))}
)
"""Device names on Windows, with or without an extension."""

_TAIL_CHARS_MAX: Final = 32


def safe_name(name: object) -> str:
    """Return the name unchanged if it is a valid session name. Raises UnsafeName; names are never rewritten.

    Valid: 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-', no '.' at either end, no '..', and not a Windows device.
    """
    if not isinstance(name, str):
        raise UnsafeName(f"<{type(name).__name__}>")
    if not _NAME.fullmatch(name) or ".." in name or name.endswith("."):
        raise UnsafeName(name)
    if name.split(".", 1)[0].lower() in _DEVICES:
        raise UnsafeName(name)
    return name


def folder_of(name: str) -> str:
    """The folder of a session: the lower-case name and, if it has capitals, '~' and a hexadecimal bit mask of their positions.

    Names that differ only in case thus get distinct folders on any file system, and `name_of` inverts the mapping. No name
    contains '~'.
    """
    capitals = sum(1 << index for index, char in enumerate(name) if "A" <= char <= "Z")
    return f"{name.lower()}~{capitals:x}" if capitals else name


def name_of(folder: str) -> str | None:
    """The session name of a folder; None if no name maps to it."""
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
    """The user's data directory: $PLIMSOLL_HOME, else `plimsoll` in $XDG_DATA_HOME or ~/.local/share.

    Raises SettingError if $PLIMSOLL_HOME is not an absolute path or the home directory is unknown.
    """
    home = os.environ.get("PLIMSOLL_HOME")
    if home:
        return _absolute("PLIMSOLL_HOME", home)
    shared = os.environ.get("XDG_DATA_HOME")
    if shared and Path(shared).is_absolute():  # the XDG specification says to ignore a relative path
        return Path(shared, "plimsoll")
    return home_dir() / ".local" / "share" / "plimsoll"


def home_dir() -> Path:
    """The user's home: $HOME where that is an absolute path, else what the system knows of the user.

    An empty or relative $HOME would lead to the root or into the current folder. Raises SettingError where there is none.
    """
    given = os.environ.get("HOME")
    try:
        if given is None or Path(given).is_absolute():
            return Path.home()
        import pwd  # noqa: PLC0415 - only some systems have it

        found = Path(pwd.getpwuid(os.getuid()).pw_dir)
    except (RuntimeError, ImportError, KeyError):
        found = Path()
    if not found.is_absolute():
        raise SettingError("PLIMSOLL_HOME", "must be set, because there is no home directory")
    return found


def sessions_dir(project: str | os.PathLike[str] | None = None) -> Path:
    """The default directory of sessions: `sessions` in the data directory, or a project's folder below `projects`."""
    if project is None:
        return data_dir() / "sessions"
    return data_dir() / "projects" / project_folder(project)


def absolute(path: str | os.PathLike[str], *, field: str) -> str:
    """The absolute path, without following links. Raises SettingError for a relative one where the current folder is gone."""
    try:
        return os.path.abspath(os.fspath(path))  # noqa: PTH100 - resolving would follow a link unseen
    except OSError:
        raise SettingError(
            field, "is a relative path, and the current folder is gone; an absolute one is needed"
        ) from None


def project_folder(project: str | os.PathLike[str]) -> str:
    """The folder name for a project: a readable part of its path and 128 bits of the path's SHA-256.

    Distinct paths get distinct folders. Symbolic links are resolved first, so a project has one folder however it is reached.
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
