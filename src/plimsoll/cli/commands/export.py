"""`plimsoll export`: a session as a file of another tool, or as messages in a format."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import plimsoll
from plimsoll.cli.container import Container
from plimsoll.cli.options import FORMAT_NAMES, TOOL_NAMES, add_name, add_out, flag, option
from plimsoll.cli.output import DONE, LOSSY, Refused, WrongUsage, emit, json_text, tell, working
from plimsoll.report.figures import pluralize
from plimsoll.report.terminal import line, table

_MADE = ("lines", "system", "messages")
"""What a preview leaves out."""

ABOUT = (
    "A session imported from the same tool gives its lines back as they were, then what is new; a compacted one the "
    "tool's own compaction and the view. What could not be carried is listed on standard error, and the exit status "
    "is 3 then; after it comes where the file belongs and how the tool goes on with it. A file that the tool would "
    "read otherwise than the session's view is not written. With --json the lines or messages and the losses are one "
    "object."
)


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_name(parser)
    names = (*TOOL_NAMES, *FORMAT_NAMES)
    option(parser, "--to FORMAT", f"{', '.join(names)} (default: with --in-place the file's own)", choices=names)
    flag(parser, "--view", "the view and not the history (not for a tool's file)")
    where = parser.add_mutually_exclusive_group()
    flag(
        where,
        "--in-place",
        "write it over the file that the session came from, if that is as it was read last, and keep a backup of it",
    )
    flag(where, "--preview", "say what would not be carried, and write nothing")
    add_out(where)
    flag(parser, "--lossy", "what could not be carried is no failure: the exit status is 0")


def run(arguments: argparse.Namespace) -> int:
    """Convert and write, and tell the losses."""
    if arguments.to is None and not arguments.in_place:
        raise WrongUsage("export: --to FORMAT is needed, or --in-place")
    if arguments.view and (arguments.in_place or arguments.to in TOOL_NAMES):
        raise WrongUsage("export: --view is for message formats; a tool's file holds the history and its compactions")

    options: dict[str, Any] = {"create": False, "read_only": not arguments.in_place}
    with plimsoll.open(arguments.name, store=arguments.store, **options) as session, working("exporting", session):
        found = session.export(to=arguments.to, in_place=arguments.in_place, view=arguments.view)
    return _file(found, arguments) if isinstance(found, plimsoll.Exported) else _messages(found, arguments)


def _file(found: plimsoll.Exported, arguments: argparse.Namespace) -> int:
    """A tool's file, and what to do with it."""
    losses = [{"position": loss.position, "what": loss.kind, "reason": loss.detail} for loss in found.losses]
    for loss in found.losses:
        if loss.kind == "view":
            raise Refused(f"{arguments.name}: {loss.detail}; nothing was written")
    shown = found.lines if arguments.json else ()
    lines = [line.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for line in shown]
    where = {"place": found.place, "resume": found.resume, "path": found.path, "backup": found.backup}
    status = _done(found.parts, {"name": found.name, "lines": lines, **where, "losses": losses}, arguments)
    if not arguments.json:
        _tell_place(found, in_place=arguments.in_place)
    return status


def _done(data: Sequence[bytes], result: dict[str, Any], arguments: argparse.Namespace) -> int:
    """Write what was made, or with --json all of the result, and list the losses."""
    losses = result["losses"]
    if arguments.preview:
        result = {key: value for key, value in result.items() if key not in _MADE}
    if arguments.json:
        emit(f"{json_text(result, indent=2)}\n".encode(), out=arguments.output)
    else:
        if not (arguments.preview or arguments.in_place):
            emit(*data, out=arguments.output)
        _tell(losses)
    return LOSSY if losses and not arguments.lossy else DONE


def _tell_place(found: plimsoll.Exported, *, in_place: bool) -> None:
    if not in_place:
        tell(line(f"it belongs at: {found.place}"))
    elif found.backup is None:
        tell(line(f"nothing new to write: {found.path}"))
    else:
        tell(line(f"written: {found.path}"), line(f"what was there: {found.backup}"))
    tell(line(f"go on with: {found.resume}"))


def _messages(found: plimsoll.Converted, arguments: argparse.Namespace) -> int:
    """Messages in a format, and what was lost on the way."""
    losses = [loss.to_dict() for loss in found.losses]
    data = Container.of_request(arguments.to, has_system=found.system is not None).text(found.messages, found.system)
    return _done([data.encode()], {"system": found.system, "messages": found.messages, "losses": losses}, arguments)


def _tell(losses: list[dict[str, Any]]) -> None:
    if not losses:
        return
    grouped: dict[tuple[str, str], list[int | None]] = {}
    for loss in losses:
        grouped.setdefault((loss["what"], loss["reason"]), []).append(loss["position"])
    rows = [
        (what, len(places), "" if places[0] is None else f"m{places[0]}", reason)
        for (what, reason), places in grouped.items()
    ]
    tell(
        line(f"not carried: {pluralize(len(losses), 'thing')}", "bold"), table(("what", ">count", "first", "why"), rows)
    )
