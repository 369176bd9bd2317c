"""The bytes of a session file, from disk or memory, decompressed and split into lines; and its new lines while it is written.

The readers of the tools rebuild what the tool would send, from the whole file. A hook has a tenth of a second and needs less: each
line for itself (LineReader), in any order, so that it can go on where it stopped.
"""

from __future__ import annotations

import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias

from plimsoll.errors import FormatError, LimitExceeded, MissingExtra, SettingError, SourceChanged, StoreUnusable
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.limits import (
    ARCHIVE_RATIO_MAX,
    ARCHIVE_SIZE_BYTES_FREE,
    MESSAGE_SIZE_BYTES_MAX,
    TRANSCRIPT_LINES_MAX,
    TRANSCRIPT_SIZE_BYTES_MAX,
)
from plimsoll.message import FormatName, Message
from plimsoll.transcripts.lines import list_of, mapping_of, parse, text_in, text_of

if TYPE_CHECKING:
    from plimsoll.transcripts.values import Finding

Readable: TypeAlias = "str | os.PathLike[str] | bytes"

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_GZIP_MAGIC = b"\x1f\x8b\x08"
_GZIP_WBITS = 31
"""zlib's code for a gzip header and the largest window."""
_PACKED_CHUNK_BYTES = 1024
"""Bytes decompressed at once. At the worst compression ratio they become 32 MiB, which bounds memory."""


@dataclass(slots=True)
class Source:
    """A file, or bytes. Content is read on demand and not stored, so that large files are never in memory as a whole."""

    given: Readable
    whole: bool = True
    """Whether the last line ends in a line feed. Known after all lines were read, like the attributes below."""
    findings: tuple[Finding, ...] = ()
    size_bytes: int = 0
    _checksum: int = 0

    def lines(self) -> Iterator[bytes]:
        """The lines, without line feeds; U+2028 and the like do not end one. A broken archive yields its readable part and a
        finding.

        Raises StoreUnusable if the file cannot be read, MissingExtra for an archive without a decompressor, and LimitExceeded
        beyond TRANSCRIPT_SIZE_BYTES_MAX, TRANSCRIPT_LINES_MAX, MESSAGE_SIZE_BYTES_MAX for a line or ARCHIVE_RATIO_MAX for an
        archive.
        """
        checksum, size_bytes, line = 0, 0, b"\n"
        with _opened(self.given) as file:
            archive = _archive(file)
            read = iter(lambda: file.readline(MESSAGE_SIZE_BYTES_MAX + 2), b"")
            for line in _checked(read if archive is None else _rejoined(archive.chunks())):
                checksum = zlib.crc32(line, checksum)
                size_bytes += len(line)
                yield line.removesuffix(b"\n")
        self.whole, self.findings = line.endswith(b"\n"), () if archive is None else archive.findings
        self.size_bytes, self._checksum = size_bytes, checksum

    def data(self) -> bytes:
        """The decompressed bytes that `lines` yielded, read again. Raises what `lines` raises, and SourceChanged if they have
        changed: by CRC-32, which is against chance, not against intent.
        """
        if isinstance(self.given, bytes) and not is_archive(self.given):
            return self.given
        with _opened(self.given) as file:
            archive = _archive(file)
            data = file.read(self.size_bytes) if archive is None else b"".join(_rejoined(archive.chunks()))
        if zlib.crc32(data) != self._checksum:
            raise SourceChanged(ascii(self.given)[:200], reason="it was written to while it was read; try again")
        return data


def stem_of(path: str) -> str:
    """The name of a file without the suffixes of its format and compression."""
    name = re.split(r"[/\\]", path)[-1]
    for ending in (".zst", ".gz", ".jsonl", ".json"):
        name = name.removesuffix(ending)
    return name


def read_head(source: Readable, size_bytes: int) -> bytes:
    """The first bytes, decompressed. Raises what `Source.lines` raises."""
    with _opened(source) as file:
        return _head(file, size_bytes)


