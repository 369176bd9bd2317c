"""`plimsoll show`: a session's conversation."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from plimsoll.cli.options import Commands, add_name, command, count
from plimsoll.cli.refusal import DONE

if TYPE_CHECKING:
    from rich.console import RenderableType

    from plimsoll.compaction.piece import Origins
    from plimsoll.message import Message
    from plimsoll.session.recorder import Chronicle

SHORT_LINES = 12
"""Lines of a message in the view; what is longer says how much."""

SHORT_CHARS = 1_200


def add(commands: Commands) -> None:
    """Its options."""
    parser = command(
        commands,
        "show",
        run,
        "show a session's view, or its history",
        "The view is what the model is sent; long messages are shortened.",
    )
    add_name(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--full", action="store_true", help="every message ever said, whole")
    which.add_argument("--last", metavar="N", type=count, help="the last N messages ever said, whole")
    which.add_argument("--at", metavar="ID", help="the view that a compaction led to, as `history` names it")


def run(arguments: argparse.Namespace) -> int:
    """Show. The view is shown as it stands: nothing is compacted for it."""
    from plimsoll.cli.output import print_json
    from plimsoll.session.open import existing

    chronicle = existing(arguments.name, store=arguments.store)
    try:
        whole = arguments.full or arguments.last is not None
        messages, origins = _chosen(chronicle, arguments)
        if arguments.json:
            shows = {"shows": "history" if whole else "view", "at": arguments.at, "origins": list(map(list, origins))}
            print_json({**_facts(chronicle), **shows, "messages": messages})
        else:
            _print(chronicle, messages, origins, whole=whole)
    finally:
        chronicle.close()
    return DONE


def _chosen(chronicle: Chronicle, arguments: argparse.Namespace) -> tuple[Sequence[Any], Origins]:
    """The messages to show, and for each the positions in the history that it came from."""
    if arguments.full or arguments.last is not None:
        start = 0 if arguments.last is None else max(0, chronicle.log.messages - arguments.last)
        records = list(chronicle.log.read_messages(start))
        return [record.data["m"] for record in records], tuple((record.position,) for record in records)
    view = chronicle.written() if arguments.at is None else chronicle.view_after(arguments.at)
    return view, view.origins


def _facts(chronicle: Chronicle) -> dict[str, Any]:
    gauge, total = chronicle.gauge, chronicle.total()
    return {
        "name": chronicle.log.name,
        "where": chronicle.log.where,
        "format": gauge.format.name,
        "history_messages": chronicle.log.messages,
        "view_tokens": total,
        "budget_tokens": gauge.budget.tokens,
        "unseen_tokens": gauge.budget.unseen_tokens,
        "level": str(gauge.level(total)),
        "policy": gauge.policy.name,
        "check": chronicle.check().to_dict(),
    }


def _print(chronicle: Chronicle, messages: Sequence[Any], origins: Origins, *, whole: bool) -> None:
    from plimsoll.brief import counted
    from plimsoll.cli.screen import show
    from plimsoll.compaction.references import named
    from plimsoll.formats.registry import decode_all
    from plimsoll.report.figures import number
    from plimsoll.report.terminal import line

    facts = _facts(chronicle)
    show(
        line(f"{facts['name']}: {counted(facts['history_messages'], 'message')} in {facts['where']}", "bold"),
        line(
            f"view: {number(facts['view_tokens'])} of {number(facts['budget_tokens'])} tokens, level {facts['level']}, "
            f"policy {facts['policy']}, {facts['format']}",
            "dim",
        ),
        line(facts["check"]["recommendation"], "dim"),
    )
    for positions, message in zip(origins, decode_all(messages, facts["format"])[1], strict=True):
        show(*_said(named(positions) or "(not in the history)", message, short=not whole))


def _said(name: str, message: Message, *, short: bool) -> list[RenderableType]:
    from plimsoll.brief import counted
    from plimsoll.report.parts import parts_of
    from plimsoll.report.terminal import block, line

    style = {"user": "bold cyan", "assistant": "bold green", "system": "bold magenta"}.get(message.role, "bold yellow")
    shown: list[RenderableType] = [line(""), line(f"{name} {message.role}", style)]
    for label, text in parts_of(message):
        cut = _shortened(text) if short else text
        shown.append(block(f"[{label}] {cut}" if label else cut))
        if len(cut) < len(text):
            shown.append(line(f"… {counted(len(text) - len(cut), 'more character')}; --full shows all", "dim"))
    return shown


def _shortened(text: str) -> str:
    """The first lines; a text with few of them by its characters."""
    return "\n".join(islice(text[:SHORT_CHARS].split("\n"), SHORT_LINES))
