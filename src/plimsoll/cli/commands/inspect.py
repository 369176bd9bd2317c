"""`plimsoll inspect`: what fills the window, and what would leave it and why."""

from __future__ import annotations

import argparse

import plimsoll
from plimsoll.cli.options import add_budget, add_file, budget_of, option
from plimsoll.cli.output import WrongUsage, emit, print_json, show, tell, working
from plimsoll.cli.source import is_session, label_of, open_session, preload, read
from plimsoll.report.terminal import inspected, line

ABOUT = "For a session, what `plimsoll compact` would do. Changes nothing."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_file(parser)
    add_budget(parser)
    option(
        parser, "--html OUT", "write the report to this file, as one page of HTML without scripts; - is standard output"
    )


def run(arguments: argparse.Namespace) -> None:
    """Inspect and show."""
    if arguments.html == "-" and arguments.json:
        raise WrongUsage("inspect: --html - and --json both write to standard output: name a file for the page")
    preload(arguments.file, arguments.model)
    inspection, page = _inspected(arguments)
    if arguments.html is not None:
        emit(page.encode(), out=arguments.html)
        if arguments.html != "-":
            tell(line(f"written: {arguments.html}"))
    if arguments.json:
        print_json(inspection.to_dict())
    elif arguments.html is None:
        show(inspected(inspection))


def _inspected(arguments: argparse.Namespace) -> tuple[plimsoll.Inspection, str]:
    """What was found, and the page of it where one is asked for: that of a session is drawn while it is open."""
    options = budget_of(arguments)
    if is_session(arguments.file):
        with open_session(arguments.file, arguments.store, **options) as session, working("inspecting", session):
            found = session.inspect()
            return found, "" if arguments.html is None else found.html()
    loaded, size_bytes = read(arguments.file)
    with working("inspecting", size_bytes):
        found = plimsoll.inspect(
            loaded, label=label_of(arguments.file), **{**options, "policy": arguments.policy or "fill"}
        )
        return found, "" if arguments.html is None else found.html()
