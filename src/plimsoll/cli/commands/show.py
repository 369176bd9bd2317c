"""`plimsoll show`: a session's conversation."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import plimsoll
from plimsoll.cli.options import add_name, count, flag, option
from plimsoll.cli.output import print_json, show
from plimsoll.report.drawing import Drawn
from plimsoll.report.figures import named, number, pluralize
from plimsoll.report.story import spoken
from plimsoll.report.terminal import block, line

SHORT_LINES = 12
"""Lines of a message in the view; what is longer says how much."""

SHORT_CHARS = 1_200

UNBOUNDED_TOKENS = 10**12
"""In place of the bound of the session's own filter."""

ABOUT = "The view is what the model is sent; long messages are shortened."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_name(parser)
    which = parser.add_mutually_exclusive_group()
    flag(which, "--full", "every message of the history, whole")
    option(which, "--last N", "the last N messages of the history, whole", type=count)
    option(which, "--at ID", "the view that a compaction led to, as `history` names it")


def run(arguments: argparse.Namespace) -> None:
    """Show. The view is shown as it is: nothing is compacted for it."""
    whole = arguments.full or arguments.last is not None
    with plimsoll.open(arguments.name, store=arguments.store, read_only=True) as session:
        messages, origins = _chosen(session, arguments)
        facts = _facts(session)
    if arguments.json:
        shows = {"shows": "history" if whole else "view", "at": arguments.at, "origins": list(map(list, origins))}
        print_json({**facts, **shows, "messages": messages})
    else:
        _print(facts, messages, origins, whole=whole)


def _chosen(
    session: plimsoll.Session, arguments: argparse.Namespace
) -> tuple[Sequence[Any], Sequence[tuple[int, ...]]]:
    """The messages to show, and for each the positions in the history that it came from."""
    if arguments.full or arguments.last is not None:
        found = _history(session, arguments.last)
        return [one.message for one in found], [(one.position,) for one in found]
    view = session.peek() if arguments.at is None else session.view_after(arguments.at)
    return view, view.origins


def _history(session: plimsoll.Session, last: int | None) -> list[plimsoll.HistoryMessage]:
    """The last messages of the history, or all of them, as they read now and whatever the session's own filter is."""
    if last is not None:
        return session.messages(last=last, since_ms=0, max_tokens=UNBOUNDED_TOKENS)
    found = (one for one in session.messages(all=True) if one.state != "left")
    return [session.message(one.id) if one.state == "changed" else one for one in found]


def _facts(session: plimsoll.Session) -> dict[str, Any]:
    status = session.status()
    return {
        "name": session.name,
        "where": session.where,
        "format": session.format,
        "history_messages": session.history_count,
        "edited_away_messages": session.message_count - session.history_count,
        "view_tokens": status.current_tokens,
        "budget_tokens": status.max_tokens,
        "unseen_tokens": status.unseen_tokens,
        "level": str(status.level),
        "policy": session.policy.name,
        "policy_source": session.policy.source,
        "check": session.check().to_dict(),
    }


def _print(
    facts: Mapping[str, Any], messages: Sequence[Any], origins: Sequence[tuple[int, ...]], *, whole: bool
) -> None:
    gone, source = facts["edited_away_messages"], facts["policy_source"] and f" ({facts['policy_source']})"
    edited = (
        f", {pluralize(gone, 'more message')} edited away; `plimsoll read` gives each by its number" if gone else ""
    )
    show(
        line(f"{facts['name']}: {pluralize(facts['history_messages'], 'message')} in {facts['where']}{edited}", "bold"),
        line(
            f"view: {number(facts['view_tokens'])} of {number(facts['budget_tokens'])} tokens, level {facts['level']}, "
            f"policy {facts['policy']}{source}, {facts['format']}",
            "dim",
        ),
        line(facts["check"]["recommendation"], "dim"),
    )
    for positions, (role, parts) in zip(origins, spoken(messages, facts["format"]), strict=True):
        show(*_drawn(named(positions) or "(not in the history)", role, parts, short=not whole))


def _drawn(name: str, role: str, parts: Sequence[tuple[str, str]], *, short: bool) -> list[Drawn]:
    style = {"user": "bold cyan", "assistant": "bold green", "system": "bold magenta"}.get(role, "bold yellow")
    shown: list[Drawn] = [line(""), line(f"{name} {role}", style)]
    for label, text in parts:
        cut = _shortened(text) if short else text
        shown.append(block(f"[{label}] {cut}" if label else cut))
        if len(cut) < len(text):
            shown.append(line(f"… {pluralize(len(text) - len(cut), 'more character')}; --full shows all", "dim"))
    return shown


def _shortened(text: str) -> str:
    """The first lines; a text with few of them by its characters."""
    return "\n".join(islice(text[:SHORT_CHARS].split("\n"), SHORT_LINES))
