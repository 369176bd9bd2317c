"""`plimsoll recall`: search what left a session's view, or everything in all sessions."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import plimsoll
from plimsoll.cli.options import add_name, count, option, tokens
from plimsoll.cli.output import WrongUsage, print_json, say, show, working
from plimsoll.report.figures import when
from plimsoll.report.terminal import block, highlight, line

HITS_SHOWN = 10
ROLES = ("user", "assistant", "tool", "system", "summary")

ABOUT = "Each hit names a reference, by which `plimsoll read` gives the whole text back."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_name(parser)
    query = option(parser, "QUERY", "what to look for, in a few words", nargs="+")
    parser.add_argument(
        "--all",
        action=_All,
        query=query,
        help="search everything in all sessions, without NAME; each hit has its session before its reference",
    )
    option(parser, "--limit N", f"at most N hits (default: {HITS_SHOWN})", type=count, default=HITS_SHOWN)
    option(parser, "--max-tokens N", "size of all hits together (default: 2000)", type=tokens, default=2_000)
    parser.add_argument("--order", choices=("best", "said"), default="best", help="best first, or as they were said")
    parser.add_argument("--role", choices=ROLES, help="only what this one said; tool: results of tools")
    option(parser, "--tool NAME", "only calls and results of this tool")
    option(parser, "--before WHEN", "only before this message (m12) or day (2026-05-17)")
    option(parser, "--after WHEN", "only after this message, or from this day on")


class _All(argparse.Action):
    """With `--all`, the first word is not a name but one of the query, which may have no other."""

    def __init__(self, option_strings: Sequence[str], dest: str, *, query: argparse.Action, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, default=False, help=help)
        self._query = query

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *_: Any) -> None:
        del parser
        setattr(namespace, self.dest, True)
        self._query.required = False


def run(arguments: argparse.Namespace) -> None:
    """Search, best hits first."""
    words = arguments.query or []
    if arguments.all:
        _in_all(" ".join([arguments.name, *words]), arguments)
    elif words:
        _in_one(" ".join(words), arguments)
    else:
        raise WrongUsage("recall: QUERY is needed after NAME")


def _filters(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that one session and all of them have."""
    return {
        name: getattr(arguments, name) for name in ("max_tokens", "limit", "order", "role", "tool", "before", "after")
    }


def _in_all(query: str, arguments: argparse.Namespace) -> None:
    with working("searching"):
        hits = plimsoll.recall_sessions(query, store=arguments.store, **_filters(arguments))
    if arguments.json:
        print_json([hit.to_dict() for hit in hits])
        return
    if not hits:
        say("nothing found")
    for number, hit in enumerate(hits):
        _print(hit, query, f"{hit.session}  {hit.reference}  {hit.voice}  {hit.day}", is_first=number == 0)


def _in_one(query: str, arguments: argparse.Namespace) -> None:
    with plimsoll.open(arguments.name, store=arguments.store, read_only=True) as session:
        with working("searching", session):
            hits = session.recall(query, **_filters(arguments))
        times = [session.message(hit.position).at_ms for hit in hits]
    if arguments.json:
        print_json([{**hit.to_dict(), "at_ms": at_ms} for hit, at_ms in zip(hits, times, strict=True)])
        return
    if not hits:
        say(f"{arguments.name}: nothing found in what left the view; plimsoll show {arguments.name} prints the view")
    for number, hit in enumerate(hits):
        _print(hit, query, f"{hit.reference}  {hit.voice}  {when(times[number])}", is_first=number == 0)


def _print(hit: plimsoll.Hit, query: str, heading: str, *, is_first: bool) -> None:
    """A hit under its heading, the words that were looked for in bold."""
    text = highlight(block("\n".join(f"    {text}" for text in _lines(hit.text))), query)
    columns = (line(f"    {hit.header}", "dim"),) if hit.header else ()
    show(*(() if is_first else (line(""),)), line(heading, "cyan"), *columns, text)


def _lines(text: str) -> list[str]:
    """Lines as they were meant: arguments of calls are JSON, in which a line feed is two characters."""
    shown = text if "\n" in text.strip() else text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    return shown.strip("\r\n").splitlines()
