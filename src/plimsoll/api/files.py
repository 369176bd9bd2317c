"""The files a conversation is about: found in it, read below one folder, and shown to the model that summarises.

Only regular files below the folder are read, never by a link, and no more than their beginning.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from plimsoll.compaction.drive import checked
from plimsoll.compaction.task import SummaryRequest
from plimsoll.errors import SettingError
from plimsoll.formats.registry import decode_all
from plimsoll.limits import READ_FILE_SIZE_BYTES_MAX
from plimsoll.message import FormatName, MessageLike
from plimsoll.regex import regex
from plimsoll.summary.file_mentions import FileContent, FileMention, mentioned
from plimsoll.validation import integer, short_repr

Answer = TypeVar("Answer")
"""What a summariser gives: text, or something to await."""

FILES_MAX = 5
LINES_MAX = 1_000
CUT = "... (truncated)"

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FILE = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)

_SECRET = regex(
    r"(?:^|/)(?:\.(?:ssh|aws|gnupg|git|docker|kube)/|\.env(?:\.|$)|\.netrc$|\.npmrc$|\.pypirc$|\.pgpass$|id_(?:rsa|dsa|ecdsa|ed25519)"
    r"|credentials?(?:\.|$)|secrets?(?:\.|/|$)|[^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|asc|gpg)$)",
    re.IGNORECASE,
)
"""Names under which people keep what no model should see."""


def files_mentioned(
    messages: Sequence[MessageLike], *, limit: int = FILES_MAX, format: FormatName | None = None
) -> list[FileMention]:
    """The files that a conversation is about, at most `limit`: those changed first, then by how often and how late they are named.

    From the arguments of calls, from shell commands, and from what people and the model say; what tools printed names no file.
    Nothing is opened. Raises FormatError, SettingError.
    """
    integer("limit", limit)
    return list(mentioned(decode_all(messages, format)[1], limit=limit))


def with_files(
    summarizer: Callable[[SummaryRequest], Answer],
    *,
    root: str | os.PathLike[str],
    limit: int = FILES_MAX,
    lines_max: int = LINES_MAX,
) -> Callable[[SummaryRequest], Answer]:
    """A summariser whose prompt also shows the files that matter most in what is summarised, as they are now below `root`.

    Files are chosen as `files_mentioned` does and read as `read_files` does, whenever a summary is asked for.

    Args:
        summarizer: your own, which is asked with the longer prompt. Give the result to `fit` or `open` in its place.
        root: the folder that files are read below.
        limit: at most this many files.
        lines_max: at most this many lines of each.

    Raises: SettingError.

    """
    if checked(summarizer) is None:
        raise SettingError("summarizer", "there must be one to show files to")
    asked: Callable[[SummaryRequest], Answer] = getattr(summarizer, "summarize", summarizer)
    integer("limit", limit)
    read_files((), root=root, lines_max=lines_max)  # a wrong folder is better known now

    def summarize(request: SummaryRequest) -> Answer:
        chosen = mentioned(request.messages, limit=limit)
        return asked(request.with_files(read_files(chosen, root=root, lines_max=lines_max)))

    return summarize


def read_files(
    files: Iterable[str | FileMention], *, root: str | os.PathLike[str], lines_max: int = LINES_MAX
) -> list[FileContent]:
    """Each of these files below the folder `root`, in their order, each once.

    A path outside it, through a link, to anything but a regular file, or with a name that secrets have is not opened, and
    neither is anything that is not text; `problem` says which. Reads at most READ_FILE_SIZE_BYTES_MAX bytes and `lines_max`
    lines of each. Raises SettingError when `root` is no folder, and on systems without POSIX's calls, such as Windows.
    """
    integer("lines_max", lines_max, least=1)
    if isinstance(files, (str, bytes)) or not isinstance(files, Iterable):
        raise SettingError("files", f"a list of paths is needed, not {type(files).__name__}")
    if os.open not in os.supports_dir_fd:  # without it a link could be put in the way of a path between two looks at it
        raise SettingError("root", "files are only read on Linux, macOS or another POSIX system (WSL is one)")
    try:
        named = os.path.abspath(os.fspath(root))  # noqa: PTH100 - links in it stay, because paths are given by its name
        folder = os.open(named, _FOLDER)
    except (OSError, TypeError, ValueError) as error:
        raise SettingError("root", f"{short_repr(root)} is no folder that can be read") from error
    try:
        bases = (named, os.path.realpath(named))
        wanted = {"/".join(steps) or path: steps for path in map(_path_of, files) for steps in (_steps(path, bases),)}
        return [_read(folder, path, steps, lines_max) for path, steps in wanted.items()]
    finally:
        os.close(folder)


def _path_of(file: object) -> str:
    path = file.path if isinstance(file, FileMention) else file
    if not isinstance(path, str):
        raise SettingError("files", f"paths are needed, not {type(path).__name__}")
    return path


def _steps(path: str, bases: Sequence[str]) -> tuple[str, ...]:
    """The way from the folder to a path, by its words alone; no step where they lead outside it."""
    for base in bases:
        steps = Path(os.path.relpath(os.path.join(base, path), base)).parts  # noqa: PTH118 - the disk is not asked
        if steps and steps[0] != os.pardir:
            return steps
    return ()


def _read(folder: int, path: str, steps: Sequence[str], lines_max: int) -> FileContent:
    problem = (
        "outside the folder" if not steps else "its name says that it holds secrets" if _SECRET.search(path) else ""
    )
    if not problem:
        try:
            data = _beginning(folder, steps)
        except FileNotFoundError:
            problem = "missing"
        except (OSError, ValueError):
            problem = "cannot be read"
        else:
            if data is not None and b"\0" not in data:
                return _content(path, data, lines_max)
            problem = "no text" if data is not None else "a link, or no regular file"
    return FileContent(path=path, problem=problem)


def _beginning(folder: int, steps: Sequence[str]) -> bytes | None:
    """The first bytes of the file these steps lead to, one more than are shown; None when a step is a link or it is no file.

    Each folder on the way is opened below the one before, so that nobody can put a link in its place meanwhile.
    """
    opened = os.dup(folder)
    try:
        for name in steps[:-1]:
            if not stat.S_ISDIR(_mode(name, opened)):
                return None
            inner = os.open(name, _FOLDER | _NO_LINK, dir_fd=opened)
            os.close(opened)
            opened = inner
        if not stat.S_ISREG(_mode(steps[-1], opened)):  # a device is not even opened
            return None
        fd = os.open(steps[-1], _FILE, dir_fd=opened)
    finally:
        os.close(opened)
    with os.fdopen(fd, "rb") as file:
        return file.read(READ_FILE_SIZE_BYTES_MAX + 1) if stat.S_ISREG(os.fstat(fd).st_mode) else None


def _mode(name: str, folder: int) -> int:
    return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode


def _content(path: str, data: bytes, lines_max: int) -> FileContent:
    """The text of those bytes, cut to so many lines."""
    lines = data[:READ_FILE_SIZE_BYTES_MAX].decode("utf-8", "replace").splitlines(keepends=True)
    if len(data) <= READ_FILE_SIZE_BYTES_MAX and len(lines) <= lines_max:
        return FileContent(path=path, content="".join(lines))
    text = "".join(lines[:lines_max])
    return FileContent(path=path, content=f"{text}{'' if text.endswith(chr(10)) else chr(10)}{CUT}", cut=True)
