"""`plimsoll recall`: search what left a session's view."""

from __future__ import annotations

import argparse

from plimsoll.cli.options import Commands, add_name, command
from plimsoll.cli.refusal import DONE


def add(commands: Commands) -> None:
    """Its options."""
    parser = command(
        commands,
        "recall",
        run,
        "search everything in a session that its view no longer shows",
        "Each hit names a reference, by which `plimsoll read` gives the whole text back.",
    )
    add_name(parser)
    parser.add_argument("query", metavar="QUERY", nargs="+", help="what to look for, in a few words")
    parser.add_argument(
        "--max-tokens", metavar="N", type=int, default=2_000, help="size of all hits together (default: 2000)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Search, best hits first."""
    from plimsoll.cli.output import print_json
    from plimsoll.cli.screen import say
    from plimsoll.opening import existing
    from plimsoll.session import Session

    with Session(existing(arguments.name, store=arguments.store)) as session:
        hits = session.recall(" ".join(arguments.query), max_tokens=arguments.max_tokens)
    if arguments.json:
        print_json([hit.to_dict() for hit in hits])
        return DONE
    if not hits:
        say(f"{arguments.name}: nothing found")
    for hit in hits:
        say(f"{hit.reference}  message {hit.position}  {hit.voice}")
        for line in hit.text.splitlines():
            say(f"    {line}")
    return DONE
