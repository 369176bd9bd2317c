"""From the words on the command line to an exit status."""

from __future__ import annotations

import argparse
import atexit
import errno
import gc
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from types import TracebackType
from typing import Any, TextIO

from plimsoll.cli.output import (
    BROKEN_PIPE,
    DONE,
    INTERRUPTED,
    REFUSED,
    WRONG_USAGE,
    Refused,
    WrongUsage,
    drop_unwritten,
)
from plimsoll.errors import PlimsollError, SessionBusy, SettingError, place_of
from plimsoll.report.safe_text import one_line

COMMANDS = {
    "fit": "make a conversation fit into a budget",
    "count": "count tokens by role, kind and tool",
    "inspect": "show what fills the window, what would leave it and why",
    "import": "make a session of a file, or list the sessions of other tools on this computer",
    "export": "write a session as a file of another tool, or as messages",
    "sessions": "list the sessions, the last changed first",
    "show": "show a session's view, or its history",
    "compact": "compact a session's view now",
    "history": "list a session's compactions, and which are undone",
    "rollback": "undo a compaction and those after it: the view is again what it was",
    "recall": "search everything in a session that its view no longer shows, or everything in all sessions",
    "read": "print a text by its reference, the same bytes, checked by hash; or a whole message by its name",
    "memory": "search, list or forget the facts that sessions keep for later ones",
    "verify": "read and check all of a session",
    "delete": "remove a session and everything in it, for good",
    "eval": "measure how much each way of compacting keeps of what is needed next",
    "mcp": "serve the sessions as MCP tools: recall, read, memory_search, status, preview, compact, rollback",
    "install": "register plimsoll with a coding agent, or take it out again",
    "hook": "answer an event of Claude Code or Codex, which `plimsoll install` has registered it for",
    "watch": "show live how full a coding agent's running session is, what fills it, and what its last compaction lost",
    "serve": "keep every conversation that goes to a provider within its window",
}
"""Each with its help, in the order of the help. Each is a module of `commands`, imported when it is asked for."""

_MODULES = {"import": "import_", "eval": "evaluate"}
"""Of commands whose name no module can have, or none should."""

_WITHOUT_JSON = ("hook", "mcp")
"""Commands that speak a protocol of their own."""

_STAYING = ("mcp", "serve", "watch")
"""Commands that go on until they are stopped."""

_OBJECTS_UNCOLLECTED = 50_000
"""New objects at which a command looks for garbage. At Python's own 700 it goes through what imports make again and again, which is
a thirtieth of a command's time."""

