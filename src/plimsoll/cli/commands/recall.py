"""`plimsoll recall`: search what left a session's view."""

from __future__ import annotations

import argparse

import plimsoll
from plimsoll.cli.options import Commands, add_name, command, count, tokens
from plimsoll.cli.output import print_json
from plimsoll.cli.refusal import DONE
from plimsoll.cli.screen import say, show, working

HITS_SHOWN = 10
ROLES = ("user", "assistant", "tool", "system", "summary")


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
        "--limit", metavar="N", type=count, default=HITS_SHOWN, help=f"at most N hits (default: {HITS_SHOWN})"
    )
    parser.add_argument(
        "--max-tokens", metavar="N", type=tokens, default=2_000, help="size of all hits together (default: 2000)"
    )
    parser.add_argument("--order", choices=("best", "said"), default="best", help="best first, or as they were said")
    parser.add_argument("--role", choices=ROLES, help="only what this one said; tool: results of tools")
    parser.add_argument("--tool", metavar="NAME", help="only calls and results of this tool")
    parser.add_argument("--before", metavar="WHEN", help="only before this message (m12) or day (2026-05-17)")
    parser.add_argument("--after", metavar="WHEN", help="only after this message, or from this day on")


def run(arguments: argparse.Namespace) -> int:
    """Search, best hits first."""
    query = " ".join(arguments.query)
    with plimsoll.open(arguments.name, store=arguments.store, read_only=True) as session:
        with working("searching", session):
            hits = session.recall(
                query,
                max_tokens=arguments.max_tokens,
                limit=arguments.limit,
                order=arguments.order,
                role=arguments.role,
                tool=arguments.tool,
                before=arguments.before,
                after=arguments.after,
            )
        times = [session.message(hit.position).at_ms for hit in hits]
    if arguments.json:
        print_json([{**hit.to_dict(), "at_ms": at_ms} for hit, at_ms in zip(hits, times, strict=True)])
        return DONE
    if not hits:
        say(f"{arguments.name}: nothing found")
    for number, hit in enumerate(hits):
        _print(hit, query, times[number], is_first=number == 0)
    return DONE


def _print(hit: plimsoll.Hit, query: str, at_ms: int, *, is_first: bool) -> None:
    """A hit under its reference, the words that were looked for in bold."""
    from plimsoll.report.figures import when
    from plimsoll.report.terminal import block, highlight, line

    heading = f"{hit.reference}  {hit.voice}  {when(at_ms)}"
    text = highlight(block("\n".join(f"    {text}" for text in _lines(hit.text))), query)
    show(*(() if is_first else (line(""),)), line(heading, "cyan"), text)


def _lines(text: str) -> list[str]:
    """Lines as they were meant: arguments of calls are JSON, in which a line feed is two characters."""
    shown = text if "\n" in text.strip() else text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    return shown.strip("\r\n").splitlines()
