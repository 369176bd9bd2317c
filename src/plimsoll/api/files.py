"""The files a conversation works on: find them, read them below one folder, and show them to the summariser.

Only the beginning of regular files below the folder is read; symbolic links are not followed.
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
from plimsoll.formats.intake import decode_received, received
from plimsoll.formats.registry import format_of
from plimsoll.light.dataclass import replace
from plimsoll.light.regex import regex
from plimsoll.limits import READ_FILE_SIZE_BYTES_MAX
from plimsoll.message import FormatName, MessageLike
from plimsoll.policy.validation import integer, short_repr
from plimsoll.summary.file_mentions import FileContent, FileMention, mentioned

Answer = TypeVar("Answer")
"""The return type of a summariser: text, or an awaitable of it."""

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
"""File names that usually hold credentials, which no model should see."""


def files_mentioned(
    messages: Sequence[MessageLike], *, limit: int = FILES_MAX, format: FormatName | None = None
) -> list[FileMention]:
    """The files a conversation works on, at most `limit`: changed ones first, then by number and recency of mentions.

    Read from call arguments, shell commands and the text of user and assistant, not from tool output. Opens no file.
    Raises FormatError, SettingError.
    """
    integer("limit", limit)
    taken = received(messages)
    found = mentioned(decode_received(taken, format_of(taken, format)), limit=limit)
    return [replace(file, last_mentioned=taken.place(file.last_mentioned)) for file in found]


def with_files(
    summarizer: Callable[[SummaryRequest], Answer],
    *,
    root: str | os.PathLike[str],
    limit: int = FILES_MAX,
    lines_max: int = LINES_MAX,
) -> Callable[[SummaryRequest], Answer]:
    """A summariser whose prompt also shows the current content, below `root`, of the most important files of the summarised part.

    Each request selects files like `files_mentioned` and reads them like `read_files`.

    Args:
        summarizer: the summariser that gets the longer prompt. Pass the result to `fit` or `open` in its place.
        root: the folder below which files are read.
        limit: the most files to show.
        lines_max: the most lines of each.

    Raises: SettingError.

    """
    if checked(summarizer) is None:
        raise SettingError("summarizer", "a summarizer is required")
    ask: Callable[[SummaryRequest], Answer] = getattr(summarizer, "summarize", summarizer)
    integer("limit", limit)
    read_files((), root=root, lines_max=lines_max)  # fail early if root is invalid

    def summarize(request: SummaryRequest) -> Answer:
        chosen = mentioned(request.messages, limit=limit)
        return ask(request.with_files(read_files(chosen, root=root, lines_max=lines_max)))

    return summarize


def read_files(
    files: Iterable[str | FileMention], *, root: str | os.PathLike[str], lines_max: int = LINES_MAX
) -> list[FileContent]:
    """The content of these files below the folder `root`, in the given order, without duplicates.

    Not opened: paths outside the folder, symbolic links, anything but regular text files, and names that usually hold
    credentials; `problem` gives the reason. Reads at most READ_FILE_SIZE_BYTES_MAX bytes and `lines_max` lines of each. Raises
    SettingError if `root` is not a folder, and on systems without POSIX calls, such as Windows.
    """
    integer("lines_max", lines_max, least=1)
    if isinstance(files, (str, bytes)) or not isinstance(files, Iterable):
        raise SettingError("files", f"must be a list of paths, not {type(files).__name__}")
    if os.open not in os.supports_dir_fd:  # without it a link could replace a folder between the check and the read
        raise SettingError("root", "files can only be read on Linux, macOS or another POSIX system (such as WSL)")
    try:
        named = os.path.abspath(os.fspath(root))  # noqa: PTH100 - keeps links, because paths are given relative to this name
        folder = os.open(named, _FOLDER)
    except (OSError, TypeError, ValueError) as error:
        raise SettingError("root", f"{short_repr(root)} is not a readable folder") from error
    try:
        bases = (named, os.path.realpath(named))
        wanted = {"/".join(steps) or path: steps for path in map(_path_of, files) for steps in (_steps(path, bases),)}
        return [_read(folder, path, steps, lines_max) for path, steps in wanted.items()]
    finally:
        os.close(folder)


def _path_of(file: object) -> str:
    path = file.path if isinstance(file, FileMention) else file
    if not isinstance(path, str):
        raise SettingError("files", f"must be paths, not {type(path).__name__}")
    return path


def _steps(path: str, bases: Sequence[str]) -> tuple[str, ...]:
    """The parts of the path relative to the folder, by name alone; empty if it lies outside."""
    for base in bases:
        steps = Path(os.path.relpath(os.path.join(base, path), base)).parts  # noqa: PTH118 - no disk access
        if steps and steps[0] != os.pardir:
            return steps
    return ()


def _read(folder: int, path: str, steps: Sequence[str], lines_max: int) -> FileContent:
    problem = "outside the folder" if not steps else "its name suggests credentials" if _SECRET.search(path) else ""
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
            problem = "not text" if data is not None else "a link, or not a regular file"
    return FileContent(path=path, problem=problem)


def _beginning(folder: int, steps: Sequence[str]) -> bytes | None:
    """The first bytes of a file, one more than are shown; None if a part is a symbolic link or it is not a regular file.

    Each folder is opened relative to the one above, so that none can be replaced by a link in the meantime.
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
    lines = data[:READ_FILE_SIZE_BYTES_MAX].decode("utf-8", "replace").splitlines(keepends=True)
    if len(data) <= READ_FILE_SIZE_BYTES_MAX and len(lines) <= lines_max:
        return FileContent(path=path, content="".join(lines))
    text = "".join(lines[:lines_max])
    return FileContent(path=path, content=f"{text}{'' if text.endswith(chr(10)) else chr(10)}{CUT}", cut=True)
