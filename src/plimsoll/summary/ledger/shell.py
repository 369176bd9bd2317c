"""Find the files a shell command writes and reads, from its words alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, TypeAlias

from plimsoll.light.dataclass import dataclass, field
from plimsoll.light.regex import regex

State: TypeAlias = Literal["modified", "read"]

COMMAND_CHARS_MAX = 4_000  # the rest is usually a here-document

_WORD = regex(
    r"""&?>>?&?|<<<|<<-?|<|[;|&()\n]|(?:[^\s;|&<>()'"\\]|\\.|'[^'\n]{0,300}'|"(?:[^"\\\n]|\\.){0,300}")+|['"]""",
    re.DOTALL,
)
_QUOTES = regex(r"""\\(.)|'([^'\n]*)'|"((?:[^"\\\n]|\\.)*)\"""", re.DOTALL)
_FILE = regex(r"(?:~|\.{0,2}|[A-Za-z]:)?[\w@+=.,~\\/-]*[\w-]\.[A-Za-z][\w]{0,9}\Z")
_SKIPPED = frozenset({"/dev/null", "/dev/stderr", "/dev/stdout"})

_PREFIX_PROGRAMS = frozenset("sudo doas env time nohup nice command exec builtin then do else xargs timeout !".split())
"""Words that precede the actual program."""

_READERS = frozenset("cat head tail less more nl bat wc source sed awk jq diff cmp gunzip unzip get-content".split())
_WRITERS = frozenset(
    {"tee", "touch", "mv", "rm", "unlink", "shred", "truncate", "patch", "rename", "black", "isort", "rustfmt", "gzip",
     "bzip2", "xz", "move-item", "remove-item", "set-content", "add-content", "out-file", "new-item", "clear-content"}
)  # fmt: skip
"""Programs that change all their operands. A move also removes its source."""

_COPIERS = frozenset({"cp", "install", "rsync", "scp", "ln", "copy-item"})
"""Programs that change their last operand and read the others."""

_MOVERS = frozenset({"mv", "move-item", "rename"})
_ARCHIVERS = frozenset({"zip", "tar"})
_IN_PLACE = regex(r"-[a-zA-Z]*i(?:\.\w{1,8})?\Z|--(?:in-place|write|fix)(?:=|\Z)")
_EDITORS = frozenset({"sed", "perl", "ruby"})
_SCRIPTED = frozenset({"sed", "awk", "jq", "perl", "ruby"})
"""Programs whose first operand is no file but what to do, unless an option has it."""

_SCRIPT_OPTION = regex(r"-[a-zA-Z]*e\Z|--expression\Z")
_SCRIPT_GIVEN = regex(r"-[a-zA-Z]*[ef]\Z|--(?:expression|file|from-file)(?:=|\Z)")
_GIT = {"mv": "mv", "rm": "rm", "restore": "rm", "apply": "patch"}
"""Git commands and the program with the same effect on files."""

_OUTPUT = regex(r"--?(?:output|output-file|output-document|outfile|out)(?:=(.+))?\Z|of=(.+)\Z")
"""Options that name an output file; the last alternative is of `dd`."""

_OUTPUT_SHORT: dict[str, str] = {"wget": "-O"}
_OTHER_O_OPTION = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "find", "ssh", "sftp", "mount", "set", "ps", "ls", "du", "cat", "rsync"}
)
"""Programs whose `-o` is not an output file, as it is elsewhere."""

_OPTIONS_WITH_VALUE = frozenset(
    {"-m", "-g", "-S", "-e", "-F", "--exclude", "--include", "--filter", "--mode", "--owner", "--group"}
)
"""Options of copying programs whose value is not a file."""

_TARGET = regex(r"-t\Z|--target-directory(?:=(.+))?\Z", re.DOTALL)


