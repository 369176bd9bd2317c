"""Find the files a conversation mentions, in call arguments, shell commands, and text of the user and the model.

Tool results are ignored: a file named in a web page or a log need not belong to the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from plimsoll.light.brief import JsonReady
from plimsoll.light.dataclass import dataclass, field
from plimsoll.light.regex import regex
from plimsoll.limits import MENTIONED_FILES_MAX
from plimsoll.message import Message, Text, ToolCall
from plimsoll.summary.ledger.calls import Call, understand
from plimsoll.summary.ledger.shell import in_command, is_file

_RUN = regex(r"(?:\\ |[^\W_]|[_@+=.~:/\\%#-])+")
"""A candidate path in text of any script. It ends at a space, quote, bracket or Chinese punctuation."""

_LINE_NUMBER = regex(r"(?:(?::[0-9]{1,7}){1,2}(?:-[0-9]{1,7})?|#L?[0-9]{1,7}(?:-L?[0-9]{1,7})?)\Z")
"""Lines of a file, as compilers, editors and code hosts write them: `a.py:3:7`, `a.py:3-9`, `a.py#L3-L9`."""

_MENTION_MARK = regex(r"(?:file://(?=/)|@(?=[\w.~/-]+[/.]))")
"""What chats of coding agents and links put before a path."""

_QUOTED = regex(r'["`“「『]([^"`”」』\n]{1,300})["`”」』]')
"""Quoted text. A quoted path may contain spaces."""

_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts written without spaces, whose letters may directly precede or follow a path."""

_UNSPACED_PREFIX = regex(rf"[{_UNSPACED}]+")
_ROOTS = (
    "Applications|Library|System|Users|Volumes|app|bin|boot|data|dev|etc|home|lib|media|mnt|opt|private|proc|root|run|srv|sys|tmp"
    "|usr|var|work|workspace"
)
_ANCHOR = regex(rf"(?:~|\.{{1,2}})[/\\]|[A-Za-z]:[/\\]|/(?=(?:{_ROOTS})/)")
"""The start of a path that does not depend on the text before it."""

_THROUGH_EXTENSION = regex(r".*?[^\s/\\.]\.[A-Za-z][A-Za-z0-9_]{0,9}(?![A-Za-z0-9_]|[./\\@+=~%#-]+\w)", re.DOTALL)
"""Text through the first possible file extension."""

_EXTENSION = regex(r"[^\s/\\.]\.[A-Za-z][A-Za-z0-9_]{0,9}\Z")
_FILE_EXTENSION = regex(
    r"\.(?:cc|cfg|conf|cpp|cs|css|csv|env|go|hpp|html?|ini|ipynb|java|jsonl?|jsx?|kt|lock|lua|md|mjs|php|proto|pyi?|rb|rs|rst|scala"
    r"|sh|sql|svelte|swift|toml|tsx?|txt|vue|xml|ya?ml)\Z",
    re.IGNORECASE,
)
"""Extensions that identify a bare name in text as a file."""

_COPIES_OR_MOVES = regex(r"copy|move(?!ment)|rename", re.IGNORECASE)
"""Tool names that imply writing a destination. A move also removes its source."""

_PATH_CHARS_MAX = 300
_RUN_CHARS_MAX = 2_000  # longer runs are encoded data, not paths


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMention(JsonReady):
    """A mentioned file: the number of messages naming it, the position of the last, and whether it was modified."""

    path: str
    mentions: int
    last_mentioned: int
    modified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent(JsonReady):
    """The current content of a file. `path` is relative to the folder; `content` is None if the file was not read.

    If `cut` is true, `content` is the beginning of the file and a line that reports the cut. `problem` is the reason it was
    not read.
    """

    path: str
    content: str | None = None
    cut: bool = False
    problem: str | None = None


@dataclass(slots=True)
class _Usage:
    """The uses of one file."""

    mentions: int = 0
    last: int = 0
    modified: bool = False


@dataclass(slots=True)
class _Files:
    """Mentioned files by path."""

    by_path: dict[str, _Usage] = field(default_factory=dict)

    def add(self, named: Iterable[tuple[str, bool]], position: int) -> None:
        """Record the paths named in one message and whether it modifies them. Repeats in a message count once."""
        found: dict[str, bool] = {}
        for path, modified in named:
            clean = path.removeprefix("./")
            if 0 < len(clean) <= _PATH_CHARS_MAX and clean.isprintable():
                found[clean] = found.get(clean, False) or modified
        for path, modified in found.items():
            if path not in self.by_path and len(self.by_path) >= MENTIONED_FILES_MAX:
                continue
            seen = self.by_path.setdefault(path, _Usage())
            seen.mentions += 1
            seen.last = position
            seen.modified = seen.modified or modified


def mentioned(messages: Sequence[Message], *, limit: int) -> tuple[FileMention, ...]:
    """Return at most `limit` files: modified first, then by number of mentions, then by last mention. Linear time."""
    files = _Files()
    for position, message in enumerate(messages):
        files.add(_paths_of_message(message), position)
    ranked = sorted(
        files.by_path.items(), key=lambda item: (item[1].modified, item[1].mentions, item[1].last), reverse=True
    )
    return tuple(
        FileMention(path=path, mentions=seen.mentions, last_mentioned=seen.last, modified=seen.modified)
        for path, seen in ranked[:limit]
    )


