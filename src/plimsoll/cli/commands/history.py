"""`plimsoll history`: what compactions did to a session."""

from __future__ import annotations

import argparse

from plimsoll.cli.options import Commands, add_name, command
from plimsoll.cli.refusal import DONE


def add(commands: Commands) -> None:
    """Its options."""
    parser = command(commands, "history", run, "list a session's compactions, and which are undone")
    add_name(parser)


def run(arguments: argparse.Namespace) -> int:
    """List, oldest first."""
    from plimsoll.cli.output import print_json
    from plimsoll.cli.screen import say, show
    from plimsoll.opening import existing

    chronicle = existing(arguments.name, store=arguments.store)
    try:
        found = chronicle.compactions()
    finally:
        chronicle.close()
    if arguments.json:
        print_json([compaction.to_dict() for compaction in found])
        return DONE
    if not found:
        say(f"{arguments.name}: no compactions")
        return DONE
    from plimsoll.report.figures import when
    from plimsoll.report.terminal import table

    rows = [
        (
            compaction.id or "",
            when(compaction.at_ms),
            compaction.trigger,
            str(compaction.level),
            compaction.stage,
            compaction.tokens_before,
            compaction.tokens_after,
            sum(action.last - action.first + 1 for action in compaction.lost),
            "undone" if compaction.undone else "",
        )
        for compaction in found
    ]
    show(table(("id", "at", "trigger", "level", "stage", ">before", ">after", ">left", ""), rows))
    return DONE