def in_command(command: str) -> Iterator[tuple[str, State]]:
    """Yield `(path, "modified" | "read")` for each file a shell command writes or prints, in order.

    Written files are the targets of `>` and of output options, the last operand of a copying program, and all operands of one
    that moves, removes or edits. Here-documents are ignored.
    """
    for step in _steps(_without_documents(command[:COMMAND_CHARS_MAX])):
        yield from step.files()


def is_file(word: str) -> bool:
    """Return whether a word looks like a path: no globs or variables, and an extension or a slash."""
    if not 2 < len(word) <= 300 or word in _SKIPPED or word[0] in "-$&" or "://" in word:
        return False
    return _FILE.match(word) is not None or (word[0] in "/~" and word.count("/") > 1 and not set(word) & set("*?$,{} "))


@dataclass(slots=True)
class _Step:
    """A program with its arguments."""

    program: str = ""
    words: list[str] = field(default_factory=list)
    redirected: list[tuple[str, State]] = field(default_factory=list)

    def files(self) -> Iterator[tuple[str, State]]:
        """Yield the files of the step."""
        found = [*self._operands(), *self.redirected]
        for path, state in found:
            # Only quoted names can contain a space.
            if is_file(path.replace(" ", "_")):
                yield path, state

    def _operands(self) -> list[tuple[str, State]]:
        program, words = (self.program, self.words) if self.program != "git" else _of_git(self.words)
        written, others, folder = _options(program, words)
        plain = [word for word in others if not word.startswith("-")]
        return [*self._plain(program, words, plain, folder), *((path, "modified") for path in written)]

    def _plain(self, program: str, words: list[str], plain: list[str], folder: str | None) -> list[tuple[str, State]]:
        """Return the effects on operands that are not option values."""
        plain = _without_scripts(program, words, plain)
        if program in _COPIERS or program in _MOVERS:
            return _transferred(plain, folder, source_state="modified" if program in _MOVERS else "read")
        if program in _ARCHIVERS:
            makes = program == "zip" or any(re.match(r"-?[a-z]*[cru]", word) for word in words[:1])
            return [
                (path, "modified" if makes and index == 0 else "read")
                for index, path in enumerate(_archive_operands(plain))
            ]
        is_edited = any(_IN_PLACE.match(word) for word in words) and (
            program in _EDITORS or any(map(_is_long_edit, words))
        )
        if program in _WRITERS or is_edited:
            return [(path, "modified") for path in plain]
        return [(path, "read") for path in plain] if program in _READERS else []


def _of_git(words: list[str]) -> tuple[str, list[str]]:
    """Return the equivalent program of a git command, and its words. Checkout changes files only after `--`."""
    if not words:
        return "", []
    if words[0] == "checkout":
        return "rm", words[words.index("--") + 1 :] if "--" in words else []
    return _GIT.get(words[0], "git"), words[1:]


def _without_scripts(program: str, words: list[str], plain: list[str]) -> list[str]:
    """Return the operands without what an editor is told to do, which looks like a path at times: `/end/d`."""
    if program not in _SCRIPTED:
        return plain
    if not any(map(_SCRIPT_GIVEN.match, words)):
        return plain[1:] if program not in ("perl", "ruby") else plain
    scripts = {after for option, after in pairwise(words) if _SCRIPT_OPTION.match(option)}
    return [word for word in plain if word not in scripts]


def _is_long_edit(word: str) -> bool:
    return word.startswith("--") and _IN_PLACE.match(word) is not None