_OUTPUT = "standard output"
_OF_STREAMS = frozenset({errno.EBADF, errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors that name no file: those of reading and of writing one do, so that these are of standard output."""

_NAMES_ITSELF = frozenset({"compaction_id", "memory_id", "message_id"})
"""Fields of which an error says what was typed, so that it need not say the field."""

_CALLED_ELSEWHERE = {
    **dict.fromkeys(("proxy", "server"), "serve"),
    **dict.fromkeys(("list", "ls"), "sessions"),
    **dict.fromkeys(("search", "find", "grep"), "recall"),
    **dict.fromkeys(("undo", "revert"), "rollback"),
    **dict.fromkeys(("rm", "remove"), "delete"),
    **dict.fromkeys(("cat", "view"), "show"),
    **dict.fromkeys(("log", "compactions"), "history"),
    **dict.fromkeys(("check", "fsck", "doctor"), "verify"),
    **dict.fromkeys(("status", "stats"), "inspect"),
    "uninstall": "install --undo",
    "tokens": "count",
    "preview": "compact --preview",
}
"""What other programs and our own pages call it, and the command."""

_SHOW_FAULTS = "PLIMSOLL_TRACEBACK"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 0 done, 1 refused with one line on standard error, 2 wrong usage.

    `argv` are the words after the program's name; None takes the process's own.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if argv is None:
        _prepare_process()
        _collect_less(words)
    words = [*words[1:2], "--help"] if words[:1] == ["help"] else words
    return _guarded(lambda: _run(words))


def _run(words: Sequence[str]) -> int:
    if not words or (words[0] not in COMMANDS and not words[0].startswith("-")):
        return _without_command(words)
    try:
        arguments, unknown = parser(next((word for word in words if word != "--"), "")).parse_known_args(words)
        if unknown:
            arguments.refuse(f"unrecognized arguments: {' '.join(unknown)}")
    except SystemExit as done:  # argparse has printed the reason
        if words[0] == "hook":
            return DONE  # to a coding agent, status 2 would mean that it must not go on
        return done.code if isinstance(done.code, int) else WRONG_USAGE
    return arguments.run(arguments) or DONE


def _without_command(words: Sequence[str]) -> int:
    """Say which commands there are, or which was meant."""
    if not words:
        parser("").print_help(sys.stderr)
        return WRONG_USAGE
    from difflib import get_close_matches

    near = _CALLED_ELSEWHERE.get(words[0]) or next(iter(get_close_matches(words[0], COMMANDS, n=1)), None)
    meant = f"did you mean {near}?" if near else "plimsoll --help lists them"
    return _say(f"there is no command {words[0][:80]!r}; {meant}", WRONG_USAGE)


def _guarded(run: Callable[[], int]) -> int:
    """Its status, or that of the error that it raises, which is said in one line."""
    try:
        status = run()
        sys.stdout.flush()
    except WrongUsage as error:
        return _say(error, WRONG_USAGE)
    except BrokenPipeError:
        drop_unwritten(sys.stdout)
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except (PlimsollError, Refused, OSError, MemoryError) as error:
        drop_unwritten(sys.stdout)
        return _say(_words(error), REFUSED)
    return status


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """The whole command line. Given the first word of one: that command alone, or of all only the names where it is none."""
    top = argparse.ArgumentParser(
        prog="plimsoll",
        description="Keeps an LLM agent's conversation inside the model's context window.",
        formatter_class=_Help,
    )
    top.add_argument("--version", action=_Version, help="print the version")
    found = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in [command] if command in COMMANDS else COMMANDS:
        if command in {None, name}:
            _add(name, found)
        else:
            found.add_parser(name, help=COMMANDS[name])
    return top


def _add(name: str, commands: Any) -> None:
    module, help = import_module(f"plimsoll.cli.commands.{_MODULES.get(name, name)}"), COMMANDS[name]
    about = getattr(module, "ABOUT", "")
    description = f"{help[0].upper()}{help[1:]}. {about}".strip()
    found = commands.add_parser(name, help=help, description=description, formatter_class=_Help)
    if name not in _WITHOUT_JSON:
        found.add_argument("--json", action="store_true", help="print JSON for programs")
    module.add(found)
    found.set_defaults(run=module.run, refuse=found.error)


class _Help(argparse.HelpFormatter):
    """Looks up the width of the terminal without shutil, which takes 2 ms to import: argparse makes one for each option."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    """The width of the terminal, as shutil tells it: $COLUMNS, else what the terminal says, else 80."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else -1).columns or 80
    except (OSError, ValueError):
        return 80


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("plimsoll-context")
        except PackageNotFoundError:
            found = "(not installed)"
        print(f"plimsoll {found}")
        parser.exit(DONE)


def _prepare_process() -> None:
    """Make output that no terminal can refuse, and warnings and faults that are one line."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    warnings.showwarning = _note
    if not os.environ.get(_SHOW_FAULTS):
        sys.excepthook = _fault


def _collect_less(words: Sequence[str]) -> None:
    """Spare a command that ends by itself most of the work of the collector of garbage."""
    if not set(words[:1]) & set(_STAYING):
        gc.set_threshold(_OBJECTS_UNCOLLECTED)
    atexit.register(gc.freeze)  # collecting all once more takes longer than giving the memory back


def _open_streams() -> None:
    """Open what the caller closed of the standard streams, so that no file of ours gets its number, which a child would write to.

    Closed input is empty, writing to closed output fails, and closed errors are dropped.
    """
    for name, flags, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, flags)  # the lowest that is free, which is that of the stream
            os.set_inheritable(number, True)  # noqa: FBT003 - its only parameter
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _note(  # noqa: PLR0913, PLR0917 - as warnings.showwarning
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    del category, filename, lineno, file, line
    _say(message, DONE, word="note")


def _fault(kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
    """A defect of plimsoll: one line that can be reported, instead of a traceback."""
    what = f"{kind.__name__}: {error}{place_of(error)}"
    _say(f"a fault in plimsoll itself: {what}; {_SHOW_FAULTS}=1 shows all of it", REFUSED)


def _say(what: object, status: int, *, word: str = "plimsoll") -> int:
    try:
        print(f"{word}: {one_line(str(what), 600)}", file=sys.stderr)
    except OSError:
        drop_unwritten(sys.stderr)
    return status


def _words(error: Exception) -> str:
    """What an error says, without Python's own notation for it."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, SessionBusy):
        return f"{error.reason}; try again when the session is closed there"
    if not isinstance(error, OSError):
        return error.reason if isinstance(error, SettingError) and error.field in _NAMES_ITSELF else str(error)
    name = error.filename
    where = os.fsdecode(name) if isinstance(name, str | bytes) else _OUTPUT if error.errno in _OF_STREAMS else ""
    return f"{where}{': ' * bool(where)}{error.strerror or error}"
