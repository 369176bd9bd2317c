"""Which files a conversation is about: from the arguments of calls, shell commands, and what people and the model say.

What tools printed is not looked at: a page or a log that names a file makes it no file of this conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, field
from typing import Any

from plimsoll.dataclass import dataclass
from plimsoll.limits import MENTIONED_FILES_MAX
from plimsoll.message import Message, Text, ToolCall
from plimsoll.regex import regex
from plimsoll.summary.ledger.calls import Call, understand
from plimsoll.summary.ledger.shell import in_command, is_file

_RUN = regex(r"(?:\\ |[^\W_]|[_@+=.~:/\\%#-])+")
"""What may be a path in running text, in any script: it ends at a space, a quote, a bracket, and at Chinese punctuation."""

_LINE = regex(r"(?::[0-9]{1,7}){1,2}\Z")
_QUOTED = regex(r'["`“「『]([^"`”」』\n]{1,300})["`”」』]')
"""What stands in quotes: a path in them may hold spaces."""

_GLUED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts that are written without spaces: their letters may stand right before and after a path."""

_HEAD = regex(rf"[{_GLUED}]+")
_ROOTS = (
    "Applications|Library|System|Users|Volumes|app|bin|boot|data|dev|etc|home|lib|media|mnt|opt|private|proc|root|run|srv|sys|tmp"
    "|usr|var|work|workspace"
)
_ANCHOR = regex(rf"(?:~|\.{{1,2}})[/\\]|[A-Za-z]:[/\\]|/(?=(?:{_ROOTS})/)")
"""How a path begins that does not go on from what stands before it."""

_FIRST = regex(r".*?[^\s/\\.]\.[A-Za-z][A-Za-z0-9_]{0,9}(?![A-Za-z0-9_]|[./\\@+=~%#-]+\w)", re.DOTALL)
"""Up to the first extension that a path can end with."""

_EXTENSION = regex(r"[^\s/\\.]\.[A-Za-z][A-Za-z0-9_]{0,9}\Z")
_NAMED = regex(
    r"\.(?:cc|cfg|conf|cpp|cs|css|csv|env|go|hpp|html?|ini|ipynb|java|jsonl?|jsx?|kt|lock|lua|md|mjs|php|proto|pyi?|rb|rs|rst|scala"
    r"|sh|sql|svelte|swift|toml|tsx?|txt|vue|xml|ya?ml)\Z",
    re.IGNORECASE,
)
"""Extensions by which a bare name in running text is known for a file's."""

_CARRIES = regex(r"copy|move(?!ment)|rename", re.IGNORECASE)
"""In the names of tools that write their destination; what is moved is gone from its source."""

_PATH_CHARS_MAX = 300
_RUN_CHARS_MAX = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMention:
    """A file of a conversation: in how many messages it is named, the position of the last of them, whether it was changed."""

    path: str
    mentions: int
    last_mentioned: int
    modified: bool

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """A file as it is now, or why it was not read. `path` is relative to the folder; `content` None when it was not read.

    Of a file that was too long there is the beginning, and a last line that says so (`cut`).
    """

    path: str
    content: str | None = None
    cut: bool = False
    problem: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


@dataclass(slots=True)
class _Seen:
    mentions: int = 0
    last: int = 0
    modified: bool = False


@dataclass(slots=True)
class _Files:
    """The files named so far, by path."""

    by_path: dict[str, _Seen] = field(default_factory=dict)

    def add(self, named: Iterable[tuple[str, bool]], position: int) -> None:
        """Note the paths that one message names, and whether it changes them. Naming one twice is once."""
        found: dict[str, bool] = {}
        for path, modified in named:
            clean = path.removeprefix("./")
            if 0 < len(clean) <= _PATH_CHARS_MAX and clean.isprintable():
                found[clean] = found.get(clean, False) or modified
        for path, modified in found.items():
            if path not in self.by_path and len(self.by_path) >= MENTIONED_FILES_MAX:
                continue
            seen = self.by_path.setdefault(path, _Seen())
            seen.mentions += 1
            seen.last = position
            seen.modified = seen.modified or modified


def mentioned(messages: Sequence[Message], *, limit: int) -> tuple[FileMention, ...]:
    """The files that matter most: those changed first, then those named most often, then those named last. Linear."""
    files = _Files()
    for position, message in enumerate(messages):
        files.add(_named(message), position)
    ranked = sorted(
        files.by_path.items(), key=lambda item: (item[1].modified, item[1].mentions, item[1].last), reverse=True
    )
    return tuple(
        FileMention(path=path, mentions=seen.mentions, last_mentioned=seen.last, modified=seen.modified)
        for path, seen in ranked[:limit]
    )


