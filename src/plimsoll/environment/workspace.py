"""The computer and the project of a session, read from a few small files. Runs no program and raises nothing.

Project files are untrusted: only regular files are opened, no links, pipes or devices, and only their beginning is read.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from plimsoll.environment.layers import UNKNOWN, Package, SystemContext, WorkspaceContext
from plimsoll.formats.wire import object_in
from plimsoll.light.regex import regex
from plimsoll.limits import DEPENDENCIES_MAX, PROJECT_FILE_SIZE_BYTES_MAX, PROJECT_TEXT_CHARS_MAX

_FOLDERS_MAX: Final = 64
"""Parent folders searched for `.git` and a manifest."""

_COMMIT = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_COMMIT_CHARS: Final = 7
_BRANCH: Final = "ref: refs/heads/"
_NO_BRANCH: Final = ".invalid"
"""The branch HEAD names in a repository that keeps its references in reftables."""

_REMOTE = regex(r'\[remote\s+"([^"\n]*)"\]', re.IGNORECASE)
_URL = regex(r'url\s*=\s*"?([^"#;\s]+)', re.IGNORECASE)
_SECRET = regex(r"(?<=://)[^/\s]*@")
_PROJECT = regex(r"^\[project\][ \t]*(?:#[^\n]*)?$(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_VALUE = r"""[ \t]*=[ \t]*(?:"([^"\\\n]*)"|'([^'\n]*)')"""
_NAME = regex("^name" + _VALUE, re.MULTILINE)
_VERSION = regex("^version" + _VALUE, re.MULTILINE)
_DEPENDENCIES = regex(r"^dependencies[ \t]*=[ \t]*\[", re.MULTILINE)
_LIST = regex(r"""(?:[^\]"'#]|"[^"\n]*"|'[^'\n]*'|#[^\n]*)*+""")
_STRING = regex(r"""#[^\n]*|"([^"\n]*)"|'([^'\n]*)'""")
_REQUIREMENT = regex(r"\s*([A-Za-z0-9][A-Za-z0-9._-]{0,99})\s*(.*)", re.DOTALL)


def system_context() -> SystemContext:
    """Data on the computer and this process."""
    name = os.uname() if hasattr(os, "uname") else None
    return SystemContext(
        os_type=name.sysname if name else {"win32": "Windows"}.get(sys.platform, sys.platform),
        os_version=name.release if name else UNKNOWN,
        shell=_short(os.environ.get("SHELL") or os.environ.get("COMSPEC")) or UNKNOWN,
        runtime_version=".".join(map(str, sys.version_info[:3])),
        cwd=_here(),
    )


def workspace_context(project: str | os.PathLike[str] | None = None) -> WorkspaceContext:
    """The project of a folder (None: the current one), or of the nearest parent that has `.git` or a manifest."""
    start = Path(_here()) if project is None else project_folder(project)
    folders = [start, *start.parents][:_FOLDERS_MAX]
    root = next((folder for folder in folders if _mode(folder / ".git") is not None), None)
    inside = folders[: folders.index(root) + 1] if root else folders
    packages = ((folder, package) for folder in inside if (package := _package(folder)) is not None)
    home, package = next(packages, (None, None))
    branch, detached, remote = _git(root) if root else (None, None, None)
    return WorkspaceContext(
        project_path=str(root or home or start),
        git_branch=branch,
        git_detached_at=detached,
        git_remote=remote,
        package=package,
    )


def project_folder(project: str | os.PathLike[str]) -> Path:
    """The absolute path of a project's folder. Symbolic links are not resolved."""
    return Path(os.path.normpath(Path(_here()) / os.fsdecode(project)))


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it was removed
        return UNKNOWN


# --- git


def _git(root: Path) -> tuple[str | None, str | None, str | None]:
    """Branch, commit of a detached HEAD, and remote URL of the repository in a folder."""
    place = _git_folder(root)
    if place is None:
        return None, None, None
    common = _read(place, "commondir")
    shared = place if common is None else Path(os.path.normpath(place / common.strip()))
    head, remote = (_read(place, "HEAD") or "").strip(), _remote(_read(shared, "config") or "")
    if head.startswith(_BRANCH):
        branch = _short(head.removeprefix(_BRANCH))
        return None if branch == _NO_BRANCH else branch, None, remote
    return None, head[:_COMMIT_CHARS] if _COMMIT.fullmatch(head) else None, remote


def _git_folder(root: Path) -> Path | None:
    """The repository's folder: `.git`, or the folder that a `.git` file names (worktree, submodule)."""
    pointer = _read(root, ".git")
    if pointer is None:
        place = root / ".git"
    elif pointer.startswith("gitdir:"):
        place = Path(os.path.normpath(root / pointer.removeprefix("gitdir:").strip()))
    else:
        return None
    return place if stat.S_ISDIR(_mode(place) or 0) else None


def _remote(config: str) -> str | None:
    """The URL of `origin`, else of the first remote, without credentials. Included config files are not followed."""
    found: dict[str, str] = {}
    section = None
    for line in map(str.strip, config.splitlines()):
        if line.startswith("["):
            named = _REMOTE.match(line)
            section = named[1] if named else None
        elif section is not None and (given := _URL.match(line)):
            found.setdefault(section, given[1])
    url = found.get("origin") or next(iter(found.values()), None)
    return None if url is None else _short(_SECRET.sub("", url))


# --- manifests


def _package(folder: Path) -> Package | None:
    text = _read(folder, "pyproject.toml")
    if text is not None and (section := _PROJECT.search(text)):
        return _python_package(section[1])
    text = _read(folder, "package.json")
    return None if text is None else _node_package(text)


def _python_package(section: str) -> Package:
    """The fields of a `[project]` table in its usual spelling. Importing tomllib would take 6 ms."""
    start = _DEPENDENCIES.search(section)
    listed = _LIST.match(section, start.end()) if start else None
    requirements = [match[1] or match[2] or "" for match in _STRING.finditer(listed[0])] if listed else []
    named = [match for text in requirements if (match := _REQUIREMENT.fullmatch(text))]
    return Package(
        manifest="pyproject.toml",
        name=_value(_NAME.search(section)),
        version=_value(_VERSION.search(section)),
        dependencies=_dependencies({match[1]: match[2] for match in named}),
    )


def _value(match: re.Match[str] | None) -> str | None:
    return None if match is None else _short(match[1] if match[1] is not None else match[2])


def _node_package(text: str) -> Package | None:
    data = object_in(text)
    if data is None:
        return None
    wanted = data.get("dependencies")
    return Package(
        manifest="package.json",
        name=_short(data.get("name")),
        version=_short(data.get("version")),
        dependencies=_dependencies(wanted if isinstance(wanted, dict) else {}),
    )


def _dependencies(wanted: Mapping[str, Any]) -> dict[str, str]:
    rows = [(_short(name), _short(versions)) for name, versions in wanted.items()]
    return {name: versions for name, versions in rows[:DEPENDENCIES_MAX] if name and versions is not None}


# --- files


def _read(folder: Path, name: str) -> str | None:
    """The text of a small regular file; None for anything else, symbolic links included."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        fd = os.open(folder / name, flags)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        data = os.read(fd, PROJECT_FILE_SIZE_BYTES_MAX + 1)
    except OSError:
        return None
    finally:
        os.close(fd)
    return data.decode("utf-8", "replace") if len(data) <= PROJECT_FILE_SIZE_BYTES_MAX else None


def _mode(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except (OSError, ValueError):
        return None


def _short(value: object) -> str | None:
    return value[:PROJECT_TEXT_CHARS_MAX] if isinstance(value, str) else None
