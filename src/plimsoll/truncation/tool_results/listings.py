"""Lists of files: which entries stay first, and paths written shorter, by their folder."""

from __future__ import annotations

from collections.abc import Sequence

from plimsoll.light.brief import pluralize
from plimsoll.light.regex import regex
from plimsoll.truncation.tool_results.errors import find_errors
from plimsoll.truncation.tool_results.lines import Look, rank_ends

_PATH = regex(
    r"(?:[0-7]{6} (?:blob|tree|commit) [0-9a-f]{40,64}(?: {1,12}[0-9-]{1,15})?\t)?(\.{0,2}/?[\w.@+-][^\t:]{0,400})\Z"
)
_FOLDER_HEAD = regex(r"(\S.{0,400}):\Z")
_LONG_ENTRY = regex(
    r"([-dlbcps])[-rwxsStT]{9}[.+@]? +[0-9]+ +\S+ +\S+ +[0-9.,]+[KMGT]? +\S+ +\S+ +\S+ (.{1,400}?)(?: -> .*)?\Z"
)
_TOTAL = regex(r"total [0-9.]+[KMGT]?\Z")
_PATHS_SHARE = 0.9
_FOLDERS_MIN = 3
LISTED = regex(
    r"[-dlbcps][-rwxsStT]{9}|[0-7]{6} (?:blob|tree|commit) |[0-9.]{1,8}[KMGT]?\t\S+\Z|\s{0,40}[│├└]|total [0-9]+\Z"
    r"|\.{0,2}/?[\w.@+-]+(?:/[\w.@+ -]+)*/?\Z"
)
"""The start of a line that is an entry of a list."""
_INDENT = regex(r"[\s│├└─|`-]*")
_DEPTH_MAX = 12


def _listing_ranks(lines: Sequence[str]) -> list[int]:
    """0 the first two lines and the last, else depth in the tree plus the logarithm of the siblings before it.

    So the top of the tree comes before its depths, and all folders come before the many files of one.
    """
    siblings: dict[str, int] = {}
    positions = {line: _tree_position(line) for line in dict.fromkeys(lines)}
    ranked = []
    for line in lines:
        depth, folder = positions[line]
        before = siblings[folder] = siblings.get(folder, 0) + 1
        ranked.append(depth + before.bit_length())
    for error in find_errors(lines):
        if not _is_entry(lines[error.first]):
            ranked[error.first] = 0
    rank_ends(ranked, 0, 2, 1)
    return ranked


def _is_entry(line: str) -> bool:
    """Whether a line is an entry whose name may be the word of an error, and not what could not be listed or is marked."""
    tree = _BRANCH.match(line)
    return " " not in line[tree.end() :].strip() if tree else LISTED.match(line) is not None


_BRANCH = regex(r"[\s│]{0,200}[├└][─┬ -]{1,8}")


def _tree_position(line: str) -> tuple[int, str]:
    """The depth of a line's entry, and the folder it is in."""
    found = None if line[:1].isalnum() or line[:1] == "." else _INDENT.match(line[:200])
    indent = len(found[0]) // 4 if found else 0
    path = line[-300:].rsplit(None, 1)[-1].rstrip("/") if line.strip() else ""
    depth = path.count("/") + indent
    return min(_DEPTH_MAX, depth), path.rpartition("/")[0] or f"indent {min(_DEPTH_MAX, depth)}"


def look_at_listing(lines: Sequence[str]) -> Look:
    """The top of the tree before its depths; a list of paths is shown by folders."""
    paths = _recursive_paths(lines) or _paths_of(lines)
    if paths:
        return _look_at_folders(*paths)
    return Look(_listing_ranks(lines), pluralize(sum(1 for line in lines if line.strip()), "entry", "entries"))


def _look_at_folders(paths: Sequence[str], others: Sequence[str]) -> Look:
    """Paths by their folders, the upper ones first; before them lines that are no paths, errors first of all."""
    folded = [*((1, line) for line in others), *fold_paths(paths)]
    ranked = [depth for depth, _ in folded]
    rank_ends(ranked, 0, 1, 0)
    for error in find_errors(others):
        ranked[error.first] = -1
    folders = len({path.rstrip("/").rpartition("/")[0] for path in paths})
    facts = f"{pluralize(len(paths), 'path')} in {pluralize(folders, 'folder')}, names by folder with the number of paths below"
    return Look(ranked, facts, lines=[line for _, line in folded])


_ITSELF = (".", "..")


def _recursive_paths(lines: Sequence[str]) -> tuple[list[str], list[str]] | None:
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


def _paths_of(lines: Sequence[str]) -> tuple[list[str], list[str]] | None:
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
