"""Read any supported file: detect its kind, then parse it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from plimsoll.errors import FormatError
from plimsoll.formats.detect import RequestContext, detect
from plimsoll.light.dataclass import replace
from plimsoll.message import FormatName, Wire
from plimsoll.transcripts import lines
from plimsoll.transcripts.source import Readable, Source, stem_of
from plimsoll.transcripts.values import Conversation, Exported, Finding, SourceLine, ToolName, Transcript

if TYPE_CHECKING:
    from pathlib import Path

_LOOK_LINES = 50
_AGENTS_DEPTH = 4
_CODEX_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_CLAUDE_LINES = frozenset(
    (
        "file-history-snapshot queue-operation progress attachment last-prompt pr-link custom-title ai-title "
        "saved_hook_context permission-mode agent-name"
    ).split()
)


def load_file(source: Readable) -> Transcript | Conversation:
    """Read a session file of Claude Code, Codex or pi, or messages as a JSON array, JSON lines or a request body, also packed by
    zstd or gzip.

    Raises FormatError if it is none of them, StoreUnusable if it cannot be read, LimitExceeded beyond a limit of limits.py,
    MissingExtra for an archive without a decompressor. Damage inside is in `findings`.
    """
    with _collector_paused():
        found = Source(source)
        tool = _tool_of(lines.objects_in(list(islice(found.lines(), _LOOK_LINES))))
        if tool is None:
            return _conversation(found)
        if isinstance(source, bytes):
            return read_transcript(found, tool, sidechain_paths=())
        from pathlib import Path  # noqa: PLC0415 - takes 3 ms to import

        return read_transcript(found, tool, sidechain_paths=_sidechain_paths(Path(source), tool))


def load_export(exported: Exported, source: Transcript | None) -> Transcript | Conversation:
    """The content of an exported file. The lines of `source`, which it continues, are not parsed again."""
    if source is None or not exported.head:
        return load_file(exported.data)
    added, findings = lines.read_entries((line.encode() for line in exported.added), start=len(source.entries))
    return _as_tool_reads([*source.entries, *added], source.tool, findings)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Disable garbage collection. Parsing creates many objects that all survive and form no cycles, and collecting them repeatedly
    would double its time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read_transcript(source: Source, tool: ToolName, *, sidechain_paths: tuple[str, ...] = ()) -> Transcript:
    """Read the lines as a session file of that tool, without detection."""
    entries, findings = _all_entries(source, _field_filter(tool))
    return replace(_as_tool_reads(entries, tool, findings), sidechain_paths=sidechain_paths, raw=source.data)


def _all_entries(source: Source, reduce: lines.Reduce | None = None) -> tuple[list[SourceLine], tuple[Finding, ...]]:
    """Every line, and what is wrong with the lines and with the file."""
    entries, findings = lines.read_entries(source.lines(), reduce=reduce)
    found = findings if source.whole else lines.with_torn_end(entries, findings)
    return entries, (*source.findings, *found)


def _as_tool_reads(entries: Sequence[SourceLine], tool: ToolName, findings: Sequence[Finding]) -> Transcript:
    from plimsoll.transcripts import blocks  # noqa: PLC0415 - imports the repairs, which plain messages do not need

    transcript = _reader(tool)(entries, findings)
    viewed, refused = blocks.accepted(transcript.viewed, transcript.format)
    return replace(transcript, viewed=viewed, findings=(*transcript.findings, *refused))


def _field_filter(tool: ToolName) -> lines.Reduce | None:
    """The function that reduces lines to the fields a tool's reader uses; None if the reader needs all."""
    if tool != "claude-code":
        return None
    from plimsoll.transcripts.claude_links import FieldFilter  # noqa: PLC0415 - as the reader

    return FieldFilter()