def _named(message: Message) -> Iterator[tuple[str, bool]]:
    for part in message.parts:
        match part:
            case Text() if message.role in ("user", "assistant"):
                yield from ((path, False) for path in paths_in(part.text))
            case ToolCall():
                yield from _of_call(understand(part.name, part.arguments))
            case _:
                pass


def _of_call(call: Call) -> Iterator[tuple[str, bool]]:
    """The files a call names. What a tool for files names is a file, whatever it is called; elsewhere it must look like one."""
    source, carries = call.arguments.get("source"), _CARRIES.search(call.name)
    for path in call.paths:
        if not path.endswith(("/", "\\")) and (call.action in ("read", "edit") or is_file(path)):
            yield path, call.action == "edit" or carries is not None
    if isinstance(source, str) and not source.endswith(("/", "\\")) and is_file(source):
        yield source, carries is not None and "cop" not in carries[0].lower()
    if call.command:
        yield from ((path, state == "modified") for path, state in in_command(call.command))


def paths_in(text: str) -> Iterator[str]:
    """The paths in running text: with a folder and an extension, or a bare name with an extension that files have.

    In quotes a path may hold spaces; elsewhere only where they are escaped, or within the name of a folder whose words all begin
    with capitals. What goes on from a path that has no end is a part of one, and no path.
    """
    start = 0
    for found in _QUOTED.finditer(text):
        path = _whole(found[1])
        if path is not None:
            yield from _in_runs(text[start : found.start()])
            yield path
            start = found.end()
    yield from _in_runs(text[start:])


def _whole(words: str) -> str | None:
    """Words in quotes as a path, where they are one from their first character to their last."""
    words = _LINE.sub("", words)
    is_anchored = words[0] in "/~" or _ANCHOR.match(words) is not None
    if "//" in words or not _EXTENSION.search(words) or (not is_anchored and any(map(str.isspace, words))):
        return None
    return words if is_anchored or "/" in words or "\\" in words or _NAMED.search(words) else None


def _in_runs(text: str) -> Iterator[str]:
    """The paths that stand without quotes."""
    end, opened = -2, ""
    for found in _RUN.finditer(text):
        run, follows = found[0], opened and found.start() == end + 1 and text[end] == " "
        end = found.end()
        if follows and _is_capital(opened) and run[0].isupper():
            joined = f"{opened} {run}"
            run = joined if "/" in run or "\\" in run else run
            opened = joined if _is_open(joined) else ""
        elif follows and run[0] not in "/~." and "/" in run and not _ANCHOR.match(run):
            opened = ""
            continue
        else:
            opened = run if (run[0] in "/~" or run[1:2] == ":") and _is_open(run) else ""
        if "." in run:
            yield from _in_run(_LINE.sub("", run.rstrip(".:,-")))


def _is_open(run: str) -> bool:
    """Whether a run begins an absolute path that has no end: a folder whose name may go on behind the space."""
    is_rooted = (run[0] in "/~" and run.count("/") > 1) or re.match(r"[A-Za-z]:[/\\]", run) is not None
    ends = run[-1:] in "/\\.:,-" or _EXTENSION.search(run) is not None
    return is_rooted and not ends and "//" not in run and "bin/" not in run and len(run) <= _PATH_CHARS_MAX


def _is_capital(run: str) -> bool:
    """Whether its last word begins with a capital, as in `/Library/Application`."""
    return re.split(r"[/\\ ]", run)[-1][:1].isupper()


def _in_run(run: str) -> Iterator[str]:
    """The paths in one run of letters and signs, of which letters without spaces between words may be glued to a path."""
    if len(run) > _RUN_CHARS_MAX:
        return
    if run.isascii():
        yield from (path for path in (run.replace("\\ ", " "),) if _is_path(path))
        return
    while run:
        anchor = _ANCHOR.search(run) if _HEAD.match(run) else None
        if anchor is not None:
            run = run[anchor.start() :]
        elif head := _HEAD.match(run):
            run = run[head.end() :]
            if run[:1] in ("/", "\\", "."):  # a folder or a name that begins before: nobody can tell where
                run = run[end.end() :] if (end := _FIRST.match(run)) else ""
                continue
        end = _FIRST.match(run)
        path = end[0] if end else run
        if _is_path(path.replace("\\ ", " ")):
            yield path.replace("\\ ", " ")
        run = run[len(path) :].lstrip(":,-.")


def _is_path(path: str) -> bool:
    in_folder = "/" in path or "\\" in path
    ends = (_EXTENSION if in_folder else _NAMED).search(path) is not None
    return ends and "//" not in path and is_file(path.replace(" ", "_"))
