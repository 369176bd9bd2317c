"""`plimsoll history`: what compactions did to a session, the tool's own that it was imported from included."""

from __future__ import annotations

import argparse

import plimsoll
from plimsoll.cli.options import Commands, add_name, command
from plimsoll.cli.output import print_json
from plimsoll.cli.refusal import DONE
from plimsoll.cli.screen import say, show


def add(commands: Commands) -> None:
    """Its options."""
    parser = command(
        commands,
        "history",
        run,
        "list a session's compactions, and which are undone",
        "Those of the tool that it was imported from are among them, with their own times and sizes as that tool counted them. "
        "`plimsoll show NAME --at ID` shows the view that one led to.",
    )
    add_name(parser)


def run(arguments: argparse.Namespace) -> int:
    """List, oldest first."""
    with plimsoll.open(arguments.name, store=arguments.store, read_only=True) as session:
        found, usages = session.compactions(), session.usage(last=1)
        tool = next((note.get("tool") for note in session.notes("source")), None)
    if arguments.json:
        print_json([compaction.to_dict() for compaction in found])
        return DONE
    if not found:
        say(f"{arguments.name}: no compactions")
    else:
        from plimsoll.report.terminal import table

        columns = ("id", "at", "by", "trigger", "level", ">before", ">after", ">left", "which left", "")
        show(table(columns, [_row(compaction, str(tool or "")) for compaction in found]))
    for usage in usages:
        say(_reported(usage))
    return DONE


def _row(compaction: plimsoll.Compaction, tool: str) -> tuple[str | int, ...]:
    """One compaction. Sizes are of the view, for another tool's those that it wrote down."""
    from plimsoll.report.figures import named, when

    is_foreign, is_import = compaction.stage == "import", compaction.trigger == "import"
    left = [place for action in compaction.lost for place in range(action.first, action.last + 1)]
    return (
        compaction.id or "",
        when(compaction.at_ms, full=True),
        tool if is_foreign else "plimsoll",
        compaction.trigger,
        "" if is_foreign else str(compaction.level),
        "" if is_import else compaction.tokens_before,
        compaction.tokens_after,
        len(left),
        _short(named(left)),
        "undone" if compaction.undone else "",
    )


def _short(names: str, chars_max: int = 40) -> str:
    """The first of these names, and that there are more."""
    return names if len(names) <= chars_max else f"{names[:chars_max].rpartition(',')[0]}, …"


def _reported(usage: plimsoll.Usage) -> str:
    from plimsoll.report.figures import number, when

    cached = f", {number(usage.cached_tokens)} of them from its cache" if usage.cached_tokens else ""
    answer = f"; its answer {usage.id}: {number(usage.completion_tokens)}" if usage.id else ""
    size = f"{number(usage.prompt_tokens)} tokens{cached}{answer}"
    return f"newest request as the provider counted it, {when(usage.at_ms, full=True)}: {size}"
