"""One way in for every file a user may have: find out what it is, then read it as that."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from plimsoll.errors import FormatError
from plimsoll.formats.detect import Beside
from plimsoll.message import FormatName, Wire
from plimsoll.transcripts import lines, shape
from plimsoll.transcripts.source import Readable, Source
from plimsoll.transcripts.values import Conversation, Exported, Finding, SourceLine, ToolName, Transcript

_LOOK_LINES = 50


def load_file(source: Readable) -> Transcript | Conversation:
    """Read a session file of Claude Code, Codex or pi, or messages as a JSON array, JSON lines or a request body; packed
    by zstd or gzip or not.

    Raises FormatError when it is none of them, StoreUnusable when the file cannot be read, LimitExceeded past a limit
    of limits.py, MissingExtra for an archive without a decompressor. Damage inside is in `findings`.
    """
    with _collector_paused():
        found = Source(source)
        tool = shape.tool_of(_objects(list(islice(found.lines(), _LOOK_LINES))))
        if tool is None:
            return _conversation(found)
        beside = () if isinstance(source, bytes) else _beside(Path(source), tool)
        return read_transcript(found, tool, beside=beside)


def load_export(exported: Exported, source: Transcript | None) -> Transcript | Conversation:
    """What the file that was exported says. The lines of the file that it continues, `source`, are not read again."""
    if source is None or not exported.head:
        return load_file(exported.data)
    added, findings = lines.read_entries((line.encode() for line in exported.added), start=len(source.entries))
    return _as_tool_reads([*source.entries, *added], source.tool, findings)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Reading makes hundreds of thousands of objects that all stay and form no cycle; looking for garbage among them while
    they grow takes as long as the reading.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read_transcript(found: Source, tool: ToolName, *, beside: tuple[str, ...] = ()) -> Transcript:
    """The lines as a session of that tool, whatever they look like."""
    entries, findings = lines.read_entries(found.lines(), needed=_needed(tool))
    if not found.whole:
        findings = lines.with_torn_end(entries, findings)
    return replace(_as_tool_reads(entries, tool, (*found.findings, *findings)), beside=beside, raw=found.data)


def _as_tool_reads(entries: Sequence[SourceLine], tool: ToolName, findings: Sequence[Finding]) -> Transcript:
    from plimsoll.transcripts import sound  # noqa: PLC0415 - it brings repairs with it, which messages alone do not need

    transcript = _reader(tool)(entries, findings)
    viewed, refused = sound.accepted(transcript.viewed, transcript.format)
    return replace(transcript, viewed=viewed, findings=(*transcript.findings, *refused))


def _needed(tool: ToolName) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """What takes from a line what the reader of a tool's files asks for; None where that is all of it."""
    if tool != "claude-code":
        return None
    from plimsoll.transcripts.claude_links import Needed  # noqa: PLC0415 - as the reader

    return Needed()


def _reader(tool: ToolName) -> Callable[[Sequence[SourceLine], Sequence[Finding]], Transcript]:
    """What reads the files of a tool. Each is imported when such a file is met."""
    match tool:
        case "claude-code":
            from plimsoll.transcripts.claude_code import read  # noqa: PLC0415
        case "codex":
            from plimsoll.transcripts.codex import read  # noqa: PLC0415
        case "pi":
            from plimsoll.transcripts.pi import read  # noqa: PLC0415
    return read


def _objects(raw: Sequence[bytes]) -> list[Mapping[str, Any]]:
    """The first lines that are JSON objects."""
    found: list[Mapping[str, Any]] = []
    for line in raw[:_LOOK_LINES]:
        try:
            value = lines.parse(line) if line.strip() else None
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def _conversation(found: Source) -> Conversation:
    raw = b"\n".join(found.lines())
    _check_encoding(raw)
    try:
        document = lines.parse(raw)
    except ValueError as error:
        if raw.lstrip()[:1] == b"[":
            raise FormatError(f"not JSON: {error}") from None
        return _from_lines(found)
    if isinstance(document, list):
        return _from_messages(document, {}, found.findings)
    if isinstance(document, dict):
        return _from_body(document, found.findings)
    raise FormatError("not a session file and not messages")


def _check_encoding(raw: bytes) -> None:
    """Messages go to a provider as they are read, so that none of their text may be replaced. Raises FormatError."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8: byte {raw[error.start]:#04x} at {error.start:,}") from None


def _from_lines(found: Source) -> Conversation:
    entries, findings = lines.read_entries(found.lines())
    if not found.whole:
        findings = lines.with_torn_end(entries, findings)
    values = [entry.value for entry in entries if entry.value is not None]
    if not values:
        raise FormatError("neither JSON nor JSON lines")
    return replace(_from_messages(values, {}, (*found.findings, *findings)), is_lines=True)


def _from_body(body: Mapping[str, Any], findings: tuple[Finding, ...]) -> Conversation:
    if isinstance(body.get("messages"), list):
        return _from_messages(body["messages"], body, findings)
    if isinstance(body.get("input"), list):
        return _from_messages(body["input"], body, findings, format="openai-responses")
    if isinstance(body.get("input"), str):
        message = {"role": "user", "content": body["input"]}
        return _from_messages([message], body, findings, format="openai-responses")
    return replace(_from_messages([body], {}, findings), is_lines=True)


def _from_messages(
    messages: Sequence[Any],
    body: Mapping[str, Any],
    findings: tuple[Finding, ...],
    *,
    format: FormatName | None = None,
) -> Conversation:
    wires: list[Wire] = []
    for position, message in enumerate(messages):
        if not isinstance(message, dict):
            raise FormatError("not a JSON object", position=position)
        wires.append(message)
    if any(map(shape.is_pi_entry, wires)):
        raise FormatError("lines of a pi session without the line it begins with; pi does not read them either")
    system = body.get("system", body.get("instructions"))
    tools = tuple(tool for tool in lines.list_of(body.get("tools")) if isinstance(tool, dict))
    model = lines.maybe_text(body.get("model"))
    named = format or shape.format_of(wires, Beside(model=model, system=body.get("system"), tools=tools))
    if not wires:  # an empty list is a conversation that has not begun
        named = named or "openai-chat"
    if named is None:
        raise FormatError("no format recognises these messages")
    return Conversation(
        format=named,
        messages=tuple(wires),
        system=system if isinstance(system, str | list) else None,
        tools=tools,
        model=model,
        findings=findings,
        body=body or None,
    )


def _beside(path: Path, tool: ToolName) -> tuple[str, ...]:
    """The files of the sub-agents that a Claude Code session started."""
    if tool != "claude-code":
        return ()
    try:
        with os.scandir(path.with_suffix("") / "subagents") as found:
            return tuple(
                sorted(f.path for f in found if f.name.endswith(".jsonl") and f.is_file(follow_symlinks=False))
            )
    except (OSError, ValueError):
        return ()
