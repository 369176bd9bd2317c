"""`plimsoll mcp`: the sessions as tools for any client of the Model Context Protocol."""

from __future__ import annotations

import argparse
import sys

from plimsoll.cli.options import add_store, option, token_in
from plimsoll.cli.output import WrongUsage

ABOUT = "Over standard input and output, for the client that starts it; needs the extra mcp."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    option(parser, "--session NAME", "the session that calls mean which name none (default: the one changed last)")
    option(parser, "--http HOST:PORT", "serve streamable HTTP at http://HOST:PORT/mcp instead; port 0: any free one")
    option(
        parser,
        "--token-file FILE",
        "the file with the token that HTTP clients send as 'Authorization: Bearer'; needed where other machines can connect",
    )
    add_store(parser)


def run(arguments: argparse.Namespace) -> None:
    """Serve until the client closes, or Ctrl-C."""
    from plimsoll.mcp.run import serve

    if arguments.token_file is not None and not arguments.http:
        raise WrongUsage("--token-file goes with --http")
    serve(
        store=arguments.store,
        session=arguments.session,
        http=arguments.http,
        token=token_in(arguments.token_file) if arguments.token_file is not None else None,
        started=lambda url: print(f"plimsoll: listening on {url}", file=sys.stderr, flush=True),
    )
