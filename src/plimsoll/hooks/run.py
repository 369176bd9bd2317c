"""What a hook does when its tool calls it. It never fails: what goes wrong is one line in a log, and nothing is said."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from plimsoll.errors import ErrorCatcher, PlimsollError, place_of
from plimsoll.hooks.event import POST_COMPACT, PRE_COMPACT, SESSION_START, HookEvent, read_event
from plimsoll.light.dataclass import dataclass, replace

LOG_BYTES_MAX = 64 * 1024
"""Of the log of failures; the older half gives way."""

NOTES_TOKENS = 1_500

_SMALL_BYTES = 1 << 18
_WAIT_SMALL_S = 2.0
"""How long a tool waits at most for a small file to be taken in; for a large one it does not wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """What the command line of a hook says."""

    max_tokens: int = NOTES_TOKENS
    store: str | None = None
    has_mcp: bool = False
    """Whether the tool has plimsoll's MCP server, with its recall tool."""


def run_hook(raw: bytes, settings: HookSettings) -> str:
    """Answer an event with the text for standard output, mostly none. Never raises."""
    answer = ""
    with ErrorCatcher() as caught:
        answer = _answer(read_event(raw), settings)
    note_failure(caught.error)
    return answer


def take_in_file(path: str, store: str | None = None, *, wait: bool = False, gives_way: bool = False) -> None:
    """Take in what a session's file has grown by, as hooks do in the background. Never raises.

    With `wait`, a compaction that the tool is about to write is waited for, so that what it removed can be searched. With
    `gives_way` this process lowers its priority for good once a hook can no longer be waiting for it.
    """
    with ErrorCatcher() as caught:
        from plimsoll.hooks.importing import take_in_all  # noqa: PLC0415 - it brings the whole program with it

        take_in_all(path, store, wait=wait, gives_way=gives_way)
    note_failure(caught.error)


def _answer(event: HookEvent, settings: HookSettings) -> str:
    if not _is_handled(event):
        return ""
    event = _with_transcript(event)
    if not event.transcript:
        return ""
    if event.name == PRE_COMPACT:
        _begin_import(event.transcript, settings)
        return ""
    if event.name == POST_COMPACT:
        from plimsoll.hooks.state import remember_summary  # noqa: PLC0415 - with it comes what reads facts

        remember_summary(event.transcript, event.summary)
        return ""
    return _pointer(event.transcript, settings) if event.source == "clear" else _notes(event, settings)


def _is_handled(event: HookEvent) -> bool:
    if event.agent_id:
        return False
    if event.name == SESSION_START:
        return event.source in ("compact", "resume", "clear")
    return event.name in (PRE_COMPACT, POST_COMPACT)


def _with_transcript(event: HookEvent) -> HookEvent:
    """The event with the file of its session, where it names none, or one that is not there."""
    if not event.session_id or _exists(event.transcript):
        return event
    from plimsoll.transcripts.discover import file_of_session  # noqa: PLC0415 - seldom needed

    found = file_of_session(event.session_id, event.cwd or None)
    return event if found is None else replace(event, transcript=found)


def _exists(path: str) -> bool:
    try:
        return bool(path) and Path(path).exists()
    except ValueError:  # a NUL in it
        return False


def _begin_import(path: str, settings: HookSettings, *, awaits: bool = False) -> None:
    """Import a file by a process of its own, which goes on when the hook has ended. A small file is waited for.

    `awaits`: that process waits for a compaction that the tool writes when its hooks have ended. A failure is logged, and costs the
    agent no answer.
    """
    from plimsoll.hooks.background import begin  # noqa: PLC0415 - only events with work need it

    with ErrorCatcher() as beginning:
        is_small = Path(path).stat().st_size <= _SMALL_BYTES
        words = [sys.executable, "-P", "-m", "plimsoll", "hook", "--take-in", path]  # -P: nothing of the current folder
        words += ["--wait"] if awaits else []
        words += [] if settings.store is None else ["--store", settings.store]
        begin(words, wait_s=_WAIT_SMALL_S if is_small and not awaits else 0.0)
    note_failure(beginning.error)


def _notes(event: HookEvent, settings: HookSettings) -> str:
    from plimsoll.hooks.loss import handed_back  # noqa: PLC0415 - with it comes what reads facts
    from plimsoll.hooks.state import take_in  # noqa: PLC0415 - as above
    from plimsoll.transcripts.source import LastCompaction  # noqa: PLC0415 - as above

    state = take_in(event.transcript)
    if event.source == "resume" and (state.last.position is None or state.last.marked):
        return ""
    awaits = event.source == "compact" and state.last.answered
    if awaits:  # the file does not have this compaction yet
        state = replace(state, last=LastCompaction())
    text = handed_back(state, tokens_max=settings.max_tokens, recall=_recall(event.transcript, settings))
    _begin_import(event.transcript, settings, awaits=awaits)  # last: the agent waits for what is above
    return context(text) if text else ""


def _pointer(path: str, settings: HookSettings) -> str:
    """After `/clear` the conversation is another one; where the one before is found again is said in one line."""
    from plimsoll.hooks.importing import file_before  # noqa: PLC0415 - seldom needed

    before = file_before(path)
    if before is None:
        return ""
    _begin_import(before, settings)
    return context(
        f"The conversation before this one is kept by plimsoll. Where it is asked for: {_recall(before, settings)}"
    )


def _recall(path: str, settings: HookSettings) -> str:
    """How the model finds the rest."""
    import shlex  # noqa: PLC0415 - as above

    from plimsoll.hooks.importing import session_of  # noqa: PLC0415 - as above

    stored = [] if settings.store is None else ["--store", settings.store]
    words = shlex.join([*_program(), "recall", session_of(path), *stored])
    return f'{words} "words"{", or the tool recall of the MCP server plimsoll" if settings.has_mcp else ""}'


def _program() -> list[str]:
    """The words that start this program in the agent's shell."""
    found = (Path(folder, "plimsoll") for folder in os.get_exec_path() if folder)
    return ["plimsoll"] if any(os.access(path, os.X_OK) for path in found) else [sys.executable, "-P", "-m", "plimsoll"]


def context(text: str) -> str:
    """The output by which a hook adds to what the model reads, in the form that all the tools take."""
    import json  # noqa: PLC0415 - only an answer needs it

    output = {"hookSpecificOutput": {"hookEventName": SESSION_START, "additionalContext": text}}
    return json.dumps(output) + "\n"


def note_failure(error: BaseException | None) -> None:
    """Add a line to the log, unless nothing failed: which error, where and when, and nothing of what was said. Never raises."""
    if error is None:
        return
    from datetime import UTC, datetime  # noqa: PLC0415 - seldom needed

    from plimsoll.hooks.state import folder, private, write_private  # noqa: PLC0415 - as above; with it comes what reads facts

    with suppress(OSError, PlimsollError):
        path = folder() / "log"
        line = f"{datetime.now(UTC).isoformat(timespec='seconds')} {type(error).__name__}{place_of(error)}\n".encode()
        with open(path, "ab", opener=private) as file:
            size_bytes = file.tell()
            file.write(line)
        if size_bytes > LOG_BYTES_MAX - len(line):
            kept = path.read_bytes()[-LOG_BYTES_MAX // 2 :]
            write_private(path, kept.partition(b"\n")[2])
