"""`plimsoll sessions`: what sessions there are."""

from __future__ import annotations

import argparse

import plimsoll
from plimsoll.cli.options import add_store, flag
from plimsoll.cli.output import print_json, say, show
from plimsoll.light.dataclass import asdict
from plimsoll.report.figures import size, when
from plimsoll.report.terminal import table

ABOUT = "An archived one is listed again as soon as a command names it."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    flag(parser, "--archived", "list those that were archived instead")
    add_store(parser)


def run(arguments: argparse.Namespace) -> None:
    """List."""
    found = plimsoll.sessions(arguments.store, archived=arguments.archived)
    if arguments.json:
        print_json([asdict(info) for info in found])
    elif found:
        show(table(("name", ">messages", ">size", "changed", "~title"), map(_row, found)))
    else:
        what = "archived sessions" if arguments.archived else "sessions"
        say(f"no {what} in {plimsoll.open_store(arguments.store).where}")


def _row(info: plimsoll.SessionInfo) -> tuple[str | int, ...]:
    return info.name, info.messages, size(info.size_bytes), when(info.updated_ms), info.title or ""
