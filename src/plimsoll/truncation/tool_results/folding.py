"""Lists whose lines repeat what is before them, written shorter: commits on a line each, paths by their folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.light.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMIT = regex(r"commit ([0-9a-f]{7,64})(?: \([^)]{0,400}\))?\s{0,8}\Z")
_HEADER = regex(r"(Author|AuthorDate|Date|Commit|CommitDate|Merge): {1,8}(.{0,200})")
_PATH = regex(
    r"(?:[0-7]{6} (?:blob|tree|commit) [0-9a-f]{40,64}(?: {1,12}[0-9-]{1,15})?\t)?(\.{0,2}/?[\w.@+-][^\t:]{0,400})\Z"
)
_FOLDER_HEAD = regex(r"(\S.{0,400}):\Z")
_LONG_ENTRY = regex(
    r"([-dlbcps])[-rwxsStT]{9}[.+@]? +[0-9]+ +\S+ +\S+ +[0-9.,]+[KMGT]? +\S+ +\S+ +\S+ (.{1,400}?)(?: -> .*)?\Z"
)
_TOTAL = regex(r"total [0-9.]+[KMGT]?\Z")
_MAIL = regex(r" <[^<>]{0,200}>\s{0,8}\Z")
_HASH_CHARS = 10
_PATHS_SHARE = 0.9
_FOLDERS_MIN = 3


def is_history(lines: Sequence[str]) -> bool:
    """Whether lines are what `git log` writes."""
    return len(lines) > 1 and _COMMIT.match(lines[0]) is not None and _HEADER.match(lines[1]) is not None


def fold_commits(lines: Sequence[str]) -> list[str]:
    """Each commit's hash, subject, author and date on one line, its other lines below."""
    folded: list[str] = []
    head: list[str] = []
    for line in lines:
        commit = _COMMIT.match(line)
        header = None if commit or not head else _HEADER.match(line)
        if commit:
            folded += [" ".join(head)] if head else []
            head = [commit[1][:_HASH_CHARS]]
        elif header:
            head += [_MAIL.sub("", header[2])] if header[1] in {"Author", "Date"} else []
        elif head and line.strip():
            folded.append(f"{head[0]} {line.strip()}" + (f" ({', '.join(head[1:])})" if head[1:] else ""))
            head = []
        elif not head and line.strip():
            folded.append(line)
    return folded + ([" ".join(head)] if head else [])


_ITSELF = (".", "..")


def recursive_paths(lines: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """The paths that `ls -R` or `ls -lR` lists, folders with a slash, and the other lines; None for other lists."""
    paths, others = [], []
    folder, folders, is_new = "", 0, True
    for line in (line for line in lines if not _TOTAL.match(line)):
        head = _FOLDER_HEAD.match(line[:500]) if is_new else None
        entry = _LONG_ENTRY.match(line[:500])
        if head:
            folder, folders = head[1].rstrip("/"), folders + 1
        elif entry and folders:
            paths += [f"{folder}/{entry[2]}" + ("/" if entry[1] == "d" else "")] if entry[2] not in _ITSELF else []
        elif folders and _PATH.match(line[:500]) and "/" not in line:
            paths += [f"{folder}/{line}"] if line not in _ITSELF else []
        elif line.strip():
            others.append(line)
        is_new = not line.strip()
    is_list = folders >= _FOLDERS_MIN and len(paths) >= _PATHS_SHARE * (len(paths) + len(others))
    return (paths, others) if is_list else None


def paths_of(lines: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """The paths that lines list, one each, and the few other lines; None if it is another listing or hardly shares folders."""
    paths, others = [], []
    for line in lines:
        found = _PATH.match(line[:500])
        if found:
            paths.append(found[1])
        elif line.strip():
            others.append(line)
    deep = sum("/" in path.rstrip("/") for path in paths)
    is_of_paths = paths and deep > len(paths) / 2 and len(paths) >= _PATHS_SHARE * (len(paths) + len(others))
    return (paths, others) if is_of_paths else None


def fold_paths(paths: Sequence[str]) -> list[tuple[int, str]]:
    """A line for each folder: how many paths are below it, and the names in it; with its depth.

    Folders are in the order in which they are met.
    """
    below: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for path in paths:
        folder, _, name = path.rstrip("/").rpartition("/")
        names.setdefault(folder, []).append(name)
        while folder:
            below[folder] = below.get(folder, 0) + 1
            names.setdefault(folder, [])
            folder = folder.rpartition("/")[0]
    lines = [(0, " ".join(names.pop("", ())))]
    lines += [
        (folder.count("/"), f"{folder}/ ({below[folder]:,}): {' '.join(inside)}".rstrip(": "))
        for folder, inside in names.items()
    ]
    return [line for line in lines if line[1]]
