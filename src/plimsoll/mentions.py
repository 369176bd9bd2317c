"""Which files a conversation is about: from the arguments of calls, shell commands, and what people and the model say.

What tools printed is not looked at: a page or a log that names a file makes it no file of this conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from plimsoll.limits import MENTIONED_FILES_MAX
from plimsoll.message import Message, Text, ToolCall
from plimsoll.summary.ledger.calls import Call, understand
from plimsoll.summary.ledger.files import in_command, is_file

_RUN = re.compile(r"[\w@+=.~:/\\%#-]{3,}", re.ASCII)
"""What may be a path in running text: it ends at a space, a quote, a bracket, and at any letter outside ASCII."""

_LINE = re.compile(r"(?::[0-9]{1,7}){1,2}\Z")
_QUOTED = re.compile(r'["`]((?:[~.]{0,2}/|[A-Za-z]:\\)[^"`\n]{1,290}\.[A-Za-z]\w{0,9})["`]')
"""A path in quotes, where it may hold spaces."""

_EXTENSION = re.compile(r"[\w-]\.[A-Za-z]\w{0,9}\Z", re.ASCII)
_NAMED = re.compile(
    r"\.(?:cc|cfg|conf|cpp|cs|css|csv|env|go|hpp|html?|ini|ipynb|java|jsonl?|jsx?|kt|lock|lua|md|mjs|php|proto|pyi?|rb|rs|rst|scala"
    r"|sh|sql|svelte|swift|toml|tsx?|txt|vue|xml|ya?ml)\Z",
    re.IGNORECASE,
)
"""Extensions by which a bare name in running text is known for a file's."""

_PATH_CHARS_MAX = 300


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
    source = call.arguments.get("source")
    paths = (*call.paths, source) if isinstance(source, str) else call.paths
    for path in paths:
        if not path.endswith(("/", "\\")) and (call.action in ("read", "edit") or is_file(path)):
            yield path, call.action == "edit"
    if call.command:
        yield from ((path, state == "modified") for path, state in in_command(call.command))


def paths_in(text: str) -> Iterator[str]:
    """The paths in running text: with a folder and an extension, or a bare name with an extension that files have."""
    yield from _QUOTED.findall(text)
    for run in _RUN.findall(_QUOTED.sub(" ", text)):
        path = _LINE.sub("", run.rstrip(".:,-"))
        in_folder = "/" in path or "\\" in path
        if "//" not in path and is_file(path) and (_EXTENSION if in_folder else _NAMED).search(path):
            yield path
