"""What FILE means: messages, another tool's session file, standard input, or a session of ours; read into one shape."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from plimsoll.cli.container import ARRAY, Container, container_of
from plimsoll.cli.refusal import Refused
from plimsoll.cli.screen import working
from plimsoll.dataclass import dataclass
from plimsoll.errors import FormatError, LimitExceeded, SessionNotFound, UnsafeName
from plimsoll.limits import TRANSCRIPT_SIZE_BYTES_MAX
from plimsoll.message import FormatName, Wire

if TYPE_CHECKING:
    from plimsoll.cli.recorded import RecordedRequest
    from plimsoll.records.usage import Usage
    from plimsoll.session.recorder import Chronicle
    from plimsoll.transcripts import Conversation, Finding, ToolCompaction, Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """A conversation to work on, wherever it came from. `size_bytes` is what was read, to judge how long work takes."""

    label: str
    format: FormatName
    messages: list[Wire] = field(repr=False)
    system: Any = None
    tools: tuple[Wire, ...] = ()
    model: str | None = None
    findings: tuple[Finding, ...] = ()
    container: Container = ARRAY
    size_bytes: int = 0
    places: tuple[tuple[int, ...], ...] = ()
    """For each message the positions in the history that it comes from; empty where they are the messages themselves."""
    recorded: RecordedRequest | None = None
    """What the provider counted, where that was written down."""
    usages: tuple[Usage, ...] = ()
    """Every request that another tool's file says the size of."""
    compactions: tuple[ToolCompaction, ...] = ()
    """Those that it says were made."""
    session: Chronicle | None = None
    """The session it is the view of; close it when done."""

    def close(self) -> None:
        """Let go of the session, if it is of one."""
        if self.session is not None:
            self.session.close()


class PlainText(Refused):
    """What was read is text, and neither messages nor JSON of any kind."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(reason)
        self.text = text


def open_material(file: str, store: str | None, *, format: FormatName | None = None, options: Any = None) -> Material:
    """Read FILE. A name that is no file is looked for among the sessions; `options` are for those.

    Raises Refused, PlimsollError, OSError.
    """
    if file != "-" and not os.path.lexists(file):
        return _session(file, store, options)
    raw = read_raw(file)
    with working("reading", size_bytes=len(raw)):
        loaded = load(raw, file)
        return _material(loaded, raw, label_of(file), format)


def label_of(file: str) -> str:
    """How a report calls FILE."""
    return "standard input" if file == "-" else Path(file).name


def read_raw(file: str) -> bytes:
    """The bytes of FILE. Raises Refused for what is no file, LimitExceeded, OSError."""
    if file == "-":
        return _bounded(sys.stdin.buffer)
    mode = os.stat(file).st_mode  # noqa: PTH116 - a Path would be made only to be taken apart
    if stat.S_ISDIR(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise Refused(f"{file} is a {'directory' if stat.S_ISDIR(mode) else 'device'}, not a file")
    with Path(file).open("rb") as stream:
        return _bounded(stream)


def _bounded(stream: BinaryIO) -> bytes:
    raw = stream.read(TRANSCRIPT_SIZE_BYTES_MAX + 1)
    if len(raw) > TRANSCRIPT_SIZE_BYTES_MAX:
        raise LimitExceeded("TRANSCRIPT_SIZE_BYTES_MAX", allowed=TRANSCRIPT_SIZE_BYTES_MAX)
    return raw


def load(raw: bytes, file: str) -> Transcript | Conversation:
    """What bytes hold. Raises Refused, saying of which file and where in it, LimitExceeded, MissingExtra."""
    from plimsoll.transcripts import Conversation, load_file
    from plimsoll.transcripts.source import unpacked

    if not raw.strip():
        raise Refused(f"{label_of(file)}: it is empty")
    try:
        loaded = load_file(raw)
    except FormatError as error:
        where = "" if error.position is None else f"message m{error.position}: "
        reason = f"{label_of(file)}: {_broken(raw) or where + error.reason}"
        text = None if label_of(file).endswith((".json", ".jsonl", ".zst", ".gz")) else _as_text(raw)
        raise (Refused(reason) if text is None else PlainText(reason, text)) from error
    if isinstance(loaded, Conversation):
        _refuse_other_encodings(
            unpacked(raw), file
        )  # a tool's own file may be damaged; what goes to a provider may not
    return loaded


def _as_text(raw: bytes) -> str | None:
    """Bytes that are text and no JSON, whole or broken; None for others."""
    if raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"{", b"["} or b"\0" in raw:
        return None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _refuse_other_encodings(raw: bytes, file: str) -> None:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"{label_of(file)}: not UTF-8: byte {raw[error.start]:#04x} at {error.start:,}") from None


def _broken(raw: bytes) -> str | None:
    """Why bytes that begin like a list are none."""
    from plimsoll.transcripts.lines import parse

    if raw.lstrip()[:1] != b"[":
        return None
    try:
        parse(raw)
    except ValueError as error:
        return f"not JSON: {error}"
    return None


def _material(loaded: Transcript | Conversation, raw: bytes, label: str, format: FormatName | None) -> Material:
    from plimsoll.transcripts import Transcript
    from plimsoll.transcripts.source import unpacked

    if isinstance(loaded, Transcript):
        from plimsoll.cli.recorded import of_file

        return Material(
            label=f"{label} ({loaded.tool})",
            format=loaded.format,
            messages=list(loaded.view()),
            system=loaded.system,
            model=loaded.meta.model,
            findings=loaded.findings,
            container=Container.of_request(loaded.format, has_system=loaded.system is not None),
            size_bytes=len(raw),
            places=tuple(viewed.messages for viewed in loaded.viewed),
            recorded=of_file(loaded),
            usages=loaded.usages,
            compactions=tuple(replace(made, see=tuple) for made in loaded.compactions),
        )
    return Material(
        label=label,
        format=format or loaded.format,
        messages=list(loaded.messages),
        system=loaded.system,
        tools=loaded.tools,
        model=loaded.model,
        findings=loaded.findings,
        container=container_of(unpacked(raw)),
        size_bytes=len(raw),
    )


def _session(name: str, store: str | None, options: Any) -> Material:
    from plimsoll.cli.recorded import of_session
    from plimsoll.session.open import existing, remembered_options

    try:
        chronicle = existing(name, store=store, options=options)
    except UnsafeName:
        raise Refused(f"no such file: {name}") from None
    except SessionNotFound:
        raise Refused(f"no file and no session is called {name}") from None
    remembered = remembered_options(chronicle.log)
    view = chronicle.written()
    messages: list[Wire] = list(view)
    return Material(
        label=name,
        format=chronicle.gauge.format.name,
        messages=messages,
        system=chronicle.gauge.system,
        places=tuple(view.origins),
        recorded=of_session(chronicle, remembered, options or {}),
        tools=tuple(remembered.get("tools") or ()),
        model=(options or {}).get("model") or remembered.get("model"),
        size_bytes=sum(len(str(message)) for message in messages),
        session=chronicle,
    )
