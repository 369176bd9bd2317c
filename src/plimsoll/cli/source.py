"""What FILE means: messages, another tool's session file, standard input, or the name of a session."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, TypeAlias

import plimsoll
from plimsoll.cli.output import Refused, note, working
from plimsoll.errors import FormatError, LimitExceeded, SessionNotFound, SettingError, UnsafeName
from plimsoll.limits import COUNT_TABLE_WORK_MAX, TRANSCRIPT_SIZE_BYTES_MAX

Loaded: TypeAlias = "plimsoll.Transcript | plimsoll.Conversation"


def preload(file: str, model: str | None) -> None:
    """Load the tokenizer in a thread while a file that needs it is read. The count itself says what goes wrong."""
    with suppress(OSError, ValueError):
        if os.stat(file).st_size > COUNT_TABLE_WORK_MAX:  # noqa: PTH116 - as in `readable`
            _preload(model)


def _preload(model: str | None) -> None:
    from threading import Thread

    def load() -> None:
        with suppress(Exception):
            plimsoll.preload(model) if model else plimsoll.preload()

    Thread(target=load, daemon=True).start()


def summarizer_of(arguments: argparse.Namespace) -> Any:
    """The summarizer of --summarizer; None without it. Raises MissingExtra, Refused."""
    if arguments.summarizer is None:
        return None
    try:
        return plimsoll.model_summarizer(arguments.summarizer)
    except SettingError as error:
        raise Refused(f"--summarizer: {error.reason}") from None


class PlainText(Refused):
    """What was read is text, and neither messages nor JSON of any kind."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(reason)
        self.text = text


def is_session(file: str) -> bool:
    """Whether FILE is looked for among the sessions: it is not standard input, and no file has that name."""
    return file != "-" and not os.path.lexists(file)


def open_session(name: str, store: str | None, **options: Any) -> plimsoll.Session:
    """The session of that name, for reading. Raises Refused where FILE names neither a file nor a session."""
    try:
        return plimsoll.open(name, store=store, read_only=True, **options)
    except UnsafeName:
        raise Refused(f"no such file: {name}") from None
    except SessionNotFound:
        raise Refused(f"no file and no session is called {name}") from None


def label_of(file: str) -> str:
    """How a report calls FILE."""
    from pathlib import Path

    return "standard input" if file == "-" else Path(file).name


def readable(file: str) -> tuple[bytes | str, int]:
    """What FILE is read from, and its size: a plain file where it is, line by line; the bytes of what can be read only once.

    Raises Refused for what is no file, LimitExceeded, OSError.
    """
    if file == "-":
        raw = _bounded(sys.stdin.buffer, "standard input")
        return raw, len(raw)
    status = os.stat(file)  # noqa: PTH116 - pathlib takes 3 ms to import
    if stat.S_ISDIR(status.st_mode) or stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        raise Refused(f"{file} is a {'directory' if stat.S_ISDIR(status.st_mode) else 'device'}, not a file")
    with open(file, "rb") as stream:  # noqa: PTH123 - as above
        if stat.S_ISREG(status.st_mode):
            return file, status.st_size
        raw = _bounded(stream, file)
    return raw, len(raw)


def read_raw(file: str) -> bytes:
    """The bytes of FILE. Raises as `readable` does."""
    return _bytes_of(readable(file)[0])


def _bytes_of(given: bytes | str) -> bytes:
    if isinstance(given, bytes):
        return given
    with open(given, "rb") as stream:  # noqa: PTH123 - as above
        return _bounded(stream, given)


def _is_blank(given: bytes | str) -> bool:
    if isinstance(given, bytes):
        return not given.strip()
    with open(given, "rb") as stream, _reading(given):  # noqa: PTH123 - as above
        return not any(map(bytes.strip, iter(lambda: stream.read(1 << 20), b"")))