def _paths_of_message(message: Message) -> Iterator[tuple[str, bool]]:
    for part in message.parts:
        match part:
            case Text() if message.role in ("user", "assistant"):
                yield from ((path, False) for path in paths_in(part.text))
            case ToolCall():
                yield from _paths_of_call(understand(part.name, part.arguments))
            case _:
                pass


def _paths_of_call(call: Call) -> Iterator[tuple[str, bool]]:
    """Yield the files of a call. Arguments of a read or edit tool are files; others must look like file paths."""
    source, transfer = call.arguments.get("source"), _COPIES_OR_MOVES.search(call.name)
    for path in call.paths:
        if not path.endswith(("/", "\\")) and (call.action in ("read", "edit") or is_file(path)):
            yield path, call.action == "edit" or transfer is not None
    if isinstance(source, str) and not source.endswith(("/", "\\")) and is_file(source):
        yield source, transfer is not None and "cop" not in transfer[0].lower()
    if call.command:
        yield from ((path, state == "modified") for path, state in in_command(call.command))


def paths_in(text: str) -> Iterator[str]:
    """Yield paths in text: a folder and an extension, or a bare name with a known file extension.

    Unquoted spaces must be escaped, or be part of a folder name whose words are capitalised. The rest of an unfinished path
    is not a path.
    """
    start = 0
    for found in _QUOTED.finditer(text):
        path = _quoted_path(found[1])
        if path is not None:
            yield from _unquoted_paths(text[start : found.start()])
            yield path
            start = found.end()
    yield from _unquoted_paths(text[start:])


def _quoted_path(words: str) -> str | None:
    """Return quoted text if all of it is a path, else None."""
    words = _LINE_NUMBER.sub("", words)
    is_anchored = words[0] in "/~" or _ANCHOR.match(words) is not None
    if "//" in words or not _EXTENSION.search(words) or (not is_anchored and any(map(str.isspace, words))):
        return None
    return words if is_anchored or "/" in words or "\\" in words or _FILE_EXTENSION.search(words) else None


def _unquoted_paths(text: str) -> Iterator[str]:
    """Yield the unquoted paths."""
    end, unfinished = -2, ""
    for found in _RUN.finditer(text):
        run, follows = found[0], unfinished and found.start() == end + 1 and text[end] == " "
        end = found.end()
        if text[found.start() - 1 : found.start()] in ("$", "}"):  # what a variable stands for is not known
            unfinished = ""
            continue
        mark = _MENTION_MARK.match(run)
        run = run[mark.end() :] if mark else run
        if follows and _ends_capitalised(unfinished) and run[0].isupper():
            joined = f"{unfinished} {run}"
            run = joined if "/" in run or "\\" in run else run
            unfinished = joined if _may_continue(joined) else ""
        elif follows and run[0] not in "/~." and "/" in run and not _ANCHOR.match(run):
            unfinished = ""
            continue
        else:
            unfinished = run if (run[0] in "/~" or run[1:2] == ":") and _may_continue(run) else ""
        if "." in run:
            yield from _paths_in_run(_LINE_NUMBER.sub("", run.rstrip(".:,-")))


def _may_continue(run: str) -> bool:
    """Return whether a run is an absolute path without an end, whose folder name may continue after a space."""
    is_rooted = (run[0] in "/~" and run.count("/") > 1) or re.match(r"[A-Za-z]:[/\\]", run) is not None
    ends = run[-1:] in "/\\.:,-" or _EXTENSION.search(run) is not None
    return is_rooted and not ends and "//" not in run and "bin/" not in run and len(run) <= _PATH_CHARS_MAX


def _ends_capitalised(run: str) -> bool:
    """Return whether the last word is capitalised, as in `/Library/Application`."""
    return re.split(r"[/\\ ]", run)[-1][:1].isupper()


def _paths_in_run(run: str) -> Iterator[str]:
    """Yield the paths in one run. Letters of an unspaced script may be attached to a path."""
    if len(run) > _RUN_CHARS_MAX:
        return
    if run.isascii():
        yield from (path for path in (run.replace("\\ ", " "),) if _is_path(path))
        return
    while run:
        anchor = _ANCHOR.search(run) if _UNSPACED_PREFIX.match(run) else None
        if anchor is not None:
            run = run[anchor.start() :]
        elif head := _UNSPACED_PREFIX.match(run):
            run = run[head.end() :]
            if run[:1] in ("/", "\\", "."):  # the start of this path cannot be determined
                run = run[end.end() :] if (end := _THROUGH_EXTENSION.match(run)) else ""
                continue
        end = _THROUGH_EXTENSION.match(run)
        path = end[0] if end else run
        if _is_path(path.replace("\\ ", " ")):
            yield path.replace("\\ ", " ")
        run = run[len(path) :].lstrip(":,-.")


def _is_path(path: str) -> bool:
    in_folder = "/" in path or "\\" in path
    ends = (_EXTENSION if in_folder else _FILE_EXTENSION).search(path) is not None
    return ends and "//" not in path and is_file(path.replace(" ", "_"))