def _reader(tool: ToolName) -> Callable[[Sequence[SourceLine], Sequence[Finding]], Transcript]:
    """The reader of a tool's files, imported on demand."""
    match tool:
        case "claude-code":
            from plimsoll.transcripts.claude_code import read  # noqa: PLC0415
        case "codex":
            from plimsoll.transcripts.codex import read  # noqa: PLC0415
        case "pi":
            from plimsoll.transcripts.pi import read  # noqa: PLC0415
    return read


def _conversation(source: Source) -> Conversation:
    raw = b"\n".join(source.lines())
    _check_encoding(raw)
    try:
        document = lines.parse(raw)
    except ValueError as error:
        if raw.lstrip()[:1] == b"[":
            raise FormatError(f"not JSON: {error}") from None
        return _from_lines(source)
    if isinstance(document, list):
        return _from_messages(document, {}, source.findings)
    if isinstance(document, dict):
        return _from_body(document, source.findings)
    raise FormatError("not a session file and not messages")


def _check_encoding(raw: bytes) -> None:
    """Raise FormatError unless this is UTF-8: messages are sent to a provider, so their text must not be replaced."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8: byte {raw[error.start]:#04x} at {error.start:,}") from None


def _from_lines(source: Source) -> Conversation:
    entries, findings = _all_entries(source)
    values = [entry.value for entry in entries if entry.value is not None]
    if not values:
        raise FormatError("neither JSON nor JSON lines")
    return replace(_from_messages(values, {}, findings), is_lines=True)


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
    if any(map(_is_pi_entry, wires)):
        raise FormatError("lines of a pi session without its header line; pi does not read them either")
    system = body.get("system", body.get("instructions"))
    tools = tuple(tool for tool in lines.list_of(body.get("tools")) if isinstance(tool, dict))
    model = lines.maybe_text(body.get("model"))
    named = format or _format_of(wires, RequestContext(model=model, system=body.get("system"), tools=tools))
    if not wires:  # an empty list is a new conversation
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


def _sidechain_paths(path: Path, tool: ToolName) -> tuple[str, ...]:
    """The files of the sub-agents that a Claude Code session started, also of those that a workflow of it started."""
    if tool != "claude-code":
        return ()
    from plimsoll.transcripts.discover import regular_files  # noqa: PLC0415 - only this tool has them

    found = regular_files(path.with_name(stem_of(path.name)) / "subagents", depth=_AGENTS_DEPTH)
    return tuple(sorted(str(f) for f in found if f.name.startswith("agent-") and f.name.endswith(".jsonl")))


def _tool_of(values: Sequence[Mapping[str, Any]]) -> ToolName | None:
    """The tool whose session file begins with these lines, or None."""
    for number, value in enumerate(values):
        kind = lines.text_of(value["type"]) if value.get("type") is not None else None
        if isinstance(value.get("payload"), dict) and kind in _CODEX_LINES:
            return "codex"
        if kind == "session" and isinstance(value.get("id"), str) and "timestamp" in value:
            return "pi"
        if _is_claude_line(value):
            return "claude-code"
        if (
            number == 0
            and kind is None
            and isinstance(value.get("id"), str)
            and {"timestamp", "instructions"} <= value.keys()
        ):
            return "codex"
    return None


def _is_claude_line(value: Mapping[str, Any]) -> bool:
    kind = lines.text_of(value.get("type"))
    if kind == "summary":
        return isinstance(value.get("leafUuid"), str)
    if kind in ("user", "assistant", "system"):
        return "uuid" in value and ("parentUuid" in value or "sessionId" in value)
    return kind in _CLAUDE_LINES and ("sessionId" in value or "messageId" in value or "uuid" in value)


def _is_pi_entry(value: Mapping[str, Any]) -> bool:
    """Whether this is an entry of pi rather than a provider's message."""
    return value.get("type") in ("message", "compaction") and "timestamp" in value and "role" not in value


def _format_of(messages: Sequence[Wire], context: RequestContext) -> FormatName | None:
    try:
        return detect(messages, context) if messages else None
    except FormatError:
        return None