@contextmanager
def _opened(source: Readable) -> Iterator[BinaryIO]:
    if isinstance(source, bytes):
        yield io.BytesIO(source)
        return
    try:
        with open(os.fspath(source), "rb") as file:  # noqa: PTH123 - pathlib takes 3 ms to import
            yield file
    except OSError as error:
        raise StoreUnusable(ascii(str(source)), reason=error.strerror or "it cannot be read", is_input=True) from error
    except TypeError as error:
        raise SettingError("source", f"must be a path or bytes, not {type(source).__name__}") from error
    except ValueError as error:  # a NUL in the path
        raise StoreUnusable(ascii(str(source)), reason="not a path", is_input=True) from error


def _head(file: BinaryIO, size_bytes: int) -> bytes:
    archive = _archive(file)
    if archive is None:
        return file.read(size_bytes)
    head = bytearray()
    for chunk in archive.chunks():
        head += chunk
        if len(head) >= size_bytes:
            break
    return bytes(head[:size_bytes])


def _checked(lines: Iterator[bytes]) -> Iterator[bytes]:
    total = 0
    for number, line in enumerate(lines):
        total += len(line)
        if number >= TRANSCRIPT_LINES_MAX:
            raise LimitExceeded("TRANSCRIPT_LINES_MAX", allowed=TRANSCRIPT_LINES_MAX)
        if len(line) > MESSAGE_SIZE_BYTES_MAX + 1:
            raise LimitExceeded("MESSAGE_SIZE_BYTES_MAX", allowed=MESSAGE_SIZE_BYTES_MAX)
        if total > TRANSCRIPT_SIZE_BYTES_MAX:
            raise LimitExceeded("TRANSCRIPT_SIZE_BYTES_MAX", allowed=TRANSCRIPT_SIZE_BYTES_MAX)
        yield line


