"""`plimsoll import`: a file becomes a session; without a file, what there is to import on this computer."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import plimsoll
from plimsoll.cli.options import TOOL_NAMES, add_budget, add_store, budget_of, count, flag, option
from plimsoll.cli.output import Refused, WrongUsage, note, print_json, say, show, working
from plimsoll.cli.source import label_of, load, note_findings, read_raw, readable
from plimsoll.errors import SessionExists
from plimsoll.light.dataclass import asdict
from plimsoll.report.figures import number, pluralize, size, when
from plimsoll.report.terminal import table

SHOWN_ON_TERMINAL = 30
"""Newest sessions that are listed by default on a terminal; a program that reads the list gets all of them."""


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Which of them to list."""
    option(parser, "--tool TOOL", f"list only those of {', '.join(TOOL_NAMES)}", choices=TOOL_NAMES)
    option(parser, "--project P", "list only those of a folder whose path has P in it")
    option(parser, "--last N", f"list the newest N (default: {SHOWN_ON_TERMINAL} on a terminal, else all)", type=count)


def refuse_filters(arguments: argparse.Namespace) -> None:
    """Filters are for the list. Raises WrongUsage."""
    for name in ("tool", "project", "last"):
        if getattr(arguments, name) is not None:
            raise WrongUsage(f"import: --{name} is for the list, which is shown without a FILE")


def list_found(arguments: argparse.Namespace) -> None:
    """List them, the newest first, each under the number that `import` takes."""
    files = plimsoll.discover()
    rows = [(number, found) for number, found in enumerate(files, 1) if _is_wanted(found, arguments)]
    is_terminal = sys.stdout.isatty()
    most = arguments.last or (SHOWN_ON_TERMINAL if is_terminal and not arguments.json else len(rows))
    if arguments.json:
        print_json([_data(number, found) for number, found in rows[:most]])
    elif rows:
        _show(rows, most, is_terminal=is_terminal)
    elif files:
        say(f"none of the {pluralize(len(files), 'session')} here is of that tool and project")
    else:
        say(f"no sessions of {arguments.tool or 'Claude Code, Codex or pi'} in {_places()}")


def _show(rows: Sequence[tuple[int, plimsoll.SessionFile]], most: int, *, is_terminal: bool) -> None:
    columns = (">no", "tool", "changed", ">tokens", ">size", "~what", "project", *(() if is_terminal else ("file",)))
    show(table(columns, [_row(number, found)[: len(columns)] for number, found in rows[:most]]))
    if len(rows) > most:
        say(f"and {pluralize(len(rows) - most, 'older session')}: --last N, --tool and --project choose")
    say("import one with: plimsoll import NO")


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
    changed = when(int(found.modified.timestamp() * 1000))
    tokens = "" if found.tokens is None else found.tokens
    what, folder = found.title or "", "/".join((found.cwd or "").rstrip("/").split("/")[-2:])
    return (number, found.tool, changed, tokens, size(found.size_bytes), what, folder, found.path)


def _data(number: int, found: plimsoll.SessionFile) -> dict[str, object]:
    return {"number": number, **asdict(found), "modified": found.modified.isoformat()}


ABOUT = "Everything in the file is kept, and the session's first view is what the other tool would send next."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    option(
        parser,
        "FILE",
        "a session file of Claude Code, Codex or pi, or messages as JSON; '-' for standard input; or a number of the "
        "list (default: list what is there, the newest first)",
        nargs="?",
    )
    option(parser, "--as NAME", "the new session's name (default: the file's name, else the id in it)", dest="name")
    flag(parser, "--update", "take what the file has grown by into the session that was made of it")
    add_filters(parser)
    add_budget(parser)
    add_store(parser)


def run(arguments: argparse.Namespace) -> None:
    """List, or import."""
    if arguments.file is None:
        if arguments.name is not None or arguments.update:
            raise WrongUsage(f"import: {'--update' if arguments.update else '--as'} needs a FILE")
        list_found(arguments)
        return
    refuse_filters(arguments)
    (_update if arguments.update else _import)(_chosen(arguments.file), arguments)


def _import(file: str, arguments: argparse.Namespace) -> None:
    given, size_bytes = readable(file)
    with working("importing", size_bytes):
        loaded = [load(given, file)]
        findings = loaded[0].findings
        if isinstance(loaded[0], plimsoll.Conversation) and not loaded[0].messages:
            raise Refused(f"{label_of(file)}: there are no messages in it")
        path = None if file == "-" else os.path.abspath(file)  # noqa: PTH100
        file_of = {"path": path, "name": arguments.name, "store": arguments.store}
        # which lets go of it before it opens the session
        try:
            session = plimsoll.import_file(loaded.pop(), **file_of, **budget_of(arguments))
        except SessionExists as error:
            raise Refused(f"{error}; --update takes in what the file has grown by, --as gives another name") from None
    note_findings(findings)
    with session:
        _done(session, as_json=arguments.json)


def _update(file: str, arguments: argparse.Namespace) -> None:
    """What a file has grown by, into the session that was made of it."""
    if any(budget_of(arguments).values()):
        raise WrongUsage("import: --update keeps the session's own budget, model and policy")
    if arguments.name is None and file == "-":
        raise WrongUsage("import: --update of standard input needs --as NAME")
    source, size_bytes = (read_raw(file), None) if file == "-" else (file, os.stat(file).st_size)  # noqa: PTH116
    name = arguments.name or plimsoll.import_name(file)
    with plimsoll.open(name, store=arguments.store, create=False) as session:
        before = len(session.compactions())
        with working("importing", size_bytes):
            added = session.update(source)
        compactions = len(session.compactions()) - before
        if arguments.json:
            about = {"messages_added": added, "compactions_added": compactions}
            print_json({"name": name, **about, **session.status().to_dict()})
        else:
            say(f"{name}: {pluralize(added, 'new message')}, {_size(session)}")


def _chosen(file: str) -> str:
    """The file, or the one of that number in the list."""
    if not (file.isascii() and file.isdecimal()) or os.path.lexists(file):
        return file
    found, number = plimsoll.discover(), int(file[:9])
    if not 1 <= number <= len(found):
        raise Refused(f"there is no file {file} and no number {file} in the list of {len(found)}")
    return found[number - 1].path


def _done(session: plimsoll.Session, *, as_json: bool) -> None:
    messages = session.message_count
    if as_json:
        about = {"name": session.name, "format": session.format, "messages": messages}
        print_json({**about, **session.status().to_dict()})
    else:
        say(f"{session.name}: {pluralize(messages, 'message')}, {_size(session)}")
        _tell_raised(session)


def _size(session: plimsoll.Session) -> str:
    status = session.status()
    view = f"{number(status.current_tokens)} of {number(status.max_tokens)} tokens"
    return f"the view has {view}, level {status.level}"


def _tell_raised(session: plimsoll.Session) -> None:
    """The tool had sent more than the model's budget is known to be: the session's budget is not what anybody would expect."""
    known = next((source.get("budget") for source in session.notes("source")), None)
    if known is not None:
        instead = f"plimsoll compact {session.name} --max-tokens {known}"
        note(
            f"its view is larger than the {number(known)} tokens its model takes, so the budget is its size; compact it: {instead}"
        )
