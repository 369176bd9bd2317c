"""`plimsoll rollback`: take a compaction back, or go on from it again."""

from __future__ import annotations

import argparse

import plimsoll
from plimsoll.cli.options import add_name, flag, option
from plimsoll.cli.output import print_json, say
from plimsoll.report.figures import number

ABOUT = "Recorded, not erased: --reapply goes back to it."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_name(parser)
    option(parser, "ID", "the compaction, as `history` names it (default: the newest)", nargs="?")
    flag(parser, "--reapply", "the reverse: go on again from a compaction that was undone")


def run(arguments: argparse.Namespace) -> None:
    """Undo, or redo."""
    with plimsoll.open(arguments.name, store=arguments.store, create=False) as session:
        change = session.reapply if arguments.reapply else session.rollback
        compaction = change(arguments.id)
        tokens = session.status().current_tokens
    if arguments.json:
        print_json({**compaction.to_dict(), "view_tokens": tokens})
    else:
        what = "in force again" if arguments.reapply else "undone"
        say(f"{arguments.name}: {compaction.id} is {what}; the view has {number(tokens)} tokens")
