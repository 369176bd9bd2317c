"""`plimsoll delete`: remove a session for good."""

from __future__ import annotations

import argparse

import plimsoll
from plimsoll.cli.options import add_name, flag
from plimsoll.cli.output import confirm, print_json, say
from plimsoll.report.figures import pluralize

ABOUT = "Asks first."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_name(parser)
    flag(parser, "--yes", "do not ask")


def run(arguments: argparse.Namespace) -> None:
    """Ask and remove."""
    listed = [*plimsoll.sessions(arguments.store), *plimsoll.sessions(arguments.store, archived=True)]
    messages = next((info.messages for info in listed if info.name == arguments.name), None)
    if messages is not None and not arguments.yes:
        what = f"{arguments.name} and its {pluralize(messages, 'message')}"
        confirm(f"Delete {what} for good?", refusal=f"{arguments.name} was not deleted", done="deletes")
    plimsoll.delete(arguments.name, arguments.store)
    if arguments.json:
        print_json({"deleted": arguments.name, "messages": messages})
    else:
        say(f"{arguments.name}: deleted")
