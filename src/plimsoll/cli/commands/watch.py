"""`plimsoll watch`: how full a running session is, what fills it, and what its last compaction lost."""

from __future__ import annotations

import argparse
import os
import stat
import sys
import time
from contextlib import suppress
from itertools import count

import plimsoll
from plimsoll.cli.options import TOOL_NAMES, flag, option
from plimsoll.cli.output import Refused, json_text, note, print_json, show
from plimsoll.errors import FormatError, PlimsollError
from plimsoll.hooks.watching import WatchedSession, look, newest_of
from plimsoll.report.drawing import Drawn
from plimsoll.report.figures import number, share
from plimsoll.report.safe_text import one_line
from plimsoll.report.terminal import line, table

STEP_S = 1.0
FIND_STEPS = 10
"""How often a newer session is looked for, in steps."""

FILLS_SHOWN = 8
FILLS_ON_A_LINE = 3
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"
_NAMES = {
    "request": "requests",
    "constraint": "conditions",
    "decision": "conclusions",
    "identifier": "values",
    "symbol": "names",
}

ABOUT = "Follows the newest session of the current folder; in a pipe, one line for each change. Ctrl-C ends it."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    option(parser, "FILE", "a session file of Claude Code, Codex or pi (default: the newest of this folder)", nargs="?")
    option(parser, "--tool TOOL", "only sessions of claude-code, codex or pi", choices=TOOL_NAMES)
    flag(parser, "--once", "show it once and end")


def run(arguments: argparse.Namespace) -> None:
    """Show, and go on showing."""
    if arguments.once:
        _show(_looked(_file(arguments)), as_json=arguments.json, is_live=False)
    else:
        with suppress(KeyboardInterrupt):
            _follow(arguments)


def _follow(arguments: argparse.Namespace) -> None:
    """Look again whenever the file has changed, and for a newer file now and then. Ends with Ctrl-C.

    Raises what `look` raises, the first time; a file that cannot be read later on is noted, and looked at again when it changes.
    """
    path = _file(arguments)
    seen = (path, _mark(path))
    _show(_looked(path), as_json=arguments.json, is_live=True)
    trouble = ""
    for step in count(1):
        began = time.monotonic()
        try:
            if arguments.file is None and step % FIND_STEPS == 0:
                path = _file(arguments)
            if (path, mark := _mark(path)) != seen:
                seen = (path, mark)
                found, trouble = _looked(path), ""
                _show(found, as_json=arguments.json, is_live=True)
        except BrokenPipeError:  # nobody reads it any more
            raise
        except (PlimsollError, OSError, Refused) as error:
            if str(error) != trouble:
                note(trouble := str(error))
        time.sleep(
            max(STEP_S, 3 * (time.monotonic() - began))
        )  # a large file takes long to read, and others need the computer


def _file(arguments: argparse.Namespace) -> str:
    """The file that is asked for, else the newest session of this folder. Raises Refused."""
    if arguments.file is not None:
        return str(arguments.file)
    try:
        here = os.getcwd()  # noqa: PTH109 - as the tools note it
    except OSError:
        raise Refused("the current folder is gone; name the session's file") from None
    found = newest_of(plimsoll.discover(), here, arguments.tool)
    if found is None:
        raise Refused("no session of a coding agent runs in this folder; name its file")
    return found.path


def _mark(path: str) -> tuple[int, int]:
    """What changes when a file is written to. Raises OSError, and Refused for a folder, a pipe or a device."""
    status = os.stat(path)  # noqa: PTH116 - a Path would be made only to be taken apart
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{path}: it is not a file")
    return status.st_size, status.st_mtime_ns


def _looked(path: str) -> WatchedSession:
    _mark(path)
    try:
        return look(path)
    except FormatError as error:
        raise Refused(f"{path}: {error.reason}") from None


def _show(found: WatchedSession, *, as_json: bool, is_live: bool) -> None:
    if as_json and is_live:
        print(json_text(found.to_dict()), flush=True)
    elif as_json:
        print_json(found.to_dict())
    elif is_live and not sys.stdout.isatty():
        print(one_line(f"{time.strftime('%H:%M:%S')}  {_line(found)}", 1_000), flush=True)
    else:
        if is_live:
            print(_CLEAR, end="")
        show(_page(found))
        sys.stdout.flush()


def _line(found: WatchedSession) -> str:
    fills = ", ".join(f"{label} {number(tokens)}" for label, tokens in found.fills[:FILLS_ON_A_LINE])
    return f"{_size(found)}: {fills}{_loss(found)}"


def _size(found: WatchedSession) -> str:
    how = "" if found.is_counted else ", estimated"
    size = f"{number(found.tokens)} of {number(found.window_tokens)} tokens"
    return f"{size} ({share(found.tokens, found.window_tokens)}{how})"


def _loss(found: WatchedSession) -> str:
    """What the last compaction lost, in numbers."""
    if found.lost is None:
        return ""
    counts = ", ".join(f"{count} {_NAMES.get(kind, f'{kind}s')}" for kind, count in found.lost.facts.items())
    return f"; the last compaction lost {counts or 'nothing'}"


def _page(found: WatchedSession) -> list[Drawn]:
    rows = [(label, tokens, share(tokens, found.window_tokens)) for label, tokens in found.fills[:FILLS_SHOWN]]
    lost = (
        [] if found.lost is None else [line(_loss(found).removeprefix("; "), "yellow"), *map(_item, found.lost.first)]
    )
    return [
        line(f"{found.path} ({found.tool})", "dim"),
        line(_size(found), "bold"),
        table(("what fills it", ">tokens", ">of the window"), rows),
        line(f"compactions: {found.compactions}", "dim"),
        *lost,
    ]


def _item(text: str) -> Drawn:
    return line(f"  {text}")
