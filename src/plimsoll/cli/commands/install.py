"""`plimsoll install`: register the hooks and the MCP server in a coding agent's own settings, and take them out again."""

from __future__ import annotations

import argparse
import difflib
import os
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec

from plimsoll.cli.options import add_store, flag, option, tokens
from plimsoll.cli.output import WrongUsage, emit, note, print_json, say
from plimsoll.hooks import install
from plimsoll.report.safe_text import neutral

TOOLS = ("claude-code", "codex")

ABOUT = (
    "Puts the hooks, and the MCP server where the extra mcp is installed, into the tool's own settings. All else in "
    "them stays byte for byte. The change is shown before it is made."
)


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    option(parser, "TOOL", "claude-code or codex", choices=TOOLS)
    flag(parser, "--project", "in the settings of the project in this folder (default: the user's)")
    flag(parser, "--undo", "take out what was put in")
    flag(parser, "--print", "show the change and do not make it", dest="only_print")
    option(
        parser, "--max-tokens N", "the most tokens that are handed back after a compaction (default: 1500)", type=tokens
    )
    add_store(parser)


def run(arguments: argparse.Namespace) -> None:
    """Show what changes, and change it."""
    if arguments.undo and (arguments.max_tokens is not None or arguments.store is not None):
        raise WrongUsage("install: --undo takes everything out; it goes without --max-tokens and --store")
    has_mcp = find_spec("mcp") is not None
    wanted = install.Registration(
        tool=arguments.tool,
        project=os.getcwd() if arguments.project else None,  # noqa: PTH109 - not resolved: links stay as they are
        folder=_folder(),
        has_mcp=has_mcp,
        options=() if arguments.max_tokens is None else ("--max-tokens", str(arguments.max_tokens)),
        store=arguments.store,
    )
    changes = install.plan_undo(wanted) if arguments.undo else install.plan_install(wanted)
    if not arguments.json:
        for change in changes:
            emit(_diff(change).encode("utf-8", "replace"))
    if not arguments.only_print:
        install.apply(changes)
    if arguments.json:
        print_json({"tool": arguments.tool, "done": not arguments.only_print, "files": [*map(_as_data, changes)]})
    else:
        _tell(arguments, is_changed=any(not change.is_empty for change in changes), has_mcp=has_mcp)
        _tell_if_off(changes)


def _folder() -> str | None:
    """The current folder; None if it is gone."""
    with suppress(OSError):
        return os.getcwd()  # noqa: PTH109 - as above
    return None


def _as_data(change: install.Change) -> dict[str, object]:
    about = {"path": change.path, "changed": not change.is_empty, "diff": _diff(change)}
    return {**about, "hooks_off": change.hooks_off}


def _diff(change: install.Change) -> str:
    """What changes in a file, as `diff -u` shows it."""
    before, after = (_lines(raw) for raw in (change.before, change.after))
    names = (
        change.path if change.before is not None else os.devnull,
        change.path if change.after is not None else os.devnull,
    )
    shown = (
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(before, after, *names)
    )
    return neutral("".join(shown))


def _lines(raw: bytes | None) -> list[str]:
    return [] if raw is None else raw.decode("utf-8", "replace").splitlines(keepends=True)


def _tell(arguments: argparse.Namespace, *, is_changed: bool, has_mcp: bool) -> None:
    done = "nothing to change" if not is_changed else "this would be changed" if arguments.only_print else "done"
    say(f"{arguments.tool}: {done}")
    if arguments.undo or arguments.only_print:
        return
    if arguments.tool == "codex":
        note("Codex asks before it runs new hooks: open /hooks in it and trust them")
    if not has_mcp:
        note("without the extra mcp its server is left out: pip install 'plimsoll-context[mcp]', then install again")


def _tell_if_off(changes: Sequence[install.Change]) -> None:
    """Say so where the tool's own settings keep it from running hooks."""
    for change in changes:
        if change.hooks_off is not None:
            note(
                f"{change.path} switches hooks off ({change.hooks_off}): where it applies, nothing runs until that is taken out"
            )
