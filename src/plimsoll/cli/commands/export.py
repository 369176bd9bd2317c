"""`plimsoll export`: a session as a file of another tool, or as messages in a format."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from plimsoll.cli.options import FORMAT_NAMES, TOOL_NAMES, Commands, add_name, add_out, command
from plimsoll.cli.refusal import DONE, Refused, WrongUsage

if TYPE_CHECKING:
    from plimsoll.session import Session


def add(commands: Commands) -> None:
    """Its options."""
    parser = command(
        commands,
        "export",
        run,
        "write a session as a file of another tool, or as messages",
        "What could not be carried is listed on standard error. A session imported from the same tool gives its lines back as "
        "they were. With --json the lines or messages and the losses are one object.",
    )
    add_name(parser)
    names = (*TOOL_NAMES, *FORMAT_NAMES)
    parser.add_argument("--to", metavar="FORMAT", required=True, choices=names, help=", ".join(names))
    parser.add_argument("--view", action="store_true", help="the view and not the history (not for a tool's file)")
    add_out(parser)


def run(arguments: argparse.Namespace) -> int:
    """Convert and write."""
    if arguments.view and arguments.to in TOOL_NAMES:
        raise WrongUsage("export: --view is for message formats; a tool's file holds the history and its compactions")
    from plimsoll.cli.output import emit, json_text
    from plimsoll.opening import existing
    from plimsoll.session import Session

    with Session(existing(arguments.name, store=arguments.store)) as session:
        data, result, losses = _exported(session, arguments)
    for loss in losses:
        if loss["what"] == "view":
            raise Refused(f"export: {loss['reason']}; nothing was written")
    if arguments.json:
        data = f"{json_text({**result, 'losses': losses}, indent=2)}\n".encode()
    emit(data, arguments.output)
    if losses and not arguments.json:
        _tell(losses)
    return DONE


def _exported(session: Session, arguments: argparse.Namespace) -> tuple[bytes, dict[str, Any], list[dict[str, Any]]]:
    """The bytes to write, the same as data, and what was lost."""
    from plimsoll.cli.container import Container
    from plimsoll.transcripts import Exported

    found = _view(session, arguments.to) if arguments.view else session.export(to=arguments.to)
    if isinstance(found, Exported):
        lost = [{"position": loss.position, "what": loss.kind, "reason": loss.detail} for loss in found.losses]
        lines = [line.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for line in found.lines]
        return found.data, {"name": found.name, "lines": lines}, lost
    container = Container.of_request(arguments.to, has_system=found.system is not None)
    text = container.text(found.messages, found.system)
    return (
        text.encode(),
        {"system": found.system, "messages": found.messages},
        [loss.to_dict() for loss in found.losses],
    )


def _view(session: Session, to: Any) -> Any:
    """The view as it stands; a session open for reading compacts nothing."""
    from plimsoll.formats.convert import convert

    return convert(session.view(), to=to, format=session.format)


def _tell(losses: list[dict[str, Any]]) -> None:
    from plimsoll.cli.screen import tell
    from plimsoll.report.figures import plural
    from plimsoll.report.terminal import line, table

    grouped: dict[tuple[str, str], list[int | None]] = {}
    for loss in losses:
        grouped.setdefault((loss["what"], loss["reason"]), []).append(loss["position"])
    rows = [
        (what, len(places), "" if places[0] is None else f"m{places[0]}", reason)
        for (what, reason), places in grouped.items()
    ]
    tell(line(f"not carried: {plural(len(losses), 'thing')}", "bold"), table(("what", ">count", "first", "why"), rows))
