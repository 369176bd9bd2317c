"""`plimsoll hook`: what a coding agent calls before and after it compacts."""

from __future__ import annotations

import argparse
import sys

from plimsoll.cli.options import add_store, flag, option, tokens
from plimsoll.cli.output import drop_unwritten, emit

EVENT_BYTES_MAX = 16 * 1024 * 1024
NOTES_TOKENS = 1_500
"""As in the library, which is not loaded to print a help text; a test compares them."""

ABOUT = (
    "It is read from standard input. Before a compaction the session's file is taken in; after it, what the tool's "
    "summary lost is handed back. Never fails: errors are in the log in the data folder."
)


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    option(
        parser,
        "--max-tokens N",
        f"the most tokens that are handed back (default: {NOTES_TOKENS})",
        type=tokens,
        default=NOTES_TOKENS,
    )
    flag(parser, "--mcp", "say in what is handed back that plimsoll's MCP server is there")
    option(parser, "--take-in FILE", "take in this session's file and read no event")
    flag(parser, "--wait", "with --take-in: wait for a compaction that is being written")
    add_store(parser)


def run(arguments: argparse.Namespace) -> None:
    """Answer, and say nothing where there is nothing to say."""
    from plimsoll.hooks.run import HookSettings, run_hook, take_in_file

    if arguments.take_in is not None:
        take_in_file(arguments.take_in, arguments.store, wait=arguments.wait, gives_way=True)
        return
    settings = HookSettings(max_tokens=arguments.max_tokens, store=arguments.store, has_mcp=arguments.mcp)
    try:
        if answer := run_hook(sys.stdin.buffer.read(EVENT_BYTES_MAX), settings):
            emit(answer.encode())
    except OSError:  # nobody reads the answer any more
        drop_unwritten(sys.stdout)