def _options(program: str, words: list[str]) -> tuple[list[str], list[str], str | None]:
    """Return the output files of options, the other words, and the target folder."""
    written: list[str] = []
    others: list[str] = []
    folder: str | None = None
    waiting: Literal["", "output", "folder", "value"] = ""
    carries = program in _COPIERS or program in _MOVERS
    short = _OUTPUT_SHORT.get(program, "" if program in _OTHER_O_OPTION else "-o")
    for word in words:
        if waiting == "output":
            written.append(word)
            waiting = ""
        elif waiting == "folder":
            folder, waiting = word, ""
        elif waiting == "value":
            waiting = ""
        elif carries and word in _OPTIONS_WITH_VALUE:
            waiting = "value"
        elif found := _OUTPUT.match(word):
            path = found[1] or found[2]
            waiting = "" if path else "output"
            written += [path] if path else []
        elif word == short:
            waiting = "output"
        elif short and word.startswith(short) and len(short) < len(word) and program in ("gcc", "cc", "clang", "sort"):
            written.append(word[len(short) :])
        elif carries and (found := _TARGET.match(word)):
            folder, waiting = found[1], "" if found[1] else "folder"
        else:
            others.append(word)
    return written, others, folder


def _transferred(plain: list[str], folder: str | None, *, source_state: State) -> list[tuple[str, State]]:
    """Return the sources and targets of a copy or a move."""
    sources, target = (plain, folder) if folder is not None else (plain[:-1], plain[-1] if plain else None)
    found: list[tuple[str, State]] = [(path, source_state) for path in sources]
    if target is None or not sources:
        return found
    if len(sources) == 1 and folder is None and not _is_folder(target, sources[0]):
        return [*found, (target, "modified")]
    place = target.rstrip("/\\")
    # Of a folder with a slash at its end, some programs copy the content: what is inside the target is not known.
    inside = (re.split(r"[/\\]", source)[-1] for source in sources)
    return [*found, *((name if place in ("", ".") else f"{place}/{name}".rstrip("/"), "modified") for name in inside)]


def _is_folder(target: str, source: str) -> bool:
    """Return whether a target is a folder: a trailing slash, or no extension where the source has one."""
    if target.endswith(("/", "\\")) or target in (".", ".."):
        return True
    return re.search(r"\.\w{1,10}\Z", target) is None and re.search(r"\.\w{1,10}\Z", source) is not None


def _archive_operands(plain: list[str]) -> list[str]:
    """Return an archiver's operands without its option letters: the archive first."""
    return plain[1:] if plain and re.fullmatch(r"[a-zA-Z]{1,8}", plain[0]) else plain


def _steps(command: str) -> Iterator[_Step]:
    """Yield the programs of a command line with words and redirections."""
    step, redirect = _Step(), ""
    for word in _WORD.findall(command):
        if word in (";", "|", "&", "(", ")", "\n"):
            yield step
            step, redirect = _Step(), ""
        elif word[-1:] in "<>" or word.endswith(">&"):
            redirect = word
        elif redirect:
            if redirect in ("<", ">", ">>", "&>", "&>>"):
                step.redirected.append((_unquoted(word), "read" if redirect == "<" else "modified"))
            redirect = ""
        elif step.program:
            step.words.append(_unquoted(word))
        elif not re.match(r"\w+=", word):
            name = _unquoted(word).replace("\\", "/").rsplit("/", 1)[-1].lower()
            step.program = "" if name in _PREFIX_PROGRAMS or word[0] in "-0123456789" else name
    yield step


def _unquoted(word: str) -> str:
    """Remove quotes. A backslash before a letter is kept, because it may be part of a Windows path."""
    return _QUOTES.sub(_unescaped, word)


def _unescaped(found: re.Match[str]) -> str:
    if found[1] is not None:
        return found[0] if found[1].isalnum() else found[1]
    return found[2] if found[2] is not None else found[3]


def _without_documents(command: str) -> str:
    """Remove the lines of here-documents."""
    if "<<" not in command:
        return command
    kept: list[str] = []
    ending = ""
    for line in command.split("\n"):
        if ending:
            ending = "" if line.strip() == ending else ending
            continue
        kept.append(line)
        found = re.search(r"(?<!<)<<-?\s{0,4}[\"'\\]?(\w{1,60})", line)
        ending = found[1] if found else ""
    return "\n".join(kept)
