"""`plimsoll import`: a file becomes a session; without a file, what there is to import on this computer."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from plimsoll.cli.listing import add_filters, list_found, refuse_filters
from plimsoll.cli.options import Commands, add_budget, add_store, command
from plimsoll.cli.refusal import DONE, Refused, WrongUsage

if TYPE_CHECKING:
    from plimsoll.session.session import Session
    from plimsoll.transcripts import Conversation, Transcript


def add(commands: Commands) -> None:
    """Its options."""
    parser = command(
        commands,
        "import",
        run,
        "make a session of a file, or list the sessions of other tools on this computer",
        "Everything in the file is kept, and the session's first view is what the other tool would send next.",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="a session file of Claude Code, Codex or pi, or messages as JSON; '-' for standard input; or a number of the "
        "list (default: list what is there, the newest first)",
    )
    parser.add_argument(
        "--as", metavar="NAME", dest="name", help="the new session's name (default: the id or name of what is read)"
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="take what the file has grown by into the session that was made of it",
    )
    add_filters(parser)
    add_budget(parser)
    add_store(parser)


def run(arguments: argparse.Namespace) -> int:
    """List, or import."""
    if arguments.file is None:
        if arguments.name is not None or arguments.update:
            raise WrongUsage(f"import: {'--update' if arguments.update else '--as'} needs a FILE")
        return list_found(arguments)
    refuse_filters(arguments)
    file = _chosen(arguments.file)
    return _update(file, arguments) if arguments.update else _import(file, arguments)


def _import(file: str, arguments: argparse.Namespace) -> int:
    """A new session."""
    from plimsoll.cli.screen import note_findings, working
    from plimsoll.cli.source import label_of, load, read_raw
    from plimsoll.session.transfer.import_file import import_file

    raw = read_raw(file)
    with working("importing", size_bytes=len(raw)):
        found = load(raw, file)
        _refuse_unreadable(found, label_of(file))
        options = {
            "model": arguments.model,
            "max_tokens": arguments.max_tokens,
            "policy": arguments.policy,
        }
        name = arguments.name or (_stem(file) if file != "-" else None)
        path = os.path.abspath(file) if os.path.isfile(file) else None  # noqa: PTH100, PTH113
        session = import_file(raw, path=path, name=name, store=arguments.store, **options)
    note_findings(found.findings)
    with session:
        return _done(session, as_json=arguments.json)


def _update(file: str, arguments: argparse.Namespace) -> int:
    """What a file has grown by, into the session that was made of it."""
    from plimsoll.cli.output import print_json
    from plimsoll.cli.screen import say, working
    from plimsoll.cli.source import read_raw
    from plimsoll.report.figures import counted, number
    from plimsoll.session.open import existing
    from plimsoll.session.session import Session

    if any((arguments.model, arguments.max_tokens, arguments.policy)):
        raise WrongUsage("import: --update keeps the session's own budget, model and policy")
    name = arguments.name or (_stem(file) if file != "-" else None)
    if name is None:
        raise WrongUsage("import: --update of standard input needs --as NAME")
    source = read_raw(file) if file == "-" else file
    size_bytes = len(source) if isinstance(source, bytes) else os.stat(file).st_size  # noqa: PTH116
    options = {"writable": True, "store": arguments.store}
    with working("importing", size_bytes=size_bytes), Session(existing(name, **options)) as session:
        before = len(session.compactions())
        added = session.update(source)
        status, compactions = session.status(), len(session.compactions()) - before
        if arguments.json:
            print_json({"name": name, "messages_added": added, "compactions_added": compactions, **status.to_dict()})
            return DONE
        view = f"{number(status.current_tokens)} of {number(status.max_tokens)} tokens"
        say(f"{name}: {counted(added, 'new message')}, the view has {view}, level {status.level}")
    return DONE


def _refuse_unreadable(found: Transcript | Conversation, label: str) -> None:
    """Messages that are not in their format are found before there is a session for them. Raises FormatError, Refused."""
    from plimsoll.formats.registry import decode_all
    from plimsoll.transcripts import Transcript

    if isinstance(found, Transcript):
        return
    if not found.messages:
        raise Refused(f"{label}: there are no messages in it")
    decode_all(found.messages, found.format)


def _stem(file: str) -> str | None:
    """The file's own name where it may name a session."""
    from plimsoll.errors import UnsafeName
    from plimsoll.store.paths import safe_name
    from plimsoll.transcripts.source import stem_of

    try:
        return safe_name(stem_of(file))
    except UnsafeName:
        return None


def _chosen(file: str) -> str:
    """The file, or the one of that number in the list."""
    if not (file.isascii() and file.isdecimal()) or os.path.lexists(file):
        return file
    from plimsoll.transcripts import discover

    found, number = discover(), int(file[:9])
    if not 1 <= number <= len(found):
        raise Refused(f"there is no file {file} and no number {file} in the list of {len(found)}")
    return found[number - 1].path


def _done(session: Session, *, as_json: bool) -> int:
    from plimsoll.cli.output import print_json
    from plimsoll.cli.screen import say
    from plimsoll.report.figures import counted, number

    status, messages = session.status(), len(session.history())
    if as_json:
        print_json({"name": session.name, "format": session.format, "messages": messages, **status.to_dict()})
        return DONE
    view = f"{number(status.current_tokens)} of {number(status.max_tokens)} tokens"
    say(f"{session.name}: {counted(messages, 'message')}, the view has {view}, level {status.level}")
    _tell_raised(session)
    return DONE


def _tell_raised(session: Session) -> None:
    """The tool had sent more than the model's budget is known to be: the session's budget is not what anybody would expect."""
    from plimsoll.cli.screen import note
    from plimsoll.report.figures import number

    known = next((source.get("budget") for source in session.notes("source")), None)
    if known is not None:
        instead = f"plimsoll compact {session.name} --max-tokens {known}"
        note(
            f"its view is larger than the {number(known)} tokens its model takes, so the budget is its size; compact it: {instead}"
        )
