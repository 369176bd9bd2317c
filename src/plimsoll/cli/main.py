"""From the words on the command line to an exit status."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from plimsoll.cli.output import BROKEN_PIPE, DONE, INTERRUPTED, REFUSED, WRONG_USAGE, Refused, WrongUsage
from plimsoll.errors import PlimsollError

COMMANDS = (
    "fit",
    "count",
    "inspect",
    "import",
    "export",
    "sessions",
    "show",
    "compact",
    "history",
    "rollback",
    "recall",
    "read",
    "memory",
    "verify",
    "delete",
    "eval",
    "mcp",
    "install",
    "hook",
    "watch",
    "serve",
)
"""In the order of the help. Each is a module of `commands`, imported when it is asked for."""

_MODULES = {"import": "import_", "eval": "evaluate"}
"""Of commands whose name no module can have, or none should."""

_SHOW_FAULTS = "PLIMSOLL_TRACEBACK"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 0 done, 1 refused with one line on standard error, 2 wrong usage.

    `argv` are the words after the program's name; None takes the process's own.
    """
    if argv is None:
        _prepare_process()
    try:
        words = sys.argv[1:] if argv is None else list(argv)
        arguments = parser(words[:1]).parse_args(words)
    except SystemExit as done:  # argparse has printed the reason
        if words[:1] == ["hook"]:
            return DONE  # to a coding agent, status 2 would mean that it must not go on
        return done.code if isinstance(done.code, int) else WRONG_USAGE
    return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except WrongUsage as error:
        return _say(error, WRONG_USAGE)
    except BrokenPipeError:
        return _close_quietly()
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except (PlimsollError, Refused, OSError, MemoryError) as error:
        return _say(_words(error), REFUSED)
    return status


def parser(begins: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The whole command line; of one that begins with the name of a command, no other command."""
    top = argparse.ArgumentParser(
        prog="plimsoll", description="Keeps an LLM agent's conversation inside the model's context window."
    )
    top.add_argument("--version", action=_Version, help="print the version")
    found = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in [name for name in COMMANDS if name in begins] or COMMANDS:
        import_module(f"plimsoll.cli.commands.{_MODULES.get(name, name)}").add(found)
    return top


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
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    warnings.showwarning = _note
    if not os.environ.get(_SHOW_FAULTS):
        sys.excepthook = _fault


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


def _fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A defect of plimsoll: one line that can be reported, instead of a traceback."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    _say(f"a fault in plimsoll itself: {kind.__name__}: {error}{place}; {_SHOW_FAULTS}=1 shows all of it", REFUSED)


def _say(what: object, status: int, *, word: str = "plimsoll") -> int:
    from plimsoll.report.neutral import one_line

    print(f"{word}: {one_line(str(what), 600)}", file=sys.stderr)
    return status


def _words(error: Exception) -> str:
    """What an error says, without Python's own notation for it."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    if not isinstance(error, OSError):
        return str(error)
    where = "" if not isinstance(error.filename, str | bytes) else f"{os.fsdecode(error.filename)}: "
    return f"{where}{error.strerror or error}"


def _close_quietly() -> int:
    """Python flushes standard output as it ends; into a closed pipe that would be one more error."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):
        pass
    finally:
        os.close(null)
    return BROKEN_PIPE
