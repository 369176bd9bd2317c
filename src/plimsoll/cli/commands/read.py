"""`plimsoll read`: a text that left a session's view, by its reference."""

from __future__ import annotations

import argparse
import sys

import plimsoll
from plimsoll.cli.options import add_name, count, option, whole
from plimsoll.cli.output import emit, print_json
from plimsoll.report.safe_text import neutral


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_name(parser)
    option(parser, "REFERENCE", "as a cut message or `recall` names it; or a message, such as m12")
    option(parser, "--offset N", "skip N characters", type=whole, default=0)
    option(parser, "--limit N", "print at most N characters", type=count)


def run(arguments: argparse.Namespace) -> None:
    """Print it as it is, without anything around it; on a terminal on a line of its own and without what could command it."""
    with plimsoll.open(arguments.name, store=arguments.store, read_only=True) as session:
        text = session.read(arguments.reference, offset=arguments.offset, limit=arguments.limit)
    if arguments.json:
        print_json({"reference": arguments.reference, "text": text})
    else:
        shown = f"{neutral(text)}\n" if sys.stdout.isatty() else text
        emit(shown.encode("utf-8", "surrogatepass"))
