"""`plimsoll memory`: search, list and forget the facts that are kept across sessions."""

from __future__ import annotations

import argparse

import plimsoll
from plimsoll.cli.options import count, flag, option
from plimsoll.cli.output import WrongUsage, confirm, print_json, say, show
from plimsoll.report.figures import when
from plimsoll.report.terminal import table

FOUND_SHOWN = 20

ABOUT = "Shows those of the user and of the project in the current folder, each with who said it, where and when."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    option(parser, "ACTION", "search, list or forget", choices=("search", "list", "forget"))
    option(parser, "WORDS", "search: what to look for; forget: ids of memories", nargs="*")
    option(parser, "--scope S", "only those of the user, or only those of the project", choices=("user", "project"))
    option(parser, "--session NAME", "only what was said in this session")
    option(parser, "--message ID", "with --session: only what this message says, such as m12")
    option(parser, "--tool NAME", "only what this tool said")
    flag(parser, "--all", "search, list: of every user and project; forget: all that list shows")
    flag(parser, "--superseded", "list: also what newer memories contradict")
    option(
        parser, "--limit N", f"search, list: at most N (default: {FOUND_SHOWN} of a search, all of a list)", type=count
    )
    flag(parser, "--yes", "forget --all: do not ask")
    option(parser, "--project DIR", "the project's folder (default: the current one)")
    option(parser, "--user ID", "whose memories, where several users share a store")
    option(
        parser,
        "--store SPEC",
        "where memories are kept: a file, a folder or sqlite:///file.db (default: in $PLIMSOLL_HOME, else the user's data "
        "directory)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Search, list or forget."""
    everyone = arguments.all and arguments.action != "forget"
    place = True if arguments.store is None else arguments.store
    project = True if arguments.project is None else arguments.project
    with plimsoll.open_memory(place, project=project, user_id=arguments.user, everyone=everyone) as memories:
        if arguments.action == "forget":
            _forget(arguments, memories)
            return
        found = _found(arguments, memories)
        if arguments.json:
            print_json([memory.to_dict() for memory in found])
        elif found:
            _print(found)
        else:
            say(f"no memories {'found ' if arguments.action == 'search' else ''}in {memories.where}")


def _found(arguments: argparse.Namespace, memories: plimsoll.Memories) -> list[plimsoll.Memory]:
    where = {"scope": arguments.scope, **_origin(arguments)}
    if arguments.action == "search":
        if not arguments.words:
            raise WrongUsage("memory search: what to look for is missing")
        if arguments.superseded:
            raise WrongUsage("memory search: finds what holds; --superseded goes with list")
        return memories.search(" ".join(arguments.words), limit=arguments.limit or FOUND_SHOWN, **where)
    if arguments.words:
        raise WrongUsage("memory list: takes no words; `memory search` looks for them")
    return memories.list(superseded=arguments.superseded, **where)[: arguments.limit]


def _origin(arguments: argparse.Namespace) -> dict[str, str | None]:
    return {name: getattr(arguments, name) for name in ("session", "message", "tool")}


def _forget(arguments: argparse.Namespace, memories: plimsoll.Memories) -> None:
    origin = _origin(arguments)
    named = [bool(arguments.words), any(origin.values()), arguments.all]
    if sum(named) != 1:
        raise WrongUsage("memory forget: either ids, an origin (--session, --message, --tool) or --all is needed")
    if arguments.superseded or arguments.limit is not None:
        raise WrongUsage("memory forget: --superseded and --limit go with list")
    if arguments.scope is not None and not arguments.all:
        raise WrongUsage("memory forget: --scope goes with --all only")
    if any(origin.values()):
        number = memories.forget(**origin)
    else:
        number = sum(map(memories.forget, arguments.words or _all(arguments, memories)))
    if arguments.json:
        print_json({"forgotten": number})
    else:
        say(f"{number} forgotten")


def _all(arguments: argparse.Namespace, memories: plimsoll.Memories) -> list[str]:
    """The ids of all memories, after asking."""
    found = memories.list(superseded=True, scope=arguments.scope)
    if found and not arguments.yes:
        confirm(f"Forget all {len(found)} memories for good?", refusal="nothing was forgotten", done="forgets")
    return [memory.id for memory in found]


def _print(found: list[plimsoll.Memory]) -> None:
    rows = [
        (
            memory.id,
            memory.kind if memory.superseded_by is None else "superseded",
            memory.text,
            memory.by,
            next((origin.session for origin in reversed(memory.origins) if origin.session), ""),
            when(memory.time_ms),
        )
        for memory in found
    ]
    show(table(("id", "kind", "text", "by", "session", "said"), rows))
