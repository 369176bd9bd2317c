"""The sessions of other tools on this computer, as a list to choose from."""

from __future__ import annotations

import argparse
import os
import sys

import plimsoll
from plimsoll.cli.options import TOOL_NAMES, count
from plimsoll.cli.output import print_json
from plimsoll.cli.refusal import DONE, WrongUsage
from plimsoll.cli.screen import say, show

SHOWN_ON_TERMINAL = 30
"""Newest sessions that are listed by default on a terminal; a program that reads the list gets all of them."""


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Which of them to list."""
    parser.add_argument(
        "--tool", metavar="TOOL", choices=TOOL_NAMES, help=f"list only those of {', '.join(TOOL_NAMES)}"
    )
    parser.add_argument("--project", metavar="P", help="list only those of a folder whose path has P in it")
    parser.add_argument(
        "--last",
        metavar="N",
        type=count,
        help=f"list the newest N (default: {SHOWN_ON_TERMINAL} on a terminal, else all)",
    )


def refuse_filters(arguments: argparse.Namespace) -> None:
    """Filters are for the list. Raises WrongUsage."""
    for name in ("tool", "project", "last"):
        if getattr(arguments, name) is not None:
            raise WrongUsage(f"import: --{name} is for the list, which is shown without a FILE")


def list_found(arguments: argparse.Namespace) -> int:
    """List them, the newest first, each under the number that `import` takes."""
    from plimsoll.report.figures import pluralize
    from plimsoll.report.terminal import table

    rows = [(number, found) for number, found in enumerate(plimsoll.discover(), 1) if _is_wanted(found, arguments)]
    is_terminal = sys.stdout.isatty()
    most = arguments.last or (SHOWN_ON_TERMINAL if is_terminal and not arguments.json else len(rows))
    if arguments.json:
        print_json([_data(number, found) for number, found in rows[:most]])
        return DONE
    if not rows:
        say(f"no sessions of {arguments.tool or 'Claude Code, Codex or pi'} in {_places()}")
        return DONE
    columns = (">no", "tool", "changed", ">tokens", ">size", "~what", "project", *(() if is_terminal else ("file",)))
    show(table(columns, [_row(number, found)[: len(columns)] for number, found in rows[:most]]))
    if len(rows) > most:
        say(f"and {pluralize(len(rows) - most, 'older session')}: --last N, --tool and --project choose")
    say("import one with: plimsoll import NO")
    return DONE


def _is_wanted(found: plimsoll.SessionFile, arguments: argparse.Namespace) -> bool:
    is_of_project = arguments.project is None or arguments.project in (found.cwd or "")
    return is_of_project and arguments.tool in {None, found.tool}


def _places() -> str:
    """Where they were looked for."""
    home = os.environ.get("HOME") or "~"
    claude = os.environ.get("CLAUDE_CONFIG_DIR") or f"{home}/.claude"
    codex = os.environ.get("CODEX_HOME") or f"{home}/.codex"
    pi = os.environ.get("PI_CODING_AGENT_DIR") or f"{home}/.pi/agent"
    return f"{claude}/projects, {codex}/sessions and {pi}/sessions"


def _row(number: int, found: plimsoll.SessionFile) -> tuple[str | int, ...]:
    from plimsoll.report.figures import size, when

    changed = when(int(found.modified.timestamp() * 1000), full=True)
    tokens = "" if found.tokens is None else found.tokens
    what, folder = found.title or "", "/".join((found.cwd or "").rstrip("/").split("/")[-2:])
    return (number, found.tool, changed, tokens, size(found.size_bytes), what, folder, found.path)


def _data(number: int, found: plimsoll.SessionFile) -> dict[str, object]:
    return {
        "number": number,
        "tool": found.tool,
        "path": found.path,
        "session_id": found.session_id,
        "cwd": found.cwd,
        "modified": found.modified.isoformat(),
        "size_bytes": found.size_bytes,
        "tokens": found.tokens,
        "title": found.title,
    }
