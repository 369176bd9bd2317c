"""`plimsoll compact`: make a session's view smaller now; or look first, or have a hand in it."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import plimsoll
from plimsoll.cli.options import add_name, add_summarizer, flag, option, tokens
from plimsoll.cli.output import Refused, note, print_json, say, show, working
from plimsoll.cli.source import summarizer_of
from plimsoll.report.figures import beside, number
from plimsoll.report.terminal import block, line, planned

EDIT_HINT = "<!-- Save to compact with this summary; empty the file to cancel. This line is left out. -->\n"

ABOUT = "Undone by `plimsoll rollback`; the history stays whole."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_name(parser)
    how = parser.add_mutually_exclusive_group()
    flag(how, "--preview", "show the plan and change nothing")
    flag(
        how,
        "--edit",
        "edit the summary in $VISUAL or $EDITOR first; what is saved is what is kept, an empty file cancels",
    )
    option(parser, "--focus F", "what matters now: it stays longer")
    option(parser, "--policy P", "by this policy, this once (default: the session's own)")
    option(parser, "--max-tokens N", "for this budget, this once (default: the session's own)", type=tokens)
    option(
        parser,
        "--target N",
        "come down to N tokens (default: the policy's target, and at most half of what there is)",
        type=tokens,
    )
    add_summarizer(parser)


def run(arguments: argparse.Namespace) -> None:
    """Preview, or carry out."""
    if arguments.preview:
        _preview(arguments)
        return
    plan, path = _edited(arguments) if arguments.edit else (None, None)
    try:
        asked = summarizer_of(arguments)
        options = {"store": arguments.store, "max_tokens": arguments.max_tokens, "summarizer": asked}
        with plimsoll.open(arguments.name, create=False, **options) as session:
            _tell_what_is_not_held(session)
            with working("compacting", session):
                compaction = session.compact(plan, **_options(arguments))
            unseen = session.status().unseen_tokens
    except plimsoll.errors.PlimsollError as error:
        if path is None:
            raise
        raise Refused(f"{error}; the edited summary is in {path}") from error
    if path is not None:
        path.unlink(missing_ok=True)
    _done(compaction, unseen, arguments)


def _tell_what_is_not_held(session: plimsoll.Session) -> None:
    """Before anything is recorded: what is in the view that a file of the tool it came from cannot hold."""
    for detail in dict.fromkeys(loss.detail for loss in session.not_exportable()):
        note(f"in the view: {detail}; --in-place is refused while that is so, and other files have a mark there")


def _plan(arguments: argparse.Namespace) -> plimsoll.Plan:
    """The plan, made by a reader: the session is free while it is looked at."""
    asked = summarizer_of(arguments)
    options = {"store": arguments.store, "max_tokens": arguments.max_tokens, "summarizer": asked}
    with plimsoll.open(arguments.name, read_only=True, **options) as session:
        _tell_what_is_not_held(session)
        with working("planning", session):
            plan = session.preview(**_options(arguments))
            _ = plan.report  # names what leaves, for which messages are read: not when the session is closed
        return plan


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    return {"focus": arguments.focus, "policy": arguments.policy, "target_tokens": arguments.target}


def _preview(arguments: argparse.Namespace) -> None:
    plan = _plan(arguments)
    if arguments.json:
        print_json(plan.to_dict())
        return
    show(planned(plan.report))
    if plan.summary is not None:
        show(line("The summary", "bold"), block(plan.summary))


def _edited(arguments: argparse.Namespace) -> tuple[plimsoll.Plan, Path]:
    """The plan with the summary as it was edited, and the file it is in."""
    plan = _plan(arguments)
    if plan.summary is None:
        raise Refused(f"{arguments.name}: nothing would be summarised, so there is nothing to edit; nothing was done")
    editor = _editor()
    handle, name = tempfile.mkstemp(prefix="plimsoll-", suffix=".md")
    path = Path(name)
    with os.fdopen(handle, "wb") as file:
        file.write(f"{EDIT_HINT}{plan.summary}".encode("utf-8", "surrogatepass"))
    with ExitStack() as undo:
        undo.callback(path.unlink, missing_ok=True)
        text = _from_editor(editor, path)
        edited = plan if text == plan.summary else plan.with_summary(text)
        undo.pop_all()
    return edited, path


def _editor() -> str:
    """The user's editor. Raises Refused where there is none and no terminal for the usual one."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if editor is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused("--edit needs a terminal, or an editor in $VISUAL or $EDITOR; nothing was done")
    return editor or "vi"


def _from_editor(editor: str, path: Path) -> str:
    try:
        status = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode  # noqa: S603 - the user's own editor
    except (OSError, ValueError) as error:
        raise Refused(f"the editor {editor!r} cannot be started: {error}; nothing was done") from error
    if status:
        raise Refused(f"the editor {editor!r} ended with status {status}; nothing was done")
    text = path.read_bytes().decode("utf-8", "surrogatepass" if _is_ours(path) else "replace")
    text = text.replace(EDIT_HINT, "", 1)
    if not text.strip():
        raise Refused("the summary was emptied; nothing was done")
    return text


def _is_ours(path: Path) -> bool:
    """Whether the bytes read back as we may have written them, lone surrogates included."""
    try:
        path.read_bytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _done(compaction: plimsoll.Compaction, unseen_tokens: int, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print_json(compaction.to_dict())
    elif compaction.id is None:
        say(f"{arguments.name}: nothing was done: {compaction.note or 'there is nothing to gain'}")
    else:
        sizes = f"{number(compaction.tokens_before)} → {number(compaction.tokens_after)} tokens{beside(unseen_tokens)}"
        say(f"{arguments.name}: {compaction.id} recorded, {sizes}; undo with: plimsoll rollback {arguments.name}")