def _rejoined(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Chunks as lines. A line over the limit comes out in one piece and is refused later."""
    parts: list[bytes] = []
    held = 0
    for chunk in chunks:
        *done, rest = chunk.split(b"\n")
        for line in done:
            yield b"".join((*parts, line, b"\n"))
            parts, held = [], 0
        parts.append(rest)
        held += len(rest)
        if held > MESSAGE_SIZE_BYTES_MAX + 1:
            break
    if held:
        yield b"".join(parts)


def is_archive(start: bytes) -> bool:
    """Whether a file with this beginning is compressed."""
    return start.startswith((_ZSTD_MAGIC, _GZIP_MAGIC))


def unpacked(source: Readable) -> bytes:
    """All bytes of a file, decompressed. Raises what `Source.lines` raises."""
    found = Source(source)
    for _ in found.lines():
        pass
    return found.data()


def _archive(file: BinaryIO) -> _Archive | None:
    """The archive in a file, or None. Raises MissingExtra without a decompressor."""
    start = file.read(len(_ZSTD_MAGIC))
    file.seek(0)
    if not is_archive(start):
        return None
    return _Archive(file, *(zstd() if start == _ZSTD_MAGIC else (lambda: zlib.decompressobj(_GZIP_WBITS), zlib.error)))


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def zstd() -> tuple[Callable[[], _Decompressor], type[Exception]]:
    """What makes a decompressor of one frame, and the error that it raises. Raises MissingExtra without one."""
    if sys.version_info >= (3, 14):
        from compression import zstd as own  # noqa: PLC0415 - only an archive needs it

        return own.ZstdDecompressor, own.ZstdError
    try:
        import zstandard  # noqa: PLC0415 - optional, and only an archive needs it
    except ImportError as error:
        raise MissingExtra("zstd", needed_for="reading a .zst archive") from error
    return (lambda: zstandard.ZstdDecompressor().decompressobj()), zstandard.ZstdError


class _Archive:
    """An archive of any number of frames, decompressed in small steps."""

    def __init__(self, file: BinaryIO, make: Callable[[], _Decompressor], error: type[Exception]) -> None:
        self.findings: tuple[Finding, ...] = ()
        self._file = file
        self._make, self._error = make, error

    def chunks(self) -> Iterator[bytes]:
        """The decompressed bytes. Ends with a finding if the archive is broken. Raises LimitExceeded beyond ARCHIVE_RATIO_MAX."""
        frame = self._make()
        unpacked_bytes = 0
        data = b""
        fresh = True
        while data or (data := self._file.read(_PACKED_CHUNK_BYTES)):
            if frame.eof:
                frame = self._make()
            try:
                unpacked = frame.decompress(data)
            except self._error as error:
                self._report(str(error))
                return
            unpacked_bytes += len(unpacked)
            if unpacked_bytes > ARCHIVE_SIZE_BYTES_FREE + ARCHIVE_RATIO_MAX * self._file.tell():
                raise LimitExceeded("ARCHIVE_RATIO_MAX", allowed=ARCHIVE_RATIO_MAX)
            fresh = frame.eof
            data = frame.unused_data if frame.eof else b""
            yield unpacked
        if not fresh:
            self._report("it ends before its last frame does")

    def _report(self, detail: str) -> None:
        from plimsoll.transcripts.values import Finding  # noqa: PLC0415 - what reads new lines has none

        self.findings = (Finding(kind="broken-archive", detail=detail[:120]),)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCompaction:
    """The newest compaction of a session's file."""

    position: int | None = None
    """Number of messages before it, which it replaced. None before the first."""
    summary: str = field(default="", repr=False)
    """The text that it put in their place, as far as it is written."""
    answered: bool = True
    """Whether the model has answered since: then a summary that is missing will not come any more."""
    marked: bool = False
    """Whether a line since then has the mark that its reader looks for."""


class LineReader:
    """Reads lines into messages. `position` is the number of messages read before, `last` the newest compaction then."""

    def __init__(self, position: int, last: LastCompaction, *, mark: bytes = b"\0") -> None:
        self.messages: list[Message] = []
        self.last = last
        self._mark = mark
        self._position = position

    def read(self, lines: Iterable[bytes]) -> None:
        """Read lines. Those that are damaged, or hold nothing that was said, are passed by."""
        for raw in lines:
            try:
                value = parse(raw) if raw.strip() else None
            except ValueError:
                continue
            if isinstance(value, dict):
                self._line(value)
                if self._mark in raw:
                    self.last = replace(self.last, marked=True)

    def _line(self, value: Mapping[str, Any]) -> None:
        payload = value.get("payload")
        if isinstance(payload, dict):
            self._codex(text_of(value.get("type")), payload)
        elif value.get("isSidechain") is not True:
            self._claude(text_of(value.get("type")), value)

    def _claude(self, kind: str, value: Mapping[str, Any]) -> None:
        content = mapping_of(value.get("message")).get("content")
        if kind == "attachment":
            attached = mapping_of(value.get("attachment"))
            if attached.get("type") == "queued_command":
                self._say({"role": "user", "content": attached.get("prompt")})
        elif kind == "system" and value.get("subtype") == "compact_boundary":
            self._compacted("")
        elif value.get("isCompactSummary") is True:
            self._compacted(text_in(content))
        elif kind in ("user", "assistant") and not (value.get("isMeta") or value.get("isApiErrorMessage")):
            self._say({"role": kind, "content": content})

    def _codex(self, kind: str, payload: Mapping[str, Any]) -> None:
        if kind == "compacted":
            kept = (text_in(mapping_of(item).get("content")) for item in list_of(payload.get("replacement_history")))
            self._compacted("\n".join([text_of(payload.get("message")), *filter(None, kept)]))
        elif kind in ("response_item", "inter_agent_communication"):
            from plimsoll.transcripts.codex_replay import AGENT_LINE, agent_message, is_context  # noqa: PLC0415 - only Codex's files need it

            payload = agent_message(payload) if kind == AGENT_LINE else payload
            if payload.get("role") not in ("developer", "system") and not is_context(payload):
                self._add(payload, "openai-responses")

    def _say(self, wire: Mapping[str, Any]) -> None:
        self._add(wire, "anthropic")

    def _add(self, wire: Mapping[str, Any], format: FormatName) -> None:
        from plimsoll.formats.registry import format_named  # noqa: PLC0415 - right after a compaction there is no message

        try:
            message = format_named(format).decode(wire, 0)
        except (FormatError, LimitExceeded):
            return
        if message.role == "assistant" and not self.last.answered:
            self.last = replace(self.last, answered=True)
        self.messages.append(message)

    def _compacted(self, summary: str) -> None:
        position, last = self._position + len(self.messages), self.last
        if last.summary and last.position == position:
            summary = f"{last.summary}\n{summary}"
        self.last = LastCompaction(position=position, summary=summary, answered=False)
