"""`plimsoll history`: what compactions did to a session, the tool's own that it was imported from included."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import plimsoll
from plimsoll.cli.options import add_name, option
from plimsoll.cli.output import print_json, say, show, working
from plimsoll.report.figures import beside, named, number, when
from plimsoll.report.terminal import line, table

SHOWN_MAX = 25
_NAMES_CHARS_MAX = 40

ABOUT = (
    "Those of the tool that it was imported from are among them, with their own times and sizes as that tool counted "
    "them. With ID: what that compaction took out of the view, with references, and an estimate of what the view no "
    "longer says. `plimsoll show NAME --at ID` shows the view that one led to."
)


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_name(parser)
    option(parser, "ID", "the compaction to report on", nargs="?")


def run(arguments: argparse.Namespace) -> None:
    """List, oldest first; or report on one."""
    if arguments.id is not None:
        _report(arguments)
        return
    with plimsoll.open(arguments.name, store=arguments.store, read_only=True) as session:
        found, usages, unseen = session.compactions(), session.usage(last=1), session.status().unseen_tokens
        tool = next((note.get("tool") for note in session.notes("source")), None)
    if arguments.json:
        print_json([compaction.to_dict() for compaction in found])
        return
    if not found:
        say(f"{arguments.name}: no compactions")
    else:
        columns = ("id", "at", "by", "trigger", "level", ">before", ">after", ">left", "which left", "")
        show(table(columns, [_row(compaction, str(tool or "")) for compaction in found]))
    if unseen and any(compaction.stage != "import" for compaction in found):
        say(f"sizes in rows of plimsoll are of the messages{beside(unseen)}")
    for usage in usages:
        say(_reported(usage))


def _report(arguments: argparse.Namespace) -> None:
    """What left, and what may be missed."""
    with plimsoll.open(arguments.name, store=arguments.store, read_only=True) as session, working("reading", session):
        report = plimsoll.loss_report(session, arguments.id)
    if arguments.json:
        print_json(report.to_dict())
        return
    total = report.total
    show(
        line(
            f"the messages that left the view hold {number(total.total)} facts: "
            f"it still says {number(total.total - total.lost)} of them, and {number(total.lost)} no more",
            "bold",
        )
    )
    counts = [(kind, tally.total, tally.kept, tally.lost) for kind, tally in report.by_kind.items()]
    show(table(("kind", ">found", ">in the view", ">not in it"), counts))
    if report.missed:
        shown = report.missed[-SHOWN_MAX:]
        show(line(""), line(f"not in the view ({_number_of(shown, report.missed)})", "bold"))
        show(table(("message", "kind", "text"), [(f"m{probe.position}", probe.kind, probe.answer) for probe in shown]))
    if report.left:
        acted = report.left[-SHOWN_MAX:]
        show(line(""), line(f"what left ({_number_of(acted, report.left)})", "bold"))
        show(table(("message", "what", ">tokens", "reference"), map(_left, acted)))
        say(
            f"plimsoll read {arguments.name} REFERENCE prints one; plimsoll recall {arguments.name} WORDS searches all of it"
        )


def _number_of(shown: Sequence[object], known: Sequence[object]) -> str:
    return f"the newest {len(shown)} of {len(known)}; --json has all" if len(shown) < len(known) else f"{len(known)}"


def _left(action: plimsoll.Action) -> tuple[str | int, ...]:
    """A row of what left. Of a tool's exchange the last reference is the result, which is what one wants to read."""
    name = named(list(range(action.first, action.last + 1)))
    return name, action.what, action.tokens_before, action.references[-1] if action.references else name


def _row(compaction: plimsoll.Compaction, tool: str) -> tuple[str | int, ...]:
    """One compaction. Sizes are of the view, for another tool's those that it wrote down."""
    is_foreign, is_import = compaction.stage == "import", compaction.trigger == "import"
    left = [place for action in compaction.lost for place in range(action.first, action.last + 1)]
    return (
        compaction.id or "",
        when(compaction.at_ms),
        tool if is_foreign else "plimsoll",
        compaction.trigger,
        "" if is_foreign else str(compaction.level),
        "" if is_import else compaction.tokens_before,
        compaction.tokens_after,
        len(left),
        _short(named(left)),
        "undone" if compaction.undone else "",
    )


def _short(names: str) -> str:
    """The first of these names, and that there are more."""
    return names if len(names) <= _NAMES_CHARS_MAX else f"{names[:_NAMES_CHARS_MAX].rpartition(',')[0]}, …"


def _reported(usage: plimsoll.Usage) -> str:
    cached = f", {number(usage.cached_tokens)} of them from its cache" if usage.cached_tokens else ""
    answer = f"; its answer {usage.id}: {number(usage.completion_tokens)}" if usage.id else ""
    size = f"{number(usage.prompt_tokens)} tokens{cached}{answer}"
    return f"newest request as the provider counted it, {when(usage.at_ms)}: {size}"