def _bounded(stream: BinaryIO, name: str) -> bytes:
    with _reading(name):
        raw = stream.read(TRANSCRIPT_SIZE_BYTES_MAX + 1)
    if len(raw) > TRANSCRIPT_SIZE_BYTES_MAX:
        raise LimitExceeded("TRANSCRIPT_SIZE_BYTES_MAX", allowed=TRANSCRIPT_SIZE_BYTES_MAX)
    return raw


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Errors of reading say what was read: Python names a file only where it cannot be opened."""
    try:
        yield
    except OSError as error:
        error.filename = name
        raise


def read(file: str) -> tuple[Loaded, int]:
    """What FILE holds, and its size in bytes; what is wrong with it is noted on standard error. Raises as `load` does."""
    given, size_bytes = readable(file)
    with working("reading", size_bytes):
        loaded = load(given, file)
    note_findings(loaded.findings)
    return loaded, size_bytes


def load(given: bytes | str, file: str) -> Loaded:
    """What bytes, or a file, hold. Raises Refused, saying of which file and where in it, LimitExceeded, MissingExtra."""
    if _is_blank(given):
        raise Refused(f"{label_of(file)}: it is empty")
    try:
        return plimsoll.load_file(given)
    except FormatError as error:
        raw = _bytes_of(given)
        where = "" if error.position is None else f"message m{error.position}: "
        reason = f"{label_of(file)}: {where}{error.reason}"
        text = None if label_of(file).endswith((".json", ".jsonl", ".zst", ".gz")) else _as_text(raw)
        raise (Refused(reason) if text is None else PlainText(reason, text)) from error


def _as_text(raw: bytes) -> str | None:
    """Bytes that are text and no JSON, whole or broken; None for others."""
    if raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"{", b"["} or b"\0" in raw:
        return None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


_MEANINGS: dict[str, tuple[str, str]] = {
    "bad-line": ("line is not a JSON object", "it is kept, but not read"),
    "bad-message": ("message has no readable content", "it is kept, but not sent"),
    "broken-archive": ("archive is broken", "its readable part was read"),
    "cycle": ("line is its own ancestor", "the conversation is read up to it"),
    "duplicate-call": ("tool call occurs twice", "it is sent once"),
    "duplicate-result": ("tool call has two results", "the first is sent"),
    "duplicate-uuid": ("line has an id that was used before", "the last one is used"),
    "missing-parent": (
        "line follows one that is not in this file",
        "the conversation before it is elsewhere; everything in this file is read",
    ),
    "no-id": ("line has no id", "it is ignored"),
    "no-opening": ("conversation begins with an answer", "a user message was inserted before it"),
    "no-result": ("tool call has no result", "a placeholder result is sent"),
    "orphan-result": ("tool result has no call", "it is not sent"),
    "preserved-broken": ("compaction kept messages that cannot be found", "they are left out, as the tool does"),
    "reasoning-alone": ("reasoning has no answer after it", "it is not sent"),
    "refused": ("message would be refused by the provider", "it is repaired before it is sent"),
    "thinking-only": ("answer contains only thinking", "it is not sent"),
    "torn-line": ("last line is incomplete", "it is kept, but not read"),
    "wrong-place": ("user message contains content that only the model may send", "that part is not sent"),
}
"""Kind -> description of one finding, and its consequence."""


def described(findings: Sequence[plimsoll.Finding]) -> Iterator[str]:
    """One line for each kind: the number, the first line and the consequence."""
    kinds: dict[str, list[plimsoll.Finding]] = {}
    for finding in findings:
        kinds.setdefault(finding.kind, []).append(finding)
    for kind, found in kinds.items():
        lines = [finding.line + 1 for finding in found if finding.line is not None]
        where = f" (line {lines[0]}{' first' if len(found) > 1 else ''})" if lines else ""
        if kind not in _MEANINGS:
            more = f"; {len(found) - 1:,} more of the kind {kind}" if len(found) > 1 else ""
            yield f"{kind}{where}: {found[0].detail}{more}"
            continue
        what, meaning = _MEANINGS[kind]
        yield f"{len(found):,} × {what}{where}: {meaning}"


def note_findings(findings: Sequence[plimsoll.Finding]) -> None:
    """What was wrong with a file that was read all the same."""
    for text in described(findings):
        note(text)
