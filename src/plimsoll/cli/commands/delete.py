"""`plimsoll delete`: remove a session for good."""

from __future__ import annotations

import argparse
import sys

import plimsoll
from plimsoll.cli.options import add_name, flag
from plimsoll.cli.output import DONE, Refused, print_json, say
from plimsoll.report.figures import pluralize

ABOUT = "Asks first."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_name(parser)
    flag(parser, "--yes", "do not ask")


def run(arguments: argparse.Namespace) -> int:
    """Ask and remove."""
    listed = [*plimsoll.sessions(arguments.store), *plimsoll.sessions(arguments.store, archived=True)]
    messages = next((info.messages for info in listed if info.name == arguments.name), None)
    if messages is not None and not arguments.yes:
        _ask(arguments.name, messages)
    plimsoll.delete(arguments.name, arguments.store)
    if arguments.json:
        print_json({"deleted": arguments.name, "messages": messages})
    else:
        say(f"{arguments.name}: deleted")
    return DONE


def _ask(name: str, messages: int) -> None:
    if not sys.stdin.isatty():
        raise Refused(f"{name} was not deleted: this is no terminal to ask on; --yes deletes without asking")
    print(
        f"Delete {name} and its {pluralize(messages, 'message')} for good? [y/N] ", end="", file=sys.stderr, flush=True
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused(f"{name} was not deleted")
